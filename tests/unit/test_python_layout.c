/* SPDX-License-Identifier: Apache-2.0 */
/* Which versions of CPython are known, and a description that it gives of itself. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interp/python_layout.h"

#define V3_11_2	 0x030b02f0u
#define V3_12_1	 0x030c01f0u
#define V3_13_0	 0x030d00f0u
#define V3_13_RC 0x030d00c1u

/* The first bytes of _PyRuntime in a libpython3.13.so.1.0 (3.13.0, x86-64), as numbers of 8 bytes.
 */
static const uint64_t runtime_3_13[PYTHON_RUNTIME_BYTES / 8] = {
	/* "xdebugpy", version, free_threaded */
	0x7970677562656478, V3_13_0, 0,
	/* runtime, interpreter */
	283320, 608, 632, 194968, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768, 7760,
	/* thread, frame */
	304, 0, 8, 16, 72, 152, 160, 232, 32, 80, 8, 0, 56, 72, 70,
	/* code, object, type, tuple, list, dict, float, int */
	208, 112, 120, 128, 136, 68, 52, 96, 104, 200, 16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24,
	16, 48, 32, 40, 24, 16, 32, 16, 24,
	/* bytes, str, gc */
	40, 16, 32, 64, 32, 16, 40, 240
};

static uint64_t runtime[PYTHON_RUNTIME_BYTES / 8];
static struct python_layout layout;
static const char *why;

static void set_up(void)
{
	memcpy(runtime, runtime_3_13, sizeof(runtime));
	why = NULL;
}

static int ask(uint32_t version)
{
	return python_layout(version, runtime, sizeof(runtime), &layout, &why);
}

/* What the walker relies on when it masks offsets. */
static void check_windows(void)
{
	ck_assert_uint_le(layout.frame_code + 8, PYTHON_FRAME_WINDOW);
	ck_assert_uint_le(layout.frame_previous + 8, PYTHON_FRAME_WINDOW);
	ck_assert_uint_le(layout.frame_instr + 8, PYTHON_FRAME_WINDOW);
	ck_assert_uint_lt(layout.frame_owner, PYTHON_FRAME_WINDOW);
	ck_assert_uint_le(layout.code_size + 8, PYTHON_CODE_WINDOW);
	ck_assert_uint_le(layout.code_firstline + 4, PYTHON_CODE_WINDOW);
	ck_assert_uint_le(layout.code_filename + 8, PYTHON_CODE_WINDOW);
	ck_assert_uint_le(layout.code_name + 8, PYTHON_CODE_WINDOW);
	ck_assert_uint_le(layout.code_qualname + 8, PYTHON_CODE_WINDOW);
	ck_assert_uint_le(layout.code_linetable + 8, PYTHON_CODE_WINDOW);
}

START_TEST(versions_with_a_table_are_known)
{
	ck_assert_int_eq(ask(V3_11_2), 0);
	ck_assert_uint_eq(layout.frame_entry, 68);
	check_windows();
	ck_assert_int_eq(ask(V3_12_1), 0);
	ck_assert_uint_eq(layout.frame_entry, PYTHON_NO_FIELD);
	ck_assert_uint_eq(layout.cframe_frame, 0);
	check_windows();
	/* nobody reads what they say of themselves */
	ck_assert_int_eq(python_layout(V3_11_2, NULL, 0, &layout, &why), 0);
}
END_TEST

START_TEST(version_3_13_is_as_it_says)
{
	ck_assert_int_eq(ask(V3_13_0), 0);
	check_windows();
	ck_assert_uint_eq(layout.interpreters, 632);
	ck_assert_uint_eq(layout.interp_next, 7264);
	ck_assert_uint_eq(layout.interp_threads, 7344);
	ck_assert_uint_eq(layout.thread_next, 8);
	ck_assert_uint_eq(layout.thread_id, 152);
	ck_assert_uint_eq(layout.native_id, 160);
	ck_assert_uint_eq(layout.thread_frame, 72);
	ck_assert_uint_eq(layout.cframe_frame, PYTHON_NO_CFRAME);
	ck_assert_uint_eq(layout.frame_code, 0);
	ck_assert_uint_eq(layout.frame_previous, 8);
	ck_assert_uint_eq(layout.frame_instr, 56);
	ck_assert_uint_eq(layout.frame_owner, 70);
	ck_assert_uint_eq(layout.frame_entry, PYTHON_NO_FIELD);
	ck_assert_uint_eq(layout.code_size, 16);
	ck_assert_uint_eq(layout.code_firstline, 68);
	ck_assert_uint_eq(layout.code_filename, 112);
	ck_assert_uint_eq(layout.code_name, 120);
	ck_assert_uint_eq(layout.code_qualname, 128);
	ck_assert_uint_eq(layout.code_linetable, 136);
	ck_assert_uint_eq(layout.code_units, 200);
	ck_assert_uint_eq(layout.str_length, 16);
	ck_assert_uint_eq(layout.str_state, 32);
	ck_assert_uint_eq(layout.str_ascii, 40);
	ck_assert_uint_eq(layout.str_data, 56);
	ck_assert_uint_eq(layout.bytes_size, 16);
	ck_assert_uint_eq(layout.bytes_data, 32);
}
END_TEST

static const uint32_t unknown[] = {
	0,
	0x030a0df0, /* 3.10: frames are objects */
	0x030e00f0, /* 3.14: not looked at yet */
	0x030b00a7, /* 3.11.0a7 */
	0x030b00b1, /* 3.11.0b1 */
	0x02071200 | 0xf0,
	0xffffffff,
};

START_TEST(what_is_not_known_is_not_guessed)
{
	ck_assert_int_eq(ask(unknown[_i]), -ENOTSUP);
	ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(a_release_candidate_is_as_good)
{
	ck_assert_int_eq(ask(0x030b00c1), 0);
	ck_assert_int_eq(ask(V3_13_RC), -ENOTSUP); /* says that it is another version */
	runtime[1] = V3_13_RC;
	ck_assert_int_eq(ask(V3_13_RC), 0);
}
END_TEST

START_TEST(a_description_that_cannot_be_is_refused)
{
	ck_assert_int_eq(python_layout(V3_13_0, runtime, 500, &layout, &why), -ENOTSUP);
	runtime[0]++;
	ck_assert_int_eq(ask(V3_13_0), -ENOTSUP);
	set_up();
	runtime[2] = 1;
	ck_assert_int_eq(ask(V3_13_0), -ENOTSUP);
	ck_assert_str_eq(why, "a free-threaded build");
}
END_TEST

/* Each number of it, made as large or as odd as can be: taken within bounds, or refused. */
START_TEST(no_offset_leads_out_of_what_the_walker_reads)
{
	static const uint64_t odd[] = { 1, 7, 60, 79, 157, 4095, 4096, 1ull << 32, ~0ull };

	for (size_t i = 3; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
		for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			set_up();
			runtime[i] = odd[k];
			if (ask(V3_13_0) == 0)
				check_windows();
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("python_layout");
	TCase *tc = tcase_create("python_layout");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, versions_with_a_table_are_known);
	tcase_add_test(tc, version_3_13_is_as_it_says);
	tcase_add_loop_test(tc, what_is_not_known_is_not_guessed, 0,
			    sizeof(unknown) / sizeof(unknown[0]));
	tcase_add_test(tc, a_release_candidate_is_as_good);
	tcase_add_test(tc, a_description_that_cannot_be_is_refused);
	tcase_add_test(tc, no_offset_leads_out_of_what_the_walker_reads);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
