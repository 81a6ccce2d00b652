/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - one stack out of the native frames of a thread and those of
 * interpreted functions: of Python's own chain, or of V8's frames, each of which is
 * a native one.
 *
 * Each native frame of CPython's evaluation function runs one Python frame
 * after the other: from the one it was entered with (python.h: entry) to those
 * that this one called without leaving the interpreter. They take its place.
 */
#ifndef MERGE_H
#define MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is a native function of this name the evaluation function, or a part of it? */
bool merge_is_evaluation(const char *function);

/*
 * Is a native function of this name, of V8's own, where its frame belongs to the function that it
 * runs: the interpreter's entry, or one of its bytecodes?
 */
bool merge_is_v8_stand_in(const char *function);

/* Likewise of HotSpot's interpreter, as the daemon calls it. */
bool merge_is_jvm_stand_in(const char *function);

struct merge_input {
	const bool *is_evaluation; /* of each native frame, outermost first */
	size_t n_native;
	bool native_whole;     /* the native stack begins with the thread's first frame */
	const uint64_t *words; /* of python.h, innermost first */
	size_t n_words;
	bool words_whole; /* all Python frames are there */
};

struct merged_frame {
	bool is_python;
	uint16_t index; /* of the native frame, or of the word */
};

/*
 * Fills `ret`, which has room for n_native + n_words, outermost first, and
 * returns how many there are: every native frame but the evaluation functions
 * that have Python frames, and all of these. `*ret_approx`: the two do not fit
 * together, and some Python frames may stand at the wrong place between the
 * native ones; their order among themselves is right.
 */
size_t merge_frames(const struct merge_input *in, struct merged_frame *ret, bool *ret_approx);

#endif
