// SPDX-License-Identifier: GPL-2.0
/*
 * fakegpu_mem - the event gpu_mem:gpu_mem_total, which Debian's kernels are built
 * without. In a module of its own, so that whoever listens to it does not keep
 * fakegpu from being unloaded.
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include <trace/events/gpu_mem.h>

EXPORT_TRACEPOINT_SYMBOL_GPL(gpu_mem_total);

MODULE_DESCRIPTION("gpu_mem:gpu_mem_total for the tests of tracer");
MODULE_LICENSE("GPL");
