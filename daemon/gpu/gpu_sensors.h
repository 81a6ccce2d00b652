/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_sensors.h - the files in sysfs that say how one device is.
 *
 * They stay open; what a driver does not have is left out. Which there are is
 * known by their names, not by the driver's.
 */
#ifndef GPU_SENSORS_H
#define GPU_SENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu_counters_events.h"

struct gpu_sensors;

/*
 * `device_fd` is the device's directory; `class_fd` that of its card in class/drm,
 * or -1. Both stay the caller's. Nothing is read that could wake the device.
 */
int gpu_sensors_new(int device_fd, int class_fd, struct gpu_sensors **ret);
void gpu_sensors_free(struct gpu_sensors *s); /* takes NULL */

/*
 * Calls `fn` for each, with everything but `card` filled in. -ENODEV: the device is
 * gone, or another one is there in its place.
 */
int gpu_sensors_read(struct gpu_sensors *s, uint64_t now_ns,
		     void (*fn)(void *ctx, const struct gpu_value *v), void *ctx);

#endif
