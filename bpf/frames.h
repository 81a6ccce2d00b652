/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * frames.h - what the daemon tells the walker of stacks about the frames of
 * generated code (frames.bpf.h), and what that tells the daemon.
 *
 * Code that a runtime generates, or interprets, keeps in each frame which function
 * the frame is of: an object, at a fixed distance from the frame pointer. Objects
 * move; so the walker looks at them at once. It describes each once, in a record of
 * the ring `frames_ring`, and names it by a number from then on.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <linux/types.h>

#define FRAMES_MAX_RULES   4096
#define FRAMES_MAX_OBJECTS 16384

#define FRAMES_WINDOW 8 /* words of an object that are looked at */

#define FRAMES_NONE ((__s16)0x7fff) /* of an offset: there is no such thing */

/*
 * The way from a frame to its object, value of `frames_rules` by tgid. Offsets are
 * in bytes; pointers may have a tag, which the offsets make up for:
 *
 *   frame:   at `subject_at` from the frame pointer, a pointer to the subject; with
 *	      `has_marker` the next word is a pointer, too, or the frame is of another kind
 *   subject: at `class_at` a pointer to its class, in which at `type_at` there is a
 *	      number of 16 bits from `type_min` to `type_max`, when the object is
 *	      described; or (FRAMES_NONE) there is no such thing
 *   object:  where the pointer at `object_at` in the subject leads, or (FRAMES_NONE)
 *	      the subject itself
 *
 * From `window_at` in the object on there are FRAMES_WINDOW words, of which the bits
 * in `mask` tell one object from another.
 */
struct frames_rule {
	__s16 subject_at, class_at, type_at, object_at, window_at;
	__u16 type_min, type_max;
	__u8 tag_mask, tag; /* a pointer has these lowest bits */
	__u8 has_marker;
	__u8 pad[7];
	__u64 mask[FRAMES_WINDOW];
};

/* The only value of `frames_state`: counted by all walkers, on all CPUs. */
struct frames_state {
	__u32 n_objects; /* numbers given so far */
	__u32 pad;
};

/*
 * A word: the frame's place in the stack, innermost 0, and the number of its object.
 * It lies where words of Python's frames do (python.h), of which none has these
 * two bits like that.
 */
#define FRAMES_WORD(index, number) (1ull << 62 | (__u64)(index) << 32 | (__u32)(number))
#define FRAMES_IS_WORD(word)	   (((word) >> 61 & 3) == 2)
#define FRAMES_WORD_INDEX(word)	   ((__u32)((word) >> 32) & 0xffff)
#define FRAMES_WORD_NUMBER(word)   ((__u32)(word))

/* An object: record of `frames_ring`. */
struct frames_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 address; /* with its tag */
	__u64 identity;
	__u32 tgid;
	__u32 number; /* never 0 */
};

static inline __u64 frames_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* What tells the object with this window from others. */
static inline __u64 frames_identity(const __u64 window[FRAMES_WINDOW],
				    const __u64 mask[FRAMES_WINDOW])
{
	__u64 h = 0;

	for (int i = 0; i < FRAMES_WINDOW; i++)
		h = frames_mix(h, window[i] & mask[i]);
	return h;
}

#endif
