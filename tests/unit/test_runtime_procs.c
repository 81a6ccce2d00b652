/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes run a runtime, whichever that is. */
#include <check.h>
#include <stdlib.h>

#include "interp/runtime_procs.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"

#define MAX_FILES 8

struct fact {
	uint64_t number;
};

struct proc {
	uint64_t number, base;
	unsigned n_runs;
};

static struct runtime_procs *procs;
static struct module program = { .id = 1 }, library = { .id = 2 };
static unsigned n_asked, n_forgotten, n_ended;
static uint64_t answer_at_once; /* 0: later */

static void tell(const struct module *module, uint64_t number)
{
	struct fact *fact = runtime_procs_told(procs, module);

	ck_assert_ptr_nonnull(fact);
	ck_assert_uint_eq(fact->number, 0);
	fact->number = number;
	runtime_procs_found(procs, module);
}

static void on_ask(void *ctx, struct module *module)
{
	ck_assert_ptr_eq(ctx, &procs);
	n_asked++;
	if (answer_at_once)
		tell(module, answer_at_once);
}

static void on_forget(void *ctx, const void *fact)
{
	(void)ctx;
	(void)fact;
	n_forgotten++;
}

static void on_runs(void *ctx, uint32_t tgid, void *own, const void *fact, uint64_t base)
{
	struct proc *proc = own;

	(void)tgid;
	ck_assert_ptr_eq(ctx, &procs);
	proc->number = ((const struct fact *)fact)->number;
	proc->base = base;
	proc->n_runs++;
}

static void on_ended(void *ctx, uint32_t tgid)
{
	(void)ctx;
	ck_assert_ptr_null(runtime_procs_get(procs, tgid));
	n_ended++;
}

static const struct runtime_kind kind = {
	.fact_size = sizeof(struct fact),
	.proc_size = sizeof(struct proc),
	.max_files = MAX_FILES,
	.ask = on_ask,
	.forget = on_forget,
	.runs = on_runs,
	.ended = on_ended,
};

static void set_up(void)
{
	n_asked = n_forgotten = n_ended = 0;
	answer_at_once = 0;
	ck_assert_int_eq(runtime_procs_new(&kind, &procs, &procs), 0);
}

static void tear_down(void)
{
	runtime_procs_free(procs);
	runtime_procs_free(NULL);
}

static void map(uint32_t tgid, struct module *module, uint64_t start)
{
	struct mapping m = {
		.start = start, .end = start + 0x1000, .pgoff = 0x1000, .module = module
	};

	runtime_procs_mapped(procs, tgid, &m);
}

START_TEST(a_file_is_asked_about_once)
{
	const struct proc *p;

	map(1, &program, 0x5000);
	map(2, &program, 0x6000);
	ck_assert_uint_eq(n_asked, 1);
	ck_assert_ptr_null(runtime_procs_get(procs, 1));
	tell(&program, 7);
	ck_assert_ptr_null(runtime_procs_told(procs, &program));
	ck_assert_ptr_null(runtime_procs_told(procs, &library));
	ck_assert_uint_eq(runtime_procs_count(procs), 2);
	p = runtime_procs_get(procs, 2);
	ck_assert_uint_eq(p->number, 7);
	ck_assert_uint_eq(p->base, 0x5000);
}
END_TEST

START_TEST(an_answer_may_come_at_once)
{
	const struct proc *p;

	answer_at_once = 9;
	map(1, &program, 0x5000);
	p = runtime_procs_get(procs, 1);
	ck_assert_uint_eq(p->number, 9);
	ck_assert_uint_eq(p->n_runs, 1);
}
END_TEST

START_TEST(the_first_file_that_has_it_counts)
{
	const struct proc *p;

	map(1, &program, 0x5000);
	map(1, &library, 0x8000);
	tell(&library, 2);
	p = runtime_procs_get(procs, 1);
	ck_assert_uint_eq(p->number, 2);
	map(1, &library, 0x8000);
	ck_assert_uint_eq(p->n_runs, 1);
	map(1, &library, 0x9000);
	ck_assert_uint_eq(p->base, 0x8000);
	tell(&program, 1);
	ck_assert_uint_eq(p->number, 1);
	ck_assert_uint_eq(p->n_runs, 3);
	ck_assert_uint_eq(runtime_procs_count(procs), 1);
}
END_TEST

START_TEST(who_runs_it_can_be_walked)
{
	const struct fact *fact;
	size_t pos = 0;
	uint32_t tgid;

	map(1, &program, 0x5000);
	map(2, &library, 0x5000);
	tell(&library, 2);
	ck_assert_ptr_eq(runtime_procs_next(procs, &pos, &tgid), runtime_procs_get(procs, 2));
	ck_assert_uint_eq(tgid, 2);
	ck_assert_ptr_null(runtime_procs_next(procs, &pos, &tgid));
	pos = 0;
	fact = runtime_procs_next_fact(procs, &pos);
	ck_assert_uint_eq(fact->number, 2);
	ck_assert_ptr_null(runtime_procs_next_fact(procs, &pos));
}
END_TEST

START_TEST(a_child_keeps_the_files_of_its_parent)
{
	struct module others[MAX_FILES];

	answer_at_once = 7;
	map(1, &program, 0x5000);
	runtime_procs_forked(procs, 2, 1);
	runtime_procs_emptied(procs, 1);
	runtime_procs_emptied(procs, 1);
	ck_assert_uint_eq(n_ended, 1);
	for (size_t i = 0; i < MAX_FILES; i++) {
		others[i] = (struct module){ .id = 10 + i };
		map(3, &others[i], 0x5000);
		runtime_procs_emptied(procs, 3);
	}
	ck_assert_uint_eq(n_forgotten, MAX_FILES - 1);
	ck_assert_uint_eq(n_asked, MAX_FILES + 1);
	map(4, &program, 0x5000);
	ck_assert_uint_eq(n_asked, MAX_FILES + 1);
	ck_assert_uint_eq(runtime_procs_count(procs), 2);
}
END_TEST

START_TEST(files_in_use_leave_no_room)
{
	struct module all[MAX_FILES], one_more = { .id = 99 };

	for (uint32_t i = 0; i < MAX_FILES; i++) {
		all[i] = (struct module){ .id = 10 + i };
		map(i, &all[i], 0x5000);
	}
	map(50, &one_more, 0x5000);
	ck_assert_uint_eq(n_asked, MAX_FILES);
	runtime_procs_forked(procs, 3, 77); /* whose number is another's now */
	map(50, &one_more, 0x5000);
	ck_assert_uint_eq(n_asked, MAX_FILES + 1);
	ck_assert_uint_eq(n_forgotten, 1);
	ck_assert_ptr_null(runtime_procs_told(procs, &all[3])); /* too late */
	runtime_procs_found(procs, &all[3]);
	ck_assert_uint_eq(runtime_procs_count(procs), 0);
}
END_TEST

START_TEST(a_process_has_only_so_many_files)
{
	struct module all[MAX_FILES];

	for (size_t i = 0; i < MAX_FILES; i++) {
		all[i] = (struct module){ .id = 10 + i };
		map(1, &all[i], 0x5000);
	}
	tell(&all[MAX_FILES - 1], 7);
	ck_assert_ptr_null(runtime_procs_get(procs, 1));
	tell(&all[1], 7);
	ck_assert_ptr_nonnull(runtime_procs_get(procs, 1));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("runtime_procs");
	TCase *tc = tcase_create("runtime_procs");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_file_is_asked_about_once);
	tcase_add_test(tc, an_answer_may_come_at_once);
	tcase_add_test(tc, the_first_file_that_has_it_counts);
	tcase_add_test(tc, who_runs_it_can_be_walked);
	tcase_add_test(tc, a_child_keeps_the_files_of_its_parent);
	tcase_add_test(tc, files_in_use_leave_no_room);
	tcase_add_test(tc, a_process_has_only_so_many_files);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
