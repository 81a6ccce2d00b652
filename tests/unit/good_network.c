/* SPDX-License-Identifier: Apache-2.0 */
/* good_network.c - a good_trace with a network. */
#include "good_network.h"

#include <check.h>
#include <string.h>

enum { SEQ_META = 1, SEQ_EVENTS = 2, SEQ_TRACKS = 8 };
enum { CATEGORY = 1, EVENT_NAME, ARG_NAME };
enum { FIRST_UUID = 1000, FIRST_IID = 100, MAX_ARGS = 24 };

/* A message of `type` in the trace's memory. */
#define NEW(n, type, init)                                           \
	({                                                           \
		type *new_ = good_trace_alloc((n)->t, sizeof(type)); \
		init(new_);                                          \
		new_;                                                \
	})
#define SET(msg, field, value) ((msg)->has_##field = 1, (msg)->field = (value))

static TracePacket *add(struct good_network *n, uint32_t seq, uint64_t time_ns)
{
	TracePacket *pkt = NEW(n, TracePacket, trace_packet__init);

	SET(pkt, trusted_packet_sequence_id, seq);
	SET(pkt, sequence_flags, 2);
	if (time_ns)
		SET(pkt, timestamp, time_ns);
	good_trace_insert(n->t, pkt, n->last);
	return pkt;
}

/* ---- names ---- */

static void define(struct good_network *n, TracePacket *pkt, int kind, uint64_t iid,
		   const char *name)
{
	InternedData *d = pkt->interned_data;
	EventCategory *category;
	EventName *event;
	DebugAnnotationName *arg;

	if (!d) {
		d = pkt->interned_data = NEW(n, InternedData, interned_data__init);
		d->event_categories = good_trace_alloc(n->t, sizeof(void *));
		d->event_names = good_trace_alloc(n->t, sizeof(void *));
		d->debug_annotation_names = good_trace_alloc(n->t, MAX_ARGS * sizeof(void *));
	}
	if (kind == CATEGORY) {
		category = NEW(n, EventCategory, event_category__init);
		SET(category, iid, iid);
		category->name = (char *)name;
		d->event_categories[d->n_event_categories++] = category;
	} else if (kind == EVENT_NAME) {
		event = NEW(n, EventName, event_name__init);
		SET(event, iid, iid);
		event->name = (char *)name;
		d->event_names[d->n_event_names++] = event;
	} else {
		arg = NEW(n, DebugAnnotationName, debug_annotation_name__init);
		SET(arg, iid, iid);
		arg->name = (char *)name;
		d->debug_annotation_names[d->n_debug_annotation_names++] = arg;
	}
}

static uint64_t intern(struct good_network *n, TracePacket *pkt, int kind, const char *name)
{
	uint64_t i = 0;

	while (i < n->n_iids[kind] && strcmp(n->names[kind][i], name) != 0)
		i++;
	if (i == n->n_iids[kind]) {
		ck_assert_uint_lt(i, 100);
		n->names[kind][n->n_iids[kind]++] = name;
		define(n, pkt, kind, FIRST_IID + i, name);
	}
	return FIRST_IID + i;
}

/* ---- tracks and events ---- */

static TrackDescriptor *descriptor(struct good_network *n)
{
	TracePacket *pkt = add(n, SEQ_TRACKS, T0);
	TrackDescriptor *d = NEW(n, TrackDescriptor, track_descriptor__init);

	SET(d, uuid, FIRST_UUID + n->n_iids[0]++);
	pkt->track_descriptor = d;
	return d;
}

uint64_t good_net_track(struct good_network *n, const char *name, uint64_t parent)
{
	TrackDescriptor *d = descriptor(n);

	d->name = (char *)name;
	SET(d, parent_uuid, parent);
	return d->uuid;
}

static TracePacket *add_event(struct good_network *n, int type, uint64_t track, uint64_t time_us)
{
	TracePacket *pkt = add(n, SEQ_EVENTS, T0 + time_us * 1000);
	TrackEvent *e = NEW(n, TrackEvent, track_event__init);

	SET(e, type, type);
	SET(e, track_uuid, track);
	pkt->track_event = e;
	return pkt;
}

static TracePacket *named(struct good_network *n, TracePacket *pkt, const char *name,
			  const char *category)
{
	TrackEvent *e = pkt->track_event;

	SET(e, name_iid, intern(n, pkt, EVENT_NAME, name));
	e->n_category_iids = 1;
	e->category_iids = good_trace_alloc(n->t, sizeof(uint64_t));
	e->category_iids[0] = intern(n, pkt, CATEGORY, category);
	e->debug_annotations = good_trace_alloc(n->t, MAX_ARGS * sizeof(void *));
	return pkt;
}

TracePacket *good_net_slice(struct good_network *n, uint64_t track, const char *name,
			    const char *category, uint64_t begin_us, uint64_t end_us)
{
	TracePacket *pkt = named(n, add_event(n, 1, track, begin_us), name, category);

	pkt->track_event->correlation_id = (uint64_t)(uintptr_t)add_event(n, 2, track, end_us);
	return pkt;
}

TracePacket *good_net_end(struct good_network *n, TracePacket *begin)
{
	(void)n;
	return (TracePacket *)(uintptr_t)begin->track_event->correlation_id;
}

TracePacket *good_net_instant(struct good_network *n, uint64_t track, const char *name,
			      const char *category, uint64_t time_us)
{
	return named(n, add_event(n, 3, track, time_us), name, category);
}

void good_net_flow(struct good_network *n, TracePacket *pkt, uint64_t id)
{
	pkt->track_event->n_flow_ids = 1;
	pkt->track_event->flow_ids = good_trace_alloc(n->t, sizeof(uint64_t));
	pkt->track_event->flow_ids[0] = id;
}

/* ---- arguments ---- */

static DebugAnnotation *put(struct good_network *n, TracePacket *pkt, const char *name)
{
	TrackEvent *e = pkt->track_event;
	DebugAnnotation *a = NEW(n, DebugAnnotation, debug_annotation__init);

	ck_assert_uint_lt(e->n_debug_annotations, MAX_ARGS);
	SET(a, name_iid, intern(n, pkt, ARG_NAME, name));
	e->debug_annotations[e->n_debug_annotations++] = a;
	return a;
}

void good_net_put_text(struct good_network *n, TracePacket *pkt, const char *name,
		       const char *value)
{
	put(n, pkt, name)->string_value = (char *)value;
}

void good_net_put_number(struct good_network *n, TracePacket *pkt, const char *name, uint64_t value)
{
	DebugAnnotation *a = put(n, pkt, name);

	SET(a, uint_value, value);
}

void good_net_put_bool(struct good_network *n, TracePacket *pkt, const char *name)
{
	DebugAnnotation *a = put(n, pkt, name);

	SET(a, bool_value, 1);
}

DebugAnnotation *good_net_arg(struct good_network *n, TracePacket *pkt, const char *name)
{
	TrackEvent *e = pkt->track_event;

	for (size_t i = 0; i < e->n_debug_annotations; i++)
		if (strcmp(n->names[ARG_NAME][e->debug_annotations[i]->name_iid - FIRST_IID],
			   name) == 0)
			return e->debug_annotations[i];
	ck_abort_msg("no %s", name);
}

/* ---- the network ---- */

static void put_side(struct good_network *n, TracePacket *pkt, const char *side, const char *remote,
		     uint64_t cookie)
{
	good_net_put_text(n, pkt, "side", side);
	good_net_put_text(n, pkt, "remote", remote);
	good_net_put_number(n, pkt, "connection", cookie);
}

static void put_request(struct good_network *n, TracePacket *pkt, const char *url, uint64_t status,
			uint64_t body)
{
	good_net_put_text(n, pkt, "method", "GET");
	good_net_put_text(n, pkt, "host", "example.org");
	good_net_put_text(n, pkt, "url", url);
	if (status)
		good_net_put_number(n, pkt, "status", status);
	good_net_put_text(n, pkt, "content_type", "text/html");
	good_net_put_number(n, pkt, "request_bytes", 80);
	good_net_put_number(n, pkt, "response_bytes", body + 120);
	good_net_put_number(n, pkt, "response_body", body);
}

static void add_names(struct good_network *n, uint64_t connections)
{
	uint64_t dns = good_net_track(n, "DNS", connections);
	TracePacket *pkt;

	pkt = n->lookup = good_net_slice(n, dns, "A example.org", "dns", 100000, 112000);
	good_net_put_text(n, pkt, "name", "example.org");
	good_net_put_text(n, pkt, "type", "A");
	good_net_put_text(n, pkt, "rcode", "NOERROR");
	good_net_put_text(n, pkt, "answers", "127.0.0.1");
	good_net_put_text(n, pkt, "server", "127.0.0.53:53");
	pkt = good_net_slice(n, dns, "AAAA nowhere.example NXDOMAIN", "dns", 113000, 114500);
	good_net_put_text(n, pkt, "rcode", "NXDOMAIN");
	good_net_put_text(n, pkt, "server", "127.0.0.53:53");
}

static void add_client(struct good_network *n, uint64_t connections)
{
	uint64_t origin = good_net_track(n, "example.org:80", connections);
	uint64_t lane = good_net_track(n, "connections", origin);
	uint64_t requests = good_net_track(n, "requests", origin);
	static const struct {
		const char *name;
		unsigned begin, end;
	} phases[] = { { "connect", 112000, 120000 },
		       { "send", 120000, 121000 },
		       { "wait", 121000, 140000 },
		       { "receive", 140000, 150000 } };
	TracePacket *pkt;

	pkt = n->connection = good_net_slice(n, lane, "connection", "tcp", 112000, 200000);
	put_side(n, pkt, "client", "127.0.0.1:80", 7);
	good_net_put_number(n, pkt, "bytes_sent", 240);
	good_net_put_number(n, pkt, "bytes_received", 5360);
	good_net_put_number(n, pkt, "retransmits", 1);
	good_net_put_bool(n, pkt, "unfinished");
	n->connect = good_net_slice(n, lane, "connect", "tcp.phase", 112000, 120000);
	n->established = good_net_slice(n, lane, "established", "tcp.phase", 120000, 200000);
	pkt = good_net_instant(n, lane, "retransmit", "tcp", 130000);
	good_net_put_number(n, pkt, "segments", 1);

	pkt = n->request = good_net_slice(n, requests, "GET /index.html", "http", 112000, 150000);
	put_request(n, pkt, "http://example.org/index.html", 200, 5000);
	put_side(n, pkt, "client", "127.0.0.1:80", 7);
	for (size_t i = 0; i < 4; i++)
		n->phases[i] = good_net_slice(n, requests, phases[i].name, "http.phase",
					      phases[i].begin, phases[i].end);
	good_net_flow(n, n->phases[1], NET_FLOW);
	good_net_flow(n, n->phases[3], NET_FLOW);
	pkt = good_net_slice(n, requests, "GET /missing?\u2026 404", "http", 150000, 152000);
	put_request(n, pkt, "http://example.org/missing?\u2026", 404, 0);
	put_side(n, pkt, "client", "127.0.0.1:80", 7);
	pkt = good_net_slice(n, requests, "GET /slow", "http", 160000, 200000);
	put_request(n, pkt, "/slow", 0, 0);
	put_side(n, pkt, "client", "127.0.0.1:80", 7);
	good_net_put_bool(n, pkt, "incomplete");
	good_net_slice(n, requests, "send", "http.phase", 160000, 161000);
	good_net_slice(n, requests, "wait", "http.phase", 161000, 200000);
}

static void add_others(struct good_network *n, uint64_t connections)
{
	uint64_t origin = good_net_track(n, "api.example.org:443", connections);
	TracePacket *pkt;

	pkt = good_net_slice(n, good_net_track(n, "requests", origin), "TLS exchange", "tls",
			     170000, 180000);
	put_side(n, pkt, "client", "[2001:db8:1234:5678:9abc:def0:1234:5678]:443", 8);
	good_net_put_number(n, pkt, "response_bytes", 1234567);
	pkt = good_net_slice(n, good_net_track(n, "connections", origin), "connection", "tcp",
			     160000, 181000);
	put_side(n, pkt, "client", "[2001:db8:1234:5678:9abc:def0:1234:5678]:443", 8);
	good_net_put_number(n, pkt, "bytes_received", 1240000);

	origin = good_net_track(n, "127.0.0.1:9", connections);
	pkt = n->failed = good_net_slice(n, good_net_track(n, "connections", origin),
					 "connect failed ECONNREFUSED", "tcp", 130000, 130500);
	put_side(n, pkt, "client", "127.0.0.1:9", 9);
	good_net_put_text(n, pkt, "error", "ECONNREFUSED");

	origin = good_net_track(n, "127.0.0.1:6379", connections);
	pkt = good_net_slice(n, good_net_track(n, "connections", origin), "connection", "tcp",
			     140000, 180000);
	put_side(n, pkt, "client", "127.0.0.1:6379", 10);
	good_net_put_number(n, pkt, "bytes_sent", 1000);
	good_net_put_number(n, pkt, "bytes_received", 20000);

	origin = good_net_track(n, "unix /run/x.sock", connections);
	pkt = n->last_unix = good_net_slice(n, good_net_track(n, "connections", origin),
					    "connection", "unix", 100000, 200000);
	good_net_put_number(n, pkt, "bytes_sent", 10);
	good_net_put_bool(n, pkt, "before");
}

static void add_server(struct good_network *n)
{
	TrackDescriptor *process = descriptor(n), *thread = descriptor(n);
	uint64_t origin = good_net_track(n, "serves :80",
					 good_net_track(n, "Connections", process->uuid)),
		 requests = good_net_track(n, "requests", origin);
	static const char *const phases[] = { "receive", "wait", "send" };
	TracePacket *pkt;

	process->process = NEW(n, ProcessDescriptor, process_descriptor__init);
	SET(process->process, pid, 1);
	thread->thread = NEW(n, ThreadDescriptor, thread_descriptor__init);
	SET(thread->thread, pid, 1);
	SET(thread->thread, tid, 1);
	pkt = n->served = good_net_slice(n, requests, "GET /index.html", "http", 122000, 139000);
	put_request(n, pkt, "/index.html", 200, 5000);
	put_side(n, pkt, "server", "127.0.0.1:40000", 11);
	for (size_t i = 0; i < 3; i++)
		n->served_phases[i] = good_net_slice(n, requests, phases[i], "http.phase",
						     122000 + i * 4000, 126000 + i * 4000);
	good_net_flow(n, n->served_phases[0], NET_FLOW);
	good_net_flow(n, n->served_phases[2], NET_FLOW);
	good_net_flow(n, good_net_instant(n, thread->uuid, "request received", "net", 122000),
		      NET_FLOW);
	good_net_flow(n, good_net_instant(n, thread->uuid, "response sent", "net", 138000),
		      NET_FLOW);
	n->sent = good_net_instant(n, UUID_MAIN, "request sent", "net", 120500);
	good_net_flow(n, n->sent, NET_FLOW);
	n->received = good_net_instant(n, UUID_MAIN, "response received", "net", 141000);
	good_net_flow(n, n->received, NET_FLOW);
}

static void add_attributes(struct good_network *n)
{
	static const char *const texts[][2] = { { "tracer.net.level", "waterfall" },
						{ "tracer.net.query", "hide" },
						{ "tracer.net.names", "plain" },
						{ "tracer.source.net", "on" } };
	TraceAttributes *a = NEW(n, TraceAttributes, trace_attributes__init);

	a->n_attribute = 4;
	a->attribute = good_trace_alloc(n->t, 4 * sizeof(a->attribute[0]));
	for (size_t i = 0; i < 4; i++) {
		a->attribute[i] =
			NEW(n, TraceAttributes__Attribute, trace_attributes__attribute__init);
		a->attribute[i]->key = (char *)texts[i][0];
		a->attribute[i]->string_value = (char *)texts[i][1];
	}
	n->attributes = add(n, SEQ_META, 0);
	n->attributes->trace_attributes = a;
}

void good_network_add(struct good_trace *t, struct good_network *n)
{
	uint64_t connections;

	*n = (struct good_network){ .t = t, .last = t->second_snapshot };
	t->tree->process_tree->threads[0]->name = "nginx";
	add_attributes(n);
	connections = good_net_track(n, "Connections", UUID_PROCESS);
	add_names(n, connections);
	add_client(n, connections);
	add_others(n, connections);
	add_server(n);
}
