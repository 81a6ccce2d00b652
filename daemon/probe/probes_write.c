/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_write.c - slices, instants and counters of probes.
 *
 * One with a call stack is written when the stack has names, which may be some seconds
 * later; it waits as the records that it is made of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/stack_encode.h"
#include "hash.h"
#include "net/net_lanes.h"
#include "probe/probes_encode_impl.h"
#include "process/process_table.h"

/* What the stack encoder keeps, and frees. */
struct waiting {
	struct probes_known *known;
	struct probes_where where;
	uint64_t begin_ns, end_ns;
	bool is_instant, has_end;
	size_t end_at; /* of `records`: the second one */
	uint8_t records[] __attribute__((aligned(8)));
};

/* ---- tracks ---- */

static uint64_t probes_track(struct probes_encoder *enc)
{
	const struct trace_track track = { .name = "Probes" };

	return trace_track(enc->env.writer, &track);
}

/* That of no process is the kernel's idle loop. */
static uint64_t process_track(struct probes_encoder *enc, uint32_t tgid)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);

	if (tgid == 0)
		return probes_track(enc);
	return trace_process_track(enc->env.writer, tgid, p ? p->start_ns : 0);
}

static uint64_t thread_track(struct probes_encoder *enc, const struct probes_where *where)
{
	if (where->tid == 0)
		return probes_track(enc);
	return trace_thread_track(enc->env.writer, where->tgid, where->tid, where->start_ns);
}

/* The lane in which a slice from `begin_ns` to `end_ns` has room. */
static int choose_lane(struct probes_encoder *enc, const struct probes_known *known,
		       const struct probes_where *where, uint64_t begin_ns, uint64_t end_ns)
{
	struct hit_stack_key key = { .probe = known->probe->id, .tgid = where->tgid };
	struct net_lanes *lanes = hash_get(enc->lanes, &key, sizeof(key));

	if (!lanes && hash_count(enc->lanes) < PROBES_MAX_STACKS) {
		lanes = calloc(1, sizeof(*lanes));
		if (lanes && hash_set(enc->lanes, &key, sizeof(key), lanes) < 0) {
			free(lanes);
			lanes = NULL;
		}
	}
	return lanes ? net_lanes_take(lanes, begin_ns, end_ns) : -ENOSPC;
}

void probes_lanes_free(struct probes_encoder *enc)
{
	size_t pos = 0;
	void *lanes;

	while (enc->lanes && hash_next(enc->lanes, &pos, NULL, NULL, &lanes)) {
		net_lanes_done(lanes);
		free(lanes);
	}
	hash_free(enc->lanes);
}

/*
 * Which of the tracks of that name: two probes may have one, a session's and everybody's, or
 * one that was removed and its successor.
 */
static uint64_t track_key(const struct probes_known *known, const struct probes_where *where,
			  unsigned lane)
{
	uint32_t cpu = where->kind != OF_PROCESS && where->tid == 0 ? where->cpu : 0;

	return (uint64_t)known->probe->id << 32 | (uint64_t)where->kind << 30 | cpu << 16 | lane;
}

/* -ENOSPC: too many at a time. */
static int find_track(struct probes_encoder *enc, const struct probes_known *known,
		      const struct probes_where *where, uint64_t begin_ns, uint64_t end_ns,
		      uint64_t *ret)
{
	struct trace_track track = { .name = known->name };
	int lane = (int)where->lane;

	if (where->kind == OF_PROCESS) {
		track.parent = process_track(enc, where->tgid);
		lane = choose_lane(enc, known, where, begin_ns, end_ns);
	} else {
		track.parent = thread_track(enc, where);
	}
	if (lane < 0)
		return lane;
	track.key = track_key(known, where, (unsigned)lane);
	*ret = track.parent;
	if (track.parent && (where->kind != ON_THREAD || where->tid == 0))
		*ret = trace_track(enc->env.writer, &track);
	return *ret ? 0 : -ENOMEM;
}

/* ---- slices and instants ---- */

/* `begin` and, unless it is NULL, `end`: their values. */
static void describe(struct probes_encoder *enc, struct probes_known *known,
		     const struct probes_event *begin, const struct probes_event *end)
{
	struct probes_slice *s = &enc->slice;

	probes_slice_init(s, known, enc->texts, begin);
	probes_slice_add(s, known, begin);
	if (end)
		probes_slice_add(s, known, end);
}

static int write_now(struct probes_encoder *enc, const struct waiting *w,
		     const struct probes_event *begin, const struct probes_event *end,
		     uint64_t callstack_iid)
{
	struct probes_slice *s = &enc->slice;
	unsigned n_events = end ? 2 : 1;
	int r;

	describe(enc, w->known, begin, end);
	if (!end && !w->is_instant)
		probes_slice_true(s, "unfinished");
	trace_writer_time(enc->env.writer, w->end_ns);
	r = find_track(enc, w->known, &w->where, w->begin_ns, w->end_ns, &s->event.track);
	if (r == -ENOSPC) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, n_events);
		return 0;
	}
	if (r < 0)
		return r;
	s->event.time_ns = w->begin_ns;
	s->event.callstack_iid = callstack_iid;
	if (w->is_instant)
		return trace_instant(enc->env.writer, &s->event, 1);
	return trace_slice(enc->env.writer, &s->event, w->end_ns, n_events);
}

/* The stack_done_fn. */
static int stack_done(void *ctx, void *what, uint64_t callstack_iid)
{
	struct waiting *w = what;
	const struct probes_event *begin = (const void *)w->records;
	const struct probes_event *end = w->has_end ? (const void *)(w->records + w->end_at) : NULL;

	w->known->n_users--;
	return write_now(ctx, w, begin, end, callstack_iid);
}

/* Only the values are kept: the stack is the stack encoder's. */
static size_t put_record(struct waiting *w, size_t at, const struct probes_event *ev)
{
	size_t size = PROBES_HEAD + ev->len;

	memcpy(w->records + at, ev, size);
	return at + size;
}

static int write_later(struct probes_encoder *enc, const struct waiting *head,
		       const struct probes_event *begin, const struct probes_event *end)
{
	size_t size = sizeof(*head) + PROBES_HEAD + begin->len + (end ? PROBES_HEAD + end->len : 0);
	struct stack_sample sample = {
		.time_ns = begin->hdr.time_ns,
		.since_ns = head->end_ns,
		.tgid = begin->hdr.tgid,
		.tid = begin->hdr.tid,
		.cpu = begin->hdr.cpu,
	};
	struct waiting *w = malloc(size);

	if (!w)
		return -ENOMEM;
	*w = *head;
	w->has_end = end != NULL;
	w->end_at = put_record(w, 0, begin);
	if (end)
		(void)put_record(w, w->end_at, end);
	w->known->n_users++;
	sample.what = w;
	stack_sample_user(&sample, probes_stack(begin));
	return stack_encoder_add(enc->stacks, &sample);
}

static int write_it(struct probes_encoder *enc, const struct waiting *w,
		    const struct probes_event *begin, const struct probes_event *end)
{
	if (begin->flags & PROBES_HAS_STACK)
		return write_later(enc, w, begin, end);
	return write_now(enc, w, begin, end, 0);
}

int probes_write_slice(struct probes_encoder *enc, struct probes_known *known,
		       const struct probes_where *where, const struct probes_event *begin,
		       uint64_t begin_ns, const struct probes_event *end, uint64_t end_ns)
{
	const struct waiting w = {
		.known = known, .where = *where, .begin_ns = begin_ns, .end_ns = end_ns
	};

	return write_it(enc, &w, begin, end);
}

int probes_write_instant(struct probes_encoder *enc, struct probes_known *known,
			 const struct probes_where *where, const struct probes_event *ev,
			 uint64_t time_ns)
{
	const struct waiting w = { .known = known,
				   .where = *where,
				   .begin_ns = time_ns,
				   .end_ns = time_ns,
				   .is_instant = true };

	return write_it(enc, &w, ev, NULL);
}

int probes_stacks_new(struct probes_encoder *enc)
{
	struct stack_source source = { .seq = SEQ_EVENTS, .done = stack_done, .done_ctx = enc };

	return stack_encoder_new(&enc->env, &source, &enc->stacks);
}

/* ---- counters, and what is said of probes ---- */

int probes_write_counter(struct probes_encoder *enc, const struct probes_known *known,
			 const struct probes_event *ev, unsigned n_events)
{
	struct trace_track track = { .name = known->counter, .is_counter = true };
	bool is_double;
	uint64_t bits = probes_counter(known, ev, &is_double), uuid;

	track.parent = process_track(enc, ev->hdr.tgid);
	uuid = track.parent ? trace_track(enc->env.writer, &track) : 0;
	if (!uuid)
		return -ENOMEM;
	return trace_counter_event(enc->env.writer, uuid, ev->hdr.time_ns, is_double, bits,
				   n_events);
}

int probes_tell(struct probes_encoder *enc, uint64_t time_ns, const char *what,
		const struct probes_known *known, uint64_t n, unsigned n_events)
{
	struct trace_arg args[2];
	struct trace_event ev = {
		.time_ns = time_ns,
		.name = what,
		.category = "probe",
		.args = args,
		.track = probes_track(enc),
	};

	if (known)
		args[ev.n_args++] = (struct trace_arg){ .name = "probe",
							.type = ARG_LITERAL,
							.s = known->name };
	if (n)
		args[ev.n_args++] = (struct trace_arg){ .name = "count", .type = ARG_UINT, .u = n };
	return ev.track ? trace_instant(enc->env.writer, &ev, n_events) : -ENOMEM;
}
