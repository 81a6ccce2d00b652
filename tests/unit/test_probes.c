/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of probes, with a kernel half that only takes notes. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probes.h"

static struct probes *ps;
static char notes[4096];
static int attach_result;

static void note(const char *what, const char *name)
{
	size_t len = strlen(notes);

	snprintf(notes + len, sizeof(notes) - len, "%s%s %s", len ? ", " : "", what, name);
}

static int on_attach(void *ctx, struct probe *p, char why[PROBE_WHY_LEN])
{
	note("attach", p->def.name);
	if (attach_result < 0)
		snprintf(why, PROBE_WHY_LEN, "no such file");
	(void)ctx;
	return attach_result;
}

static void on_detach(void *ctx, struct probe *p)
{
	(void)ctx;
	note("detach", p->def.name);
}

static void on_count(void *ctx, struct probe *p)
{
	(void)ctx;
	p->n_hits = 7;
}

static const struct probes_backend backend = { on_attach, on_detach, on_count, NULL };

static void setup(void)
{
	ck_assert_int_eq(probes_new(&ps), 0);
	notes[0] = '\0';
	attach_result = 0;
}

static void teardown(void)
{
	probes_free(ps);
}

static int add_to(const char *name, int slot, uint32_t *ret_id, char why[PROBE_WHY_LEN])
{
	struct probe_def def = { 0 };

	snprintf(def.name, sizeof(def.name), "%s", name);
	return probes_add(ps, &def, slot, 1000, why, ret_id);
}

static uint32_t add(const char *name)
{
	char why[PROBE_WHY_LEN];
	uint32_t id = 0;

	ck_assert_int_eq(add_to(name, PROBES_EVERY, &id, why), 0);
	return id;
}

/* The probe_fn. */
static void list(void *ctx, struct probe *p)
{
	char *dst = ctx;

	snprintf(dst + strlen(dst), 100, "%s=%d:%llu ", p->def.name, (int)p->state,
		 (unsigned long long)p->n_hits);
}

START_TEST(a_probe_waits_for_somebody_who_records)
{
	char text[400] = "";
	uint32_t id = add("gc");

	ck_assert_int_eq(probes_find(ps, id)->state, PROBE_WAITS);
	ck_assert_uint_eq(probes_find(ps, id)->uid, 1000);
	probes_set_backend(ps, &backend);
	ck_assert_str_eq(notes, "attach gc");
	ck_assert_int_eq(probes_find(ps, id)->state, PROBE_ATTACHES);
	probes_each(ps, list, text);
	ck_assert_str_eq(text, "gc=1:7 ");
	probes_find(ps, id)->state = PROBE_ON;
	probes_set_backend(ps, NULL);
	ck_assert_str_eq(notes, "attach gc, detach gc");
	ck_assert_int_eq(probes_find(ps, id)->state, PROBE_WAITS);
}
END_TEST

START_TEST(one_that_cannot_be_attached_when_somebody_records_says_so)
{
	uint32_t id = add("gc");

	attach_result = -ENOENT;
	probes_set_backend(ps, &backend);
	ck_assert_int_eq(probes_find(ps, id)->state, PROBE_FAILED);
	ck_assert_str_eq(probes_find(ps, id)->why, "no such file");
}
END_TEST

START_TEST(one_that_is_refused_at_once_is_not_added)
{
	char why[PROBE_WHY_LEN];
	uint32_t id = 0;

	probes_set_backend(ps, &backend);
	attach_result = -ENOENT;
	ck_assert_int_eq(add_to("gc", PROBES_EVERY, &id, why), -ENOENT);
	ck_assert_str_eq(why, "no such file");
	attach_result = 0;
	/* Its number is not used again. */
	ck_assert_int_eq(add_to("gc", PROBES_EVERY, &id, why), 0);
	ck_assert_uint_eq(id, 2);
	ck_assert_ptr_null(probes_find(ps, 1));
}
END_TEST

START_TEST(names_are_unique_within_a_recording)
{
	char why[PROBE_WHY_LEN];
	uint32_t id, first = add("gc");

	ck_assert_int_eq(add_to("gc", PROBES_EVERY, &id, why), -EEXIST);
	ck_assert_ptr_nonnull(strstr(why, "'gc'"));
	ck_assert_int_eq(add_to("gc", 3, &id, why), 0);
	ck_assert_int_eq(add_to("gc", 3, &id, why), -EEXIST);
	ck_assert_int_eq(probes_remove(ps, first), 0);
	ck_assert_int_eq(add_to("gc", PROBES_EVERY, &id, why), 0);
}
END_TEST

START_TEST(those_of_a_recording_end_with_it)
{
	char why[PROBE_WHY_LEN], text[400] = "";
	uint32_t id;

	probes_set_backend(ps, &backend);
	add("all");
	ck_assert_int_eq(add_to("a", 3, &id, why), 0);
	ck_assert_int_eq(add_to("b", 4, &id, why), 0);
	ck_assert_int_eq(add_to("c", 3, &id, why), 0);
	notes[0] = '\0';
	probes_remove_of(ps, 3);
	ck_assert_str_eq(notes, "detach c, detach a");
	probes_each(ps, list, text);
	ck_assert_str_eq(text, "all=1:7 b=1:7 ");
}
END_TEST

START_TEST(a_removed_one_is_found_while_somebody_holds_it)
{
	uint32_t id = add("gc"), other = add("other");
	struct probe *p = probes_find(ps, id);
	char text[400] = "";

	probe_hold(p);
	ck_assert_int_eq(probes_remove(ps, id), 0);
	ck_assert_int_eq(probes_remove(ps, id), -ENOENT);
	ck_assert_ptr_eq(probes_find(ps, id), p);
	ck_assert(p->is_removed);
	probes_each(ps, list, text);
	ck_assert_str_eq(text, "other=0:0 ");
	probe_release(p);
	ck_assert_ptr_null(probes_find(ps, id));
	ck_assert_ptr_nonnull(probes_find(ps, other));
}
END_TEST

START_TEST(one_that_is_held_outlives_the_registry)
{
	struct probe *p = probes_find(ps, add("gc"));

	probe_hold(p);
	probes_free(ps);
	ck_assert_str_eq(p->def.name, "gc");
	probe_release(p);
	ck_assert_int_eq(probes_new(&ps), 0);
}
END_TEST

START_TEST(there_is_an_end_to_them)
{
	char why[PROBE_WHY_LEN], name[32];
	uint32_t id;

	for (int i = 0; i < PROBES_MAX_DEFS; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		(void)add(name);
	}
	ck_assert_int_eq(add_to("more", PROBES_EVERY, &id, why), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why, "remove"));
	ck_assert_int_eq(probes_remove(ps, 1), 0);
	ck_assert_int_eq(add_to("more", PROBES_EVERY, &id, why), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probes");
	TCase *tc = tcase_create("registry");
	SRunner *runner = srunner_create(suite);
	int n_failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_probe_waits_for_somebody_who_records);
	tcase_add_test(tc, one_that_cannot_be_attached_when_somebody_records_says_so);
	tcase_add_test(tc, one_that_is_refused_at_once_is_not_added);
	tcase_add_test(tc, names_are_unique_within_a_recording);
	tcase_add_test(tc, those_of_a_recording_end_with_it);
	tcase_add_test(tc, a_removed_one_is_found_while_somebody_holds_it);
	tcase_add_test(tc, one_that_is_held_outlives_the_registry);
	tcase_add_test(tc, there_is_an_end_to_them);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
