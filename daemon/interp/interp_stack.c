/* SPDX-License-Identifier: Apache-2.0 */
/* interp_stack.c - the interpreted frames of one sample. */
#include "interp_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "interpreter.h"
#include "merge.h"
#include "symbolize/symbolizer.h"
#include "v8_procs.h"

struct interp_stack {
	bool whole;
	bool is_native; /* of words of frames.h: each belongs to a native frame */
	size_t n;
	uint64_t *words;
	struct location *locations[];
};

static bool add(struct interp_stack *st, struct location *loc)
{
	if (!loc)
		return false;
	location_hold(loc);
	st->locations[st->n++] = loc;
	return true;
}

int interp_stack_new(struct interpreter *in, const uint64_t *words, size_t n, bool whole,
		     struct interp_stack **ret)
{
	struct interp_stack *st;

	size_t room = n + 1; /* for the gap */

	st = calloc(1, sizeof(*st) + room * (sizeof(st->locations[0]) + sizeof(st->words[0])));
	if (!st)
		return -ENOMEM;
	st->whole = whole;
	st->words = (uint64_t *)(st->locations + room);
	memcpy(st->words, words, n * sizeof(*words));
	while (st->n < n)
		if (!add(st, interpreter_locate(in, words[st->n])))
			goto fail;
	/* A native frame more that has no name says as much. */
	st->is_native = n > 0 && FRAMES_IS_WORD(words[0]);
	if (!whole && !st->is_native && !add(st, interpreter_gap(in)))
		goto fail;
	*ret = st;
	return 0;

fail:
	interp_stack_free(st);
	return -ENOMEM;
}

void interp_stack_free(struct interp_stack *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->n; i++)
		location_release(st->locations[i]);
	free(st);
}

bool interp_stack_ready(const struct interp_stack *st)
{
	for (size_t i = 0; i < st->n; i++)
		if (!st->locations[i]->ready)
			return false;
	return true;
}

/* May the function that `loc` says it is take the place of this frame? */
static bool takes_place(const struct location *loc, const struct location *native)
{
	if (!loc->ready || !loc->has_symbol || !native->ready)
		return false;
	if (native->kind == LOCATION_JIT && native->has_symbol) /* or HotSpot's interpreter: */
		return merge_is_jvm_stand_in(native->function);
	if (native->has_symbol) /* generated code that a perf map names keeps that name */
		return native->kind == LOCATION_NATIVE && merge_is_v8_stand_in(native->function);
	return module_may_be_generated(native->module) || v8_procs_may_be(native->module->path);
}

static size_t merge_native(const struct interp_stack *st, struct location *const *native, size_t n,
			   struct location **ret)
{
	memcpy(ret, native, n * sizeof(*ret));
	for (size_t i = 0; i < st->n; i++) {
		size_t index = FRAMES_WORD_INDEX(st->words[i]);

		if (index < n && takes_place(st->locations[i], native[n - 1 - index]))
			ret[n - 1 - index] = st->locations[i];
	}
	return n;
}

static size_t merge_python(const struct interp_stack *st, struct location *const *native, size_t n,
			   bool whole, struct location **ret, bool *ret_approx)
{
	struct merged_frame *merged = calloc(n + st->n + 1, sizeof(*merged));
	bool *is_evaluation = calloc(n + 1, sizeof(*is_evaluation));
	struct merge_input in = {
		.is_evaluation = is_evaluation,
		.n_native = n,
		.native_whole = whole,
		.words = st->words,
		.n_words = st->n,
		.words_whole = st->whole,
	};
	size_t count = 0;

	if (merged && is_evaluation) {
		for (size_t i = 0; i < n; i++)
			is_evaluation[i] =
				native[i]->has_symbol && merge_is_evaluation(native[i]->function);
		count = merge_frames(&in, merged, ret_approx);
		for (size_t i = 0; i < count; i++)
			ret[i] = merged[i].is_python ? st->locations[merged[i].index]
						     : native[merged[i].index];
	}
	free(merged);
	free(is_evaluation);
	return count;
}

size_t interp_stack_merge(const struct interp_stack *st, struct location *const *native, size_t n,
			  bool whole, struct location **ret, bool *ret_approx)
{
	if (st->is_native)
		return merge_native(st, native, n, ret);
	return merge_python(st, native, n, whole, ret, ret_approx);
}
