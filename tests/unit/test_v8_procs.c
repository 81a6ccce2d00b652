/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes run V8, by what is mapped and what files say. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interp/v8_procs.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"
#include "v8_image.h"

static struct v8_procs *procs;
static struct module program = { .id = 1, .path = "/usr/bin/node" };
static struct module library = { .id = 2, .path = "/usr/lib/libnode.so.108" };
static struct module other = { .id = 3, .path = "/usr/lib/libc.so.6" };

static struct v8_proc known[10]; /* id 0: none */
static unsigned n_changes;

static void on_changed(void *ctx, uint32_t tgid, const struct v8_proc *proc)
{
	ck_assert_ptr_eq(ctx, known);
	n_changes++;
	known[tgid] = proc ? *proc : (struct v8_proc){ 0 };
}

static void set_up(void)
{
	memset(known, 0, sizeof(known));
	n_changes = 0;
	ck_assert_int_eq(v8_procs_new(NULL, on_changed, known, &procs), 0);
}

static void tear_down(void)
{
	v8_procs_free(procs);
}

static void map(uint32_t tgid, struct module *m)
{
	struct mapping mapping = { .start = 0x1000, .end = 0x2000, .module = m };

	v8_procs_mapped(procs, tgid, &mapping);
}

static void tell(struct module *m)
{
	struct v8_facts facts = v8_image_facts();

	v8_procs_told(procs, m, &facts);
}

START_TEST(a_process_is_known_once_its_file_is)
{
	map(5, &program);
	map(5, &other);
	ck_assert_uint_eq(known[5].id, 0);
	ck_assert_ptr_null(v8_procs_get(procs, 5));
	tell(&program);
	ck_assert_uint_ne(known[5].id, 0);
	ck_assert_int_eq(known[5].rule->subject_at, -16);
	ck_assert_uint_eq(v8_procs_get(procs, 5)->id, known[5].id);
	ck_assert_uint_eq(v8_procs_count(procs), 1);
	map(6, &program); /* one more, at once */
	ck_assert_uint_ne(known[6].id, 0);
	ck_assert_uint_ne(known[6].id, known[5].id);
	map(6, &program);
	ck_assert_uint_eq(n_changes, 2);
}
END_TEST

START_TEST(a_program_that_has_it_in_its_library)
{
	struct v8_facts none = { 0 };

	map(5, &program);
	map(5, &library);
	v8_procs_told(procs, &program, &none);
	ck_assert_uint_eq(v8_procs_unknown(procs), 0);
	tell(&library);
	ck_assert_uint_ne(known[5].id, 0);
}
END_TEST

START_TEST(another_program_in_the_same_process)
{
	uint64_t id;

	map(5, &program);
	tell(&program);
	id = known[5].id;
	v8_procs_emptied(procs, 5);
	ck_assert_uint_eq(known[5].id, 0);
	ck_assert_ptr_null(v8_procs_get(procs, 5));
	map(5, &program);
	ck_assert_uint_gt(known[5].id, id);
	ck_assert_uint_eq(v8_procs_count(procs), 1);
}
END_TEST

START_TEST(children_have_what_their_parents_had)
{
	map(5, &program);
	v8_procs_forked(procs, 6, 5);
	v8_procs_forked(procs, 7, 9); /* of nobody */
	tell(&program);
	ck_assert_uint_ne(known[6].id, 0);
	ck_assert_uint_eq(known[7].id, 0);
	v8_procs_forked(procs, 8, 6);
	ck_assert_uint_ne(known[8].id, 0);
	n_changes = 0;
	v8_procs_tell_all(procs);
	ck_assert_uint_eq(n_changes, 3);
}
END_TEST

START_TEST(unknown_versions_are_said)
{
	struct v8_facts facts = v8_image_facts();

	map(5, &program);
	facts.values[V8_MAJOR] = 99;
	ck_assert_str_eq(v8_procs_why(procs), "");
	v8_procs_told(procs, &program, &facts);
	tell(&program); /* once is enough */
	ck_assert_uint_eq(known[5].id, 0);
	ck_assert_uint_eq(v8_procs_unknown(procs), 1);
	ck_assert_str_eq(v8_procs_why(procs), "/usr/bin/node has V8 99.3: a version whose "
					      "structures are not known");
	map(6, &library);
	v8_procs_told(procs, &library, NULL); /* not readable */
	ck_assert_uint_eq(v8_procs_unknown(procs), 1);
}
END_TEST

START_TEST(names_of_files)
{
	ck_assert(v8_procs_may_be("/opt/node-v20/bin/node"));
	ck_assert(v8_procs_may_be("nodejs"));
	ck_assert(v8_procs_may_be("/usr/lib/libnode.so.108"));
	ck_assert(!v8_procs_may_be("/usr/bin/python3"));
	ck_assert(!v8_procs_may_be("/opt/node/bin/python3"));
}
END_TEST

/* A user who runs a thousand different files called node: those in use stay. */
START_TEST(more_files_than_there_is_room_for)
{
	struct module m = { .path = "/tmp/node" };

	map(5, &program);
	tell(&program);
	for (uint64_t id = 100; id < 1100; id++) {
		m.id = id;
		map(6, &m);
		tell(&m);
		v8_procs_emptied(procs, 6);
	}
	map(7, &program);
	ck_assert_uint_ne(known[7].id, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("v8_procs");
	TCase *tc = tcase_create("procs");
	SRunner *sr;
	int n;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_process_is_known_once_its_file_is);
	tcase_add_test(tc, a_program_that_has_it_in_its_library);
	tcase_add_test(tc, another_program_in_the_same_process);
	tcase_add_test(tc, children_have_what_their_parents_had);
	tcase_add_test(tc, unknown_versions_are_said);
	tcase_add_test(tc, names_of_files);
	tcase_add_test(tc, more_files_than_there_is_room_for);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
