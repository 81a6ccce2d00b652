/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_places.h - the maps of bpf/probes.bpf.h: code by the numbers that attach cookies
 * have, what became of its hits, and which begins are open.
 */
#ifndef PROBE_PLACES_H
#define PROBE_PLACES_H

#include <bpf/libbpf.h>
#include <stdint.h>

#include "probe/probes.h"

struct probe_places;

/* `obj`, loaded, has the maps; it must outlive this. */
int probe_places_new(struct bpf_object *obj, struct probe_places **ret);
void probe_places_free(struct probe_places *ps); /* takes NULL */

/*
 * The number of a place that runs `code` for one of the probe's points; sites with the same
 * code share it. Each goes with a drop. -ENOSPC: there are too many.
 */
int probe_places_take(struct probe_places *ps, const struct probe *p, enum probes_point point,
		      const struct probe_code *code, uint32_t *ret);
/* Nothing is attached with that number any more. `sum` gets what its hits were. */
void probe_places_drop(struct probe_places *ps, uint32_t number, struct probes_counts *sum);

/* Adds what the hits of the probe's places were so far: of begins and singles, or of ends. */
void probe_places_count(struct probe_places *ps, uint32_t probe, bool of_ends,
			struct probes_counts *sum);

/* Begins of the probe whose ends will not be seen. */
void probe_places_forget_opens(struct probe_places *ps, uint32_t probe);

/* What the map has for a place. Pure. */
void probe_place_fill(const struct probe *p, enum probes_point point, const struct probe_code *code,
		      struct probes_place *ret);

#endif
