/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_devices.h - which character devices are GPUs, whose driver they have,
 * and what their ioctls are called.
 */
#ifndef GPU_DEVICES_H
#define GPU_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "gpu_events.h"

#define GPU_DRIVER_LEN	   32
#define GPU_IOCTL_NAME_LEN 80

/*
 * Sets `class` (enum gpu_class) of each GPU major in the text of
 * /proc/devices, and GPU_NONE for all others. The fixed majors are set also
 * where no driver has registered them yet.
 */
void gpu_majors_parse(const char *text, uint8_t class[GPU_MAX_MAJOR]);

/* The same of this machine. -errno: /proc/devices cannot be read; the fixed ones are set. */
int gpu_majors_read(uint8_t class[GPU_MAX_MAJOR]);

/* What drives the device: from sysfs for DRM, else from its numbers. Never empty. */
void gpu_driver_name(enum gpu_class class, uint32_t major, uint32_t minor,
		     char ret[GPU_DRIVER_LEN]);

/*
 * The name of a slice: "ioctl DRM_IOCTL_MODE_ATOMIC" where the number is the
 * DRM core's; "ioctl DRM_IOCTL nr 0x4b (i915)" for a driver's own, which mean
 * another thing with each driver. Few different ones, whatever `request` is.
 */
void gpu_ioctl_name(enum gpu_class class, uint32_t request, const char *driver,
		    char ret[GPU_IOCTL_NAME_LEN]);

#endif
