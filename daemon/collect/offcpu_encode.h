/* SPDX-License-Identifier: Apache-2.0 */
/* offcpu_encode.h - waits as slices and samples of a trace. */
#ifndef OFFCPU_ENCODE_H
#define OFFCPU_ENCODE_H

#include "collector.h"

/* Names of the sources, which reports look for. */
#define OFFCPU_SOURCE "linux.offcpu"
#define OFFCPU_UNIT   "ns-offcpu"
#define WAKERS_SOURCE "linux.wakers"
#define WAKERS_UNIT   "ns-unblocked"

/* The functions of struct collector. */
bool offcpu_valid(const struct event_hdr *hdr, size_t len);
int offcpu_encoder_new(const struct encoder_env *env, void **ret_encoder);
void offcpu_encoder_free(void *encoder);
int offcpu_encode(void *encoder, const struct event_hdr *hdr);
int offcpu_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool offcpu_encoder_pending(void *encoder);
const uint64_t *offcpu_encoder_stack_ends(void *encoder);

#endif
