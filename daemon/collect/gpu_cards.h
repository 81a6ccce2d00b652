/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_cards.h - the GPUs of the machine as a numbered list. A GPU has several
 * device nodes (card0, renderD128) and one place on a bus, which tells two of
 * one kind apart.
 */
#ifndef GPU_CARDS_H
#define GPU_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_devices.h"

#define GPU_MAX_CARDS  32
#define GPU_DEVICE_LEN 48

struct gpu_card {
	char driver[GPU_DRIVER_LEN];
	char device[GPU_DEVICE_LEN]; /* "0000:03:00.0", "vkms", or its node when that is all */
	char name[GPU_DRIVER_LEN + GPU_DEVICE_LEN]; /* both */
	bool is_pci;
};

struct gpu_cards;

/* `sys`: where sysfs is; a literal. Finds those that there are. */
int gpu_cards_new(const char *sys, struct gpu_cards **ret);
void gpu_cards_free(struct gpu_cards *cards); /* takes NULL */

/*
 * The number of a card, from 1; 0: not known, or there are too many. By a device
 * number of the kernel's (major << 20 | minor); `driver` "" if it is not known.
 */
uint32_t gpu_cards_of_rdev(struct gpu_cards *cards, uint32_t rdev, const char *driver);
/* By what the kernel calls the device. */
uint32_t gpu_cards_of_device(struct gpu_cards *cards, const char *device);

size_t gpu_cards_count(const struct gpu_cards *cards);
const struct gpu_card *gpu_cards_get(const struct gpu_cards *cards, uint32_t number); /* or NULL */

#endif
