/* SPDX-License-Identifier: Apache-2.0 */
/* written_trace.c - what a trace writer hands to its sink, kept and read again. */
#include "written_trace.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_file.h"
#include "trace_meta.h"

static int sink(void *ctx, const void *data, size_t len, bool essential)
{
	struct written *w = ctx;

	if (w->fail)
		return w->fail;
	if (w->refuse_all || (w->refuse_bulk && !essential))
		return -EAGAIN;
	w->n_blocks++;
	return buf_append(&w->file, data, len);
}

void written_open(struct written *w)
{
	*w = (struct written){ 0 };
	ck_assert_int_eq(trace_writer_new(sink, w, &w->writer), 0);
	trace_writer_source(w->writer, WRITTEN_SOURCE, boot_ns());
	ck_assert_int_eq(trace_meta_clocks(w->writer), 0);
	ck_assert_int_eq(trace_meta_machine(w->writer), 0);
	ck_assert_int_eq(trace_meta_milestone(w->writer, TRACE_STARTED, boot_ns()), 0);
}

static void forget(struct written *w)
{
	for (size_t i = 0; i < w->n; i++)
		trace_packet__free_unpacked(w->packets[i], NULL);
	free(w->packets);
	w->packets = NULL;
	w->n = 0;
}

void written_done(struct written *w)
{
	forget(w);
	trace_writer_free(w->writer);
	buf_done(&w->file);
}

void written_read(struct written *w)
{
	struct trace_packet_bytes bytes;
	struct trace_file *f;

	forget(w);
	ck_assert_int_eq(trace_writer_flush(w->writer), 0);
	ck_assert_int_eq(trace_file_open_memory(w->file.data, w->file.len, &f), 0);
	while (trace_file_next(f, &bytes) == 1) {
		TracePacket *pkt = trace_packet__unpack(NULL, bytes.len, bytes.data);

		ck_assert_ptr_nonnull(pkt);
		w->packets = realloc(w->packets, (w->n + 1) * sizeof(w->packets[0]));
		ck_assert_ptr_nonnull(w->packets);
		w->packets[w->n++] = pkt;
	}
	trace_file_free(f);
}

void written_assert_account(const struct written *w, uint64_t n_events)
{
	struct trace_writer_stats stats;

	trace_writer_stats(w->writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_skipped + stats.n_dropped, n_events);
}

void written_assert_good(struct written *w)
{
	struct trace_check *c;
	struct trace_file *f;

	ck_assert_int_eq(trace_writer_flush(w->writer), 0);
	ck_assert_int_eq(trace_check_new(&c), 0);
	ck_assert_int_eq(trace_file_open_memory(w->file.data, w->file.len, &f), 0);
	ck_assert_int_eq(trace_check_file(c, f), 0);
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++) {
		const struct check_finding *found = trace_check_finding(c, k);

		ck_assert_msg(found->count == 0, "found %s: %s", check_kinds[k].name,
			      found->n_examples ? found->examples[0].text : "");
	}
	trace_file_free(f);
	trace_check_free(c);
}

const TracePacket *written_packet(const struct written *w, enum trace_sequence seq, size_t i)
{
	for (size_t k = 0; k < w->n; k++)
		if (w->packets[k]->trusted_packet_sequence_id == (uint32_t)seq && i-- == 0)
			return w->packets[k];
	return NULL;
}

size_t written_count(const struct written *w, enum trace_sequence seq)
{
	size_t n = 0;

	for (size_t k = 0; k < w->n; k++)
		n += w->packets[k]->trusted_packet_sequence_id == (uint32_t)seq;
	return n;
}

const TrackDescriptor *written_track(const struct written *w, uint64_t uuid)
{
	for (size_t k = 0; k < w->n; k++) {
		const TrackDescriptor *d = w->packets[k]->track_descriptor;

		if (d && d->uuid == uuid)
			return d;
	}
	return NULL;
}

const TrackDescriptor *written_track_named(const struct written *w, const char *name,
					   uint64_t parent)
{
	for (size_t k = 0; k < w->n; k++) {
		const TrackDescriptor *d = w->packets[k]->track_descriptor;

		if (d && d->name && !strcmp(d->name, name) &&
		    (parent == WRITTEN_ANYWHERE || d->parent_uuid == parent))
			return d;
	}
	return NULL;
}
