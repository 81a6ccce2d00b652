/* SPDX-License-Identifier: MIT */
/* fakegpu_drm.h - the ioctl of the test device "fakegpu", for both sides. */
#ifndef FAKEGPU_DRM_H
#define FAKEGPU_DRM_H

#ifndef __KERNEL__
#include <drm/drm.h>
#endif

enum fakegpu_ring { FAKEGPU_GFX, FAKEGPU_COMPUTE, FAKEGPU_COPY, FAKEGPU_N_RINGS };

#define DRM_FAKEGPU_SUBMIT 0x00

struct drm_fakegpu_submit {
	__u32 ring;	   /* enum fakegpu_ring */
	__u32 duration_us; /* how long the ring works on it; not 0 */
	__u32 in_syncobj;  /* the job waits for its fence; 0: for none */
	__u32 out_syncobj; /* gets the job's fence; 0: none does */
	__u64 fence_ctx;   /* out: the job's fence as the scheduler's events name it */
	__u64 fence_seqno; /* out */
};

#define DRM_IOCTL_FAKEGPU_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_FAKEGPU_SUBMIT, struct drm_fakegpu_submit)

#endif
