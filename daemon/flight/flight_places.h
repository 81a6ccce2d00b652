/* SPDX-License-Identifier: Apache-2.0 */
/* flight_places.h - of which frames a snapshot may have source lines. */
#ifndef FLIGHT_PLACES_H
#define FLIGHT_PLACES_H

#include <stddef.h>
#include <stdint.h>

struct flight_segment;
struct location;
struct session;

/* Zero at first. */
struct flight_places {
	struct location **list; /* each is held */
	size_t n;
};

/* Those of all segments from `first` on, in their order; `session` has those of the last one. */
int flight_places_collect(struct flight_places *p, const struct flight_segment *first,
			  const struct session *session);
/* Lets go of those whose byte in `used` is 0, and of all but one of each. */
void flight_places_keep(struct flight_places *p, const uint8_t *used);
void flight_places_done(struct flight_places *p);

#endif
