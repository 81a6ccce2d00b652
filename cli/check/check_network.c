/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_network.c - requests with their phases, connections, and which part of a request's
 * life the events of its flow are.
 *
 * Slices are written when they are over: so what lies in what is asked at the end, by time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

#define MAX_OPEN   64 /* slices in each other on a track of ours: there are two */
#define MAX_SIZE   (1ull << 50)
#define HIDDEN	   "\u2026"
#define NOT_OURS   SIZE_MAX
#define QUERY_ATTR "tracer.net.query"

enum kind {
	REQUEST,
	EXCHANGE,
	CONNECTION,
	UNIX,
	UDP,
	REQUEST_PHASE,
	EXCHANGE_PHASE,
	CONNECTION_PHASE,
	INSTANT,
	OTHER
};

struct slice {
	uint64_t begin_ns, end_ns, offset;
	uint32_t track;
	uint32_t kind;
	uint32_t order; /* in the file */
	bool is_server, sends, receives;
	size_t first_point, n_points; /* of check_flows_add() */
};

struct lane {
	struct check_list open; /* size_t: index of a slice, or NOT_OURS */
};

enum query { QUERY_ANY, QUERY_HIDE, QUERY_KEYS, QUERY_DROP };

struct check_network {
	struct check_list slices, lanes;
	struct hash *ids; /* uuid of a track -> index of its lane + 1 */
	enum query query;
};

int check_network_new(struct check_network **ret)
{
	struct check_network *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	if (hash_new(&n->ids) < 0) {
		free(n);
		return -ENOMEM;
	}
	*ret = n;
	return 0;
}

void check_network_free(struct check_network *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->lanes.n; i++)
		check_list_done(&((struct lane *)n->lanes.items)[i].open);
	check_list_done(&n->slices);
	check_list_done(&n->lanes);
	hash_free(n->ids);
	free(n);
}

void check_network_attributes(struct trace_check *c, const TraceAttributes *a)
{
	static const char *const names[] = {
		[QUERY_HIDE] = "hide", [QUERY_KEYS] = "keys", [QUERY_DROP] = "drop"
	};

	for (size_t i = 0; i < a->n_attribute; i++) {
		const TraceAttributes__Attribute *at = a->attribute[i];

		for (int q = QUERY_HIDE; q <= QUERY_DROP; q++)
			if (at->key && at->string_value && strcmp(at->key, QUERY_ATTR) == 0 &&
			    strcmp(at->string_value, names[q]) == 0)
				c->network->query = (enum query)q;
	}
}

/* ---- names ---- */

static const char *text_of(const struct trace_check *c, unsigned type, bool has_iid, uint64_t iid,
			   const char *text)
{
	const struct check_entry *e = has_iid ? check_entry(c->seq, type, iid) : NULL;

	if (text)
		return text;
	return e && e->text ? e->text : "";
}

static const char *event_name(const struct trace_check *c, const TrackEvent *e)
{
	return text_of(c, I_EVENT_NAME, e->has_name_iid, e->name_iid, e->name);
}

static const char *category_of(const struct trace_check *c, const TrackEvent *e)
{
	return text_of(c, I_CATEGORY, e->n_category_iids > 0,
		       e->n_category_iids ? e->category_iids[0] : 0,
		       e->n_categories ? e->categories[0] : NULL);
}

static const DebugAnnotation *arg_of(const struct trace_check *c, const TrackEvent *e,
				     const char *name)
{
	for (size_t i = 0; i < e->n_debug_annotations; i++) {
		const DebugAnnotation *a = e->debug_annotations[i];

		if (strcmp(text_of(c, I_ANNOTATION_NAME, a->has_name_iid, a->name_iid, a->name),
			   name) == 0)
			return a;
	}
	return NULL;
}

static const char *text_arg(const struct trace_check *c, const TrackEvent *e, const char *name)
{
	const DebugAnnotation *a = arg_of(c, e, name);

	return a ? text_of(c, I_ANNOTATION_STRING, a->has_string_value_iid, a->string_value_iid,
			   a->string_value)
		 : "";
}

static bool bool_arg(const struct trace_check *c, const TrackEvent *e, const char *name)
{
	const DebugAnnotation *a = arg_of(c, e, name);

	return a && (a->bool_value || a->uint_value || a->int_value);
}

static bool is_server(const struct trace_check *c, const TrackEvent *e)
{
	return strcmp(text_arg(c, e, "side"), "server") == 0;
}

static enum kind kind_of(const char *category, int type)
{
	static const char *const names[] = {
		[REQUEST] = "http",
		[EXCHANGE] = "tls",
		[CONNECTION] = "tcp",
		[UNIX] = "unix",
		[UDP] = "udp",
		[REQUEST_PHASE] = "http.phase",
		[EXCHANGE_PHASE] = "tls.phase",
		[CONNECTION_PHASE] = "tcp.phase",
		[INSTANT] = "net",
	};

	for (int k = 0; k < OTHER; k++)
		if (strcmp(names[k], category) == 0)
			return (k == INSTANT) == (type == TYPE_INSTANT) ? (enum kind)k : OTHER;
	return OTHER;
}

/* ---- what an event says of itself ---- */

static void check_sizes(struct trace_check *c, const TrackEvent *e)
{
	static const char *const sizes[] = { "request_bytes",  "response_bytes",
					     "response_body",  "bytes_sent",
					     "bytes_received", "retransmits",
					     "rtt_us",	       "cwnd" };
	const DebugAnnotation *whole = arg_of(c, e, "response_bytes"),
			      *body = arg_of(c, e, "response_body"), *a;
	uint64_t n;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		a = arg_of(c, e, sizes[i]);
		if (!a)
			continue;
		n = a->has_int_value ? (uint64_t)a->int_value : a->uint_value;
		if (n > MAX_SIZE)
			check_report(c, CHECK_NET_SIZE, c->time_ns, "%s of \"%s\" is %lld",
				     sizes[i], check_text(event_name(c, e)).s, (long long)n);
	}
	if (whole && body && body->uint_value > whole->uint_value && !bool_arg(c, e, "lost"))
		check_report(c, CHECK_NET_SIZE, c->time_ns,
			     "the body of \"%s\" has %llu bytes, all of it %llu",
			     check_text(event_name(c, e)).s, (unsigned long long)body->uint_value,
			     (unsigned long long)whole->uint_value);
}

/* Of "keys": what is behind a '=' is hidden. */
static bool values_hidden(const char *query)
{
	for (const char *s = strchr(query, '='); s; s = strchr(s + 1, '='))
		if (s[1] && s[1] != '&' && s[1] != ' ' &&
		    strncmp(s + 1, HIDDEN, strlen(HIDDEN)) != 0)
			return false;
	return true;
}

/* What is cut has lost its end, and with it nothing that should not be there. */
static bool is_private(const struct trace_check *c, const char *text)
{
	const char *query = strchr(text, '?'), *behind;

	if (!query || c->network->query == QUERY_ANY)
		return true;
	if (c->network->query == QUERY_DROP)
		return false;
	if (c->network->query == QUERY_KEYS)
		return values_hidden(query);
	if (strncmp(query + 1, HIDDEN, strlen(HIDDEN)) != 0)
		return query[1] == '\0';
	behind = query + 1 + strlen(HIDDEN);
	return *behind == '\0' || *behind == ' ';
}

static void check_request(struct trace_check *c, const TrackEvent *e)
{
	const char *texts[] = { event_name(c, e), text_arg(c, e, "url") };

	for (size_t i = 0; i < 2; i++)
		if (!is_private(c, texts[i])) {
			check_report(c, CHECK_NET_QUERY, c->time_ns, "\"%s\"",
				     check_text(texts[i]).s);
			return;
		}
}

static void check_connection(struct trace_check *c, const TrackEvent *e)
{
	static const char *const needed[] = { "remote", "side" };
	/* Who has begun one that was there before us the kernel does not say. */
	size_t n = bool_arg(c, e, "before") ? 1 : 2;

	for (size_t i = 0; i < n; i++)
		if (!text_arg(c, e, needed[i])[0])
			check_report(c, CHECK_NET_CONNECTION, c->time_ns, "\"%s\" without %s",
				     check_text(event_name(c, e)).s, needed[i]);
}

static void check_phase(struct trace_check *c, const TrackEvent *e, enum kind kind)
{
	static const char *const of_requests[] = { "DNS",  "connect", "TLS",	 "queue",
						   "send", "wait",    "receive", NULL };
	static const char *const of_connections[] = { "connect", "TLS", "established", "closing",
						      NULL };
	const char *const *names = kind == CONNECTION_PHASE ? of_connections : of_requests;

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], event_name(c, e)) == 0)
			return;
	check_report(c, CHECK_NET_PHASE, c->time_ns, "phase \"%s\"",
		     check_text(event_name(c, e)).s);
}

/* ---- flows ---- */

/* What comes later in the life of a request has more. */
static uint8_t stage_of(const struct trace_check *c, const TrackEvent *e, enum kind kind)
{
	static const char *const names[] = { "request sent", "request received", "response sent",
					     "response received" };

	if (kind == REQUEST || kind == EXCHANGE)
		return is_server(c, e) ? 1 : 0;
	for (uint8_t i = 0; i < 4; i++)
		if (kind == INSTANT && strcmp(names[i], event_name(c, e)) == 0)
			return i;
	return CHECK_NO_STAGE; /* of a phase it is known when it is known in what it lies */
}

static uint8_t stage_of_phase(const struct slice *phase, const struct slice *around)
{
	if (phase->sends)
		return around->is_server ? 2 : 0;
	if (phase->receives)
		return around->is_server ? 1 : 3;
	return CHECK_NO_STAGE;
}

/* ---- what lies in what ---- */

static struct lane *lane_of(struct trace_check *c, uint64_t uuid, bool make)
{
	struct check_network *n = c->network;
	uintptr_t i = (uintptr_t)hash_get_u64(n->ids, uuid);
	struct lane *lane;

	if (i || !make)
		return i ? (struct lane *)n->lanes.items + (i - 1) : NULL;
	lane = check_list_add(c, &n->lanes, sizeof(*lane));
	if (lane && hash_set_u64(n->ids, uuid, (void *)(uintptr_t)n->lanes.n) < 0)
		c->error = -ENOMEM;
	return lane;
}

static void begin(struct trace_check *c, const TrackEvent *e, enum kind kind)
{
	struct check_network *n = c->network;
	struct lane *lane = lane_of(c, e->track_uuid, kind != OTHER);
	struct slice *s = lane && kind != OTHER ? check_list_add(c, &n->slices, sizeof(*s)) : NULL;
	size_t *open;

	if (s)
		*s = (struct slice){
			.begin_ns = c->time_ns,
			.end_ns = UINT64_MAX,
			.offset = c->offset,
			.track = (uint32_t)(lane - (struct lane *)n->lanes.items),
			.kind = kind,
			.order = (uint32_t)n->slices.n,
			.is_server = is_server(c, e),
			.sends = strcmp(event_name(c, e), "send") == 0,
			.receives = strcmp(event_name(c, e), "receive") == 0,
			.n_points = e->n_flow_ids + e->n_terminating_flow_ids,
		};
	if (s && kind != CONNECTION_PHASE)
		s->first_point = check_flows_add(c, stage_of(c, e, kind));
	if (!lane || lane->open.n == MAX_OPEN)
		return;
	open = check_list_add(c, &lane->open, sizeof(*open));
	if (open)
		*open = s ? n->slices.n - 1 : NOT_OURS;
}

static void end(struct trace_check *c, const TrackEvent *e)
{
	struct lane *lane = lane_of(c, e->track_uuid, false);
	size_t i;

	if (!lane || lane->open.n == 0)
		return;
	i = ((size_t *)lane->open.items)[--lane->open.n];
	if (i != NOT_OURS)
		((struct slice *)c->network->slices.items)[i].end_ns = c->time_ns;
}

static bool is_phase(const struct slice *s)
{
	return s->kind == REQUEST_PHASE || s->kind == EXCHANGE_PHASE || s->kind == CONNECTION_PHASE;
}

/* At one time: what phases lie in, then these, as they are written. */
static int by_track_and_begin(const void *pa, const void *pb)
{
	const struct slice *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (is_phase(a) != is_phase(b))
		return is_phase(a) ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool fits(const struct slice *phase, const struct slice *around)
{
	if (phase->kind == CONNECTION_PHASE)
		return around->kind == CONNECTION || around->kind == UNIX || around->kind == UDP;
	return around->kind == REQUEST || around->kind == EXCHANGE;
}

/* That a phase outlives what it lies in is found where slices nest. */
static void check_place(struct trace_check *c, const struct slice *phase,
			const struct slice *around, const struct slice *before)
{
	if (!around || around->end_ns < phase->begin_ns || !fits(phase, around)) {
		check_report_at(c, CHECK_NET_PHASE, phase->offset, phase->begin_ns,
				"phase at %.6f s lies in no %s", check_seconds(c, phase->begin_ns),
				phase->kind == CONNECTION_PHASE ? "connection" : "request");
		return;
	}
	if (before && before->end_ns > phase->begin_ns)
		check_report_at(c, CHECK_NET_PHASE_OVERLAP, phase->offset, phase->begin_ns,
				"phase at %.6f s begins before the last one ends",
				check_seconds(c, phase->begin_ns));
	if (phase->kind != CONNECTION_PHASE)
		check_flows_stage(c, phase->first_point, phase->n_points,
				  stage_of_phase(phase, around));
}

static void check_phases(struct trace_check *c)
{
	struct check_list *l = &c->network->slices;
	struct slice *s = l->items, *around = NULL, *before = NULL;

	if (l->n)
		qsort(s, l->n, sizeof(*s), by_track_and_begin);
	for (size_t i = 0; i < l->n; i++) {
		if (i && s[i].track != s[i - 1].track)
			around = before = NULL;
		if (!is_phase(&s[i])) {
			around = &s[i];
			before = NULL;
			continue;
		}
		check_place(c, &s[i], around, before);
		before = &s[i];
	}
}

/* ---- for trace_check.c ---- */

void check_network_event(struct trace_check *c)
{
	const TrackEvent *e = c->pkt->track_event;
	enum kind kind;

	if (!c->has_time || !e->has_track_uuid)
		return;
	if (e->type == TYPE_END) {
		end(c, e);
		return;
	}
	if (e->type != TYPE_BEGIN && e->type != TYPE_INSTANT)
		return;
	kind = kind_of(category_of(c, e), e->type);
	if (kind == INSTANT)
		check_flows_add(c, stage_of(c, e, kind));
	else if (kind == OTHER)
		check_flows_add(c, CHECK_NOT_OURS);
	if (e->type != TYPE_BEGIN)
		return;
	begin(c, e, kind);
	if (kind == OTHER)
		return;
	check_sizes(c, e);
	if (kind == REQUEST)
		check_request(c, e);
	else if (kind == CONNECTION)
		check_connection(c, e);
	else if (kind == REQUEST_PHASE || kind == EXCHANGE_PHASE || kind == CONNECTION_PHASE)
		check_phase(c, e, kind);
}

/* Where something was lost, it may have been what a phase lies in, or the other end. */
void check_network_finish(struct trace_check *c)
{
	if (!c->summary.complete || c->summary.n_lost || c->summary.n_dropped)
		return;
	check_phases(c);
	check_flows_finish(c);
}
