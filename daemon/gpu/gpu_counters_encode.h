/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters_encode.h - the half of gpu-counters in a session: records to
 * counter tracks. The functions are those of `struct collector`.
 */
#ifndef GPU_COUNTERS_ENCODE_H
#define GPU_COUNTERS_ENCODE_H

#include "collector.h"

int gpu_counters_encoder_new(const struct encoder_env *env, void **ret_encoder);
void gpu_counters_encoder_free(void *encoder);
int gpu_counters_encode(void *encoder, const struct event_hdr *ev);

#endif
