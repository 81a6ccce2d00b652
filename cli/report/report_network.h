/* SPDX-License-Identifier: Apache-2.0 */
/* report_network.h - what is meant of the network, shared by the files that print it. */
#ifndef REPORT_NETWORK_H
#define REPORT_NETWORK_H

#include "report.h"
#include "report_window.h"

/* Of a process; or of one of its origins. */
struct net_total {
	uint32_t process, origin; /* as in trace_net */
	uint64_t n, n_failed, n_open;
	uint64_t n_connections, n_retransmits, sent, received; /* of connections */
	uint64_t requests_sent, requests_received;	       /* of requests */
	size_t first_time, n_times; /* of those that are over, in `times`, by length */
};

struct net_row {
	const struct trace_net *item;
	size_t process; /* index of its total */
	bool failed, open;
};

struct net_time {
	size_t origin; /* index of its total */
	uint64_t ns;
};

struct network_report {
	const struct report *r;
	struct report_window window;
	struct net_row *rows; /* by process, and then in the order of their beginnings */
	size_t n_rows, n_items;
	struct net_total *processes, *origins; /* in the order in which they appear */
	size_t n_processes, n_origins;
	struct net_time *times;
	size_t n_times;
	struct hash *by_process, *by_origin; /* index + 1 */
	struct hash *understood; /* cookie of a connection -> how far its talk is, UNDERSTOOD_* */
};

/* An argument of it; none: "", 0. */
const char *net_text(const struct network_report *n, const struct trace_net *item,
		     const char *name);
uint64_t net_number(const struct network_report *n, const struct trace_net *item, const char *name);
bool net_has(const struct network_report *n, const struct trace_net *item, const char *name);

bool net_is_meant(const struct network_report *n, const struct trace_net *item);
bool net_is_failed(const struct network_report *n, const struct trace_net *item);
bool net_is_open(const struct network_report *n, const struct trace_net *item);
/* How long it took that `percent` of an origin's. */
uint64_t net_percentile(const struct network_report *n, const struct net_total *t,
			unsigned percent);
/* What connections have moved; where none is told of, what requests have. */
uint64_t net_sent(const struct net_total *t);
uint64_t net_received(const struct net_total *t);
const char *net_process_name(const struct network_report *n, uint32_t process, int32_t *ret_pid);

/* ---- report_waterfall.c ---- */

void net_print_waterfall(const struct network_report *n);

/* ---- report_network_json.c ---- */

void net_put_json(const struct network_report *n);

#endif
