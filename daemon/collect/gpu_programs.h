/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_programs.h - at which places of the kernel programs of bpf/gpu.bpf.c see ioctls. A
 * part of gpu.c.
 */
#ifndef COLLECT_GPU_PROGRAMS_H
#define COLLECT_GPU_PROGRAMS_H

#include <stdbool.h>

struct gpu_bpf;

/* What is watched: the cheapest first. */
enum gpu_place {
	GPU_AT_FUNCTION,    /* the kernel's own for ioctl() */
	GPU_AT_TRACEPOINTS, /* those of ioctl() */
	GPU_AT_ALL_CALLS,   /* the tracepoints of all system calls */
};

struct gpu_places {
	enum gpu_place place;
	bool compat_function; /* there is one for 32-bit programs */
};

/* The cheapest that this kernel can, as far as it can be told beforehand. */
void gpu_places_find(struct gpu_places *ret);

/* Between the skeleton's open and load. */
void gpu_programs_choose(struct gpu_bpf *skel, const struct gpu_places *at, bool with_iterators);
/* Those for 32-bit programs alone, where others are at the tracepoints of ioctl(). */
void gpu_programs_choose_compat(struct gpu_bpf *skel);

/* The way out first: a call whose way in was seen must not miss it. */
int gpu_programs_attach(struct gpu_bpf *skel, const struct gpu_places *at);

#endif
