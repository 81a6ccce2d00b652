/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes run CPython, by what is mapped and what files say. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interp/python_procs.h"
#include "process/mappings.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

#define V3_11 0x030b02f0u
#define V3_12 0x030c01f0u
#define V3_14 0x030e00f0u

static struct python_procs *procs;
static struct module program = { .id = 1, .path = "/usr/bin/python3.11" };
static struct module library = { .id = 2, .path = "/opt/lib/libpython3.12.so.1.0" };
static struct module other = { .id = 3, .path = "/usr/lib/libc.so.6" };

/* What was said last about process 1 to 9, and how often anything was said. */
static struct python_proc known[10];
static bool is_known[10];
static unsigned n_changes;

static void on_changed(void *ctx, uint32_t tgid, const struct python_proc *proc)
{
	ck_assert_ptr_eq(ctx, known);
	n_changes++;
	is_known[tgid] = proc != NULL;
	if (proc)
		known[tgid] = *proc;
}

static void on_program(void *ctx, const struct python_program_key *key,
		       const struct python_program *value)
{
	(void)ctx;
	(void)key;
	(void)value;
	ck_abort_msg("no file was opened");
}

static const struct python_listener listener = { .proc = on_changed, .program = on_program };

static void set_up(void)
{
	memset(is_known, 0, sizeof(is_known));
	n_changes = 0;
	ck_assert_int_eq(python_procs_new(NULL, &listener, known, &procs), 0);
}

static void tear_down(void)
{
	python_procs_free(procs);
}

static void map(uint32_t tgid, struct module *m, uint64_t start, uint64_t pgoff)
{
	struct mapping mapping = {
		.start = start, .end = start + 0x1000, .pgoff = pgoff, .module = m
	};

	python_procs_mapped(procs, tgid, &mapping);
}

/* Its code begins at 0x1000 in the file and is meant for 0x401000. */
static struct files_objects objects(uint32_t version, uint64_t runtime)
{
	struct files_objects o = {
		.text_offset = 0x1000,
		.text_size = 0x2000,
		.text_vaddr = 0x401000,
		.objects[0] = { .vaddr = runtime },
		.objects[1] = { .vaddr = 0x402000, .len = 16 },
	};

	memcpy(o.objects[1].bytes, &version, sizeof(version));
	return o;
}

static void tell(struct module *m, uint32_t version, uint64_t runtime)
{
	struct files_objects o = objects(version, runtime);

	python_procs_told(procs, m, &o);
}

START_TEST(a_process_is_known_once_its_file_is)
{
	map(5, &program, 0x401000, 0x1000);
	map(5, &other, 0x7f0000000000, 0);
	ck_assert(!is_known[5]);
	tell(&program, V3_11, 0x500000);
	ck_assert(is_known[5]);
	ck_assert_uint_eq(known[5].runtime, 0x500000);
	ck_assert_uint_eq(python_procs_count(procs), 1);
}
END_TEST

START_TEST(a_file_is_known_for_all_later_processes)
{
	map(5, &library, 0x7f0000001000, 0x1000);
	tell(&library, V3_12, 0x500000);
	map(6, &library, 0x7f1000002000, 0x2000);
	/* 0x401000 is at 0x7f0000001000, so 0x500000 is 0xff000 behind */
	ck_assert_uint_eq(known[5].runtime, 0x7f0000100000);
	ck_assert_uint_eq(known[6].runtime, 0x7f1000100000);
	ck_assert_uint_eq(python_procs_count(procs), 2);
}
END_TEST

START_TEST(a_program_without_the_state_has_it_in_its_library)
{
	map(5, &program, 0x401000, 0x1000);
	map(5, &library, 0x7f0000001000, 0x1000);
	tell(&program, V3_12, 0);
	ck_assert(!is_known[5]);
	tell(&library, V3_12, 0x500000);
	ck_assert_uint_eq(known[5].runtime, 0x7f0000100000);
}
END_TEST

START_TEST(each_version_has_a_layout_that_is_told_once)
{
	size_t n;

	map(5, &program, 0x401000, 0x1000);
	map(6, &library, 0x7f0000001000, 0x1000);
	tell(&program, V3_11, 0x500000);
	tell(&library, V3_12, 0x500000);
	ck_assert_uint_ne(known[5].layout, known[6].layout);
	(void)python_procs_layouts(procs, &n);
	ck_assert_uint_eq(n, 2);
	other.path = "/bin/python3";
	map(7, &other, 0x401000, 0x1000);
	tell(&other, V3_11, 0x600000);
	ck_assert_uint_eq(known[7].layout, known[5].layout);
	ck_assert_uint_eq(python_procs_layouts(procs, &n)[known[6].layout].frame_owner, 70);
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(a_child_has_what_its_parent_has)
{
	map(5, &program, 0x401000, 0x1000);
	python_procs_forked(procs, 6, 5);
	tell(&program, V3_11, 0x500000);
	python_procs_forked(procs, 7, 6);
	ck_assert(is_known[6] && is_known[7]);
	python_procs_emptied(procs, 6);
	ck_assert(!is_known[6] && is_known[5] && is_known[7]);
	python_procs_forked(procs, 8, 4); /* of whom nothing is known */
	ck_assert(!is_known[8]);
}
END_TEST

START_TEST(another_program_in_the_same_process_is_another_matter)
{
	map(5, &program, 0x401000, 0x1000);
	tell(&program, V3_11, 0x500000);
	python_procs_emptied(procs, 5);
	ck_assert(!is_known[5]);
	ck_assert_uint_eq(python_procs_count(procs), 0);
	map(5, &other, 0x401000, 0x1000);
	ck_assert(!is_known[5]);
	/* a child of another that has the number of one that is gone without a word */
	map(5, &program, 0x401000, 0x1000);
	python_procs_forked(procs, 5, 4);
	ck_assert(!is_known[5]);
}
END_TEST

START_TEST(a_version_that_is_not_known_is_counted)
{
	map(5, &program, 0x401000, 0x1000);
	tell(&program, V3_14, 0x500000);
	ck_assert(!is_known[5]);
	ck_assert_uint_eq(python_procs_unknown(procs), 1);
	tell(&program, V3_11, 0x500000); /* nobody asked again */
	ck_assert(!is_known[5]);
	ck_assert_uint_eq(n_changes, 0);
}
END_TEST

START_TEST(a_file_with_such_a_name_may_be_anything)
{
	struct files_objects o = objects(V3_11, 0x500000);

	map(5, &program, 0x401000, 0x1000);
	map(6, &library, 0x401000, 0x1000);
	python_procs_told(procs, &program, NULL); /* cannot be read */
	o.objects[1].len = 3;
	python_procs_told(procs, &library, &o); /* half a version */
	ck_assert(!is_known[5] && !is_known[6]);
	python_procs_told(procs, &other, &o); /* nobody asked */
	ck_assert_uint_eq(n_changes, 0);
	ck_assert_uint_eq(python_procs_unknown(procs), 0);
}
END_TEST

START_TEST(the_same_mapping_again_is_no_news)
{
	map(5, &program, 0x401000, 0x1000);
	tell(&program, V3_11, 0x500000);
	map(5, &program, 0x401000, 0x1000);
	map(5, &program, 0x402000, 0x2000);
	ck_assert_uint_eq(n_changes, 1);
	map(5, &program, 0x501000, 0x1000);
	ck_assert_uint_eq(n_changes, 2);
	ck_assert_uint_eq(known[5].runtime, 0x600000);
}
END_TEST

START_TEST(files_of_no_process_make_room_for_others)
{
	struct module many[3000];

	map(5, &program, 0x401000, 0x1000);
	tell(&program, V3_11, 0x500000);
	for (size_t i = 0; i < 3000; i++) {
		many[i] = (struct module){ .id = 100 + i, .path = "/tmp/python" };
		map(6, &many[i], 0x401000, 0x1000);
		python_procs_emptied(procs, 6);
	}
	/* the one in use was kept, and the last one could still come in */
	map(7, &program, 0x401000, 0x1000);
	ck_assert(is_known[7]);
	map(8, &many[2999], 0x401000, 0x1000);
	tell(&many[2999], V3_11, 0x500000);
	ck_assert(is_known[8]);
}
END_TEST

START_TEST(all_that_are_known_can_be_told_again)
{
	map(5, &program, 0x401000, 0x1000);
	map(6, &program, 0x401000, 0x1000);
	map(7, &library, 0x401000, 0x1000);
	tell(&program, V3_11, 0x500000);
	memset(is_known, 0, sizeof(is_known));
	python_procs_tell_all(procs);
	ck_assert(is_known[5] && is_known[6] && !is_known[7]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("python_procs");
	TCase *tc = tcase_create("python_procs");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_process_is_known_once_its_file_is);
	tcase_add_test(tc, a_file_is_known_for_all_later_processes);
	tcase_add_test(tc, a_program_without_the_state_has_it_in_its_library);
	tcase_add_test(tc, each_version_has_a_layout_that_is_told_once);
	tcase_add_test(tc, a_child_has_what_its_parent_has);
	tcase_add_test(tc, another_program_in_the_same_process_is_another_matter);
	tcase_add_test(tc, a_version_that_is_not_known_is_counted);
	tcase_add_test(tc, a_file_with_such_a_name_may_be_anything);
	tcase_add_test(tc, the_same_mapping_again_is_no_news);
	tcase_add_test(tc, files_of_no_process_make_room_for_others);
	tcase_add_test(tc, all_that_are_known_can_be_told_again);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
