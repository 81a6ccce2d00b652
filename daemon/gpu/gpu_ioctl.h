/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_ioctl.h - ioctls of GPU devices as slices of a trace. A part of the source gpu. */
#ifndef GPU_IOCTL_H
#define GPU_IOCTL_H

#include "collector.h"

struct gpu_ioctls;
struct gpu_links;

bool gpu_ioctl_valid(const struct event_hdr *hdr, size_t len);

/* `links` outlives it. */
int gpu_ioctls_new(const struct encoder_env *env, struct gpu_links *links, struct gpu_ioctls **ret);
void gpu_ioctls_free(struct gpu_ioctls *g); /* takes NULL */

int gpu_ioctls_encode(struct gpu_ioctls *g, const struct event_hdr *hdr);
int gpu_ioctls_flush(struct gpu_ioctls *g, uint64_t now_ns, bool final);
bool gpu_ioctls_pending(const struct gpu_ioctls *g);
const uint64_t *gpu_ioctls_stack_ends(const struct gpu_ioctls *g);

#endif
