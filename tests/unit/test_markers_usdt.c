/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of daemon/marker.h in this very program, and what it makes of them. */
#include <check.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marker.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_objects.h"
#include "symbolize/elf_usdt.h"

#define STRIDE 48

static int fd;
static Elf *elf;

static void set_up(void)
{
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(elf_file_open(fd, &elf), 0);
}

static void tear_down(void)
{
	elf_end(elf);
	close(fd);
}

static uint64_t offset_of(const char *name)
{
	char names[2][STRIDE] = { "", "main" };
	uint64_t offsets[2];

	strcpy(names[0], name);
	elf_functions(elf, names[0], STRIDE, 2, offsets);
	ck_assert_uint_ne(offsets[1], 0); /* functions are found beside probes */
	return offsets[0];
}

#if defined(__x86_64__)
static const unsigned char code[] = { 0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3 };
#else
static const unsigned char code[] = { 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 };
#endif

START_TEST(each_probe_is_where_nothing_is_done)
{
	static const char *const probes[] = { "begin",	     "end",	    "instant",	"counter",
					      "counter_f64", "async_begin", "async_end" };
	char name[STRIDE];
	unsigned char bytes[sizeof(code)];

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		uint64_t at;

		snprintf(name, sizeof(name), ELF_USDT_SITE "tracer:%s", probes[i]);
		at = offset_of(name);
		ck_assert_msg(at != 0, "no probe %s", probes[i]);
		ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), (off_t)at), sizeof(bytes));
		ck_assert_mem_eq(bytes, code, sizeof(code));
	}
}
END_TEST

/* Changed in the file, it would be changed in memory. */
START_TEST(all_have_the_one_semaphore)
{
	uint64_t at = offset_of(ELF_USDT_SEMAPHORE "tracer:begin");
	unsigned short value = 1;

	ck_assert_uint_ne(at, 0);
	ck_assert_uint_eq(offset_of(ELF_USDT_SEMAPHORE "tracer:async_end"), at);
	ck_assert_int_eq(pread(fd, &value, sizeof(value), (off_t)at), sizeof(value));
	ck_assert_uint_eq(value, 0);
}
END_TEST

START_TEST(other_names_are_not_there)
{
	static const char *const names[] = {
		"usdt:tracer:", "usdt:tracer:beg", "usdt:tracer:begin2",	"usdt:trace:begin",
		"usdt:begin",	"usdt:",	   "usdt-semaphore:tracer:none"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(offset_of(names[i]) == 0, "found %s", names[i]);
}
END_TEST

static int n_evaluated;

static int evaluated(void)
{
	return ++n_evaluated;
}

START_TEST(while_nobody_records_nothing_is_evaluated)
{
	if (tracer_enabled())
		return; /* somebody does */
	tracer_begin("test", tracer_i64("n", evaluated()));
	tracer_counter("n", evaluated());
	tracer_async_begin("a", evaluated());
	tracer_end("test");
	ck_assert_int_eq(n_evaluated, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("markers_usdt");
	TCase *tc = tcase_create("markers_usdt");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_probe_is_where_nothing_is_done);
	tcase_add_test(tc, all_have_the_one_semaphore);
	tcase_add_test(tc, other_names_are_not_there);
	tcase_add_test(tc, while_nobody_records_nothing_is_evaluated);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
