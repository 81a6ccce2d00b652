/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_request.h - a request on its way to a slice, for net_requests.c, which knows its times,
 * and net_request_args.c, which knows what is said of it.
 */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include "net_encode_impl.h"

#define NET_URL_LEN	(EXCHANGE_HOST_LEN + EXCHANGE_PATH_LEN + 32)
#define NET_REQUEST_LEN (EXCHANGE_METHOD_LEN + EXCHANGE_PATH_LEN + 32)

struct net_request {
	struct net_layer *layer;
	struct net_conn *conn;
	const struct exchange *e;
	bool is_client;
	uint32_t tgid, tid;		  /* whose it is */
	uint64_t request_ns, response_ns; /* as both ends have it; 0: not seen */
	uint64_t begin_ns, end_ns;
	uint64_t flow_id;
	struct net_name *known; /* one of its name was there before; or NULL */
	struct net_phases phases;
	struct net_slice slice;
	/* From the slice's arguments on nothing is read that was not written: it is much. */
	char name[NET_REQUEST_LEN], url[NET_URL_LEN], proto[16], error[48];
	char origin[NET_ORIGIN_LEN];
	char remote[NET_ADDRESS_LEN], local[NET_ADDRESS_LEN];
};

/* Its name and its arguments. */
void net_request_describe(struct net_request *q);
/* The host that it asks for, without a port, which the connection knows; or "". */
void net_request_host(const struct exchange *e, char ret[EXCHANGE_HOST_LEN]);

#endif
