/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_used.h - which frames the stacks of a segment have, once some of its packets were left
 * out: symbols of a frame that nothing has are an error to a reader.
 */
#ifndef FLIGHT_USED_H
#define FLIGHT_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight_used;
struct location;

int flight_used_new(struct flight_used **ret);
void flight_used_free(struct flight_used *u); /* takes NULL */

/* What a packet of `sequence` interns: a packed InternedData. */
int flight_used_intern(struct flight_used *u, uint32_t sequence, const void *data, size_t len);
/* A packet that stays has the stack. */
int flight_used_stack(struct flight_used *u, uint32_t sequence, uint64_t callstack_iid);

bool flight_used_has(const struct flight_used *u, const struct location *loc);

#endif
