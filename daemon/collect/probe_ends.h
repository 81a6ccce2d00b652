/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_ends.h - probes on their way out. To detach one takes the kernel tens of
 * milliseconds, until nobody is within it any more: a thread waits for that, while the
 * daemon goes on. Until then the places' numbers are not given away, and until what was in
 * the ring has been read the probe stays findable.
 */
#ifndef PROBE_ENDS_H
#define PROBE_ENDS_H

#include <bpf/libbpf.h>

#include "probe_places.h"
#include "uprobes.h"

struct probe_end;
struct probe_ends;

int probe_ends_new(struct probe_ends **ret);
void probe_ends_free(struct probe_ends *es); /* takes NULL; waits for all */

/* One, to which what has to end is added in the order in which it shall. NULL: no memory. */
struct probe_end *probe_end_new(struct probe *p);
/* True: it has taken it over, also NULL. */
bool probe_end_uprobes(struct probe_end *e, struct uprobes *probes);
bool probe_end_link(struct probe_end *e, struct bpf_link *link);
bool probe_end_number(struct probe_end *e, uint32_t number);

/* Takes over `e`. Its numbers are dropped from `places`, which must live so long. */
void probe_ends_begin(struct probe_ends *es, struct probe_places *places, struct probe_end *e);

/* Some times a second. Everything until `horizon_ns` has been read from the ring. */
void probe_ends_update(struct probe_ends *es, uint64_t horizon_ns);
bool probe_ends_pending(const struct probe_ends *es); /* the kernel is still at it */
void probe_ends_wait(struct probe_ends *es);

#endif
