/* SPDX-License-Identifier: Apache-2.0 */
/* Locations exist once, share their names, and go when nobody needs them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/location_store.h"

static struct location_store *s;
static struct module a = { .id = 1, .path = "/a" }, b = { .id = 2, .path = "/b" };
static unsigned n_gone;

static void gone(void *ctx, const struct module *module)
{
	ck_assert_ptr_eq(ctx, &n_gone);
	ck_assert(module == &a || module == &b);
	n_gone++;
}

static void setup(void)
{
	n_gone = 0;
	ck_assert_int_eq(location_store_new(gone, &n_gone, &s), 0);
}

static void teardown(void)
{
	location_store_free(s);
}

static struct location_entry *add(struct module *m, uint64_t key)
{
	struct location_entry *e = location_store_add(s, m, key, LOCATION_NATIVE);

	ck_assert_ptr_nonnull(e);
	return e;
}

START_TEST(a_location_is_found_by_module_and_key)
{
	struct location_entry *e = add(&a, 10), *f = add(&b, 10), *g = add(&a, 11);

	ck_assert_ptr_eq(location_store_get(s, &a, 10), e);
	ck_assert_ptr_eq(location_store_get(s, &b, 10), f);
	ck_assert_ptr_eq(location_store_get(s, &a, 11), g);
	ck_assert_ptr_null(location_store_get(s, &b, 11));
	ck_assert_uint_ne(e->pub.id, f->pub.id);
	ck_assert_ptr_eq(e->pub.module, &a);
	ck_assert(!e->pub.ready);
	ck_assert_uint_eq(location_store_count(s), 3);
}
END_TEST

START_TEST(locations_of_one_function_share_its_name)
{
	struct location_entry *e = add(&a, 10), *f = add(&a, 11), *g = add(&b, 10);

	location_set_symbol(e, 0x1010, 0x1000, "function", 8);
	location_set_symbol(f, 0x1011, 0x1000, "function", 8);
	location_set_symbol(g, 0x1010, 0x1000, "other", 5);
	ck_assert_ptr_eq(e->pub.function, f->pub.function);
	ck_assert_str_eq(e->pub.function, "function");
	ck_assert_str_eq(g->pub.function, "other");
	ck_assert(e->pub.ready && e->pub.has_symbol);
	ck_assert_uint_eq(f->pub.rel_pc, 0x1011);
	/* The name outlives the first of them. */
	location_hold(&f->pub);
	location_store_trim(s, 0);
	ck_assert_str_eq(f->pub.function, "function");
	location_release(&f->pub);
}
END_TEST

START_TEST(lines_of_one_function_share_its_name_and_file)
{
	struct location_entry *e = add(&a, 10), *f = add(&a, 11), *g = add(&a, 12);

	location_set_line(e, 7, "Shop.total", "/srv/shop.py", 3);
	location_set_line(f, 7, "Shop.total", "/srv/shop.py", 4);
	location_set_line(g, 8, "<module>", "", 1);
	ck_assert_str_eq(e->pub.function, "Shop.total");
	ck_assert_str_eq(e->pub.file, "/srv/shop.py");
	ck_assert_uint_eq(e->pub.line, 3);
	ck_assert_uint_eq(f->pub.line, 4);
	ck_assert_ptr_eq(e->pub.file, f->pub.file);
	ck_assert(e->pub.ready && e->pub.has_symbol);
	/* A line says nothing without a file. */
	ck_assert_ptr_null(g->pub.file);
	ck_assert_uint_eq(g->pub.line, 0);
	location_hold(&f->pub);
	location_store_trim(s, 0);
	ck_assert_str_eq(f->pub.file, "/srv/shop.py");
	location_release(&f->pub);
}
END_TEST

START_TEST(the_first_answer_stays)
{
	struct location_entry *e = add(&a, 10);

	location_set_text(e, 1, "[a+0x1]");
	location_set_symbol(e, 2, 3, "late", 4);
	location_set_text(e, 4, "later");
	ck_assert_str_eq(e->pub.function, "[a+0x1]");
	ck_assert(e->pub.ready);
	ck_assert(!e->pub.has_symbol);
	ck_assert_uint_eq(e->pub.rel_pc, 1);
}
END_TEST

START_TEST(a_name_is_made_valid_utf8)
{
	struct location_entry *e = add(&a, 10), *f = add(&a, 11);

	location_set_symbol(e, 1, 1, "\xff\xff\xff", 3);
	ck_assert_str_eq(e->pub.function, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	location_set_symbol(f, 2, 2, "not this", 3);
	ck_assert_str_eq(f->pub.function, "not");
}
END_TEST

START_TEST(the_longest_unused_go_first)
{
	for (uint64_t i = 0; i < 10; i++)
		add(&a, i);
	ck_assert_ptr_nonnull(location_store_get(s, &a, 0)); /* used again */
	location_store_trim(s, 3);
	ck_assert_uint_eq(location_store_count(s), 3);
	ck_assert_uint_eq(n_gone, 7);
	ck_assert_ptr_nonnull(location_store_get(s, &a, 0));
	ck_assert_ptr_nonnull(location_store_get(s, &a, 8));
	ck_assert_ptr_nonnull(location_store_get(s, &a, 9));
	ck_assert_ptr_null(location_store_get(s, &a, 7));
}
END_TEST

START_TEST(what_is_held_stays)
{
	struct location_entry *e = add(&a, 1);

	add(&a, 2);
	location_hold(&e->pub);
	location_hold(&e->pub);
	location_store_trim(s, 0);
	ck_assert_uint_eq(location_store_count(s), 1);
	location_release(&e->pub);
	location_store_trim(s, 0);
	ck_assert_ptr_eq(location_store_get(s, &a, 1), e);
	location_release(&e->pub);
	location_store_trim(s, 0);
	ck_assert_uint_eq(location_store_count(s), 0);
	ck_assert_uint_eq(n_gone, 2);
}
END_TEST

START_TEST(an_id_is_never_used_again)
{
	uint64_t id = add(&a, 1)->pub.id;

	location_store_trim(s, 0);
	ck_assert_uint_gt(add(&a, 1)->pub.id, id);
}
END_TEST

START_TEST(a_promise_becomes_the_same_as_what_it_was_for)
{
	struct location_entry *e = add(&a, 10);
	struct location *promise = location_promise(s, &b, 0x1234);

	ck_assert_ptr_nonnull(promise);
	ck_assert(!promise->ready);
	location_hold(promise); /* somebody waits for it */
	location_set_source(e, "a.js", 4, 7);
	location_set_symbol(e, 0x1010, 0x1000, "function", 8);
	location_keep_promise(promise, &e->pub);
	location_release(promise);

	ck_assert(promise->ready);
	ck_assert_uint_eq(promise->id, e->pub.id);
	ck_assert_ptr_eq(promise->module, &a);
	ck_assert_str_eq(promise->function, "function");
	ck_assert_str_eq(promise->file, "a.js");
	ck_assert_uint_eq(promise->line, 7);
	/* What it says stays as long as it is held, and goes with it. */
	location_store_trim(s, 0);
	ck_assert_ptr_eq(location_store_get(s, &a, 10), e);
	location_release(promise);
	location_store_trim(s, 0);
	ck_assert_ptr_null(location_store_get(s, &a, 10));
}
END_TEST

START_TEST(a_promise_that_nobody_kept_goes_too)
{
	struct location *promise = location_promise(s, &a, 1);

	ck_assert_ptr_nonnull(promise);
	location_release(promise);
	(void)location_promise(s, &a, 2); /* with the store, at the latest */
	ck_assert_uint_eq(location_store_count(s), 0);
}
END_TEST

START_TEST(one_file_has_one_name)
{
	struct location_entry *e = add(&a, 10), *f = add(&b, 10);

	location_set_source(e, "lib/a.js", 8, 1);
	location_set_source(f, "lib/a.js?", 8, 2);
	location_set_symbol(e, 1, 1, "f", 1);
	location_set_symbol(f, 1, 1, "f", 1);
	ck_assert_str_eq(e->pub.file, "lib/a.js");
	ck_assert_ptr_eq(e->pub.file, f->pub.file);
	ck_assert_uint_eq(f->pub.line, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("location_store");
	TCase *tc = tcase_create("location_store");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_location_is_found_by_module_and_key);
	tcase_add_test(tc, locations_of_one_function_share_its_name);
	tcase_add_test(tc, lines_of_one_function_share_its_name_and_file);
	tcase_add_test(tc, the_first_answer_stays);
	tcase_add_test(tc, a_name_is_made_valid_utf8);
	tcase_add_test(tc, the_longest_unused_go_first);
	tcase_add_test(tc, what_is_held_stays);
	tcase_add_test(tc, an_id_is_never_used_again);
	tcase_add_test(tc, a_promise_becomes_the_same_as_what_it_was_for);
	tcase_add_test(tc, a_promise_that_nobody_kept_goes_too);
	tcase_add_test(tc, one_file_has_one_name);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
