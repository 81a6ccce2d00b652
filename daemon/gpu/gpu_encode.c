/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_encode.c - records of the source gpu: each part has a range of kinds, and
 * its own state for the session. They know of each other through gpu_links.h.
 */
#include "gpu_encode.h"

#include <errno.h>
#include <stdlib.h>

#include "gpu_events.h"
#include "gpu_ioctl.h"
#include "gpu_links.h"
#include "gpu_work.h"

struct gpu_encoder {
	struct gpu_links *links;
	struct gpu_ioctls *ioctls;
	struct gpu_work *work;
};

bool gpu_valid(const struct event_hdr *hdr, size_t len)
{
	if (hdr->size != len || hdr->stream != 0)
		return false;
	if (hdr->type < GPU_JOBS_FIRST)
		return gpu_ioctl_valid(hdr, len);
	return gpu_work_valid(hdr, len);
}

int gpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct gpu_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	r = gpu_links_new(&enc->links);
	if (r == 0)
		r = gpu_ioctls_new(env, enc->links, &enc->ioctls);
	if (r == 0)
		r = gpu_work_new(env, enc->links, "/sys", &enc->work);
	if (r < 0)
		goto fail;
	*ret_encoder = enc;
	return 0;

fail:
	gpu_encoder_free(enc);
	return r;
}

void gpu_encoder_free(void *encoder)
{
	struct gpu_encoder *enc = encoder;

	if (!enc)
		return;
	gpu_ioctls_free(enc->ioctls);
	gpu_work_free(enc->work);
	gpu_links_free(enc->links);
	free(enc);
}

int gpu_encode(void *encoder, const struct event_hdr *hdr)
{
	struct gpu_encoder *enc = encoder;

	if (hdr->type >= GPU_JOBS_FIRST)
		return gpu_work_encode(enc->work, hdr);
	if (hdr->type == GPU_IOCTL || hdr->type == GPU_IOCTL_STACK)
		gpu_work_ioctl(enc->work, (const struct gpu_ioctl_event *)hdr);
	return gpu_ioctls_encode(enc->ioctls, hdr);
}

int gpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct gpu_encoder *enc = encoder;

	int r = gpu_ioctls_flush(enc->ioctls, now_ns, final);

	return r < 0 ? r : gpu_work_flush(enc->work, now_ns, final);
}

bool gpu_encoder_pending(void *encoder)
{
	struct gpu_encoder *enc = encoder;

	return gpu_ioctls_pending(enc->ioctls);
}

const uint64_t *gpu_encoder_stack_ends(void *encoder)
{
	struct gpu_encoder *enc = encoder;

	return gpu_ioctls_stack_ends(enc->ioctls);
}

void gpu_encoder_lost(void *encoder, int cpu)
{
	struct gpu_encoder *enc = encoder;

	(void)cpu;
	gpu_work_lost(enc->work);
}
