/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_encode_impl.h - the insides of the encoder, shared by probes_encode.c (whose records
 * they are), probes_pairs.c (which hits belong together) and probes_write.c (tracks, slices,
 * counters).
 */
#ifndef PROBES_ENCODE_IMPL_H
#define PROBES_ENCODE_IMPL_H

#include "markers/markers_payload.h"
#include "probe/probes_encode.h"
#include "probe/probes_stacks.h"

struct stack_encoder;

struct probes_encoder {
	struct encoder_env env;
	struct markers_keys *texts;
	struct hash *known; /* by id */
	struct hit_stacks threads, keyed;
	struct hash *lanes; /* of keyed slices, by process and probe */
	struct stack_encoder *stacks;
	struct {
		uint64_t ends_without_begin, too_deep, unknown;
	} counts;
	uint64_t swept_ns;
	bool is_stopped;
	struct probes_slice slice;
};

/* Where a slice or an instant is drawn. */
struct probes_where {
	uint32_t tgid, tid;
	uint64_t start_ns; /* of the thread; 0: not known */
	enum {
		ON_THREAD,
		BELOW_THREAD, /* on tracks of the probe's own: on `lane` */
		OF_PROCESS,   /* likewise: on the first that is free */
	} kind;
	unsigned lane;
	uint32_t cpu; /* whose idle loop it is, if `tid` is 0 */
};

/* One hit of a probe without a key, or with one. */
int probes_thread_hit(struct probes_encoder *enc, struct probes_known *known,
		      const struct probes_event *ev);
int probes_keyed_hit(struct probes_encoder *enc, struct probes_known *known,
		     const struct probes_event *ev);
/* What is open is written as it is: of a probe, of threads that are gone, all. */
int probes_pairs_end_of(struct probes_encoder *enc, const struct probes_known *known,
			uint64_t end_ns);
int probes_pairs_end_gone(struct probes_encoder *enc, uint64_t now_ns);
int probes_pairs_end_all(struct probes_encoder *enc, uint64_t stop_ns);

/*
 * A slice of `begin`, and of `end` if that is not NULL: it is unfinished then. Both are
 * copied where they are kept.
 */
int probes_write_slice(struct probes_encoder *enc, struct probes_known *known,
		       const struct probes_where *where, const struct probes_event *begin,
		       uint64_t begin_ns, const struct probes_event *end, uint64_t end_ns);
int probes_write_instant(struct probes_encoder *enc, struct probes_known *known,
			 const struct probes_where *where, const struct probes_event *ev,
			 uint64_t time_ns);
/* `n_events`: 1 if that is all that the hit is. */
int probes_write_counter(struct probes_encoder *enc, const struct probes_known *known,
			 const struct probes_event *ev, unsigned n_events);
/* On the track "Probes": what there is to say of a probe, or (NULL) of all. */
int probes_tell(struct probes_encoder *enc, uint64_t time_ns, const char *what,
		const struct probes_known *known, uint64_t n, unsigned n_events);

int probes_stacks_new(struct probes_encoder *enc);
void probes_lanes_free(struct probes_encoder *enc);

#endif
