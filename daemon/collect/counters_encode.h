/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_encode.h - the counters collector's half in a session: records to
 * packets. The functions are those of `struct collector`.
 */
#ifndef COUNTERS_ENCODE_H
#define COUNTERS_ENCODE_H

#include "collector.h"

int counters_encoder_new(const struct encoder_env *env, void **ret_encoder);
void counters_encoder_free(void *encoder);
int counters_encode(void *encoder, const struct event_hdr *ev);

#endif
