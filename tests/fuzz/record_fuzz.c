/* SPDX-License-Identifier: Apache-2.0 */
/* record_fuzz.c - any bytes as records of a collector, up to the packets. */
#include "record_fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "process/process_table.h"
#include "symbolize/files_worker.h"
#include "symbolize/symbolizer.h"
#include "trace_file.h"
#include "trace_meta.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The symbolizer's worker is this program under another name; it must not fuzz as well. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	if (strcmp((*argv)[0], files_worker_name(FILES_WORKER_SYMBOLS)) == 0)
		_exit(0);
	return 0;
}

static int sink(void *ctx, const void *bytes, size_t len, bool essential)
{
	struct record_fuzz *f = ctx;

	if (f->refuse && !essential) {
		f->has_refused = true;
		return -EAGAIN;
	}
	return f->is_checked ? buf_append(&f->file, bytes, len) : 0;
}

static bool any_valid;

/* A corpus of what records once were would find nothing, for ever. */
static void look_at_corpus(void)
{
	if (!any_valid) {
		fputs("no input holds a valid record: the corpus is not of today\n", stderr);
		_exit(1);
	}
}

static void set_up_once(struct record_fuzz *f)
{
	if (atexit(look_at_corpus) != 0)
		abort();
	if (!f->collector)
		f->collector = collector_by_name(f->name);
	f->env.config = &f->config;
	if (symbolizer_new(&f->env.symbolizer) < 0 ||
	    process_table_new(f->env.symbolizer, &f->env.processes) < 0)
		abort();
	if (f->set_up)
		f->set_up(&f->env);
}

static void write_head(struct trace_writer *w, uint64_t now_ns)
{
	trace_writer_source(w, 1, now_ns);
	if (trace_meta_clocks(w) < 0 || trace_meta_machine(w) < 0 ||
	    trace_meta_milestone(w, TRACE_STARTED, now_ns) < 0)
		abort();
}

void record_fuzz_begin(struct record_fuzz *f)
{
	if (!f->env.processes)
		set_up_once(f);
	f->n_events = 0;
	f->refuse = f->has_refused = false;
	f->file.len = 0;
	f->env.start_ns = f->is_checked ? boot_ns() : RECORD_START_NS;
	if (trace_writer_new(sink, f, &f->env.writer) < 0)
		abort();
	if (f->is_checked)
		write_head(f->env.writer, f->env.start_ns);
	if (f->collector->encoder_new(&f->env, &f->encoder) < 0)
		abort();
}

void record_fuzz_record(struct record_fuzz *f, const void *data, size_t len)
{
	struct event_hdr *ev;

	if (len < sizeof(*ev)) /* the ring hands out none without a head */
		return;
	ev = malloc(len); /* so that a look beyond the end is seen */
	if (!ev)
		return;
	memcpy(ev, data, len);
	if (f->fit && len >= f->fit_from && ev->cgroup_id & 1) {
		ev->size = (uint16_t)len;
		ev->stream = 0;
		f->fit(ev, len);
	}
	if (f->collector->valid(ev, len)) {
		any_valid = true;
		if (f->tame)
			f->tame(ev);
		trace_writer_source(f->env.writer, 0, ev->time_ns);
		if (f->collector->encode(f->encoder, ev) < 0)
			abort();
		f->n_events += ev->type != f->unfinished;
	}
	free(ev);
}

void record_fuzz_flush(struct record_fuzz *f, uint64_t now_ns, bool final)
{
	if (f->collector->flush && f->collector->flush(f->encoder, now_ns, final) < 0)
		abort();
}

void record_fuzz_block(struct record_fuzz *f, bool refuse)
{
	f->refuse = refuse;
	if (trace_writer_flush(f->env.writer) < 0)
		abort();
}

static void must_be_none(enum check_kind kind, const struct check_finding *finding)
{
	if (finding->count == 0)
		return;
	fprintf(stderr, "%s: %s\n", check_kinds[kind].name,
		finding->n_examples ? finding->examples[0].text : "no example");
	abort();
}

static void check_trace(const struct record_fuzz *f)
{
	struct trace_check *c;
	struct trace_file *file;

	if (trace_check_new(&c) < 0 || trace_file_open_memory(f->file.data, f->file.len, &file) < 0)
		abort();
	if (trace_check_file(c, file) < 0)
		abort();
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++)
		if (!f->unchecked[k])
			must_be_none(k, trace_check_finding(c, k));
	trace_file_free(file);
	trace_check_free(c);
}

uint64_t record_fuzz_end(struct record_fuzz *f, uint64_t now_ns)
{
	struct trace_writer_stats stats;

	trace_writer_source(f->env.writer, 0, now_ns);
	record_fuzz_flush(f, now_ns, true);
	record_fuzz_block(f, f->refuse);
	trace_writer_stats(f->env.writer, 0, &stats);
	if (stats.n_written + stats.n_skipped + stats.n_dropped != f->n_events ||
	    (stats.n_dropped && !f->has_refused))
		abort();
	if (f->is_checked)
		check_trace(f);
	f->collector->encoder_free(f->encoder);
	trace_writer_free(f->env.writer);
	return stats.n_skipped;
}

int record_fuzz_run(struct record_fuzz *f, const uint8_t *data, size_t size)
{
	record_fuzz_begin(f);
	while (size >= 2 + sizeof(struct event_hdr)) {
		size_t len = data[0] | (size_t)data[1] << 8;

		if (len > size - 2)
			len = size - 2;
		if (len < sizeof(struct event_hdr))
			len = sizeof(struct event_hdr);
		record_fuzz_record(f, data + 2, len);
		data += 2 + len;
		size -= 2 + len;
	}
	record_fuzz_end(f, f->is_checked ? f->env.start_ns + NS_PER_SEC : 0);
	return 0;
}
