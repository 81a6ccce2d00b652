/* SPDX-License-Identifier: Apache-2.0 */
/* Python frames at their place between native ones. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "interp/merge.h"
#include "python.h"

/*
 * Stacks as text, outermost first. Native: small letters, an evaluation function
 * is `e`. Python: digits, after `(` the one that the evaluation function was
 * entered with.
 */
struct example {
	const char *what, *native, *python, *merged;
	unsigned flags;
};

enum { NATIVE_CUT = 1, PYTHON_CUT = 2, APPROX = 4 };

static const struct example examples[] = {
	{ "no Python at all", "abc", "", "abc", 0 },
	{ "one frame", "ae", "(1", "a1", 0 },
	{ "calls within the interpreter", "aeb", "(123", "a123b", 0 },
	{ "a callback from C", "aebced", "(12(34", "a12bc34d", 0 },
	{ "evaluation right within evaluation", "aee", "(1(2", "a12", 0 },
	{ "three deep, generators", "aebecef", "(1(2(3", "a1b2c3f", 0 },
	/* the innermost has not taken up its frame, or laid it down already */
	{ "about to begin", "aebe", "(1", "a1be", 0 },
	{ "the first about to begin", "ae", "", "ae", 0 },
	/* what does not fit together */
	{ "an evaluation too few", "aeb", "(1(2", "a1b2", APPROX },
	{ "one too many, in the middle", "aebec", "(1", "a1bec", APPROX },
	{ "no evaluation function to be seen", "ab", "(12", "ab12", APPROX },
	/* the native stack could not be walked to its end */
	{ "native part missing, even", "eb", "(12", "12b", NATIVE_CUT },
	{ "native part missing", "beb", "(12(3", "12b3b", NATIVE_CUT | APPROX },
	{ "only the leaf is native", "a", "(12(3", "123a", NATIVE_CUT | APPROX },
	{ "the leaf is the evaluation", "e", "(12(3", "123", NATIVE_CUT | APPROX },
	/* the Python stack is deeper than was walked */
	{ "Python part missing, same runs", "aebe", "34(5", "a34b5", PYTHON_CUT },
	{ "Python part missing", "aebece", "4(5", "aeb4c5", PYTHON_CUT | APPROX },
	{ "nothing native", "", "(12", "12", NATIVE_CUT | APPROX },
};

static size_t parse_native(const char *text, bool *ret)
{
	for (size_t i = 0; i < strlen(text); i++)
		ret[i] = text[i] == 'e';
	return strlen(text);
}

/* Code numbers are the digits; innermost first. */
static size_t parse_python(const char *text, uint64_t *ret)
{
	size_t n = 0;

	for (size_t i = strlen(text); i-- > 0;) {
		bool entry = i > 0 && text[i - 1] == '(';

		if (text[i] != '(')
			ret[n++] = PYTHON_WORD(text[i], 7, entry);
	}
	return n;
}

START_TEST(python_frames_stand_where_they_ran)
{
	const struct example *ex = &examples[_i];
	struct merged_frame merged[64];
	bool evaluation[64], approx;
	uint64_t words[64];
	char text[65] = "";
	struct merge_input in = {
		.is_evaluation = evaluation,
		.n_native = parse_native(ex->native, evaluation),
		.native_whole = !(ex->flags & NATIVE_CUT),
		.words = words,
		.n_words = parse_python(ex->python, words),
		.words_whole = !(ex->flags & PYTHON_CUT),
	};
	size_t n = merge_frames(&in, merged, &approx);

	ck_assert_uint_le(n, in.n_native + in.n_words);
	for (size_t i = 0; i < n; i++)
		text[i] = merged[i].is_python ? (char)PYTHON_WORD_CODE(words[merged[i].index])
					      : ex->native[merged[i].index];
	ck_assert_msg(strcmp(text, ex->merged) == 0, "%s: %s, not %s", ex->what, text, ex->merged);
	ck_assert_msg(approx == !!(ex->flags & APPROX), "%s: approx %d", ex->what, approx);
}
END_TEST

/* Whatever the two stacks are: all Python frames, in order, and all natives but evaluations. */
START_TEST(nothing_is_lost_or_turned_around)
{
	srandom((unsigned)_i);
	for (int round = 0; round < 20000; round++) {
		bool evaluation[12], approx;
		uint64_t words[12];
		struct merged_frame merged[24];
		struct merge_input in = {
			.is_evaluation = evaluation,
			.n_native = (size_t)random() % 12,
			.native_whole = random() & 1,
			.words = words,
			.n_words = (size_t)random() % 12,
			.words_whole = random() & 1,
		};
		size_t n, native = 0, python = in.n_words;

		for (size_t i = 0; i < in.n_native; i++)
			evaluation[i] = random() % 3 == 0;
		for (size_t i = 0; i < in.n_words; i++)
			words[i] = PYTHON_WORD(1, 2, random() % 3 == 0);
		n = merge_frames(&in, merged, &approx);
		ck_assert_uint_le(n, in.n_native + in.n_words);
		for (size_t i = 0; i < n; i++) {
			if (merged[i].is_python) {
				ck_assert_uint_eq(merged[i].index, --python);
				continue;
			}
			while (native < merged[i].index)
				ck_assert(evaluation[native++]);
			ck_assert_uint_eq(merged[i].index, native++);
		}
		ck_assert_uint_eq(python, 0);
		for (; native < in.n_native; native++)
			ck_assert(evaluation[native]);
	}
}
END_TEST

START_TEST(the_evaluation_function_is_known_in_its_parts)
{
	ck_assert(merge_is_evaluation("_PyEval_EvalFrameDefault"));
	ck_assert(merge_is_evaluation("_PyEval_EvalFrameDefault.cold"));
	ck_assert(merge_is_evaluation("_PyEval_EvalFrameDefault.lto_priv.0"));
	ck_assert(!merge_is_evaluation("_PyEval_EvalFrame"));
	ck_assert(!merge_is_evaluation("_PyEval_EvalFrameDefaults"));
	ck_assert(!merge_is_evaluation("my_PyEval_EvalFrameDefault"));
	ck_assert(!merge_is_evaluation(""));
}
END_TEST

START_TEST(what_stands_for_a_function_of_v8)
{
	ck_assert(merge_is_v8_stand_in("Builtins_InterpreterEntryTrampoline"));
	ck_assert(merge_is_v8_stand_in("Builtins_InterpreterEntryTrampolineForProfiling"));
	ck_assert(merge_is_v8_stand_in("Builtins_AddHandler"));
	ck_assert(merge_is_v8_stand_in("Builtins_GetNamedPropertyWideHandler"));
	ck_assert(!merge_is_v8_stand_in("Builtins_ArrayMap"));
	ck_assert(!merge_is_v8_stand_in("Builtins_Add_Baseline"));
	ck_assert(!merge_is_v8_stand_in("Builtins_Handlers"));
	ck_assert(!merge_is_v8_stand_in("AddHandler"));
	ck_assert(!merge_is_v8_stand_in("Builtins_"));
	ck_assert(!merge_is_v8_stand_in("Handler"));
	ck_assert(!merge_is_v8_stand_in(""));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("merge");
	TCase *tc = tcase_create("merge");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, python_frames_stand_where_they_ran, 0,
			    sizeof(examples) / sizeof(examples[0]));
	tcase_add_loop_test(tc, nothing_is_lost_or_turned_around, 1, 4);
	tcase_add_test(tc, the_evaluation_function_is_known_in_its_parts);
	tcase_add_test(tc, what_stands_for_a_function_of_v8);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
