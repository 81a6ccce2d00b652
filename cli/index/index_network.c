/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_network.c - requests, connections and names that were looked up, as
 * daemon/net/net_encode.c writes them: slices, by their category, on tracks below one
 * called "Connections" of a process.
 *
 * A slice is over before another one of its track is written, what lies in it first. So
 * what belongs to what is found at the end, by time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

#define CONNECTIONS_TRACK "Connections"
#define CONNECT_FAILED	  "connect failed"
#define ATTRIBUTE_PREFIX  "tracer.net."
#define ATTRIBUTE_SOURCE  "tracer.source.net"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

#define NOT_OURS    UINT32_MAX /* a slice of something else: its END is not ours either */
#define MAX_OPEN    512	       /* slices in each other, as the importer has it */
#define PART_PHASE  100	       /* behind enum trace_net_kind */
#define PART_MARK   101
#define NO_CATEGORY 102

struct track {
	bool is_owner;		/* a process or thread */
	bool is_connections;	/* that of all origins of a process */
	uint32_t pair;		/* of its process, or TRACE_NONE */
	uint32_t origin;	/* string */
	struct index_list open; /* uint32_t: index of a slice, or NOT_OURS */
};

struct slice {
	uint32_t track;
	uint32_t kind; /* enum trace_net_kind, or PART_* */
	uint32_t name;
	uint32_t first_arg, n_args;
	uint32_t item; /* of it, or around it; TRACE_NONE: there is none */
	uint64_t begin_ns, end_ns;
	uint32_t order; /* in the file */
	bool open;	/* its END has not come */
};

struct index_network {
	struct hash *ids;	  /* uuid -> index of the track + 1 */
	struct index_list tracks; /* struct track */
	struct index_list slices; /* struct slice */
	struct index_list items, parts, args;
	struct trace_net_facts facts;
};

int index_network_new(struct trace_index *ix, struct index_network **ret)
{
	struct index_network *n = calloc(1, sizeof(*n));

	(void)ix;
	if (!n)
		return -ENOMEM;
	if (hash_new(&n->ids) < 0) {
		free(n);
		return -ENOMEM;
	}
	n->facts = (struct trace_net_facts){ TRACE_NONE, TRACE_NONE, TRACE_NONE, TRACE_NONE };
	*ret = n;
	return 0;
}

void index_network_free(struct index_network *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->tracks.n; i++)
		free(((struct track *)n->tracks.items)[i].open.items);
	hash_free(n->ids);
	free(n->tracks.items);
	free(n->slices.items);
	free(n->items.items);
	free(n->parts.items);
	free(n->args.items);
	free(n);
}

/* ---- what events lean on ---- */

void index_network_interned(struct trace_index *ix, struct index_sequence *seq,
			    const InternedData *d)
{
	for (size_t i = 0; i < d->n_event_categories; i++)
		index_define(ix, seq, TABLE_CATEGORIES, d->event_categories[i]->iid,
			     index_cstring(ix, d->event_categories[i]->name));
}

void index_network_attributes(struct trace_index *ix, const TraceAttributes *a)
{
	struct trace_net_facts *f = &ix->network->facts;
	const struct {
		const char *key;
		uint32_t *value;
	} known[] = { { ATTRIBUTE_PREFIX "level", &f->level },
		      { ATTRIBUTE_PREFIX "query", &f->query },
		      { ATTRIBUTE_PREFIX "names", &f->names },
		      { ATTRIBUTE_SOURCE, &f->source } };

	for (size_t i = 0; i < a->n_attribute; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (a->attribute[i]->key && a->attribute[i]->string_value &&
			    strcmp(a->attribute[i]->key, known[k].key) == 0)
				*known[k].value = index_cstring(ix, a->attribute[i]->string_value);
}

static struct track *track_of(const struct index_network *n, uint64_t uuid)
{
	uintptr_t i = (uintptr_t)hash_get_u64(n->ids, uuid);

	return i ? (struct track *)n->tracks.items + (i - 1) : NULL;
}

static uint32_t pair_of(struct trace_index *ix, const TrackDescriptor *d)
{
	if (d->process)
		return index_tasks_pair(ix, d->process->pid, d->process->pid);
	return d->thread->has_pid ? index_tasks_pair(ix, d->thread->pid, d->thread->pid)
				  : TRACE_NONE;
}

void index_network_track(struct trace_index *ix, const TrackDescriptor *d)
{
	struct index_network *n = ix->network;
	const struct track *parent = track_of(n, d->parent_uuid);
	struct track t = { .pair = TRACE_NONE, .origin = index_string(ix, "", 0) }, *kept;

	if (!d->has_uuid || d->counter || track_of(n, d->uuid))
		return;
	if (d->process || d->thread) {
		t.is_owner = true;
		t.pair = pair_of(ix, d);
	} else if (parent && d->name) {
		t.pair = parent->pair;
		t.is_connections = parent->is_owner && strcmp(d->name, CONNECTIONS_TRACK) == 0;
		t.origin = parent->is_connections ? index_cstring(ix, d->name) : parent->origin;
	} else {
		return;
	}
	kept = index_add(ix, &n->tracks, sizeof(*kept));
	if (!kept)
		return;
	*kept = t;
	if (pool_budget_take(&ix->budget, ENTRY_BYTES) < 0 ||
	    hash_set_u64(n->ids, d->uuid, (void *)(uintptr_t)n->tracks.n) < 0)
		ix->error = -ENOMEM;
}

/* ---- events ---- */

struct event {
	uint64_t type, uuid;
	uint32_t name, category; /* strings */
};

static struct event read_event(struct trace_index *ix, const struct index_sequence *seq,
			       const uint8_t *data, size_t len)
{
	struct event e = { .name = TRACE_NONE, .category = TRACE_NONE };
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type == WIRE_BYTES && f.number == 22)
			e.category = index_string(ix, f.data, f.len);
		if (f.type == WIRE_BYTES && f.number == 23)
			e.name = index_string(ix, f.data, f.len);
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 3)
			e.category = index_lookup(seq, TABLE_CATEGORIES, f.value);
		else if (f.number == 9)
			e.type = f.value;
		else if (f.number == 10)
			e.name = index_lookup(seq, TABLE_EVENT_NAMES, f.value);
		else if (f.number == 11)
			e.uuid = f.value;
	}
	return e;
}

static uint32_t kind_of(const struct trace_index *ix, const struct event *e)
{
	static const struct {
		const char *category;
		uint32_t kind;
	} kinds[] = { { "http", TRACE_NET_REQUEST }, { "tls", TRACE_NET_TLS },
		      { "dns", TRACE_NET_LOOKUP },   { "tcp", TRACE_NET_CONNECTION },
		      { "unix", TRACE_NET_UNIX },    { "udp", TRACE_NET_UDP },
		      { "http.phase", PART_PHASE },  { "tls.phase", PART_PHASE },
		      { "tcp.phase", PART_PHASE } };
	const char *category = trace_index_string(ix, e->category);
	const char *name = trace_index_string(ix, e->name);
	uint32_t kind = NO_CATEGORY;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(category, kinds[i].category) == 0)
			kind = kinds[i].kind;
	if (e->type == TYPE_INSTANT)
		return kind < PART_PHASE ? PART_MARK : NO_CATEGORY;
	if (kind == TRACE_NET_CONNECTION &&
	    strncmp(name, CONNECT_FAILED, strlen(CONNECT_FAILED)) == 0)
		return TRACE_NET_FAILED;
	return kind;
}

static void take_arg(struct trace_index *ix, const struct index_sequence *seq,
		     const struct wire_field *annotation)
{
	struct trace_net_arg arg = { .name = TRACE_NONE }, *kept;
	bool has_value = false;
	struct wire_field f;
	struct wire w;

	wire_init(&w, annotation->data, annotation->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1 && f.type == WIRE_VARINT) {
			arg.name = index_lookup(seq, TABLE_ARG_NAMES, f.value);
		} else if (f.number == 10 && f.type == WIRE_BYTES) {
			arg.name = index_string(ix, f.data, f.len);
		} else if (f.number == 6 && f.type == WIRE_BYTES) {
			has_value = true;
			arg.kind = TRACE_ARG_TEXT;
			arg.text = index_string(ix, f.data, f.len);
		} else if (f.number == 17 && f.type == WIRE_VARINT) {
			arg.text = index_lookup(seq, TABLE_ARG_TEXTS, f.value);
			has_value = arg.text != TRACE_NONE;
			arg.kind = TRACE_ARG_TEXT;
		} else if (f.type == WIRE_VARINT) {
			has_value = true;
			arg.kind = f.number == 2   ? TRACE_ARG_BOOL
				   : f.number == 4 ? TRACE_ARG_SIGNED
						   : TRACE_ARG_NUMBER;
			arg.number = f.value;
		}
	}
	kept = arg.name != TRACE_NONE && has_value
		       ? index_add(ix, &ix->network->args, sizeof(*kept))
		       : NULL;
	if (kept)
		*kept = arg;
}

static void take_args(struct trace_index *ix, const struct index_sequence *seq, const uint8_t *data,
		      size_t len, struct slice *s)
{
	struct wire_field f;
	struct wire w;

	s->first_arg = (uint32_t)ix->network->args.n;
	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0)
		if (f.number == 4 && f.type == WIRE_BYTES)
			take_arg(ix, seq, &f);
	s->n_args = (uint32_t)ix->network->args.n - s->first_arg;
}

static void begin(struct trace_index *ix, const struct slice *s, struct track *track)
{
	struct index_network *n = ix->network;
	struct slice *kept =
		s->kind != NO_CATEGORY ? index_add(ix, &n->slices, sizeof(*kept)) : NULL;
	uint32_t *open;

	if (kept) {
		*kept = *s;
		kept->order = (uint32_t)n->slices.n;
	}
	if (s->kind == PART_MARK || track->open.n == MAX_OPEN)
		return;
	open = index_add(ix, &track->open, sizeof(*open));
	if (open)
		*open = kept ? (uint32_t)(n->slices.n - 1) : NOT_OURS;
}

static void end(struct trace_index *ix, struct track *track, uint64_t time_ns)
{
	struct index_network *n = ix->network;
	struct slice *s;
	uint32_t i;

	if (track->open.n == 0)
		return;
	i = ((uint32_t *)track->open.items)[--track->open.n];
	if (i == NOT_OURS)
		return;
	s = (struct slice *)n->slices.items + i;
	s->open = false;
	s->end_ns = time_ns > s->begin_ns ? time_ns : s->begin_ns;
}

void index_network_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			 const uint8_t *data, size_t len)
{
	struct event e = read_event(ix, seq, data, len);
	struct track *track = track_of(ix->network, e.uuid);
	struct slice s = { .begin_ns = time_ns, .end_ns = time_ns, .name = e.name };

	if (!track || time_ns == 0)
		return;
	if (e.type == TYPE_END) {
		end(ix, track, time_ns);
		return;
	}
	if (e.type != TYPE_BEGIN && e.type != TYPE_INSTANT)
		return;
	s.kind = kind_of(ix, &e);
	if (s.kind == NO_CATEGORY && e.type == TYPE_INSTANT)
		return;
	s.track = (uint32_t)(track - (struct track *)ix->network->tracks.items);
	s.open = e.type == TYPE_BEGIN;
	if (s.kind != NO_CATEGORY)
		take_args(ix, seq, data, len, &s);
	begin(ix, &s, track);
}

/* ---- at the end ---- */

/* At one time: what is whole, the longest first, then its parts, as they are written. */
static int by_track_and_begin(const void *pa, const void *pb)
{
	const struct slice *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if ((a->kind >= PART_PHASE) != (b->kind >= PART_PHASE))
		return a->kind >= PART_PHASE ? 1 : -1;
	if (a->kind < PART_PHASE && a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct trace_net *a = pa, *b = pb;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return a->first_arg < b->first_arg ? -1 : a->first_arg > b->first_arg;
}

static uint32_t add_item(struct trace_index *ix, const struct slice *s)
{
	const struct track *track = (const struct track *)ix->network->tracks.items + s->track;
	struct trace_net *item = index_add(ix, &ix->network->items, sizeof(*item));
	uint32_t thread = TRACE_NONE;

	if (!item)
		return TRACE_NONE;
	*item = (struct trace_net){
		.kind = (enum trace_net_kind)s->kind,
		.begin_ns = s->begin_ns,
		.end_ns = s->end_ns,
		.name = s->name,
		.origin = track->origin,
		.process = TRACE_NONE,
		.open = s->open,
		.first_arg = s->first_arg,
		.n_args = s->n_args,
	};
	if (track->pair != TRACE_NONE)
		thread = index_tasks_thread(ix, track->pair, s->begin_ns);
	if (thread != TRACE_NONE)
		item->process = trace_index_thread(ix, thread)->process;
	return (uint32_t)(ix->network->items.n - 1);
}

/* What is whole becomes an item, its parts are told whose they are. */
static void find_items(struct trace_index *ix)
{
	struct slice *s = ix->network->slices.items;
	const struct slice *around[MAX_OPEN];
	size_t depth = 0;

	for (size_t i = 0; i < ix->network->slices.n && ix->error == 0; i++) {
		bool is_part = s[i].kind >= PART_PHASE;

		if (i && s[i].track != s[i - 1].track)
			depth = 0;
		while (depth && (around[depth - 1]->end_ns < s[i].begin_ns ||
				 (!is_part && around[depth - 1]->end_ns == s[i].begin_ns)))
			depth--;
		if (is_part) {
			s[i].item = depth ? around[depth - 1]->item : TRACE_NONE;
			continue;
		}
		s[i].item = add_item(ix, &s[i]);
		if (depth < MAX_OPEN)
			around[depth++] = &s[i];
	}
}

static void find_parts(struct trace_index *ix)
{
	struct index_network *n = ix->network;
	const struct slice *s = n->slices.items;
	struct trace_net *items = n->items.items;
	struct trace_net_part *parts;
	uint32_t first = 0;

	for (size_t i = 0; i < n->slices.n; i++)
		if (s[i].kind >= PART_PHASE && s[i].item != TRACE_NONE) {
			items[s[i].item].n_parts++;
			if (!index_add(ix, &n->parts, sizeof(*parts)))
				return;
		}
	for (size_t i = 0; i < n->items.n; i++) {
		items[i].first_part = first;
		first += items[i].n_parts;
		items[i].n_parts = 0;
	}
	parts = n->parts.items;
	for (size_t i = 0; i < n->slices.n; i++) {
		struct trace_net *item;

		if (s[i].kind < PART_PHASE || s[i].item == TRACE_NONE)
			continue;
		item = &items[s[i].item];
		parts[item->first_part + item->n_parts++] = (struct trace_net_part){
			.name = s[i].name,
			.is_mark = s[i].kind == PART_MARK,
			.begin_ns = s[i].begin_ns,
			.end_ns = s[i].end_ns,
			.first_arg = s[i].first_arg,
			.n_args = s[i].n_args,
		};
	}
}

void index_network_finish(struct trace_index *ix)
{
	struct index_network *n = ix->network;
	struct slice *s = n->slices.items;

	for (size_t i = 0; i < n->slices.n; i++)
		if (s[i].open && ix->facts.end_ns > s[i].begin_ns)
			s[i].end_ns = ix->facts.end_ns;
	if (n->slices.n)
		qsort(s, n->slices.n, sizeof(*s), by_track_and_begin);
	find_items(ix);
	if (ix->error == 0)
		find_parts(ix);
	if (n->items.n)
		qsort(n->items.items, n->items.n, sizeof(struct trace_net), by_begin);
}

/* ---- for reports ---- */

int trace_index_want_network(struct trace_index *ix)
{
	return ix->network ? 0 : index_network_new(ix, &ix->network);
}

const struct trace_net *trace_index_network(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->network ? ix->network->items.n : 0;
	return ix->network ? ix->network->items.items : NULL;
}

const struct trace_net_arg *trace_index_net_args(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->network->args.n;
	return ix->network->args.items;
}

const struct trace_net_part *trace_index_net_parts(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->network->parts.n;
	return ix->network->parts.items;
}

const struct trace_net_arg *trace_index_net_arg(const struct trace_index *ix, uint32_t first_arg,
						uint32_t n_args, const char *name)
{
	const struct trace_net_arg *args = ix->network->args.items;

	for (uint32_t i = first_arg; i < first_arg + n_args; i++)
		if (strcmp(trace_index_string(ix, args[i].name), name) == 0)
			return &args[i];
	return NULL;
}

const struct trace_net_facts *trace_index_net_facts(const struct trace_index *ix)
{
	return &ix->network->facts;
}
