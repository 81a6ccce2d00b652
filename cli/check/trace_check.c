/* SPDX-License-Identifier: Apache-2.0 */
/* trace_check.c - takes a trace apart, hands the pieces to the checks, keeps what they find. */
#include "trace_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"
#include "clock.h"
#include "text.h"

/* All lists together: ten times what a busy minute needs. */
#define MAX_HELD (4ull << 30)

#define SERVICE_EVENT_FLUSHED	3
#define SERVICE_EVENT_COMPLETED 4

static void sequence_free(struct check_sequence *s)
{
	check_interned_free(s->interned);
	free(s->source);
	free(s->counter);
	free(s->session_source);
	free(s->session_counter);
	free(s);
}

int trace_check_new(struct trace_check **ret)
{
	struct trace_check *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	if (packet_decoder_new(&c->decoder) < 0 || hash_new(&c->sequences) < 0 ||
	    check_clocks_new(&c->clocks) < 0 || check_stacks_new(&c->stacks) < 0 ||
	    check_samples_new(&c->samples) < 0 || check_tracks_new(&c->tracks) < 0 ||
	    check_sched_new(&c->sched) < 0 || check_lives_new(&c->lives) < 0 ||
	    check_gpu_new(&c->gpu) < 0 || check_network_new(&c->network) < 0 ||
	    check_flows_new(&c->flows) < 0 || check_ledger_new(&c->ledger) < 0) {
		trace_check_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void trace_check_free(struct trace_check *c)
{
	size_t pos = 0;
	void *seq;

	if (!c)
		return;
	while (c->sequences && hash_next(c->sequences, &pos, NULL, NULL, &seq))
		sequence_free(seq);
	hash_free(c->sequences);
	for (size_t k = 0; k < N_CHECK_KINDS; k++)
		for (size_t i = 0; i < c->findings[k].n_examples; i++)
			free(c->findings[k].examples[i].text);
	check_clocks_free(c->clocks);
	check_stacks_free(c->stacks);
	check_samples_free(c->samples);
	check_tracks_free(c->tracks);
	check_sched_free(c->sched);
	check_lives_free(c->lives);
	check_gpu_free(c->gpu);
	check_network_free(c->network);
	check_flows_free(c->flows);
	check_ledger_free(c->ledger);
	packet_decoder_free(c->decoder);
	free(c);
}

/* ---- what the checks stand on ---- */

static void report(struct trace_check *c, enum check_kind kind, uint64_t offset, uint64_t time_ns,
		   const char *fmt, va_list args)
{
	struct check_finding *f = &c->findings[kind];
	struct check_example *ex;

	if (f->count++ == 0)
		c->summary.n_findings++;
	if (f->n_examples == CHECK_EXAMPLES)
		return;
	ex = &f->examples[f->n_examples];
	ex->offset = offset;
	ex->time_ns = time_ns;
	if (vasprintf(&ex->text, fmt, args) < 0) {
		ex->text = NULL;
		c->error = -ENOMEM;
		return;
	}
	f->n_examples++;
}

void check_report(struct trace_check *c, enum check_kind kind, uint64_t time_ns, const char *fmt,
		  ...)
{
	va_list args;

	va_start(args, fmt);
	report(c, kind, c->offset, time_ns, fmt, args);
	va_end(args);
}

void check_report_at(struct trace_check *c, enum check_kind kind, uint64_t offset, uint64_t time_ns,
		     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report(c, kind, offset, time_ns, fmt, args);
	va_end(args);
}

static bool charge(struct trace_check *c, size_t n)
{
	if (n > MAX_HELD - c->n_held) {
		c->error = -E2BIG;
		return false;
	}
	c->n_held += n;
	return true;
}

void *check_list_add(struct trace_check *c, struct check_list *l, size_t item_size)
{
	void *item;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 8;
		void *items;

		if (!charge(c, (cap - l->cap) * item_size))
			return NULL;
		items = realloc(l->items, cap * item_size);
		if (!items) {
			c->error = -ENOMEM;
			return NULL;
		}
		l->items = items;
		l->cap = cap;
	}
	item = (char *)l->items + l->n++ * item_size;
	return memset(item, 0, item_size);
}

void check_list_done(struct check_list *l)
{
	free(l->items);
	*l = (struct check_list){ 0 };
}

void *check_alloc(struct trace_check *c, size_t size)
{
	void *p;

	if (!charge(c, size))
		return NULL;
	p = calloc(1, size);
	if (!p)
		c->error = -ENOMEM;
	return p;
}

char *check_strdup(struct trace_check *c, const char *s)
{
	size_t len = strlen(s);
	char *copy = check_alloc(c, len + 1);

	return copy ? memcpy(copy, s, len) : NULL;
}

struct check_text check_bytes(const void *data, size_t len)
{
	struct check_text t;

	text_printable(t.s, sizeof(t.s), data, len);
	return t;
}

struct check_text check_text(const char *s)
{
	return check_bytes(s, strlen(s));
}

double check_seconds(const struct trace_check *c, uint64_t time_ns)
{
	return ((double)time_ns - (double)c->summary.start_ns) / (double)NS_PER_SEC;
}

/* ---- one packet ---- */

static void on_deviation(void *ctx, enum wire_deviation what, const char *message, uint32_t field)
{
	static const struct {
		enum check_kind kind;
		const char *text;
	} table[] = {
		[WIRE_UNKNOWN_FIELD] = { CHECK_UNKNOWN_FIELD, "unknown field %s.%u" },
		[WIRE_NOT_PACKED] = { CHECK_NOT_PACKED, "%s.%u is not packed" },
		[WIRE_PACKED] = { CHECK_PACKED, "%s.%u is packed" },
		[WIRE_WRONG_TYPE] = { CHECK_WRONG_TYPE, "%s.%u has another wire type" },
		[WIRE_BROKEN] = { CHECK_BROKEN_MESSAGE, "%s does not parse to its end" },
		[WIRE_TOO_DEEP] = { CHECK_BROKEN_MESSAGE, "%s nests too deep" },
	};
	struct trace_check *c = ctx;

	if (what == WIRE_UNKNOWN_FIELD && strcmp(message, "TracingServiceEvent") == 0 &&
	    (field == SERVICE_EVENT_FLUSHED || field == SERVICE_EVENT_COMPLETED)) {
		check_report(c, CHECK_MARKERS, 0, "service event with marker %u", field);
		return;
	}
	check_report(c, table[what].kind, 0, table[what].text, message, field);
}

/* The last one counts, as for the importer. */
static void find_interned_data(struct trace_check *c, const struct trace_packet_bytes *pkt)
{
	struct wire_field f;
	struct wire w;

	c->interned_data = NULL;
	c->interned_len = 0;
	if (!c->pkt->interned_data)
		return;
	wire_init(&w, pkt->data, pkt->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number != 12 || f.type != WIRE_BYTES)
			continue;
		c->interned_data = f.data;
		c->interned_len = f.len;
	}
}

static struct check_sequence *sequence_of(struct trace_check *c)
{
	uint32_t id = c->pkt->trusted_packet_sequence_id;
	struct check_sequence *s;

	if (id == 0)
		return NULL;
	s = hash_get_u64(c->sequences, id);
	if (s)
		return s;
	s = check_alloc(c, sizeof(*s));
	if (!s)
		return NULL;
	s->id = id;
	if (hash_set_u64(c->sequences, id, s) < 0) {
		c->error = -ENOMEM;
		free(s);
		return NULL;
	}
	return s;
}

static void payload(struct trace_check *c)
{
	const TracePacket *p = c->pkt;

	check_clocks_packet(c);
	if (p->track_descriptor)
		check_tracks_descriptor(c);
	if (p->track_event)
		check_tracks_event(c);
	if (p->track_event)
		check_network_event(c);
	if (p->ftrace_events)
		check_sched_bundle(c, p->ftrace_events);
	if (p->ftrace_stats)
		check_sched_stats(c, p->ftrace_stats);
	if (p->process_tree)
		check_lives_tree(c, p->process_tree);
	if (p->stack_sample || p->perf_sample)
		check_samples_packet(c);
	if (p->module_symbols)
		check_stacks_symbols(c, p->module_symbols);
	if (p->trace_attributes)
		check_ledger_attributes(c, p->trace_attributes);
	if (p->trace_attributes)
		check_network_attributes(c, p->trace_attributes);
	if (p->trace_stats)
		check_ledger_stats(c, p->trace_stats);
	check_gpu_packet(c);

	if (c->refers && !(c->flags & FLAG_NEEDS))
		check_report(c, CHECK_NEEDS_MISSING, c->time_ns,
			     "packet of sequence %u refers to interned data or defaults",
			     c->seq->id);
}

int trace_check_packet(struct trace_check *c, const struct trace_packet_bytes *pkt)
{
	bool counts;
	int r;

	c->offset = pkt->offset;
	c->summary.n_packets++;
	r = packet_decode(c->decoder, pkt->data, pkt->len, on_deviation, c, &c->pkt);
	if (r == -E2BIG)
		check_report(c, CHECK_BROKEN_MESSAGE, 0, "packet of %zu bytes unpacks to too much",
			     pkt->len);
	if (r == -ENOMEM)
		c->error = r;
	if (r < 0)
		return c->error;

	c->flags = c->pkt->sequence_flags;
	c->refers = false;
	c->has_time = false;
	c->time_ns = 0;
	find_interned_data(c, pkt);
	c->seq = sequence_of(c);
	if (c->summary.n_packets == 1)
		check_clocks_first_packet(c);
	if (c->error < 0)
		return c->error;

	counts = check_sequence_packet(c);
	check_samples_count(c);
	if (c->pkt->clock_snapshot) {
		check_clocks_snapshot(c);
		return c->error;
	}
	check_clocks_resolve(c);
	if (c->pkt->interned_data && c->seq && c->seq->valid)
		check_interned_data(c);
	if (counts)
		payload(c);
	return c->error;
}

/* ---- the whole file ---- */

void trace_check_fault(struct trace_check *c, const struct trace_file *f)
{
	static const enum check_kind kinds[] = {
		[TRACE_FAULT_GARBAGE] = CHECK_GARBAGE,
		[TRACE_FAULT_PACKET] = CHECK_BROKEN_PACKET,
		[TRACE_FAULT_BLOCK] = CHECK_BROKEN_BLOCK,
		[TRACE_FAULT_TOO_BIG] = CHECK_BLOCK_TOO_BIG,
		[TRACE_FAULT_NESTED] = CHECK_NESTED_BLOCK,
		[TRACE_FAULT_WRAPPER] = CHECK_BLOCK_WRAPPER,
		[TRACE_FAULT_ZSTD] = CHECK_ZSTD,
	};
	const char *text;
	uint64_t offset;
	enum trace_fault what = trace_file_fault(f, &text, &offset);

	check_report_at(c, kinds[what], offset, 0, "%s", text);
}

int trace_check_finish(struct trace_check *c, const struct trace_file_stats *file)
{
	c->summary.n_bytes = file->n_bytes;
	c->summary.cut = file->cut;
	c->summary.cut_offset = file->cut_offset;
	if (file->n_blocks && file->n_zstd_blocks)
		check_report_at(c, CHECK_MIXED_COMPRESSION, UINT64_MAX, 0,
				"%llu blocks of zlib and %llu of zstd",
				(unsigned long long)file->n_blocks,
				(unsigned long long)file->n_zstd_blocks);

	/* The ledger says where knowledge ends; sched and lives serve the samples. */
	check_ledger_finish(c);
	check_sched_finish(c);
	check_lives_sort(c);
	check_lives_finish(c);
	check_samples_finish(c);
	check_stacks_finish(c);
	check_tracks_finish(c);
	check_gpu_finish(c);
	check_network_finish(c);
	check_clocks_finish(c);
	return c->error;
}

int trace_check_file(struct trace_check *c, struct trace_file *f)
{
	struct trace_packet_bytes pkt;
	struct trace_file_stats stats;
	int r;

	while ((r = trace_file_next(f, &pkt)) != 0) {
		if (r == -EBADMSG) {
			trace_check_fault(c, f);
			continue;
		}
		if (r < 0)
			return r;
		r = trace_check_packet(c, &pkt);
		if (r < 0)
			return r;
	}
	trace_file_stats(f, &stats);
	return trace_check_finish(c, &stats);
}

const struct check_finding *trace_check_finding(const struct trace_check *c, enum check_kind kind)
{
	return &c->findings[kind];
}

void trace_check_summary(const struct trace_check *c, struct trace_summary *ret)
{
	*ret = c->summary;
}
