/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_records.h - records of the network made by hand, and what becomes of them in a trace,
 * read back.
 */
#ifndef NET_RECORDS_H
#define NET_RECORDS_H

#include "net_events.h"
#include "process/process_table.h"
#include "trace_config.h"
#include "written_trace.h"

#define US (uint64_t)1000
#define MS (1000 * US)

#define CLIENT_PID 1000
#define SERVER_PID 2000
#define COOKIE	   77
#define SERVER	   78 /* the cookie of a connection's other end */

/* Of the recording that is being made; times below are since its start. */
struct net_records {
	struct written w;
	struct trace_config config;
	struct process_table *processes;
	void *encoder;
	uint64_t start_ns;
	uint64_t n_encoded;
};
extern struct net_records net;

void net_records_open(void);
void net_records_close(void);
void net_flush(uint64_t time);
/* The same, and nobody takes what was written so far. */
void net_drop_block(uint64_t time);

/* As the kernel tells of it. */
void net_begin_process(uint32_t tgid, const char *comm, uint64_t time);

/* From 10.0.0.1:40000 to 10.0.0.2:80, or the other end of it. */
struct net_sock net_client(void);
struct net_sock net_server(void);

struct net_tcp_event net_tcp(struct net_sock sock, uint64_t time, enum net_tcp_kind kind);
void net_state(struct net_sock sock, uint64_t time, int old_state, int new_state);
/* Connects at 1 ms, is established at 2 ms. */
void net_connect(struct net_sock sock);
void net_accept(struct net_sock sock, uint64_t time);
void net_close(struct net_sock sock, uint64_t time);

struct net_io {
	struct net_sock sock;
	uint64_t time, off;
	bool sent;
	uint8_t protocol; /* 0: NET_PROTOCOL_HTTP1 */
	uint8_t flags;
	uint32_t tgid, tid; /* 0: as the role has it */
	const char *text;   /* what is known */
	uint32_t len;	    /* 0: all of it is known */
	uint64_t stream;    /* not 0: in clear text */
	bool is_over;	    /* no bytes: an orderly end */
};
void net_io(struct net_io io);
void net_encode_record(const struct event_hdr *hdr);

/* ---- reading back ---- */

struct net_read_slice {
	char name[320], category[16];
	char args[1600];     /* "fd=7 proto=tcp" */
	char track[400];     /* "1000/Connections/example.org:80/requests"; a thread: "1000/1001" */
	uint64_t begin, end; /* since the start; an instant has no length */
	uint64_t uuid;
	bool is_instant;
	uint64_t flows[4];
	size_t n_flows;
	uint64_t callstack_iid, correlation_id;
};
#define NET_MAX_SLICES 4096
extern struct net_read_slice *net_slices;
extern size_t net_n_slices;

/* Ends the recording, checks it, and reads it. */
void net_finish(uint64_t time);
/* The n-th of this name; NULL: there are fewer. */
const struct net_read_slice *net_find_nth(const char *name, size_t n);
/* The only one. */
const struct net_read_slice *net_slice_named(const char *name);
/* The value of an argument; "" if it has none. Valid until the next call. */
const char *net_arg_of(const struct net_read_slice *s, const char *name);
/* The phases within it: "connect 1000-2000, send 2000-2001", in us. */
const char *net_phases_of(const struct net_read_slice *s);
size_t net_count_flow(uint64_t id);

#endif
