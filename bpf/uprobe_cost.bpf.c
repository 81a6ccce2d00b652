/* SPDX-License-Identifier: GPL-2.0 */
/* uprobe_cost.bpf.c - does nothing: daemon/collect/uprobe_cost.c measures what that takes. */
#include "kernel.h"

SEC("uprobe")
int on_hit(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
