/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_interning.c - packet sequences: their incremental state, what they
 * intern, and whether what a packet refers to is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

struct table {
	struct hash *ids; /* iid -> index + 1; NULL until used */
	struct check_list entries;
};

struct check_interned {
	struct table tables[I_TYPES];
};

static const char *const type_names[I_TYPES] = {
	[I_CATEGORY] = "category",
	[I_EVENT_NAME] = "event name",
	[I_ANNOTATION_NAME] = "annotation name",
	[I_SOURCE_LOCATION] = "source location",
	[I_FUNCTION] = "function name",
	[I_FRAME] = "frame",
	[I_CALLSTACK] = "callstack",
	[I_BUILD_ID] = "build id",
	[I_MAPPING_PATH] = "mapping path",
	[I_SOURCE_PATH] = "source path",
	[I_MAPPING] = "mapping",
	[I_LOG_BODY] = "log message body",
	[I_GRAPHICS_CONTEXT] = "graphics context",
	[I_GPU_SPECIFICATION] = "GPU queue or stage",
	[I_KERNEL_SYMBOL] = "kernel symbol",
	[I_ANNOTATION_STRING] = "annotation string",
	[I_PACKET_CONTEXT] = "network packet context",
	[I_CORRELATION_STRING] = "correlation id",
	[I_GPU_COUNTERS] = "GPU counter descriptor",
	[I_TASK] = "task context",
	[I_EXECUTION] = "execution context",
	[I_COUNTER] = "counter descriptor",
	[I_ASYNC_CONTEXT] = "async context",
};

void check_interned_free(struct check_interned *in)
{
	if (!in)
		return;
	for (unsigned t = 0; t < I_TYPES; t++) {
		struct check_entry *e = in->tables[t].entries.items;

		for (size_t i = 0; i < in->tables[t].entries.n; i++)
			free(e[i].text);
		check_list_done(&in->tables[t].entries);
		hash_free(in->tables[t].ids);
	}
	free(in);
}

/* ---- sequences ---- */

static void forget_defaults(struct check_sequence *s)
{
	free(s->source);
	free(s->counter);
	s->source = s->counter = NULL;
	s->has_clock = s->has_track = false;
}

/* They replace the former ones as a whole. */
static void take_defaults(struct trace_check *c, const TracePacketDefaults *d)
{
	struct check_sequence *s = c->seq;
	const StackSampleDefaults *ss = d->stack_sample_defaults;

	forget_defaults(s);
	s->has_clock = d->has_timestamp_clock_id;
	s->clock = d->timestamp_clock_id;
	if (d->track_event_defaults && d->track_event_defaults->has_track_uuid) {
		s->has_track = true;
		s->track = d->track_event_defaults->track_uuid;
	}
	if (ss && ss->source)
		s->source = check_strdup(c, ss->source);
	if (ss && ss->primary_descriptor) {
		s->unit = ss->primary_descriptor->unit;
		if (ss->primary_descriptor->name)
			s->counter = check_strdup(c, ss->primary_descriptor->name);
	}
}

static bool without_sequence(struct trace_check *c)
{
	const TracePacket *p = c->pkt;

	if (!p->sequence_flags && !p->interned_data && !p->trace_packet_defaults)
		return true;
	check_report(c, CHECK_SEQUENCE_ZERO, 0,
		     "packet without a sequence id has flags, interned data or defaults");
	return false;
}

bool check_sequence_packet(struct trace_check *c)
{
	const TracePacket *p = c->pkt;
	struct check_sequence *s = c->seq;

	if (!s)
		return without_sequence(c);
	if (c->flags & FLAG_CLEARED) {
		check_interned_free(s->interned);
		s->interned = NULL;
		forget_defaults(s);
		s->valid = true;
		s->dropped = false;
	} else if (p->previous_packet_dropped && s->valid) {
		s->valid = false;
		s->dropped = true;
	}
	if (p->trace_packet_defaults)
		take_defaults(c, p->trace_packet_defaults);
	if (s->valid)
		return true;

	if (!(c->flags & FLAG_NEEDS) && !p->interned_data && !p->trace_packet_defaults)
		return true;
	if (s->dropped)
		check_report(c, CHECK_DROPPED_BEFORE, 0,
			     "sequence %u goes on after previous_packet_dropped", s->id);
	else
		check_report(c, CHECK_NOT_CLEARED, 0, "sequence %u never started", s->id);
	return !(c->flags & FLAG_NEEDS);
}

/* ---- interned data ---- */

/* A message of InternedData, as far as all of them are alike. */
struct content {
	uint64_t iid, hash;
	bool has_2, has_3;
	uint64_t value_2, value_3;
	const uint8_t *bytes_2;
	size_t len_2;
};

static uint64_t mix_in(uint64_t hash, const struct wire_field *f)
{
	uint64_t head[] = { hash, f->number, f->type, f->value };

	hash = hash_bytes(head, sizeof(head), CONTENT_SEED);
	return f->type == WIRE_BYTES ? hash_bytes(f->data, f->len, hash) : hash;
}

static struct content parse_content(const struct wire_field *msg)
{
	struct content ret = { 0 };
	struct wire_field f;
	struct wire w;

	wire_init(&w, msg->data, msg->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1) {
			ret.iid = f.value;
			continue;
		}
		ret.hash = mix_in(ret.hash, &f);
		if (f.number == 2) {
			ret.has_2 = true;
			ret.value_2 = f.value;
			ret.bytes_2 = f.data;
			ret.len_2 = f.len;
		} else if (f.number == 3) {
			ret.has_3 = true;
			ret.value_3 = f.value;
		}
	}
	return ret;
}

uint64_t check_name_class(unsigned type, const char *name, size_t len)
{
	static const struct {
		unsigned type;
		const char *name;
		uint64_t class;
	} table[] = {
		{ I_CATEGORY, "syscall", ENTRY_COUNTED },
		{ I_CATEGORY, "net", ENTRY_COUNTED },
		{ I_ANNOTATION_NAME, "unfinished", ENTRY_UNFINISHED },
		{ I_ANNOTATION_NAME, "count", ENTRY_COUNT },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].type == type && strlen(table[i].name) == len &&
		    memcmp(table[i].name, name, len) == 0)
			return table[i].class;
	return ENTRY_OTHER;
}

static uint64_t ref_of(struct trace_check *c, unsigned type, const struct content *m)
{
	switch (type) {
	case I_CATEGORY:
	case I_ANNOTATION_NAME:
		return check_name_class(type, (const char *)m->bytes_2, m->len_2);
	case I_MAPPING_PATH:
		return check_stacks_path(c, m->bytes_2, m->len_2);
	case I_BUILD_ID:
		return hash_bytes(m->bytes_2, m->len_2, CONTENT_SEED);
	case I_TASK:
		if (!m->has_2 || !m->has_3)
			return NO_REF;
		return (uint64_t)(uint32_t)m->value_2 << 32 | (uint32_t)m->value_3;
	case I_EXECUTION:
	case I_GRAPHICS_CONTEXT:
		return m->has_2 ? m->value_2 : NO_REF;
	default:
		return NO_REF;
	}
}

static bool keeps_text(unsigned type)
{
	return type == I_COUNTER || type == I_CATEGORY || type == I_EVENT_NAME ||
	       type == I_ANNOTATION_NAME || type == I_ANNOTATION_STRING;
}

static struct table *table_of(struct trace_check *c, unsigned type)
{
	struct check_sequence *s = c->seq;
	struct table *t;

	if (!s->interned)
		s->interned = check_alloc(c, sizeof(*s->interned));
	if (!s->interned)
		return NULL;
	t = &s->interned->tables[type];
	if (!t->ids && hash_new(&t->ids) < 0)
		c->error = -ENOMEM;
	return t->ids ? t : NULL;
}

static struct check_entry *find(const struct table *t, uint64_t iid)
{
	size_t i = t->ids ? (uintptr_t)hash_get_u64(t->ids, iid) : 0;

	return i ? (struct check_entry *)t->entries.items + (i - 1) : NULL;
}

static void add_entry(struct trace_check *c, unsigned type, const struct wire_field *msg)
{
	struct content m = parse_content(msg);
	struct table *t = table_of(c, type);
	struct check_entry *e;

	if (!t)
		return;
	if (m.iid == 0) {
		check_report(c, CHECK_IID_ZERO, c->time_ns, "%s interned with iid 0",
			     type_names[type]);
		return;
	}
	e = find(t, m.iid);
	if (e) {
		if (e->content != m.hash)
			check_report(c, CHECK_IID_REDEFINED, c->time_ns,
				     "%s iid %llu gets another meaning", type_names[type],
				     (unsigned long long)m.iid);
		return;
	}
	e = check_list_add(c, &t->entries, sizeof(*e));
	if (!e)
		return;
	e->content = m.hash;
	e->ref = ref_of(c, type, &m);
	e->unit = type == I_COUNTER ? (int32_t)m.value_3 : 0;
	if (keeps_text(type) && m.has_2) {
		e->text = check_alloc(c, m.len_2 + 1);
		if (e->text && m.len_2)
			memcpy(e->text, m.bytes_2, m.len_2);
	}
	if (hash_set_u64(t->ids, m.iid, (void *)(uintptr_t)t->entries.n) < 0)
		c->error = -ENOMEM;
}

void check_interned_data(struct trace_check *c)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, c->interned_data, c->interned_len);
	while (wire_next(&w, &f) > 0)
		if (f.type == WIRE_BYTES && f.number < I_TYPES && type_names[f.number])
			add_entry(c, f.number, &f);
	check_stacks_interned(c, c->pkt->interned_data);
}

/* ---- references ---- */

struct check_entry *check_entry(const struct check_sequence *seq, unsigned type, uint64_t iid)
{
	return seq && seq->interned ? find(&seq->interned->tables[type], iid) : NULL;
}

struct check_entry *check_ref(struct trace_check *c, unsigned type, uint64_t iid)
{
	struct check_entry *e;

	if (!c->seq) {
		check_report(c, CHECK_SEQUENCE_ZERO, c->time_ns,
			     "packet without a sequence id refers to %s iid %llu", type_names[type],
			     (unsigned long long)iid);
		return NULL;
	}
	c->refers = true;
	if (iid == 0) {
		check_report(c, CHECK_IID_ZERO, c->time_ns, "%s iid 0 used", type_names[type]);
		return NULL;
	}
	e = check_entry(c->seq, type, iid);
	if (!e)
		check_report(c, CHECK_IID_UNKNOWN, c->time_ns,
			     "%s iid %llu used before it was interned", type_names[type],
			     (unsigned long long)iid);
	return e;
}
