/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_list.h - the GPUs of the machine as a numbered list. A GPU has several
 * device nodes (card0, renderD128) and one place on a bus, which tells two of
 * one kind apart.
 */
#ifndef GPU_LIST_H
#define GPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_devices.h"

#define GPU_LIST_MAX   32
#define GPU_DEVICE_LEN 48

struct gpu_list_item {
	char driver[GPU_DRIVER_LEN];
	char device[GPU_DEVICE_LEN]; /* "0000:03:00.0", "vkms", or its node when that is all */
	char name[GPU_DRIVER_LEN + GPU_DEVICE_LEN]; /* both */
	bool is_pci;
};

struct gpu_list;

/* `sys`: where sysfs is; a literal. Finds those that there are. */
int gpu_list_new(const char *sys, struct gpu_list **ret);
void gpu_list_free(struct gpu_list *list); /* takes NULL */

/*
 * The number of a GPU, from 1; 0: not known, or there are too many. By a device
 * number of the kernel's (major << 20 | minor); `driver` "" if it is not known.
 */
uint32_t gpu_list_of_rdev(struct gpu_list *list, uint32_t rdev, const char *driver);
/* By what the kernel calls the device. */
uint32_t gpu_list_of_device(struct gpu_list *list, const char *device);

size_t gpu_list_count(const struct gpu_list *list);
const struct gpu_list_item *gpu_list_get(const struct gpu_list *list,
					 uint32_t number); /* or NULL */

#endif
