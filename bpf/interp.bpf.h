/* SPDX-License-Identifier: GPL-2.0 */
/*
 * interp.bpf.h - the words of a thread's interpreted frames: of Python's own chain
 * (python.bpf.h), or of frames of generated code in the stack that was just walked
 * (frames.bpf.h).
 */
#ifndef INTERP_BPF_H
#define INTERP_BPF_H

#include "frames.bpf.h"
#include "python.bpf.h"

/* Leaves them in this CPU's walk of Python frames, which is busy then. 0: there are none. */
__attribute__((noinline)) int interp_walk(__u32 tgid, __u32 tid)
{
	struct python_walk *w;
	__u32 zero = 0, n;
	bool more = false;

	if (python_walk_frames(tgid, tid))
		return 1;
	w = bpf_map_lookup_elem(&python_walks, &zero);
	if (!w || w->busy)
		return 0;
	n = frames_words(w->words, &more);
	if (!n)
		return 0;
	w->n = n;
	w->end = more ? PYTHON_DEPTH : PYTHON_COMPLETE;
	w->busy = 1;
	return 1;
}

/*
 * The interpreted frames of the current thread, whose stack has just been walked:
 * writes words, innermost first, to `words`, which has room for PYTHON_WORDS_ROOM, and
 * returns how many. `*ret_end` (enum python_end) says whether these are all.
 */
static __always_inline __u32 interp_words(__u32 tgid, __u32 tid, __u64 *words, __u32 *ret_end)
{
	struct python_walk *w;
	__u32 zero = 0, n;

	*ret_end = PYTHON_NONE;
	if (!interp_walk(tgid, tid))
		return 0;
	w = bpf_map_lookup_elem(&python_walks, &zero);
	if (!w)
		return 0;
	n = w->n;
	asm volatile("" : "+r"(n));
	n &= PYTHON_WORDS_ROOM - 1;
	if (n && bpf_probe_read_kernel(words, n * sizeof(*words), w->words) < 0)
		n = 0;
	*ret_end = w->end;
	w->busy = 0;
	return n;
}

#endif
