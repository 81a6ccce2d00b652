/* SPDX-License-Identifier: Apache-2.0 */
/*
 * good_network.h - a good_trace with a network: app (100) looks a name up, connects to
 * nginx (pid 1) and asks for three things; a connection fails, one is not understood, one
 * is of UNIX sockets, and what is said in TLS is not read.
 */
#ifndef GOOD_NETWORK_H
#define GOOD_NETWORK_H

#include "good_trace.h"

#define NET_FLOW 4242

struct good_network {
	/* BEGINs; their ENDs are right behind them. */
	TracePacket *lookup, *connection, *connect, *established, *failed, *last_unix;
	TracePacket *request, *phases[4]; /* connect, send, wait, receive */
	TracePacket *served, *served_phases[3];
	TracePacket *sent, *received; /* instants of app's thread, with the flow */
	TracePacket *attributes;
	TracePacket *last; /* the next one may be put before it */

	struct good_trace *t;
	uint64_t n_iids[4]; /* by field of InternedData */
	const char *names[4][100];
};

/* Everything; of what is not changed a check finds nothing. */
void good_network_add(struct good_trace *t, struct good_network *n);

/* A track and slices on it, for more of the same. Times in us behind T0. */
uint64_t good_net_track(struct good_network *n, const char *name, uint64_t parent);
TracePacket *good_net_slice(struct good_network *n, uint64_t track, const char *name,
			    const char *category, uint64_t begin_us, uint64_t end_us);
TracePacket *good_net_instant(struct good_network *n, uint64_t track, const char *name,
			      const char *category, uint64_t time_us);
void good_net_flow(struct good_network *n, TracePacket *pkt, uint64_t id);
void good_net_put_text(struct good_network *n, TracePacket *pkt, const char *name,
		       const char *value);
void good_net_put_number(struct good_network *n, TracePacket *pkt, const char *name,
			 uint64_t value);
void good_net_put_bool(struct good_network *n, TracePacket *pkt, const char *name);
/* What was put; it may be changed. */
DebugAnnotation *good_net_arg(struct good_network *n, TracePacket *pkt, const char *name);
/* The END of a BEGIN. */
TracePacket *good_net_end(struct good_network *n, TracePacket *begin);

#endif
