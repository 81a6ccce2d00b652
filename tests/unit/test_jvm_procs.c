/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes run HotSpot, by the files that they have mapped. */
#include <check.h>

#include "interp/jvm_procs.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"

static struct jvm_procs *procs;
static struct {
	uint32_t tgid;
	bool has_rule;
	struct frames_rule rule;
	unsigned n;
} told;

static void on_changed(void *ctx, uint32_t tgid, const struct frames_rule *rule)
{
	ck_assert_ptr_eq(ctx, &told);
	told.tgid = tgid;
	told.has_rule = rule != NULL;
	if (rule)
		told.rule = *rule;
	told.n++;
}

static void set_up(void)
{
	ck_assert_int_eq(jvm_procs_new(on_changed, &told, &procs), 0);
	told.n = 0;
}

static void tear_down(void)
{
	jvm_procs_free(procs);
	jvm_procs_free(NULL);
}

static void map(uint32_t tgid, const char *path)
{
	struct module module = { .id = 1, .path = (char *)(uintptr_t)path };
	struct mapping m = { .start = 0x1000, .end = 0x2000, .module = &module };

	jvm_procs_mapped(procs, tgid, &m);
}

START_TEST(a_process_with_the_library_runs_it)
{
	map(1, "/usr/lib/libjvm.so.bak");
	map(1, "libjvm.so");
	jvm_procs_mapped(procs, 1, &(struct mapping){ .start = 1, .end = 2 });
	ck_assert_uint_eq(told.n, 0);
	ck_assert_uint_eq(jvm_procs_id(procs, 1), 0);
	map(1, "/usr/lib/jvm/lib/server/libjvm.so");
	ck_assert_uint_eq(told.n, 1);
	ck_assert_uint_eq(told.tgid, 1);
	ck_assert(told.has_rule);
	ck_assert_int_eq(told.rule.subject_at, -24);
	ck_assert_uint_ne(jvm_procs_id(procs, 1), 0);
	map(1, "/usr/lib/jvm/lib/server/libjvm.so"); /* another of its mappings */
	ck_assert_uint_eq(told.n, 1);
	jvm_procs_tell_all(procs);
	ck_assert_uint_eq(told.n, 2);
	ck_assert_uint_eq(told.tgid, 1);
}
END_TEST

START_TEST(it_is_another_one_after_it_has_ended)
{
	uint64_t id;

	map(1, "/x/libjvm.so");
	id = jvm_procs_id(procs, 1);
	jvm_procs_emptied(procs, 1);
	ck_assert(!told.has_rule);
	ck_assert_uint_eq(jvm_procs_id(procs, 1), 0);
	jvm_procs_emptied(procs, 1);
	ck_assert_uint_eq(told.n, 2);
	map(1, "/x/libjvm.so");
	ck_assert_uint_ne(jvm_procs_id(procs, 1), id);
}
END_TEST

START_TEST(who_is_forked_from_it_runs_it_too)
{
	map(1, "/x/libjvm.so");
	jvm_procs_forked(procs, 2, 1);
	ck_assert_uint_eq(told.tgid, 2);
	ck_assert_uint_ne(jvm_procs_id(procs, 2), 0);
	ck_assert_uint_ne(jvm_procs_id(procs, 2), jvm_procs_id(procs, 1));
	jvm_procs_forked(procs, 2, 3);
	ck_assert_uint_eq(jvm_procs_id(procs, 2), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jvm_procs");
	SRunner *sr;
	int failed;
#ifdef __x86_64__
	TCase *t = tcase_create("jvm_procs");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_process_with_the_library_runs_it);
	tcase_add_test(t, it_is_another_one_after_it_has_ended);
	tcase_add_test(t, who_is_forked_from_it_runs_it_too);
#endif
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
