/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_encode.h - records of the source gpu in a trace, handed to its parts by their kind. */
#ifndef GPU_ENCODE_H
#define GPU_ENCODE_H

#include "collector.h"

/* The functions of struct collector. */
bool gpu_valid(const struct event_hdr *hdr, size_t len);
int gpu_encoder_new(const struct encoder_env *env, void **ret_encoder);
void gpu_encoder_free(void *encoder);
int gpu_encode(void *encoder, const struct event_hdr *hdr);
int gpu_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool gpu_encoder_pending(void *encoder);
const uint64_t *gpu_encoder_stack_ends(void *encoder);
void gpu_encoder_lost(void *encoder, int cpu);

#endif
