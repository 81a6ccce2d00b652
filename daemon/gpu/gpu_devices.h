/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_devices.h - which character devices are GPUs, and whose driver they have.
 */
#ifndef GPU_DEVICES_H
#define GPU_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "gpu_events.h"

#define GPU_DRIVER_LEN GPU_DRIVER_NAME
#define GPU_NO_MINOR   UINT32_MAX

/*
 * Sets `class` (enum gpu_class) of each GPU major in the text of
 * /proc/devices, and GPU_NONE for all others. The fixed majors are set also
 * where no driver has registered them yet.
 */
void gpu_majors_parse(const char *text, uint8_t class[GPU_MAX_MAJOR]);

/* The same of this machine. -errno: /proc/devices cannot be read; the fixed ones are set. */
int gpu_majors_read(uint8_t class[GPU_MAX_MAJOR]);

/* The minor number of `name` in the text of /proc/misc, or GPU_NO_MINOR. */
uint32_t gpu_misc_minor(const char *text, const char *name);
uint32_t gpu_udmabuf_minor(void); /* of this machine */

/*
 * What drives the device, as its driver calls itself to the DRM core; from its
 * numbers where only they are known. Never empty.
 */
void gpu_driver_name(enum gpu_class class, uint32_t major, uint32_t minor,
		     char ret[GPU_DRIVER_LEN]);
/* The same from the name of the driver on its bus: "nvidia" is "nvidia-drm" there. */
void gpu_drm_name(const char *bus, char ret[GPU_DRIVER_LEN]);

#endif
