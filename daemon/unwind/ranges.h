/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h - which parts of an array are taken: first fit, with neighbours
 * joined again. For the arrays in BPF maps, whose sizes are fixed.
 */
#ifndef RANGES_H
#define RANGES_H

#include <stdint.h>

struct ranges;

int ranges_new(uint32_t size, struct ranges **ret); /* all free */
void ranges_free(struct ranges *r);		    /* takes NULL */

/* `n` > 0 in a row. -ENOSPC: no gap is that long; -ENOMEM. */
int ranges_take(struct ranges *r, uint32_t n, uint32_t *ret_first);
/* Exactly what was taken. Without memory for the bookkeeping the range stays taken. */
void ranges_give(struct ranges *r, uint32_t first, uint32_t n);

uint32_t ranges_used(const struct ranges *r);

#endif
