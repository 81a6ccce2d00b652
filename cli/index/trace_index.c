/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_index.c - takes a trace apart, hands the pieces to the tables.
 *
 * Most packets are read on the wire, without unpacking: of a large trace nearly
 * all are samples, or events that are none of our business.
 */
#include "trace_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

#define MAX_STRING 4096 /* bytes; names of ours have at most 1024 */

int trace_index_new(struct trace_index **ret)
{
	struct trace_index *ix = calloc(1, sizeof(*ix));
	int r;

	if (!ix)
		return -ENOMEM;
	ix->budget.max = TRACE_INDEX_MAX_BYTES;
	ix->facts.host = ix->facts.release = ix->facts.machine = TRACE_NONE;
	r = packet_decoder_new(&ix->decoder);
	if (r == 0)
		r = pool_new(&ix->budget, &ix->strings);
	if (r == 0)
		r = hash_new(&ix->sequences);
	if (r == 0)
		r = index_clocks_new(&ix->clocks);
	if (r == 0)
		r = index_stacks_new(ix, &ix->stacks);
	if (r == 0)
		r = index_tasks_new(ix, &ix->tasks);
	if (r == 0)
		r = index_samples_new(ix, &ix->samples);
	if (r < 0) {
		trace_index_free(ix);
		return r;
	}
	*ret = ix;
	return 0;
}

void trace_index_free(struct trace_index *ix)
{
	if (!ix)
		return;
	index_sequences_free(ix->sequences);
	index_slices_free(ix->slices);
	index_network_free(ix->network);
	index_gpu_free(ix->gpu);
	index_waits_free(ix->waits);
	index_samples_free(ix->samples);
	index_tasks_free(ix->tasks);
	index_stacks_free(ix->stacks);
	index_clocks_free(ix->clocks);
	free(ix->losses.items);
	pool_free(ix->strings);
	packet_decoder_free(ix->decoder);
	free(ix);
}

void trace_index_limit(struct trace_index *ix, size_t max_bytes)
{
	ix->budget.max = max_bytes;
}

const struct trace_facts *trace_index_facts(const struct trace_index *ix)
{
	return &ix->facts;
}

const char *trace_index_string(const struct trace_index *ix, uint32_t i)
{
	return i == TRACE_NONE ? "" : pool_get(ix->strings, i, NULL);
}

size_t trace_index_n_strings(const struct trace_index *ix)
{
	return pool_count(ix->strings);
}

/* ---- what the tables stand on ---- */

void *index_add(struct trace_index *ix, struct index_list *l, size_t item_size)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		int r = pool_budget_take(&ix->budget, (cap - l->cap) * item_size);
		void *items = r == 0 ? realloc(l->items, cap * item_size) : NULL;

		if (!items) {
			ix->error = r < 0 ? r : -ENOMEM;
			return NULL;
		}
		l->items = items;
		l->cap = cap;
	}
	return memset((char *)l->items + l->n++ * item_size, 0, item_size);
}

uint32_t index_pool_add(struct trace_index *ix, struct pool *p, const void *data, size_t len)
{
	uint32_t i;
	int r = pool_add(p, data, len, &i);

	if (r < 0) {
		ix->error = r;
		return TRACE_NONE;
	}
	return i;
}

/* A name ends at its first NUL: a reader of C strings sees no more of it. */
uint32_t index_string(struct trace_index *ix, const void *data, size_t len)
{
	if (len > MAX_STRING)
		len = MAX_STRING;
	if (len)
		len = strnlen(data, len);
	return index_pool_add(ix, ix->strings, data, len);
}

uint32_t index_cstring(struct trace_index *ix, const char *s)
{
	return s ? index_string(ix, s, strlen(s)) : TRACE_NONE;
}

/* ---- a packet on the wire ---- */

struct bytes {
	const uint8_t *data; /* NULL: the packet has no such field */
	size_t len;
};

struct packet {
	uint64_t timestamp;
	uint32_t sequence, flags, clock;
	bool has_time, has_clock, dropped;
	bool unpack; /* it has something that packet_decode() shall show */
	struct bytes interned, stack_sample, perf_sample, ftrace, track_event, gpu_stage;
};

static bool wants_events(const struct trace_index *ix)
{
	return ix->waits || ix->gpu || ix->network || ix->slices;
}

/* Does it define anything that stacks or samples lean on, or with `events` also these? */
static bool defines(const struct bytes *interned, bool events)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, interned->data, interned->len);
	while (wire_next(&w, &f) > 0) {
		switch (f.number) {
		case 1:	 /* categories */
		case 2:	 /* event names */
		case 3:	 /* names of arguments */
		case 29: /* texts of arguments */
			if (events)
				return true;
			break;
		case 5:	 /* function names */
		case 6:	 /* frames */
		case 7:	 /* callstacks */
		case 16: /* build ids */
		case 17: /* paths of mappings */
		case 18: /* of sources */
		case 19: /* mappings */
		case 23: /* GPU contexts */
		case 24: /* GPU queues */
		case 48: /* tasks */
		case 49: /* execution contexts */
		case 50: /* counters */
			return true;
		}
	}
	return false;
}

static void take_bytes(struct packet *p, const struct wire_field *f)
{
	struct bytes b = { f->data, f->len };

	switch (f->number) {
	case 1:
		p->ftrace = b;
		break;
	case 11:
		p->track_event = b;
		break;
	case 12:
		p->interned = b;
		break;
	case 53:
		p->gpu_stage = b;
		break;
	case 66:
		p->perf_sample = b;
		break;
	case 135:
		p->stack_sample = b;
		break;
	case 2:	  /* ProcessTree */
	case 6:	  /* ClockSnapshot */
	case 45:  /* SystemInfo */
	case 59:  /* TracePacketDefaults */
	case 60:  /* TrackDescriptor */
	case 61:  /* ModuleSymbols */
	case 67:  /* CpuInfo */
	case 69:  /* TracingServiceEvent */
	case 126: /* TraceAttributes */
	case 128: /* GpuInfo */
		p->unpack = true;
		break;
	}
}

static void take_number(struct packet *p, const struct wire_field *f)
{
	switch (f->number) {
	case 8:
		p->has_time = true;
		p->timestamp = f->value;
		break;
	case 10:
		p->sequence = (uint32_t)f->value;
		break;
	case 13:
		p->flags = (uint32_t)f->value;
		break;
	case 42:
		p->dropped = f->value != 0;
		break;
	case 58:
		p->has_clock = true;
		p->clock = (uint32_t)f->value;
		break;
	}
}

static void parse(const struct trace_packet_bytes *bytes, bool events, struct packet *ret)
{
	struct wire_field f;
	struct wire w;

	*ret = (struct packet){ 0 };
	wire_init(&w, bytes->data, bytes->len);
	while (wire_next(&w, &f) > 0) {
		if (f.type == WIRE_BYTES)
			take_bytes(ret, &f);
		else if (f.type == WIRE_VARINT)
			take_number(ret, &f);
	}
	if (ret->interned.data && defines(&ret->interned, events))
		ret->unpack = true;
}

/* ---- one packet ---- */

static uint64_t time_of(const struct trace_index *ix, const struct packet *p,
			const struct index_sequence *seq)
{
	uint32_t clock = CLOCK_ID_BOOTTIME;

	if (!p->has_time)
		return 0;
	if (p->has_clock)
		clock = p->clock;
	else if (seq && seq->has_clock)
		clock = seq->clock;
	return index_clocks_time(ix, clock, p->timestamp);
}

static void take_defaults(struct trace_index *ix, struct index_sequence *seq,
			  const TracePacketDefaults *d)
{
	seq->has_clock = d->has_timestamp_clock_id;
	seq->clock = d->timestamp_clock_id;
	seq->track = d->track_event_defaults ? d->track_event_defaults->track_uuid : 0;
	index_samples_defaults(ix, seq, d);
}

static void take_track(struct trace_index *ix, const TrackDescriptor *d)
{
	index_tasks_track(ix, d);
	if (ix->waits)
		index_waits_track(ix, d);
	if (ix->gpu)
		index_gpu_track(ix, d);
	if (ix->network)
		index_network_track(ix, d);
	if (ix->slices)
		index_slices_track(ix, d);
}

static void unpacked(struct trace_index *ix, struct index_sequence *seq, const struct packet *p,
		     const TracePacket *pkt)
{
	uint64_t time_ns;

	if (pkt->clock_snapshot) {
		index_clocks_snapshot(ix, pkt->clock_snapshot);
		return;
	}
	if (seq && pkt->trace_packet_defaults)
		take_defaults(ix, seq, pkt->trace_packet_defaults);
	if (seq && seq->valid && pkt->interned_data) {
		index_stacks_interned(ix, seq, pkt->interned_data);
		index_samples_interned(ix, seq, pkt->interned_data);
		if (wants_events(ix))
			index_event_names(ix, seq, pkt->interned_data);
		if (ix->gpu || ix->slices)
			index_gpu_interned(ix, seq, pkt->interned_data);
		if (ix->network)
			index_network_interned(ix, seq, pkt->interned_data);
	}
	time_ns = time_of(ix, p, seq);
	if (pkt->process_tree)
		index_tasks_tree(ix, time_ns, pkt->process_tree);
	if (pkt->track_descriptor)
		take_track(ix, pkt->track_descriptor);
	if (ix->network && pkt->trace_attributes)
		index_network_attributes(ix, pkt->trace_attributes);
	if (ix->gpu && pkt->gpu_info)
		index_gpu_info(ix, pkt->gpu_info);
	if (pkt->module_symbols)
		index_stacks_symbols(ix, pkt->module_symbols);
	if (pkt->system_info)
		index_facts_system(ix, pkt->system_info);
	if (pkt->cpu_info && !ix->facts.n_cpus)
		ix->facts.n_cpus = (uint32_t)pkt->cpu_info->n_cpus;
	if (pkt->service_event)
		index_facts_service(ix, time_ns, pkt->service_event);
	if (pkt->trace_attributes)
		index_facts_attributes(ix, pkt->trace_attributes);
}

static void take_event(struct trace_index *ix, const struct index_sequence *seq,
		       const struct packet *p, uint64_t time_ns)
{
	const struct bytes *event = &p->track_event, *stage = &p->gpu_stage;

	if (ix->waits && event->data)
		index_waits_event(ix, seq, time_ns, event->data, event->len);
	if (ix->gpu && event->data)
		index_gpu_event(ix, seq, time_ns, event->data, event->len);
	if (ix->network && event->data)
		index_network_event(ix, seq, time_ns, event->data, event->len);
	if (ix->slices && event->data)
		index_slices_event(ix, seq, time_ns, event->data, event->len);
	if (ix->gpu && stage->data)
		index_gpu_stage(ix, seq, time_ns, stage->data, stage->len);
	if (ix->slices && stage->data)
		index_slices_stage(ix, seq, time_ns, stage->data, stage->len);
}

static int take_packet(struct trace_index *ix, const struct trace_packet_bytes *bytes)
{
	struct index_sequence *seq;
	const TracePacket *pkt;
	struct packet p;
	int r;

	ix->facts.n_packets++;
	parse(bytes, wants_events(ix), &p);
	seq = index_sequence_of(ix, p.sequence);
	if (seq && !index_sequence_follow(seq, p.flags, p.dropped)) {
		ix->facts.n_skipped++;
		return ix->error;
	}
	if (p.unpack) {
		r = packet_decode(ix->decoder, bytes->data, bytes->len, NULL, NULL, &pkt);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			ix->facts.n_faults++;
		else
			unpacked(ix, seq, &p, pkt);
	}
	if (p.ftrace.data)
		index_tasks_bundle(ix, p.ftrace.data, p.ftrace.len);
	if (p.stack_sample.data)
		index_samples_stack(ix, seq, time_of(ix, &p, seq), p.stack_sample.data,
				    p.stack_sample.len);
	if (seq && (p.track_event.data || p.gpu_stage.data))
		take_event(ix, seq, &p, time_of(ix, &p, seq));
	if (p.perf_sample.data)
		index_samples_perf(ix, seq, time_of(ix, &p, seq), p.perf_sample.data,
				   p.perf_sample.len);
	return ix->error;
}

/* ---- the whole file ---- */

int trace_index_read(struct trace_index *ix, struct trace_file *f)
{
	struct trace_packet_bytes pkt;
	struct trace_file_stats stats;
	int r;

	while ((r = trace_file_next(f, &pkt)) != 0) {
		if (r == -EBADMSG) {
			ix->facts.n_faults++;
			continue;
		}
		if (r > 0)
			r = take_packet(ix, &pkt);
		if (r < 0)
			return r;
	}
	trace_file_stats(f, &stats);
	ix->facts.n_bytes = stats.n_bytes;
	ix->facts.cut = stats.cut;
	ix->facts.n_zstd = stats.n_zstd_blocks;
	index_stacks_finish(ix);
	index_tasks_sort(ix);
	index_samples_finish(ix);
	if (ix->waits)
		index_waits_finish(ix);
	if (ix->gpu)
		index_gpu_finish(ix);
	index_facts_finish(ix);
	if (ix->network)
		index_network_finish(ix);
	if (ix->slices)
		index_slices_finish(ix);
	return ix->error;
}
