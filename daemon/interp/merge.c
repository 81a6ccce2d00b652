/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - one stack out of native frames and Python frames. */
#include "merge.h"

#include <string.h>

#include "hotspot/hotspot_names.h"
#include "python.h"

#define EVALUATION "_PyEval_EvalFrameDefault"

bool merge_is_evaluation(const char *function)
{
	size_t len = strlen(EVALUATION);

	/* ".cold", ".lto_priv.0", ".constprop.1": what compilers make of it */
	return strncmp(function, EVALUATION, len) == 0 &&
	       (function[len] == 0 || function[len] == '.');
}

bool merge_is_v8_stand_in(const char *function)
{
	static const char prefix[] = "Builtins_", entry[] = "InterpreterEntryTrampoline",
			  suffix[] = "Handler";
	size_t len = strlen(function);

	if (strncmp(function, prefix, sizeof(prefix) - 1) != 0)
		return false;
	return strncmp(function + sizeof(prefix) - 1, entry, sizeof(entry) - 1) == 0 ||
	       (len >= sizeof(prefix) + sizeof(suffix) - 2 &&
		strcmp(function + len - (sizeof(suffix) - 1), suffix) == 0);
}

bool merge_is_jvm_stand_in(const char *function)
{
	return strcmp(function, HOTSPOT_INTERPRETED) == 0;
}

/* A cursor over the words, from the outermost to the innermost. */
struct words {
	const uint64_t *words;
	size_t left;
};

/* The Python frames of one evaluation function: up to where the next one was entered. */
static size_t take_run(struct words *w, struct merged_frame *ret)
{
	size_t n = 0;

	while (w->left > 0) {
		if (n > 0 && PYTHON_WORD_ENTRY(w->words[w->left - 1]))
			break;
		ret[n++] = (struct merged_frame){ true, (uint16_t)--w->left };
	}
	return n;
}

static size_t count_runs(const uint64_t *words, size_t n)
{
	struct words w = { words, n };
	size_t runs = 0;

	while (w.left > 0) {
		w.left--;
		while (w.left > 0 && !PYTHON_WORD_ENTRY(w.words[w.left - 1]))
			w.left--;
		runs++;
	}
	return runs;
}

static size_t count_evaluations(const struct merge_input *in)
{
	size_t n = 0;

	for (size_t i = 0; i < in->n_native; i++)
		n += in->is_evaluation[i];
	return n;
}

size_t merge_frames(const struct merge_input *in, struct merged_frame *ret, bool *ret_approx)
{
	struct words w = { in->words, in->n_words };
	size_t n_runs = count_runs(in->words, in->n_words), n_evaluations = count_evaluations(in);
	bool whole = in->native_whole && in->words_whole;
	bool innermost = in->n_native > 0 && in->is_evaluation[in->n_native - 1];
	size_t n = 0, skip = 0;

	*ret_approx = n_runs != n_evaluations;
	/* The one that runs may not have taken up its frame yet, or laid it down already. */
	if (whole && innermost && n_runs + 1 == n_evaluations)
		*ret_approx = false;

	/* What is missing is missing at the far end: there the extra ones go. */
	if (!whole) {
		for (; n_runs > n_evaluations; n_runs--)
			n += take_run(&w, ret + n);
		skip = n_evaluations - n_runs;
	}
	for (size_t i = 0; i < in->n_native; i++) {
		size_t taken = 0;

		if (in->is_evaluation[i] && skip > 0)
			skip--;
		else if (in->is_evaluation[i])
			taken = take_run(&w, ret + n);
		if (taken == 0)
			ret[n++] = (struct merged_frame){ false, (uint16_t)i };
		n += taken;
	}
	while (w.left > 0)
		n += take_run(&w, ret + n);
	return n;
}
