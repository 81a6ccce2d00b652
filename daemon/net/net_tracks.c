/* SPDX-License-Identifier: Apache-2.0 */
/* net_tracks.c - processes, their "Connections", origins and lanes. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "net_encode_impl.h"
#include "process/process_table.h"

#define MAX_PROCESSES 32768
/* A process is told of this long after the start that it carries, at the most. */
#define BIRTH_NS (100 * NS_PER_MS)

#define CONNECTIONS_HELP \
	"What this process says over the network: per other end, or port that it serves."

/* ---- processes ---- */

static void forget_processes(struct net_encoder *enc)
{
	size_t pos = 0;
	void *p;

	while (hash_next(enc->processes, &pos, NULL, NULL, &p))
		free(p);
	hash_clear(enc->processes);
	memset(enc->recent, 0, sizeof(enc->recent));
}

/* NULL: it is new. */
static struct net_process *find_process(struct net_encoder *enc, uint32_t tgid)
{
	struct net_process **recent = &enc->recent[tgid % NET_RECENT_PROCESSES];

	if (!*recent || (*recent)->tgid != tgid)
		*recent = hash_get_u64(enc->processes, tgid);
	return *recent;
}

/* Of a pid used again it is the one that lives now. NULL: no memory, or nobody's. */
struct net_process *net_process(struct net_encoder *enc, uint32_t tgid)
{
	const struct process *known = process_table_get(enc->env.processes, tgid);
	struct net_process *p = find_process(enc, tgid);
	uint64_t start_ns = known ? known->start_ns : 0;

	if (tgid == 0)
		return NULL;
	if (!p) {
		if (hash_count(enc->processes) >= MAX_PROCESSES)
			forget_processes(enc);
		p = calloc(1, sizeof(*p));
		if (!p || hash_set_u64(enc->processes, tgid, p) < 0) {
			free(p);
			return NULL;
		}
		*p = (struct net_process){ .tgid = tgid, .start_ns = start_ns };
	}
	if (start_ns && p->start_ns != start_ns)
		*p = (struct net_process){ .tgid = tgid, .start_ns = start_ns };
	if (!trace_track_known(enc->env.writer, p->track))
		p->track = trace_process_track(enc->env.writer, tgid, p->start_ns);
	return p->track ? p : NULL;
}

uint64_t net_begin_in_life(struct net_encoder *enc, uint32_t tgid, uint64_t begin_ns,
			   uint64_t alive_ns)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);
	/* One that has died by now may be forgotten. */
	bool is_young = !p || p->start_ns + BIRTH_NS > begin_ns;

	return is_young && begin_ns < alive_ns ? alive_ns : begin_ns;
}

bool net_is_successor(struct net_encoder *enc, uint32_t tgid, uint64_t time_ns)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);

	return p && p->start_ns > time_ns;
}

static uint64_t connections_track(struct net_encoder *enc, struct net_process *p)
{
	struct trace_track track = {
		.name = "Connections",
		.parent = p->track,
		.description = CONNECTIONS_HELP,
	};

	if (!trace_track_known(enc->env.writer, p->connections))
		p->connections = trace_track(enc->env.writer, &track);
	return p->connections;
}

/* ---- origins ---- */

const char *net_conn_name(const struct net_conn *c, const char **ret_from)
{
	*ret_from = NULL;
	if (c->host) {
		*ret_from = "host";
		return c->host;
	}
	if (c->handshake && c->handshake->sni[0]) {
		*ret_from = "sni";
		return c->handshake->sni;
	}
	if (c->led) {
		*ret_from = "dns";
		return c->led->name;
	}
	return NULL;
}

#define PORT_ROOM 8

/* By hand: there is one for each request. */
static void put_port(char *at, unsigned port)
{
	char digits[PORT_ROOM];
	int n = 0;

	do {
		digits[n++] = (char)('0' + port % 10);
		port /= 10;
	} while (port);
	*at++ = ':';
	while (n > 0)
		*at++ = digits[--n];
	*at = '\0';
}

void net_origin_name(const struct net_conn *c, const char *host, char ret[NET_ORIGIN_LEN])
{
	const struct net_sock *s = &c->sock;
	char address[NET_ADDRESS_LEN];
	const char *from;

	if (s->family == AF_UNIX) {
		bool has_name = s->role == NET_ROLE_SERVER ? net_local_text(s, address)
							   : net_peer_text(s, address);

		snprintf(ret, NET_ORIGIN_LEN, "unix %s", has_name ? address : "(no name)");
		return;
	}
	if (net_is_inet(s) && s->role == NET_ROLE_SERVER) {
		put_port(stpcpy(ret, "serves "), s->inet.local_port);
		return;
	}
	if (!host || !host[0])
		host = net_conn_name(c, &from);
	if (net_is_inet(s) && s->protocol == IPPROTO_UDP && !s->inet.peer_port) {
		snprintf(ret, NET_ORIGIN_LEN, "udp :%u", s->inet.local_port);
		return;
	}
	if (host) {
		size_t len = strnlen(host, NET_ORIGIN_LEN - PORT_ROOM);

		memcpy(ret, host, len);
		ret[len] = '\0';
		if (net_is_inet(s) && s->inet.peer_port)
			put_port(ret + len, s->inet.peer_port);
	} else {
		snprintf(ret, NET_ORIGIN_LEN, "%s",
			 net_peer_text(s, address) ? address : "(address not known)");
	}
}

static void origin_free(struct net_origin *o)
{
	net_lanes_done(&o->requests);
	net_lanes_done(&o->connections);
	free(o->name);
	free(o);
}

static struct net_origin *origin_new(struct net_encoder *enc, struct net_process *p,
				     const char *name)
{
	struct trace_track track = { .name = name, .parent = connections_track(enc, p) };
	struct net_origin *o = track.parent ? calloc(1, sizeof(*o)) : NULL;

	if (!o)
		return NULL;
	o->process = p->track;
	o->track = trace_track(enc->env.writer, &track);
	o->name = strdup(name);
	if (o->track && o->name)
		return o;
	origin_free(o);
	return NULL;
}

static struct net_origin *find_origin(struct net_encoder *enc, struct net_process *p,
				      const char *name)
{
	struct {
		uint64_t process;
		char name[NET_ORIGIN_LEN];
	} key = { .process = p->track };
	size_t len = sizeof(key.process) + strlen(name);
	struct net_origin *o;

	memcpy(key.name, name, strlen(name));
	o = hash_get(enc->origins, &key, len);
	if (o)
		return o;
	if (hash_count(enc->origins) >= NET_MAX_ORIGINS && strcmp(name, "others") != 0) {
		enc->over[NET_BOUND_ORIGINS]++;
		return find_origin(enc, p, "others");
	}
	o = origin_new(enc, p, name);
	if (o && hash_set(enc->origins, &key, len, o) < 0) {
		origin_free(o);
		return NULL;
	}
	return o;
}

/* `*last`: the one that was found last. NULL: no memory. */
static struct net_origin *origin_of(struct net_encoder *enc, struct net_process *p,
				    const char *name, struct net_origin **last)
{
	struct trace_track track = { 0 };
	struct net_origin *o = *last;

	if (!o || o->process != p->track || strcmp(o->name, name) != 0)
		o = *last = find_origin(enc, p, name);
	if (!o || trace_track_known(enc->env.writer, o->track))
		return o;
	track.name = o->name;
	track.parent = connections_track(enc, p);
	o->track = track.parent ? trace_track(enc->env.writer, &track) : 0;
	return o->track ? o : NULL;
}

uint64_t net_counter_track(struct net_conn *c, const char *name, const char *unit)
{
	struct net_process *p = net_process(c->enc, c->tgid);
	char origin[NET_ORIGIN_LEN];
	struct trace_track track = {
		.name = name,
		.key = c->sock.cookie,
		.is_counter = true,
		.unit = unit,
	};
	struct net_origin *o;

	net_origin_name(c, NULL, origin);
	o = p ? origin_of(c->enc, p, origin, &c->origin) : NULL;
	if (!o)
		return 0;
	track.parent = o->track;
	return trace_track(c->enc->env.writer, &track);
}

uint64_t net_lane(struct net_encoder *enc, const struct net_drawn *drawn, int *ret_error)
{
	uint32_t tgid = drawn->tgid;
	bool is_gone = net_is_successor(enc, tgid, drawn->end_ns);
	struct net_process *p = is_gone ? NULL : net_process(enc, tgid);
	struct net_origin *o = p ? origin_of(enc, p, drawn->origin, drawn->last) : NULL;
	bool requests = drawn->kind == NET_LANE_REQUESTS;
	struct trace_track track = { .name = requests ? "requests" : "connections" };
	struct net_lanes *lanes;
	int lane;

	*ret_error = tgid && !is_gone && !o ? -ENOMEM : 0;
	if (!o)
		return 0;
	lanes = requests ? &o->requests : &o->connections;
	lane = net_lanes_take(lanes, drawn->begin_ns, drawn->end_ns);
	if (lane == -ENOSPC) {
		enc->over[NET_BOUND_LANES]++;
		return 0;
	}
	if (lane >= 0 && !trace_track_known(enc->env.writer, lanes->tracks[lane])) {
		track.parent = o->track;
		track.key = (uint64_t)lane;
		lanes->tracks[lane] = trace_track(enc->env.writer, &track);
	}
	if (lane < 0 || !lanes->tracks[lane]) {
		*ret_error = -ENOMEM;
		return 0;
	}
	return lanes->tracks[lane];
}

void net_tracks_free(struct net_encoder *enc)
{
	size_t pos = 0;
	void *o;

	if (enc->processes)
		forget_processes(enc);
	while (enc->origins && hash_next(enc->origins, &pos, NULL, NULL, &o))
		origin_free(o);
	hash_free(enc->processes);
	hash_free(enc->origins);
}
