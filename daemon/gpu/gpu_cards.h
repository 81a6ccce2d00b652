/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_cards.h - which GPUs and accelerators there are, and what sysfs says of
 * them: busy, memory, frequency, temperature, power.
 *
 * A device that its driver has put to sleep is only asked whether it still
 * sleeps: most of the other files would wake it up.
 */
#ifndef GPU_CARDS_H
#define GPU_CARDS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu_counters_events.h"

struct gpu_cards;

/* `sys` is a directory like /sys. */
int gpu_cards_new(const char *sys, struct gpu_cards **ret);
void gpu_cards_free(struct gpu_cards *cards); /* takes NULL */

/* Looks for what has come, gone, woken up or fallen asleep. Returns how many there are. */
size_t gpu_cards_scan(struct gpu_cards *cards);

/* Who they are; returns how many. A number keeps its meaning while its device is there. */
size_t gpu_cards_list(const struct gpu_cards *cards, struct gpu_card_item items[GPU_MAX_CARDS]);

/* The number of the device with node "card0", "renderD128" or "accel0"; -ENODEV. */
int gpu_cards_find(const struct gpu_cards *cards, const char *node);
bool gpu_cards_has(const struct gpu_cards *cards, unsigned card);
bool gpu_cards_awake(const struct gpu_cards *cards, unsigned card); /* when last scanned */

/* Hands each value to `fn`; `now_ns` is of any clock, always the same one. */
typedef void gpu_value_fn(void *ctx, const struct gpu_value *v);
void gpu_cards_read(struct gpu_cards *cards, uint64_t now_ns, gpu_value_fn *fn, void *ctx);

#endif
