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

#define FLAG_CLEARED 1
#define FLAG_NEEDS   2

#define MAX_STRING 4096 /* bytes; names of ours have at most 1024 */
#define MAX_LOSSES 64	/* sources of a ledger: there are fewer than ten */

#define PREFIX "ledger."

static void sequence_free(struct index_sequence *seq)
{
	for (int i = 0; i < N_TABLES; i++) {
		free(seq->tables[i].dense.items);
		hash_free(seq->tables[i].others);
	}
	free(seq);
}

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
	size_t pos = 0;
	void *seq;

	if (!ix)
		return;
	while (ix->sequences && hash_next(ix->sequences, &pos, NULL, NULL, &seq))
		sequence_free(seq);
	hash_free(ix->sequences);
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

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

/* An iid this far beyond those before it is not counted up. */
#define DENSE_GAP 64

static int define_other(struct trace_index *ix, struct index_ids *ids, uint64_t iid,
			uint32_t number)
{
	int r = ids->others ? 0 : hash_new(&ids->others);

	if (r < 0 || hash_get_u64(ids->others, iid))
		return r;
	r = pool_budget_take(&ix->budget, ENTRY_BYTES);
	return r < 0 ? r : hash_set_u64(ids->others, iid, (void *)((uintptr_t)number + 1));
}

void index_define(struct trace_index *ix, struct index_sequence *seq, enum index_table table,
		  uint64_t iid, uint32_t number)
{
	struct index_ids *ids = &seq->tables[table];
	uint32_t *entry;
	int r;

	if (number == TRACE_NONE || iid == 0)
		return;
	if (iid >= ids->dense.n + DENSE_GAP) {
		r = define_other(ix, ids, iid, number);
		if (r < 0)
			ix->error = r;
		return;
	}
	while (iid >= ids->dense.n)
		if (!index_add(ix, &ids->dense, sizeof(uint32_t)))
			return;
	entry = (uint32_t *)ids->dense.items + iid;
	if (*entry == 0 && !(ids->others && hash_get_u64(ids->others, iid)))
		*entry = number + 1;
}

uint32_t index_lookup(const struct index_sequence *seq, enum index_table table, uint64_t iid)
{
	const struct index_ids *ids = &seq->tables[table];
	uintptr_t v = 0;

	if (iid < ids->dense.n)
		v = ((const uint32_t *)ids->dense.items)[iid];
	if (v == 0 && ids->others)
		v = (uintptr_t)hash_get_u64(ids->others, iid);
	return v ? (uint32_t)(v - 1) : TRACE_NONE;
}

static void forget_ids(struct index_ids *ids)
{
	ids->dense.n = 0;
	if (ids->others)
		hash_clear(ids->others);
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
	struct bytes interned, stack_sample, perf_sample, ftrace, track_event;
};

/* Does it define anything that stacks or samples lean on, or with `events` also these? */
static bool defines(const struct bytes *interned, bool events)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, interned->data, interned->len);
	while (wire_next(&w, &f) > 0) {
		switch (f.number) {
		case 2: /* event names */
		case 3: /* names of arguments */
			if (events)
				return true;
			break;
		case 5:	 /* function names */
		case 6:	 /* frames */
		case 7:	 /* callstacks */
		case 16: /* build ids */
		case 17: /* paths of mappings */
		case 19: /* mappings */
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

/* ---- sequences ---- */

static struct index_sequence *sequence_of(struct trace_index *ix, uint32_t id)
{
	struct index_sequence *seq;
	int r;

	if (id == 0)
		return NULL;
	seq = hash_get_u64(ix->sequences, id);
	if (seq)
		return seq;
	r = pool_budget_take(&ix->budget, sizeof(*seq) + ENTRY_BYTES);
	seq = r == 0 ? calloc(1, sizeof(*seq)) : NULL;
	if (!seq || hash_set_u64(ix->sequences, id, seq) < 0) {
		ix->error = r < 0 ? r : -ENOMEM;
		free(seq);
		return NULL;
	}
	seq->id = id;
	seq->source = seq->counter = TRACE_NONE;
	return seq;
}

/* False: the packet leans on what was lost, or has never been said. */
static bool follow_sequence(struct index_sequence *seq, const struct packet *p)
{
	if (p->flags & FLAG_CLEARED) {
		for (int i = 0; i < N_TABLES; i++)
			forget_ids(&seq->tables[i]);
		seq->source = seq->counter = TRACE_NONE;
		seq->has_clock = false;
		seq->last_source = 0;
		seq->valid = true;
	} else if (p->dropped) {
		seq->valid = false;
	}
	return seq->valid || !(p->flags & FLAG_NEEDS);
}

/* ---- facts ---- */

static void system_info(struct trace_index *ix, const SystemInfo *info)
{
	struct trace_facts *f = &ix->facts;

	f->host = index_cstring(ix, info->machine_name);
	if (info->num_cpus)
		f->n_cpus = info->num_cpus;
	if (info->utsname) {
		f->release = index_cstring(ix, info->utsname->release);
		f->machine = index_cstring(ix, info->utsname->machine);
	}
}

static void service_event(struct trace_index *ix, uint64_t time_ns, const TracingServiceEvent *e)
{
	if (e->tracing_started && time_ns && !ix->has_start) {
		ix->has_start = true;
		ix->facts.start_ns = time_ns;
	}
	if (e->tracing_disabled) {
		ix->facts.complete = true;
		if (time_ns > ix->facts.end_ns)
			ix->facts.end_ns = time_ns;
	}
}

static struct trace_loss *loss_of(struct trace_index *ix, const char *name, size_t len)
{
	uint32_t source = index_string(ix, name, len);
	struct trace_loss *l = ix->losses.items;

	for (size_t i = 0; i < ix->losses.n; i++)
		if (l[i].source == source)
			return &l[i];
	if (ix->losses.n == MAX_LOSSES || source == TRACE_NONE)
		return NULL;
	l = index_add(ix, &ix->losses, sizeof(*l));
	if (l)
		l->source = source;
	return l;
}

/* "ledger.sched.lost" */
static void attribute(struct trace_index *ix, const char *key, uint64_t value)
{
	const char *name = key + strlen(PREFIX), *dot = strrchr(name, '.');
	struct trace_loss *l = dot ? loss_of(ix, name, (size_t)(dot - name)) : NULL;

	if (!l)
		return;
	if (strcmp(dot, ".produced") == 0)
		l->n_produced = value;
	else if (strcmp(dot, ".lost") == 0 || strcmp(dot, ".malformed") == 0)
		l->n_lost += value;
	else if (strcmp(dot, ".dropped") == 0)
		l->n_dropped = value;
}

/* The last account counts: it replaces the one before. */
static void attributes(struct trace_index *ix, const TraceAttributes *a)
{
	bool fresh = true;

	for (size_t i = 0; i < a->n_attribute; i++) {
		const TraceAttributes__Attribute *at = a->attribute[i];

		if (!at->key || !at->has_long_value ||
		    strncmp(at->key, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (fresh)
			ix->losses.n = 0;
		fresh = false;
		attribute(ix, at->key, (uint64_t)at->long_value);
	}
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
	index_samples_defaults(ix, seq, d);
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
		if (ix->waits)
			index_waits_interned(ix, seq, pkt->interned_data);
	}
	time_ns = time_of(ix, p, seq);
	if (pkt->process_tree)
		index_tasks_tree(ix, time_ns, pkt->process_tree);
	if (pkt->track_descriptor)
		index_tasks_track(ix, pkt->track_descriptor);
	if (ix->waits && pkt->track_descriptor)
		index_waits_track(ix, pkt->track_descriptor);
	if (pkt->module_symbols)
		index_stacks_symbols(ix, pkt->module_symbols);
	if (pkt->system_info)
		system_info(ix, pkt->system_info);
	if (pkt->cpu_info && !ix->facts.n_cpus)
		ix->facts.n_cpus = (uint32_t)pkt->cpu_info->n_cpus;
	if (pkt->service_event)
		service_event(ix, time_ns, pkt->service_event);
	if (pkt->trace_attributes)
		attributes(ix, pkt->trace_attributes);
}

static int take_packet(struct trace_index *ix, const struct trace_packet_bytes *bytes)
{
	struct index_sequence *seq;
	const TracePacket *pkt;
	struct packet p;
	int r;

	ix->facts.n_packets++;
	parse(bytes, ix->waits != NULL, &p);
	seq = sequence_of(ix, p.sequence);
	if (seq && !follow_sequence(seq, &p)) {
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
	if (ix->waits && seq && p.track_event.data)
		index_waits_event(ix, seq, time_of(ix, &p, seq), p.track_event.data,
				  p.track_event.len);
	if (p.perf_sample.data)
		index_samples_perf(ix, seq, time_of(ix, &p, seq), p.perf_sample.data,
				   p.perf_sample.len);
	return ix->error;
}

/* ---- the whole file ---- */

static void finish_range(struct trace_index *ix)
{
	struct trace_facts *f = &ix->facts;
	uint64_t first, last, sample_first = UINT64_MAX;
	size_t n;
	const struct trace_sample *s = trace_index_samples(ix, &n);

	index_clocks_range(ix, &first, &last);
	if (last > f->end_ns)
		f->end_ns = last;
	for (size_t i = 0; i < n; i++) {
		if (s[i].time_ns == 0)
			continue;
		if (s[i].time_ns > f->end_ns)
			f->end_ns = s[i].time_ns;
		if (s[i].time_ns < sample_first)
			sample_first = s[i].time_ns;
	}
	if (!ix->has_start)
		f->start_ns = first ? first : sample_first;
	if (f->start_ns > f->end_ns)
		f->start_ns = f->end_ns;
}

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
	index_stacks_finish(ix);
	index_tasks_sort(ix);
	index_samples_finish(ix);
	if (ix->waits)
		index_waits_finish(ix);
	finish_range(ix);
	ix->facts.losses = ix->losses.items;
	ix->facts.n_losses = ix->losses.n;
	return ix->error;
}
