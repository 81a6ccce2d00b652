/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_encode_impl.h - the insides of an encoder of the source net, shared by its files:
 *
 *   net_encode.c    records as they come
 *   net_conns.c     connections by cookie, from their first sign to their last
 *   net_layers.c    what is said on them: bytes to parsers
 *   net_parsers.c   the parsers, and what they hand over
 *   net_asked.c     whose clear text this session wants
 *   net_streams.c   clear text of TLS libraries, and which connection it is of
 *   net_peers.c     both ends of one connection
 *   net_tracks.c    processes, origins and lanes
 *   net_names.c     names of requests
 *   net_slices.c    connections as slices
 *   net_reasons.c   why something was dropped
 *   net_requests.c  requests as slices; net_request_args.c: what is said of them
 *   net_threads.c   where in the program a request was sent or received
 *   net_dns.c       queries as slices, and which of them has led to a connection
 *   net_counters.c  bytes by process
 */
#ifndef NET_ENCODE_IMPL_H
#define NET_ENCODE_IMPL_H

#include "collector.h"
#include "dns.h"
#include "hash.h"
#include "http1.h"
#include "http2.h"
#include "net_address.h"
#include "net_encode.h"
#include "net_events.h"
#include "net_lanes.h"
#include "resolve.h"
#include "tls_wire.h"
#include "tls_wishes.h"
#include "trace_writer.h"

#define NET_MAX_CONNS	16384
#define NET_MAX_STREAMS 16384
/* Of all parsers. Beyond, new connections are shown without what is said on them. */
#define NET_MAX_PARSERS (40u << 20)
#define NET_MAX_ORIGINS 8192
#define NET_MAX_NAMES	4096 /* distinct ones of requests: a viewer keeps each */
#define NET_MAX_MARKS	4096
#define NET_MAX_POINTS	64 /* instants of one connection */

/* What a trace tells of, once each, where it was met first. */
enum net_bound {
	NET_BOUND_CUT,	   /* payload that was wanted was not copied */
	NET_BOUND_CONNS,   /* too many connections */
	NET_BOUND_PARSERS, /* too much memory for parsers */
	NET_BOUND_ORIGINS,
	NET_BOUND_LANES,
	NET_BOUND_POINTS,
	NET_BOUND_MARKS,
	NET_BOUND_QUERIES,
	N_NET_BOUNDS
};

struct net_conn;
struct net_encoder;
struct net_stream;

enum net_layer_kind {
	LAYER_NONE, /* not looked at yet */
	LAYER_HTTP1,
	LAYER_HTTP2,
	LAYER_TLS,
	LAYER_DNS,
	LAYER_RESOLVE,
	LAYER_OVER, /* nothing more is understood */
};

/*
 * When bytes were moved, the last few times; where many requests are under way at once, the
 * last many times.
 */
#define NET_FEW_TIMES  8
#define NET_MANY_TIMES 512
struct net_times {
	struct net_time {
		uint64_t off, end, time_ns;
	} few[NET_FEW_TIMES];
	struct net_time *many; /* NET_MANY_TIMES, in place of the few; or NULL */
	uint32_t n;	       /* there were */
};

/* What a layer has known of times that is over before its other end is. */
struct net_left {
	struct net_times heard, told;
};

/* What is said on a connection, or in clear text in a TLS stream. */
struct net_layer {
	struct net_conn *conn;
	struct net_stream *stream; /* NULL: it is what is on the wire */
	enum net_layer_kind kind;
	bool client_sends;    /* whose requests: ours, or the peer's */
	bool is_reversed;     /* it is the other way round: directions stay as they were given */
	uint32_t n_exchanges; /* handed over so far */
	union {
		void *any;
		struct http1 *http1;
		struct http2 *http2;
		struct tls_wire *tls;
		struct dns *dns;
		struct resolve *resolve;
	} parser;
	struct http1 *tunnel;	   /* what was said before it became another protocol's */
	struct exchange *upgraded; /* the request that HTTP/2 answers, or NULL */
	uint64_t next[2];	   /* by enum net_direction: behind what was seen */
	uint64_t seen_ns;	   /* when something was moved last */
	uint64_t busy_ns;	   /* when the last response ended */
	uint64_t end_ns;	   /* 0: it goes on */
	size_t bytes;		   /* of its parsers, as counted in enc->parser_bytes */
	struct net_times heard;	   /* what was received */
	struct net_times told;	   /* by which time the trace says that it was sent */
};

/* A TLS stream of a process's library. */
struct net_stream {
	struct {
		uint64_t handle;
		uint32_t tgid, pad;
	} key;
	struct net_conn *conn;
	struct net_layer layer;
	uint8_t link; /* enum net_link, of its last record */
};

enum net_conn_flags {
	CONN_BEFORE = 0x01, /* it was there before the recording */
	CONN_CLOSED = 0x02, /* TCP says so */
	CONN_RESET_SENT = 0x04,
	CONN_RESET_RECEIVED = 0x08,
	CONN_GHOST = 0x10,  /* of a TLS stream whose connection is not known */
	CONN_FAILED = 0x20, /* it was never established */
	CONN_PAIRED = 0x40, /* it is in `ends` */
};

/* Something that has happened on a connection. */
struct net_point {
	uint64_t time_ns;
	uint8_t kind; /* enum net_tcp_kind */
	uint32_t reason, n;
};

/* What requests of one name have in common, as the second one was: mostly all of them. */
struct net_name {
	struct trace_text_id id;
	char *url; /* NULL: there was no second one; the others lie behind it */
	const char *method, *host, *content_type;
	int status;
	struct trace_packed packed;
};

/* What requests of a connection have in common. */
struct net_said {
	struct net_sock sock;
	const char *proto; /* a literal */
	bool is_client;
	struct trace_packed packed;
};

/* The query that has led to a connection. */
struct net_led {
	uint64_t begin_ns, end_ns;
	uint32_t tgid; /* who has asked */
	char name[];
};

struct net_mark; /* net_threads.c */

struct net_conn {
	struct net_encoder *enc;
	struct net_conn *older, *newer; /* by their last record; of closed ones, by their end */
	struct net_sock sock;
	uint32_t tgid, tid; /* whose it is; 0: not known */
	uint64_t owned_ns;  /* the first record that says so: its process lives by then */
	uint64_t cgroup_id;
	uint32_t flags;
	uint32_t error; /* errno */
	/* Each 0: not seen. */
	uint64_t begin_ns, connect_ns, established_ns, closing_ns, closed_ns, last_ns;
	uint64_t sent, received;	   /* bytes */
	uint64_t base_sent, base_received; /* of them before the recording */
	uint32_t retransmits, base_retransmits;
	struct net_quic quic; /* of UDP */
	uint32_t rtt_us, cwnd;
	uint32_t shown_rtt_us, shown_cwnd; /* as the counters have them */
	uint64_t counters[2];		   /* uuids */
	uint32_t n_events;		   /* of the ledger, that go with what is written next */
	uint32_t n_points;
	struct net_point *points;
	struct net_mark *marks;
	struct tls_handshake *handshake;
	struct net_led *led;
	char *host;			 /* as its first request has it, without a port */
	struct net_said *said;		 /* of its requests; NULL: not needed yet */
	struct net_origin *origin;	 /* of its last request; or NULL */
	uint64_t tcp_sent, tcp_received; /* as TCP counts them, and what of it was before */
	uint64_t base_tcp_sent, base_tcp_received;
	struct net_stream *stream;
	struct net_conn *peer;	  /* its other end, if that is on this machine */
	struct net_left *left[2]; /* of its layers, the stream's last; NULL: they are there */
	struct net_layer wire;
};

struct net_process {
	uint32_t tgid;
	uint64_t start_ns;
	uint64_t track, connections;		 /* uuids; 0: not used yet */
	uint64_t sent, received;		 /* bytes */
	uint64_t counted_ns;			 /* when they were written last */
	uint64_t counter_sent, counter_received; /* uuids */
	bool is_counted;			 /* what they are is written */
};

struct net_origin {
	uint64_t process; /* its track */
	uint64_t track;
	char *name;
	struct net_lanes requests, connections;
};

struct net_dns_memory;

#define NET_RECENT_PROCESSES 16

struct net_encoder {
	struct encoder_env env;
	struct net_privacy privacy;
	struct hash *conns;	/* by cookie */
	struct hash *streams;	/* by key */
	struct hash *ends;	/* connections of TCP by what both ends know of them */
	struct hash *processes; /* by tgid */
	struct net_process *recent[NET_RECENT_PROCESSES];
	struct hash *origins; /* by process track and name */
	struct hash *names;   /* of requests that were used: struct net_name */
	struct net_conn *oldest, *newest;
	size_t n_conns;				     /* of all lists, ghosts too */
	struct net_conn *first_closed, *last_closed; /* wait for late records */
	size_t parser_bytes;
	uint64_t last_ns, expired_ns;
	struct tls_wishes wishes; /* of this session alone: slot 0 */
	struct hash *asked_maps;  /* by version: do they have a file that is asked for? */
	struct hash *asked_pids;  /* when those began that were found to be asked for */
	struct net_dns_memory *dns;
	struct hash *dns_clients; /* sockets that ask, by their port */
	struct hash
		*dns_asked; /* cookies of sockets, by what their process has asked on them last */
	struct hash *dns_flows; /* of queries that one end has told of: see dns_end */
	struct stack_encoder *stacks;
	struct net_mark *marks; /* all there are */
	size_t n_marks;
	uint64_t over[N_NET_BOUNDS];
	int error; /* the first of what parsers handed over: they cannot tell */
};

/* ---- slices in the making ---- */

struct net_slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
};

struct trace_arg *net_arg(struct net_slice *s, const char *name, enum trace_arg_type type);
void net_arg_uint(struct net_slice *s, const char *name, uint64_t v);
void net_arg_true(struct net_slice *s, const char *name);
void net_arg_string(struct net_slice *s, const char *name, const char *v); /* not if empty */

/* Slices within one: in order, none overlaps another, each has a length. */
#define NET_MAX_PHASES 8
struct net_phases {
	uint64_t cursor_ns;
	uint64_t limit_ns; /* none is after it; 0: there is none */
	size_t n;
	struct trace_inner list[NET_MAX_PHASES];
};
/* Not if it would have no length. */
void net_phase(struct net_phases *p, const char *name, uint64_t begin_ns, uint64_t end_ns);
/* The same, but with a length in any case. */
void net_phase_always(struct net_phases *p, const char *name, uint64_t begin_ns, uint64_t end_ns);
/* Writes them and the slice around them, which must hold them. */
int net_slice_write(struct net_encoder *enc, struct net_slice *s, struct net_phases *p,
		    const char *phase_category, uint64_t end_ns, unsigned n_events);

static inline void net_note_error(struct net_encoder *enc, int r)
{
	if (r < 0 && enc->error == 0)
		enc->error = r;
}

/* ---- net_conns.c ---- */

/* The connection of a record; NULL: it has none (its event is skipped), or no memory. */
struct net_conn *net_conn_of(struct net_encoder *enc, const struct net_sock *sock,
			     const struct event_hdr *hdr, bool is_event, bool *ret_new);
struct net_conn *net_conn_find(struct net_encoder *enc, uint64_t cookie); /* or NULL */
/* Bytes have gone in or out. */
void net_conn_io(struct net_conn *c, const struct net_io_event *ev, bool is_new);
struct net_conn *net_ghost_new(struct net_encoder *enc, const struct net_sock *sock,
			       const struct event_hdr *hdr);
void net_conn_tcp(struct net_conn *c, const struct net_tcp_event *ev, bool is_new);
void net_conn_bytes(struct net_conn *c, const struct net_bytes_event *ev, bool is_new);
/* Writes what is left of it, and forgets it. `flag`: why, as http1_end() has it. */
void net_conn_end(struct net_conn *c, uint64_t time_ns, uint32_t flag);
void net_conns_free(struct net_encoder *enc);

/* ---- net_expire.c ---- */

void net_conns_flush(struct net_encoder *enc, uint64_t now_ns, bool final);

/* ---- net_layers.c ---- */

/* What a record of bytes has, of either kind. */
struct net_record {
	const struct event_hdr *hdr;
	uint64_t off;
	uint32_t len;
	uint8_t flags, protocol, n_runs;
	const uint8_t *data;
};
void net_layer_take(struct net_layer *l, const struct net_record *rec);
void net_layer_io(struct net_conn *c, const struct net_io_event *ev);

/* ---- net_parsers.c ---- */

/* `late`: the connection's beginning was not seen. Without memory, or room for it, there is none.
 */
void net_parser_new(struct net_layer *l, enum net_layer_kind kind, bool late);
void net_parser_end(struct net_layer *l, uint64_t time_ns, uint32_t flag);
void net_parser_free(struct net_encoder *enc, struct net_layer *l);
/* Its memory may have changed. */
void net_parser_count(struct net_encoder *enc, struct net_layer *l);
/* What is open is handed over; then the parsers are gone. */
void net_layer_end(struct net_layer *l, uint64_t time_ns, uint32_t flag);
void net_layer_free(struct net_encoder *enc, struct net_layer *l);
void net_layer_expire(struct net_layer *l, uint64_t now_ns);

/* ---- net_peers.c ---- */

/* Finds its other end, once enough is known. */
void net_peer_find(struct net_conn *c);
void net_peer_forget(struct net_conn *c);
/* A layer is over: its other end may still need to know when it has heard what. */
void net_peer_leave(struct net_layer *l);
void net_times_add(struct net_times *t, uint64_t off, uint64_t len, uint64_t time_ns);
/* Without memory there are few. */
void net_times_keep_many(struct net_times *t);
size_t net_times_bytes(const struct net_times *t);
void net_times_done(struct net_times *t);
/*
 * When byte `off` was sent: the call's time is that of its return, when the other end may
 * have had it for long, or the trace may have said so already.
 */
uint64_t net_time_sent(struct net_layer *l, uint64_t off, uint64_t time_ns);
uint64_t net_time_received(const struct net_layer *l, uint64_t off, uint64_t time_ns);

/* ---- net_asked.c ---- */

int net_asked_new(struct net_encoder *enc);
void net_asked_free(struct net_encoder *enc);
bool net_is_asked_for(struct net_encoder *enc, uint32_t tgid);

/* ---- net_streams.c ---- */

void net_stream_plain(struct net_encoder *enc, const struct net_plain_event *ev);
/* Takes NULL. */
void net_stream_end(struct net_encoder *enc, struct net_stream *s, uint64_t time_ns, uint32_t flag);
void net_stream_free(struct net_encoder *enc, struct net_stream *s);

/* ---- net_tracks.c ---- */

#define NET_ORIGIN_LEN 256

struct net_process *net_process(struct net_encoder *enc, uint32_t tgid);
/*
 * When what began at `begin_ns` begins on the track of `tgid`, which lives at `alive_ns`:
 * sockets are handed on, also to processes that were not there yet.
 */
uint64_t net_begin_in_life(struct net_encoder *enc, uint32_t tgid, uint64_t begin_ns,
			   uint64_t alive_ns);
/* Who had this number at that time is gone, and another has it. */
bool net_is_successor(struct net_encoder *enc, uint32_t tgid, uint64_t time_ns);
/* What a connection is to be found under. `host`: better than what it knows itself, or NULL. */
void net_origin_name(const struct net_conn *c, const char *host, char ret[NET_ORIGIN_LEN]);
/* The best name of the other end; NULL: its address. `*ret_from`: "dns", "sni", "host". */
const char *net_conn_name(const struct net_conn *c, const char **ret_from);

enum net_lane_kind { NET_LANE_REQUESTS, NET_LANE_CONNECTIONS };
/* Of its own, beside its lanes; 0: no memory, or nobody's. */
uint64_t net_counter_track(struct net_conn *c, const char *name, const char *unit);
/* What is to be drawn under an origin. */
struct net_drawn {
	uint32_t tgid;
	enum net_lane_kind kind;
	const char *origin;
	struct net_origin **last; /* of the connection: it is most likely that one again */
	uint64_t begin_ns, end_ns;
};
/* A track with room for it. 0 with `*ret_error` 0: there is none, or nobody's process. */
uint64_t net_lane(struct net_encoder *enc, const struct net_drawn *drawn, int *ret_error);
void net_tracks_free(struct net_encoder *enc);

/* ---- net_names.c ---- */

/* NULL: none has had this name before; too many have been there if it does not fit: bounded. */
struct net_name *net_request_name(struct net_encoder *enc, const char *name, bool *ret_fits);
/* Without memory it is as before. */
void net_name_learn(struct net_name *known, const struct exchange *e, const char *url);
void net_names_free(struct net_encoder *enc);

/* ---- net_slices.c, net_requests.c ---- */

int net_connection_write(struct net_conn *c, uint64_t end_ns, bool unfinished);
/* Of a drop, or of a reset that was sent; NULL: the running kernel has no name for it. */
const char *net_reason_name(enum net_tcp_kind kind, uint32_t reason);
int net_request_write(struct net_layer *l, const struct exchange *e);
/* What TCP thinks of the way, of a connection that lasts. */
int net_sample_write(struct net_conn *c, uint64_t time_ns);

/* ---- net_threads.c ---- */

int net_threads_new(struct net_encoder *enc);
void net_threads_free(struct net_encoder *enc);
int net_mark_stack(struct net_conn *c, const struct net_stack_event *ev);
/* The bytes that a mark is about have come. */
void net_mark_io(struct net_conn *c, const struct net_io_event *ev);
/* Stacks of what is no request are shown as well. */
int net_marks_end(struct net_conn *c);
void net_marks_free(struct net_conn *c);

struct net_thread_point {
	const char *name;
	uint64_t time_ns;
	uint64_t call_ns; /* what its record says: the time above may be better */
	uint32_t tgid, tid;
	bool sent;
	uint64_t flow_id;
};
/* Now, or with its stack when that has names. `slack_ns`: how much older its mark may be. */
int net_thread_write(struct net_conn *c, const struct net_thread_point *p, uint64_t slack_ns);

/* ---- net_dns.c ---- */

int net_dns_new(struct net_encoder *enc);
void net_dns_free(struct net_encoder *enc);
int net_dns_write(struct net_conn *c, const struct dns_query *q);
int net_lookup_write(struct net_encoder *enc, const struct net_lookup_event *ev);
/* A socket that asks has sent something; its other end may be on this machine. */
void net_dns_asks(struct net_conn *c);
/* What was sent was a query: whom the process has asked it before, it no longer waits for. */
void net_dns_asked(struct net_conn *c, uint32_t tgid, uint64_t time_ns);
void net_dns_forget(struct net_conn *c);
/* The query that has led here, if there is one: kept as `c->led`. */
void net_dns_led(struct net_conn *c);

/* ---- net_counters.c ---- */

int net_count(struct net_encoder *enc, uint32_t tgid, uint64_t time_ns, uint64_t sent,
	      uint64_t received);
int net_counters_flush(struct net_encoder *enc, uint64_t now_ns);

#endif
