/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_tls.h - the part of the source `net` that reads what TLS libraries are given and
 * give in clear text. Nothing is probed unless a session asks for it by name; but for
 * getaddrinfo(), where a probe costs little.
 */
#ifndef COLLECT_NET_TLS_H
#define COLLECT_NET_TLS_H

#include <bpf/libbpf.h>

#include "collector.h"

struct net_tls;

/*
 * `net`, loaded, has the maps that are shared, its ring among them: it must outlive
 * this one. Measures what a probe costs.
 */
int net_tls_new(const struct collector_env *env, struct bpf_object *net, struct net_tls **ret);
void net_tls_free(struct net_tls *t); /* takes NULL */

/*
 * What the session in the slot asks for. On failure `why` says what is wrong; else what
 * is to be known about it, or nothing.
 */
int net_tls_open(struct net_tls *t, const struct trace_config *config, unsigned slot,
		 char why[WHY_LEN]);
void net_tls_close(struct net_tls *t, unsigned slot);

/* Some times a second: processes and libraries that are new. */
void net_tls_update(struct net_tls *t);
/* About once a second: streams of processes that have ended. */
void net_tls_tick(struct net_tls *t);

/* NULL: nobody has asked for anything yet. */
struct bpf_object *net_tls_object(struct net_tls *t);

#endif
