/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_encode.c - records of sockets on their way into a trace.
 *
 * A record's event is accounted for with the next packet that is written of its
 * connection, which is where it has gone; with its last one at the latest.
 */
#include "net_encode.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "collect/stack_encode.h"
#include "net_encode_impl.h"

/* ---- records ---- */

static void take_io(struct net_encoder *enc, const struct net_io_event *ev)
{
	bool is_new;
	struct net_conn *c = net_conn_of(enc, &ev->sock, &ev->hdr, true, &is_new);

	if (!c)
		return;
	net_conn_io(c, ev, is_new);
	net_mark_io(c, ev);
	net_layer_io(c, ev);
}

static void take_stack(struct net_encoder *enc, const struct net_stack_event *ev)
{
	struct net_conn *c = net_conn_find(enc, ev->cookie);

	/* Of a connection's first bytes; what they are of comes next. */
	if (!c) {
		trace_writer_skip(enc->env.writer, 1);
		return;
	}
	c->n_events++;
	net_note_error(enc, net_mark_stack(c, ev));
}

static void take_tcp(struct net_encoder *enc, const struct net_tcp_event *ev)
{
	bool is_new;
	struct net_conn *c;

	if (ev->kind == NET_TCP_STATE &&
	    (ev->new_state == TCP_LISTEN || ev->old_state == TCP_LISTEN)) {
		trace_writer_skip(enc->env.writer, 1);
		return;
	}
	c = net_conn_of(enc, &ev->sock, &ev->hdr, true, &is_new);
	if (c)
		net_conn_tcp(c, ev, is_new);
}

static void take_bytes(struct net_encoder *enc, const struct net_bytes_event *ev)
{
	bool is_event = ev->hdr.type != NET_SOCK, is_new;
	struct net_conn *c;

	if (ev->state == TCP_LISTEN) {
		trace_writer_skip(enc->env.writer, is_event);
		return;
	}
	c = net_conn_of(enc, &ev->sock, &ev->hdr, is_event, &is_new);
	if (c)
		net_conn_bytes(c, ev, is_new);
}

static void take(struct net_encoder *enc, const struct event_hdr *hdr)
{
	switch (hdr->type) {
	case NET_IO:
		take_io(enc, (const void *)hdr);
		break;
	case NET_STACK:
		take_stack(enc, (const void *)hdr);
		break;
	case NET_TCP:
		take_tcp(enc, (const void *)hdr);
		break;
	case NET_BYTES:
	case NET_SOCK:
		take_bytes(enc, (const void *)hdr);
		break;
	case NET_LOOKUP:
		net_note_error(enc, net_lookup_write(enc, (const void *)hdr));
		break;
	case NET_PLAIN:
		if (net_is_asked_for(enc, hdr->tgid))
			net_stream_plain(enc, (const void *)hdr);
		else
			trace_writer_skip(enc->env.writer, 1);
		break;
	default:
		trace_writer_skip(enc->env.writer, 1);
		break;
	}
}

/* What went wrong since the last time. */
static int take_error(struct net_encoder *enc)
{
	int r = enc->error;

	enc->error = 0;
	return r;
}

int net_encode(void *encoder, const struct event_hdr *hdr)
{
	struct net_encoder *enc = encoder;

	if (hdr->time_ns < enc->env.start_ns && hdr->type != NET_SOCK) {
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	if (hdr->time_ns > enc->last_ns)
		enc->last_ns = hdr->time_ns;
	take(enc, hdr);
	return take_error(enc);
}

/* ---- bounds ---- */

static int tell_one(struct net_encoder *enc, enum net_bound bound, uint64_t now_ns)
{
	static const struct {
		const char *name, *why;
	} texts[N_NET_BOUNDS] = {
		[NET_BOUND_CUT] = { "payload not copied",
				    "records had no room for all that was wanted of them: requests "
				    "may lack fields" },
		[NET_BOUND_CONNS] = { "too many connections",
				      "the oldest ones were written before their end" },
		[NET_BOUND_PARSERS] = { "too many conversations",
					"connections are shown without their requests" },
		[NET_BOUND_ORIGINS] = { "too many origins", "what is left goes to \"others\"" },
		[NET_BOUND_LANES] = { "too many at a time", "slices are left out" },
		[NET_BOUND_POINTS] = { "too many instants", "retransmits and drops are left out, "
							    "their numbers are right" },
		[NET_BOUND_MARKS] = { "too many stacks", "instants of threads have none" },
		[NET_BOUND_QUERIES] = { "too many queries", "DNS queries are left out" },
	};
	const struct trace_track track = {
		.name = "Network bounds",
		.description = "What of the network is not in this trace, for want of room.",
	};
	struct net_slice s = {
		.event = { .name = texts[bound].name, .category = "net", .time_ns = now_ns },
	};

	s.event.track = trace_track(enc->env.writer, &track);
	net_arg_string(&s, "meaning", texts[bound].why);
	net_arg_uint(&s, "times", enc->over[bound]);
	enc->over[bound] = 0;
	return s.event.track ? trace_instant(enc->env.writer, &s.event, 0) : -ENOMEM;
}

static int tell_bounds(struct net_encoder *enc, uint64_t now_ns)
{
	int r = 0;

	for (enum net_bound b = 0; r == 0 && b < N_NET_BOUNDS; b++)
		if (enc->over[b])
			r = tell_one(enc, b, now_ns);
	return r;
}

/* ---- the encoder ---- */

int net_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct net_encoder *enc = encoder;
	int r;

	net_conns_flush(enc, now_ns, final);
	r = take_error(enc);
	if (r == 0)
		r = stack_encoder_flush(enc->stacks, now_ns, final);
	if (r == 0)
		r = net_counters_flush(enc, enc->last_ns);
	return r < 0 ? r : tell_bounds(enc, enc->last_ns);
}

bool net_encoder_pending(void *encoder)
{
	struct net_encoder *enc = encoder;

	return stack_encoder_pending(enc->stacks);
}

const uint64_t *net_encoder_stack_ends(void *encoder)
{
	struct net_encoder *enc = encoder;

	return stack_encoder_ends(enc->stacks);
}

size_t net_encoder_bytes(const void *encoder)
{
	const struct net_encoder *enc = encoder;

	return enc->parser_bytes + enc->n_conns * sizeof(struct net_conn) +
	       hash_count(enc->streams) * sizeof(struct net_stream);
}

static int start(struct net_encoder *enc)
{
	struct net_privacy *p = &enc->privacy;
	int r;

	p->query = enc->env.config->net_query;
	p->hash_names = enc->env.config->net_hash_names;
	if (getrandom(p->key, sizeof(p->key), 0) != sizeof(p->key))
		return -errno;
	if (hash_new(&enc->conns) < 0 || hash_new(&enc->streams) < 0 || hash_new(&enc->ends) < 0 ||
	    hash_new(&enc->processes) < 0 || hash_new(&enc->origins) < 0 ||
	    hash_new(&enc->names) < 0)
		return -ENOMEM;
	r = net_asked_new(enc);
	if (r == 0)
		r = net_dns_new(enc);
	return r < 0 ? r : net_threads_new(enc);
}

int net_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct net_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	enc->last_ns = env->start_ns;
	r = start(enc);
	if (r < 0) {
		net_encoder_free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void net_encoder_free(void *encoder)
{
	struct net_encoder *enc = encoder;

	if (!enc)
		return;
	net_conns_free(enc);
	net_threads_free(enc);
	net_tracks_free(enc);
	net_names_free(enc);
	net_dns_free(enc);
	net_asked_free(enc);
	free(enc);
}
