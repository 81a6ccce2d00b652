/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_dns.c - queries and getaddrinfo() as slices; and what lately has been answered, by
 * address: a connection is named after the query that has led to it.
 */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "net_encode_impl.h"
#include "process/process_table.h"

#define MAX_ANSWERS 4096 /* addresses that are remembered; a power of two */
#define LEADS_NS    (30 * NS_PER_SEC)

struct answer {
	uint8_t address[16];
	uint32_t netns, tgid;
	uint64_t begin_ns, end_ns;
	uint32_t older; /* of the same bucket: its number; 0: none */
	char name[DNS_NAME_LEN];
};

/* A ring: the oldest gives way. Numbers grow; what is too old for the ring is gone. */
struct net_dns_memory {
	uint64_t n;
	uint32_t buckets[MAX_ANSWERS]; /* number + 1 of the newest of each */
	struct answer answers[];
};

static struct answer *answer_at(struct net_dns_memory *m, uint32_t number)
{
	return &m->answers[number & (MAX_ANSWERS - 1)];
}

static uint32_t *bucket_of(struct net_dns_memory *m, const uint8_t address[16], uint32_t netns)
{
	return &m->buckets[hash_bytes(address, 16, netns) & (MAX_ANSWERS - 1)];
}

static bool is_there(const struct net_dns_memory *m, uint32_t number)
{
	return (uint32_t)m->n - number <= MAX_ANSWERS;
}

static void remember(struct net_conn *c, const struct dns_query *q)
{
	struct net_dns_memory *m = c->enc->dns;

	for (unsigned i = 0; i < q->answer.n_addresses; i++) {
		const struct dns_address *from = &q->answer.addresses[i];
		uint8_t address[16] = { 0 };
		struct answer *a = answer_at(m, (uint32_t)m->n);
		uint32_t *bucket;

		memcpy(address, from->bytes, from->len <= 16 ? from->len : 16);
		bucket = bucket_of(m, address, c->sock.netns);
		memcpy(a->address, address, 16);
		a->netns = c->sock.netns;
		a->tgid = q->tgid ? q->tgid : c->tgid;
		a->begin_ns = q->begin_ns;
		a->end_ns = q->end_ns;
		a->older = *bucket;
		snprintf(a->name, sizeof(a->name), "%s", q->question.name);
		*bucket = (uint32_t)++m->n;
	}
}

void net_dns_led(struct net_conn *c)
{
	struct net_dns_memory *m = c->enc->dns;
	const struct answer *best = NULL;
	uint8_t address[16] = { 0 };
	size_t len;

	if (c->led || !net_is_inet(&c->sock) || m->n == 0)
		return;
	memcpy(address, c->sock.inet.peer, c->sock.family == AF_INET ? 4 : 16);
	for (uint32_t i = *bucket_of(m, address, c->sock.netns); i && is_there(m, i - 1);) {
		const struct answer *a = answer_at(m, i - 1);
		bool is_it = a->netns == c->sock.netns && memcmp(a->address, address, 16) == 0 &&
			     a->end_ns <= c->begin_ns && a->end_ns + LEADS_NS >= c->begin_ns;

		if (is_it && (!best || (a->tgid == c->tgid && best->tgid != c->tgid)))
			best = a;
		if (a->older && a->older >= i) /* its place was used again */
			break;
		i = a->older;
	}
	if (!best)
		return;
	len = strlen(best->name) + 1;
	c->led = malloc(sizeof(*c->led) + len);
	if (!c->led)
		return; /* it goes by its address */
	c->led->tgid = best->tgid;
	c->led->begin_ns = best->begin_ns;
	c->led->end_ns = best->end_ns;
	memcpy(c->led->name, best->name, len);
}

int net_dns_new(struct net_encoder *enc)
{
	enc->dns = calloc(1, sizeof(*enc->dns) + MAX_ANSWERS * sizeof(struct answer));
	if (!enc->dns || hash_new(&enc->dns_clients) < 0 || hash_new(&enc->dns_flows) < 0 ||
	    hash_new(&enc->dns_asked) < 0)
		return -ENOMEM;
	return 0;
}

void net_dns_free(struct net_encoder *enc)
{
	free(enc->dns);
	hash_free(enc->dns_clients);
	hash_free(enc->dns_flows);
	hash_free(enc->dns_asked);
}

/* ---- both ends of a query ---- */

/* What one end has told of a query whose other end has not been told of. */
enum dns_end { END_SERVER = 1, END_CLIENT };

void net_dns_asks(struct net_conn *c)
{
	/* Without memory for it there is no arrow. */
	if (c->sock.inet.local_port)
		(void)hash_set_u64(c->enc->dns_clients, c->sock.inet.local_port, c);
}

void net_dns_asked(struct net_conn *c, uint32_t tgid, uint64_t time_ns)
{
	struct net_encoder *enc = c->enc;
	uint64_t asked = dns_asked(c->wire.parser.dns), key, cookie;
	struct net_conn *other;

	if (!asked)
		return;
	key = hash_bytes(&asked, sizeof(asked), tgid);
	cookie = (uintptr_t)hash_get_u64(enc->dns_asked, key);
	if (cookie == c->sock.cookie)
		return;
	other = cookie ? net_conn_find(enc, cookie) : NULL;
	if (other && other->wire.kind == LAYER_DNS && other->wire.parser.any)
		dns_asked_elsewhere(other->wire.parser.dns, asked, time_ns);
	if (hash_count(enc->dns_asked) >= MAX_ANSWERS)
		hash_clear(enc->dns_asked);
	/* Without memory for it the other one waits until it is given up. */
	(void)hash_set_u64(enc->dns_asked, key, (void *)(uintptr_t)c->sock.cookie);
}

void net_dns_forget(struct net_conn *c)
{
	uint16_t port = c->sock.inet.local_port;

	if (port && hash_get_u64(c->enc->dns_clients, port) == c)
		hash_remove_u64(c->enc->dns_clients, port);
}

static uint64_t flow_of(uint16_t client_port, const struct dns_message *m)
{
	struct {
		uint16_t port, id, type, pad;
	} key = { client_port, m->id, m->qtype, 0 };
	uint64_t id = hash_bytes(&key, sizeof(key), 0);

	for (const char *c = m->name; *c; c++) { /* resolvers play with the case of letters */
		char lower = (char)tolower((unsigned char)*c);

		id = hash_bytes(&lower, 1, id);
	}
	return id ? id : 1;
}

/* An arrow, if the other end is there as well: the server tells of it first, or nobody does. */
static uint64_t flow_between(struct net_conn *c, const struct dns_query *q, bool serves)
{
	struct net_encoder *enc = c->enc;
	uint16_t port = serves ? c->sock.inet.peer_port : c->sock.inet.local_port;
	enum dns_end mine = serves ? END_SERVER : END_CLIENT;
	uintptr_t told;
	uint64_t id;

	if (!net_is_inet(&c->sock) || !q->has_question || !q->has_answer || !port ||
	    (serves && !hash_get_u64(enc->dns_clients, port)))
		return 0;
	id = flow_of(port, &q->question);
	told = (uintptr_t)hash_remove_u64(enc->dns_flows, id);
	if (told && told != mine)
		return serves ? 0 : id;
	if (hash_count(enc->dns_flows) >= MAX_ANSWERS)
		hash_clear(enc->dns_flows);
	if (hash_set_u64(enc->dns_flows, id, (void *)(uintptr_t)mine) < 0)
		return 0;
	return serves ? id : 0;
}

/* ---- slices ---- */

static void name_query(const struct dns_query *q, char *ret, size_t size)
{
	const struct dns_message *m = q->has_question ? &q->question : &q->answer;
	char type[16], rcode[16];
	const char *failed = "";

	if (!q->has_answer)
		failed = "no answer";
	else if (q->error[0])
		failed = q->error;
	else if (q->answer.rcode)
		failed = dns_rcode_name(q->answer.rcode, rcode);
	snprintf(ret, size, "%s %s%s%s", dns_type_name(m->qtype, type), m->name[0] ? m->name : ".",
		 failed[0] ? " " : "", failed);
}

struct texts {
	char type[16], rcode[16], server[NET_ADDRESS_LEN], client[NET_ADDRESS_LEN];
};

static void describe(struct net_slice *s, const struct net_conn *c, const struct dns_query *q,
		     struct texts *t)
{
	static const char *const protos[] = { "UDP", "TCP", "varlink" };
	const struct dns_message *m = q->has_question ? &q->question : &q->answer;
	bool serves = c->wire.client_sends == false;

	net_arg_string(s, "name", m->name);
	net_arg_string(s, "type", dns_type_name(m->qtype, t->type));
	if (q->has_answer && !q->error[0])
		net_arg_string(s, "rcode", dns_rcode_name(q->answer.rcode, t->rcode));
	if (q->has_answer)
		net_arg_string(s, "answers", q->answer.answers);
	net_arg_string(s, "error", q->error);
	if (q->transport == DNS_VARLINK)
		net_arg_string(s, "server", "systemd-resolved");
	else if (serves ? net_local_text(&c->sock, t->server) : net_peer_text(&c->sock, t->server))
		net_arg_string(s, "server", t->server);
	/* A socket of UDP knows a client only while it answers. */
	if (serves && (q->has_answer || q->transport == DNS_TCP) &&
	    net_peer_text(&c->sock, t->client))
		net_arg_string(s, "remote", t->client);
	net_arg_string(s, "side", serves ? "server" : "client");
	net_arg_string(s, "proto", protos[q->transport]);
	if (q->request_bytes)
		net_arg_uint(s, "request_bytes", q->request_bytes);
	if (q->response_bytes)
		net_arg_uint(s, "response_bytes", q->response_bytes);
	if (q->n_sent > 1)
		net_arg_uint(s, "repeated", q->n_sent - 1);
	if (q->has_answer && q->answer.truncated)
		net_arg_true(s, "truncated");
	if (!q->has_question)
		net_arg_true(s, "lost");
	net_arg_uint(s, "connection", c->sock.cookie);
	if (q->tid)
		net_arg_uint(s, "thread", q->tid);
}

int net_dns_write(struct net_conn *c, const struct dns_query *q)
{
	struct net_encoder *enc = c->enc;
	char name[DNS_NAME_LEN + 64], type[16];
	uint64_t end_ns = q->end_ns > q->begin_ns ? q->end_ns : q->begin_ns + 1;
	struct net_slice s = { .event = { .category = "dns", .time_ns = q->begin_ns } };
	const struct net_drawn drawn = {
		.tgid = q->tgid ? q->tgid : c->tgid,
		.kind = NET_LANE_REQUESTS,
		.origin = "DNS",
		.last = &c->origin,
		.begin_ns = q->begin_ns,
		.end_ns = end_ns,
	};
	struct net_name *known;
	struct texts texts;
	bool fits;
	int r;

	if (q->has_answer && c->wire.client_sends)
		remember(c, q);
	trace_writer_time(enc->env.writer, q->begin_ns);
	s.event.track = net_lane(enc, &drawn, &r);
	if (!s.event.track)
		return r;
	name_query(q, name, sizeof(name));
	s.event.name = name;
	known = net_request_name(enc, name, &fits);
	if (known)
		s.event.name_id = &known->id;
	else if (!fits)
		snprintf(
			name, sizeof(name), "%s …",
			dns_type_name(q->has_question ? q->question.qtype : q->answer.qtype, type));
	describe(&s, c, q, &texts);
	s.event.flow_id = flow_between(c, q, !c->wire.client_sends);
	r = trace_slice(enc->env.writer, &s.event, end_ns, c->n_events);
	c->n_events = 0;
	return r;
}

static const char *lookup_error(int32_t ret)
{
	static const char *const names[] = {
		[-EAI_AGAIN] = "EAI_AGAIN",	[-EAI_BADFLAGS] = "EAI_BADFLAGS",
		[-EAI_FAIL] = "EAI_FAIL",	[-EAI_FAMILY] = "EAI_FAMILY",
		[-EAI_MEMORY] = "EAI_MEMORY",	[-EAI_NODATA] = "EAI_NODATA",
		[-EAI_NONAME] = "EAI_NONAME",	[-EAI_OVERFLOW] = "EAI_OVERFLOW",
		[-EAI_SERVICE] = "EAI_SERVICE", [-EAI_SOCKTYPE] = "EAI_SOCKTYPE",
		[-EAI_SYSTEM] = "EAI_SYSTEM",
	};

	if (ret >= 0 || ret < -(int)(sizeof(names) / sizeof(names[0])) + 1)
		return ret ? "unknown error" : NULL;
	return names[-ret] ? names[-ret] : "unknown error";
}

int net_lookup_write(struct net_encoder *enc, const struct net_lookup_event *ev)
{
	const struct event_hdr *hdr = &ev->hdr;
	const struct thread *thread = process_table_thread(enc->env.processes, hdr->tid);
	struct net_slice s = {
		.event = { .name = "getaddrinfo", .category = "dns", .time_ns = ev->enter_ns },
	};
	char name[NET_NAME_LEN];

	net_privacy_name(&enc->privacy, ev->name,
			 ev->name_len < NET_NAME_LEN ? ev->name_len : NET_NAME_LEN, name,
			 sizeof(name));
	net_arg_string(&s, "name", name);
	net_arg_string(&s, "error", lookup_error(ev->ret));
	if (ev->enter_ns < enc->env.start_ns) {
		s.event.time_ns = enc->env.start_ns;
		net_arg_true(&s, "entered_before");
	}
	s.event.track = trace_thread_track(enc->env.writer, hdr->tgid, hdr->tid,
					   thread ? thread->start_ns : 0);
	return s.event.track ? trace_slice(enc->env.writer, &s.event, hdr->time_ns, 1) : -ENOMEM;
}
