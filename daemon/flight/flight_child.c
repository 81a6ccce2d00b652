/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_child.c - how a snapshot is made: by a child, which has the recorder as it was at the
 * fork, to itself. It ends what goes on as if the recording were over, writes it all to a
 * file and exits; the recorder does not notice.
 *
 * Of its parent's descriptors it keeps none but where it writes to: whatever it does with the
 * objects it has inherited, nothing of it reaches the outside.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "flight/flight_block.h"
#include "flight/flight_cut.h"
#include "flight/flight_impl.h"
#include "io.h"
#include "trace_meta.h"

/* After all others: the recorder is one of them. */
#define CHILD_NICE 10

struct child {
	struct flight_job *job;
	struct session *session;
	struct session_mark *mark;
	struct flight_cut *cut;
	struct buf packets, cut_packets, piece;
	uint8_t *used; /* of job->places */
	uint64_t bytes;
};

/* Closes all but standard error and the two that are written to. */
static void keep_descriptors(const struct flight_job *job)
{
	int low = job->fd < job->result_fd ? job->fd : job->result_fd;
	int high = job->fd < job->result_fd ? job->result_fd : job->fd;

	/* A kernel that cannot leaves them open: nothing here uses them. */
	if (low > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, (unsigned)low - 1, 0);
	if (high > low + 1)
		(void)close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	(void)close_range((unsigned)high + 1, ~0u, 0);
}

static int put(struct child *c, const void *data, size_t len)
{
	c->bytes += len;
	return io_write_all(c->job->fd, data, len);
}

/* The trace_sink_fn of the head: it has no events. */
static int head_sink(void *ctx, const void *data, size_t len, bool essential)
{
	(void)essential;
	return put(ctx, data, len);
}

static int put_piece(struct child *c, const struct buf *packets)
{
	int r = packets->len > 0 ? flight_block_deflate(packets, &c->piece) : 0;

	return r < 0 || packets->len == 0 ? r : put(c, c->piece.data, c->piece.len);
}

static int put_cut(struct child *c, const void *data, size_t len, unsigned how)
{
	int r = flight_block_inflate(data, len, &c->packets);

	if (r == 0)
		r = flight_cut_block(c->cut, &c->packets, how, &c->cut_packets);
	return r < 0 ? r : put_piece(c, &c->cut_packets);
}

/* With what it leans on in front of it, where that was held back. */
static int put_whole(struct child *c, const void *data, size_t len, bool is_read)
{
	int r = 0;

	if (is_read || flight_cut_is_holding(c->cut)) {
		r = flight_block_inflate(data, len, &c->packets);
		if (r == 0)
			r = flight_cut_pass(c->cut, &c->packets, &c->cut_packets);
		if (r == 0)
			r = put_piece(c, &c->cut_packets);
	}
	return r < 0 ? r : put(c, data, len);
}

/* The trace_sink_fn of the tail. */
static int tail_sink(void *ctx, const void *data, size_t len, bool essential)
{
	struct child *c = ctx;
	bool is_first = c->job->first == c->job->flight->ring.last;

	(void)essential;
	if (is_first || session_oldest(c->session) < c->job->first->begin_ns)
		return put_cut(c, data, len, is_first ? CUT_BUNDLES : 0);
	return put_whole(c, data, len, false);
}

/* ---- segments ---- */

/* What is left of a segment of which stacks were left out: looked at as a whole, for itself. */
static int note_segment(const struct child *c, const struct flight_segment *s,
			struct flight_cut **ret)
{
	struct buf packets = { 0 }, left = { 0 };
	int r = flight_cut_new(c->job->first->begin_ns, c->job->flight->ring.base, ret);

	for (size_t i = 0; r == 0 && i < s->n_blocks; i++) {
		r = flight_block_inflate(s->blocks[i].data, s->blocks[i].len, &packets);
		if (r == 0)
			r = flight_cut_block(*ret, &packets, CUT_NOTES, &left);
	}
	buf_done(&packets);
	buf_done(&left);
	return r;
}

/* What its ids are is told in any block, and so must be known up to the last one that is cut. */
static size_t n_to_read(const struct child *c, const struct flight_segment *s)
{
	size_t n = s->n_blocks;

	if (!s->next) /* the tail follows */
		return n;
	while (n > 0 && s->blocks[n - 1].oldest_ns >= c->job->first->begin_ns)
		n--;
	return n;
}

static int put_segment(struct child *c, const struct flight_segment *s)
{
	const struct flight_segment *first = c->job->first;
	size_t n_read = n_to_read(c, s);
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_blocks; i++) {
		const struct flight_block *b = &s->blocks[i];

		if (s == first || b->oldest_ns < first->begin_ns)
			r = put_cut(c, b->data, b->len, s == first ? CUT_BUNDLES : 0);
		else
			r = put_whole(c, b->data, b->len, i < n_read);
	}
	if (s->next)
		flight_cut_next_segment(c->cut);
	return r;
}

/* Those of its places, `n` from `at` on, that it has still. */
static int note_places(struct child *c, const struct flight_segment *s, size_t at, size_t n)
{
	struct flight_cut *noted = NULL;
	int r = note_segment(c, s, &noted);

	for (size_t i = at; r == 0 && i < at + n; i++)
		c->used[i] = flight_cut_has_place(noted, c->job->places[i]);
	flight_cut_free(noted);
	return r;
}

static int put_segments(struct child *c)
{
	const struct flight_job *job = c->job;
	size_t at = 0;
	int r = 0;

	for (const struct flight_segment *s = job->first; r == 0 && s; s = s->next) {
		size_t n = s->next ? s->n_places : job->n_places - at;
		uint64_t n_stacks = flight_cut_n_stacks(c->cut);

		r = put_segment(c, s);
		memset(c->used + at, 1, n);
		if (r == 0 && flight_cut_n_stacks(c->cut) > n_stacks)
			r = note_places(c, s, at, n);
		at += n;
	}
	return r;
}

/* ---- head ---- */

static void set_number(struct trace_attribute *attr, const char *key, uint64_t value)
{
	*attr = (struct trace_attribute){ .is_number = true, .number = (int64_t)value };
	snprintf(attr->key, sizeof(attr->key), "tracer.snapshot.%s", key);
}

static int put_head(struct child *c)
{
	const struct flight_job *job = c->job;
	struct trace_attribute attrs[8];
	struct trace_writer *w;
	size_t n = 0;
	int r;

	set_number(&attrs[n++], "begin_ns", job->first->begin_ns);
	set_number(&attrs[n++], "end_ns", job->end_ns);
	set_number(&attrs[n++], "asked_ns", job->request->last_ns);
	set_number(&attrs[n++], "ring_bytes", job->flight->ring.size);
	set_number(&attrs[n++], "segments_given_up", job->flight->ring.n_dropped);
	if (job->request->command_line) {
		attrs[n] = (struct trace_attribute){ .key = "tracer.snapshot.command_line" };
		snprintf(attrs[n].string, sizeof(attrs[n].string), "%s",
			 job->request->command_line);
		n++;
	}
	r = session_child_head(c->session, c->mark, attrs, n, head_sink, c, &w);
	if (r == 0)
		r = flight_base_write(job->flight->ring.base, w, job->first->begin_ns);
	return r < 0 ? r : trace_writer_flush(w);
}

/* ---- tail ---- */

static void add_text(struct trace_event *ev, struct trace_arg *args, const char *name,
		     const char *text)
{
	if (text && text[0])
		args[ev->n_args++] =
			(struct trace_arg){ .name = name, .type = ARG_STRING, .s = text };
}

static void add_number(struct trace_event *ev, struct trace_arg *args, const char *name,
		       uint64_t number)
{
	if (number)
		args[ev->n_args++] =
			(struct trace_arg){ .name = name, .type = ARG_UINT, .u = number };
}

static int put_mark(struct trace_writer *w, const struct flight_mark *mark)
{
	const struct trace_track track = {
		.name = "Triggers",
		.description = "What snapshots were waiting for.",
	};
	struct trace_arg args[7];
	struct trace_event ev = {
		.track = trace_track(w, &track),
		.time_ns = mark->time_ns,
		.name = mark->name,
		.category = "trigger",
		.args = args,
	};

	add_text(&ev, args, "what", mark->detail);
	add_text(&ev, args, "for", mark->by);
	add_text(&ev, args, "process", mark->comm);
	add_number(&ev, args, "pid", mark->tgid);
	add_number(&ev, args, "tid", mark->tid);
	add_number(&ev, args, "duration_ns", mark->duration_ns);
	add_number(&ev, args, "missed", mark->n_missed);
	return ev.track ? trace_instant(w, &ev, 0) : -ENOMEM;
}

/* Those of its time. */
static int put_marks(void *ctx, struct trace_writer *w)
{
	const struct child *c = ctx;
	const struct flight_request *request = c->job->request;
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->n_marks; i++)
		if (request->marks[i].time_ns >= c->job->first->begin_ns)
			r = put_mark(w, &request->marks[i]);
	return r;
}

static int put_all(struct child *c)
{
	struct flight_job *job = c->job;
	struct flight *f = job->flight;
	int r;

	/* Now it is one that begins where the snapshot does. */
	while (f->ring.first != job->first)
		flight_ring_drop(&f->ring);
	r = flight_cut_new(job->first->begin_ns, f->ring.base, &c->cut);
	if (r == 0)
		r = put_head(c);
	if (r == 0)
		r = put_segments(c);
	if (r == 0)
		r = session_child_tail(c->session, c->mark, &job->cost,
				       &(struct session_child_sink){
					       .n_cut = flight_cut_counts(c->cut),
					       .more = put_marks,
					       .fn = tail_sink,
					       .ctx = c,
				       });
	return r;
}

void flight_child(struct flight_job *job)
{
	struct child c = {
		.job = job,
		.session = flight_session(job->flight),
		.mark = job->first->mark,
		.used = calloc(job->n_places + 1, 1),
	};
	struct flight_result result = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpriority(PRIO_PROCESS, 0, CHILD_NICE); /* as it was, then */
	session_child_stop(c.session, job->end_ns);
	keep_descriptors(job);
	result.err = c.used ? put_all(&c) : -ENOMEM;
	if (result.err == 0)
		result.err = io_write_all(job->fd, c.used, job->n_places);
	result.bytes = c.bytes;
	(void)io_write_all(job->result_fd, &result, sizeof(result));
	_exit(0);
}
