/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_encode.h - the encoder half of the source net: records of sockets become
 * connections, requests and DNS queries of a trace.
 */
#ifndef NET_ENCODE_H
#define NET_ENCODE_H

#include "collector.h"

/* As the collector's. Records are valid (net_decode.h). */
int net_encoder_new(const struct encoder_env *env, void **ret_encoder);
void net_encoder_free(void *encoder); /* takes NULL */
int net_encode(void *encoder, const struct event_hdr *ev);
int net_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool net_encoder_pending(void *encoder);
const uint64_t *net_encoder_stack_ends(void *encoder);

/* An upper bound of what connections and their parsers take. For tests. */
size_t net_encoder_bytes(const void *encoder);

#endif
