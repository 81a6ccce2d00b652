/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_encode.h - from calls of GPU APIs to slices and samples in the trace. */
#ifndef GPU_API_ENCODE_H
#define GPU_API_ENCODE_H

#include "collector.h"

#define GPU_API_CATEGORY "gpu-api"
#define GPU_API_SOURCE	 "linux.gpu_api"

bool gpu_api_valid(const struct event_hdr *hdr, size_t len);
int gpu_api_encoder_new(const struct encoder_env *env, void **ret_encoder);
void gpu_api_encoder_free(void *encoder);
int gpu_api_encode(void *encoder, const struct event_hdr *hdr);
int gpu_api_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool gpu_api_encoder_pending(void *encoder);
const uint64_t *gpu_api_encoder_stack_ends(void *encoder);

#endif
