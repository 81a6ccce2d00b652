/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_encode.h - samples of allocations, weighed in bytes, in a trace. */
#ifndef ALLOC_ENCODE_H
#define ALLOC_ENCODE_H

#include "collector.h"

/* The functions of struct collector. */
bool alloc_valid(const struct event_hdr *hdr, size_t len);
int alloc_encoder_new(const struct encoder_env *env, void **ret_encoder);
void alloc_encoder_free(void *encoder);
int alloc_encode(void *encoder, const struct event_hdr *hdr);
int alloc_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool alloc_encoder_pending(void *encoder);
const uint64_t *alloc_encoder_stack_ends(void *encoder);

#endif
