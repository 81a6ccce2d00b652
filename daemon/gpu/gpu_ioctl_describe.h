/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ioctl_describe.h - what a record of an ioctl says: its name, and the
 * arguments that are worth showing. Pure.
 */
#ifndef GPU_IOCTL_DESCRIBE_H
#define GPU_IOCTL_DESCRIBE_H

#include "gpu_devices.h"
#include "gpu_events.h"
#include "gpu_ioctl_table.h"
#include "trace_writer.h"

#define GPU_IOCTL_NAME_LEN 80

/* Points into itself: not to be copied. */
struct gpu_description {
	const struct gpu_ioctl_info *info; /* NULL: not in the table */
	enum gpu_ioctl_class ioctl_class;
	char name[GPU_IOCTL_NAME_LEN]; /* few different ones, whatever a program asks for */
	struct trace_arg args[TRACE_MAX_ARGS];
	size_t n_args;
	char driver[GPU_DRIVER_LEN];
	char status[32];
	char changed[GPU_MAX_FIELDS][40]; /* "handle_out" */
};

/* `driver`: of the device, as gpu_driver_name() or the kernel says. `ev` is valid. */
void gpu_ioctl_describe(const struct gpu_ioctl_event *ev, const char *driver,
			struct gpu_description *ret);

/* One more argument; NULL: there is no room. */
struct trace_arg *gpu_description_add(struct gpu_description *d, const char *name,
				      enum trace_arg_type type);

/* The kernel or the program repeats a call that ends like this. */
bool gpu_ioctl_is_retry(int64_t ret);

#endif
