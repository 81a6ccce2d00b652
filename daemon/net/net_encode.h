/* SPDX-License-Identifier: Apache-2.0 */
/* net_encode.h - records of the network in a trace. */
#ifndef NET_ENCODE_H
#define NET_ENCODE_H

#include "collector.h"

/* The functions of struct collector. */
int net_encoder_new(const struct encoder_env *env, void **ret_encoder);
void net_encoder_free(void *encoder);
int net_encode(void *encoder, const struct event_hdr *hdr);
int net_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool net_encoder_pending(void *encoder);
const uint64_t *net_encoder_stack_ends(void *encoder);

#endif
