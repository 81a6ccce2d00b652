/* SPDX-License-Identifier: Apache-2.0 */
/* What V8's variables come to. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "v8_image.h"

static struct v8_facts facts;
static struct v8_layout layout;
static struct frames_rule rule;
static const char *why;

static void set_up(void)
{
	facts = v8_image_facts();
	why = NULL;
}

static int make(void)
{
	return v8_layout(&facts, &layout, &rule, &why);
}

START_TEST(the_way_from_a_frame)
{
	ck_assert_int_eq(make(), 0);
	ck_assert_int_eq(rule.subject_at, -16);
	ck_assert_uint_eq(rule.has_marker, 1);
	ck_assert_int_eq(rule.class_at, -1);
	ck_assert_int_eq(rule.type_at, 11);
	ck_assert_uint_eq(rule.type_min, 2066);
	ck_assert_uint_eq(rule.type_max, 2081);
	ck_assert_int_eq(rule.object_at, 23);
	ck_assert_int_eq(rule.window_at, -1);
	ck_assert_uint_eq(rule.tag_mask, 3);
	ck_assert_uint_eq(rule.tag, 1);
	/* Map, name, script, and the upper half of the word with the flags. */
	for (int i = 0; i < FRAMES_WINDOW; i++) {
		uint64_t mask = i == 0 || i == 2 || i == 4 ? ~0ull : 0;

		ck_assert_uint_eq(rule.mask[i], i == 6 ? 0xffffffff00000000ull : mask);
		ck_assert_uint_eq(layout.identity[i], rule.mask[i]);
	}
}
END_TEST

START_TEST(versions)
{
	facts.values[V8_MAJOR] = 10;
	facts.values[V8_MINOR] = 2;
	ck_assert_int_eq(make(), 0);
	facts.values[V8_MINOR] = 3;
	ck_assert_int_eq(make(), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(why, "version"));
	facts.values[V8_MAJOR] = 12;
	facts.values[V8_MINOR] = 4;
	ck_assert_int_eq(make(), 0);
	ck_assert_uint_eq(rule.type_max, 2082);
	ck_assert_int_eq(layout.scope_start, 0);
	facts.values[V8_MAJOR] = 13;
	facts.values[V8_MINOR] = 6;
	ck_assert_int_eq(make(), 0);
	ck_assert_int_eq(layout.scope_start, 31);
	ck_assert_uint_eq(layout.raw_scope_flags, 1);
	facts.values[V8_MAJOR] = 14;
	ck_assert_int_eq(make(), -ENOTSUP);
	facts.known = 0;
	ck_assert_int_eq(make(), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(why, "does not say its version"));
}
END_TEST

/* Each variable is needed. */
START_TEST(one_is_missing)
{
	facts.known &= ~(1ull << _i);
	ck_assert_int_eq(make(), -ENOTSUP);
	ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(what_is_not_supported)
{
	facts.values[V8_TAGGED_SIZE] = 4;
	ck_assert_int_eq(make(), -ENOTSUP);
	ck_assert_str_eq(why, "built with compressed pointers");
}
END_TEST

static const struct {
	enum v8_fact fact;
	int32_t value;
} nonsense[] = {
	{ V8_FP_FUNCTION, 16 },	      { V8_FP_CONTEXT, -24 },	   { V8_SHARED_NAME, 17 },
	{ V8_SHARED_SCRIPT, 64 },     { V8_SHARED_FLAGS, -8 },	   { V8_MAP_TYPE, 1 << 20 },
	{ V8_STRING_LENGTH, -1 },     { V8_TYPE_FUNCTION, 65535 }, { V8_TYPE_SHARED, -1 },
	{ V8_SMI_SHIFT_SIZE, 0 },     { V8_HEAP_OBJECT_TAG, 0 },   { V8_SCOPE_FIRST, 65 },
	{ V8_TYPE_NOT_STRING, -128 }, { V8_OBJECT_MAP, 8 },
};

START_TEST(descriptions_that_cannot_be)
{
	facts.values[nonsense[_i].fact] = nonsense[_i].value;
	ck_assert_int_eq(make(), -ENOTSUP);
	ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(names_of_variables)
{
	ck_assert_uint_eq(v8_fact_of("_ZN2v88internal7Version6major_E"), V8_MAJOR);
	ck_assert_uint_eq(v8_fact_of("v8dbg_type_FixedArray__FIXED_ARRAY_TYPE"), V8_TYPE_ARRAY);
	ck_assert_uint_eq(
		v8_fact_of("v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
		V8_SHARED_SCRIPT);
	ck_assert_uint_eq(v8_fact_of("v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_"),
			  V8_SHARED_SCRIPT);
	ck_assert_uint_eq(v8_fact_of("v8dbg_"), V8_N_FACTS);
	ck_assert_uint_eq(v8_fact_of("v8dbg_type_FixedArray"), V8_N_FACTS);
	ck_assert(v8_is_fact("v8dbg_SeqStringTag"));
	ck_assert(!v8_is_fact("environ"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("v8_layout");
	TCase *tc = tcase_create("layout");
	SRunner *sr;
	int n;

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, the_way_from_a_frame);
	tcase_add_test(tc, versions);
	tcase_add_loop_test(tc, one_is_missing, 0, V8_N_FACTS);
	tcase_add_test(tc, what_is_not_supported);
	tcase_add_loop_test(tc, descriptions_that_cannot_be, 0,
			    sizeof(nonsense) / sizeof(nonsense[0]));
	tcase_add_test(tc, names_of_variables);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
