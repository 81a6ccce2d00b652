/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_vblanks.h - the beat of each display. Pure logic.
 *
 * A vblank event has the index of a CRTC and a count, but no device: the first
 * CRTCs of two cards look the same. Their counts and times do not. Whose a beat is
 * shows when a client of a known device is told of one.
 */
#ifndef GPU_VBLANKS_H
#define GPU_VBLANKS_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_beat {
	uint32_t device, crtc; /* device 0: not known yet */
	uint32_t seq;	       /* the last one */
	uint64_t time_ns;
	uint64_t period_ns; /* 0: not known yet */
	uint64_t recent[5];
	unsigned n_recent;
	bool used;
};

#define GPU_MAX_BEATS 32

struct gpu_vblanks {
	struct gpu_beat beats[GPU_MAX_BEATS];
};

/* The beat that this vblank belongs to, a new one if it fits none. Never NULL. */
struct gpu_beat *gpu_vblanks_add(struct gpu_vblanks *v, uint32_t crtc, uint32_t seq,
				 uint64_t time_ns);

/* A client of the device was told of this one at about this time: whose beat is it? */
void gpu_vblanks_learn(struct gpu_vblanks *v, uint32_t device, uint32_t crtc, uint32_t seq,
		       uint64_t time_ns);

/* NULL: not known. */
const struct gpu_beat *gpu_vblanks_of(const struct gpu_vblanks *v, uint32_t device, uint32_t crtc);

/* `to` is `n` vblanks after `from`: the period is learnt. */
void gpu_beat_measure(struct gpu_beat *b, uint64_t from_ns, uint64_t to_ns, uint64_t n);

#endif
