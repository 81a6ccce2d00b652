/* SPDX-License-Identifier: Apache-2.0 */
/* Perf's side-band records: what they say, and what is no such record. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/proc_sideband.h"

#define TIME 123456789012345ull

/* As the kernel lays it out. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char name[16];
	uint64_t time;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[16];
	uint64_t time;
};

struct ksymbol {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[24];
	uint64_t time;
};

static struct ksymbol a_program(void)
{
	return (struct ksymbol){ .header = { .type = PERF_RECORD_KSYMBOL,
					     .size = sizeof(struct ksymbol) },
				 .addr = 0xffffffffc0001000,
				 .len = 0x40,
				 .type = PERF_RECORD_KSYMBOL_TYPE_BPF,
				 .name = "bpf_prog_1234_name",
				 .time = TIME };
}

static struct mmap2 a_mapping(void)
{
	return (struct mmap2){ .header = { .type = PERF_RECORD_MMAP2,
					   .size = sizeof(struct mmap2) },
			       .pid = 10,
			       .tid = 11,
			       .addr = 0x7f0000001000,
			       .len = 0x2000,
			       .pgoff = 0x3000,
			       .maj = 254,
			       .min = 1,
			       .ino = 4711,
			       .ino_generation = 99,
			       .prot = PROT_READ | PROT_EXEC,
			       .name = "/usr/bin/sed",
			       .time = TIME };
}

static struct comm an_exec(void)
{
	return (struct comm){ .header = { .type = PERF_RECORD_COMM,
					  .misc = PERF_RECORD_MISC_COMM_EXEC,
					  .size = sizeof(struct comm) },
			      .pid = 10,
			      .tid = 10,
			      .name = "sed",
			      .time = TIME };
}

START_TEST(a_mapping_is_decoded)
{
	struct mmap2 m = a_mapping();
	struct sideband_record r;

	ck_assert(sideband_decode(&m.header, &r));
	ck_assert_int_eq(r.type, SIDEBAND_MMAP);
	ck_assert_uint_eq(r.time_ns, TIME);
	ck_assert_uint_eq(r.pgoff, 0x3000);
	ck_assert_uint_eq(r.code.tgid, 10);
	ck_assert_uint_eq(r.code.start, 0x7f0000001000);
	ck_assert_uint_eq(r.code.end, 0x7f0000003000);
	ck_assert_uint_eq(r.code.dev_major, 254);
	ck_assert_uint_eq(r.code.dev_minor, 1);
	ck_assert_uint_eq(r.code.inode, 4711);
	ck_assert_uint_eq(r.code.generation, 99);
	ck_assert_uint_eq(r.code.time_ns, TIME);
	ck_assert_uint_eq(r.code.name_len, strlen("/usr/bin/sed"));
	ck_assert_mem_eq(r.code.name, "/usr/bin/sed", r.code.name_len);
}
END_TEST

START_TEST(a_name_without_its_nul_ends_with_the_record)
{
	struct mmap2 m = a_mapping();
	struct sideband_record r;

	memset(m.name, 'x', sizeof(m.name));
	ck_assert(sideband_decode(&m.header, &r));
	ck_assert_uint_eq(r.code.name_len, sizeof(m.name));
}
END_TEST

START_TEST(an_exec_is_decoded_and_a_mere_rename_is_not)
{
	struct comm c = an_exec();
	struct sideband_record r;

	ck_assert(sideband_decode(&c.header, &r));
	ck_assert_int_eq(r.type, SIDEBAND_EXEC);
	ck_assert_uint_eq(r.code.tgid, 10);
	ck_assert_uint_eq(r.time_ns, TIME);
	c.header.misc = 0;
	ck_assert(!sideband_decode(&c.header, &r));
}
END_TEST

START_TEST(code_of_the_kernel_comes_and_goes)
{
	struct ksymbol k = a_program();
	struct sideband_record r;

	ck_assert(sideband_decode(&k.header, &r));
	ck_assert_int_eq(r.type, SIDEBAND_KERNEL);
	ck_assert_uint_eq(r.time_ns, TIME);
	ck_assert_uint_eq(r.kernel.time_ns, TIME);
	ck_assert_uint_eq(r.kernel.start, 0xffffffffc0001000);
	ck_assert_uint_eq(r.kernel.len, 0x40);
	ck_assert(r.kernel.is_bpf && !r.kernel.is_gone);
	ck_assert_uint_eq(r.kernel.name_len, strlen("bpf_prog_1234_name"));
	ck_assert_mem_eq(r.kernel.name, "bpf_prog_1234_name", r.kernel.name_len);
	k.type = PERF_RECORD_KSYMBOL_TYPE_OOL;
	k.flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ck_assert(sideband_decode(&k.header, &r));
	ck_assert(!r.kernel.is_bpf && r.kernel.is_gone);
}
END_TEST

/* The kernel writes it so for who is not the first to listen: what follows is of earlier records.
 */
START_TEST(behind_the_time_of_kernel_code_there_may_be_something)
{
	struct {
		struct ksymbol k;
		uint64_t stale[2];
	} rec = { .k = a_program(), .stale = { 0, 254 } };
	struct sideband_record r;

	for (size_t n = 1; n <= 2; n++) {
		rec.k.header.size = (uint16_t)(sizeof(rec.k) + n * sizeof(uint64_t));
		ck_assert(sideband_decode(&rec.k.header, &r));
		ck_assert_uint_eq(r.time_ns, TIME);
		ck_assert_uint_eq(r.kernel.time_ns, TIME);
		ck_assert_mem_eq(r.kernel.name, "bpf_prog_1234_name", r.kernel.name_len);
	}
	/* A name of 23 bytes ends right before it. */
	strcpy(rec.k.name, "bpf_prog_1234_name_long");
	ck_assert(sideband_decode(&rec.k.header, &r));
	ck_assert_uint_eq(r.time_ns, TIME);
	/* Its time is not in the record. */
	rec.k.header.size = sizeof(rec.k) - 8;
	ck_assert(!sideband_decode(&rec.k.header, &r));
}
END_TEST

START_TEST(code_without_a_name_or_an_extent_is_refused)
{
	struct ksymbol k = a_program();
	struct sideband_record r;

	k.len = 0;
	ck_assert(!sideband_decode(&k.header, &r));
	k = a_program();
	k.addr = UINT64_MAX - 8; /* and on from zero */
	ck_assert(!sideband_decode(&k.header, &r));
	k = a_program();
	k.name[0] = '\0';
	ck_assert(!sideband_decode(&k.header, &r));
}
END_TEST

START_TEST(what_is_not_for_us_is_refused)
{
	struct sideband_record r;
	struct mmap2 m;

	m = a_mapping();
	m.prot = PROT_READ | PROT_WRITE;
	ck_assert(!sideband_decode(&m.header, &r));
	m = a_mapping();
	m.pid = UINT32_MAX; /* no pid any more */
	ck_assert(!sideband_decode(&m.header, &r));
	m = a_mapping();
	m.pid = 0;
	ck_assert(!sideband_decode(&m.header, &r));
	m = a_mapping();
	m.len = 0;
	ck_assert(!sideband_decode(&m.header, &r));
	m = a_mapping();
	m.addr = UINT64_MAX - 0x1000; /* and on from zero */
	ck_assert(!sideband_decode(&m.header, &r));
	m = a_mapping();
	m.header.type = PERF_RECORD_MMAP;
	ck_assert(!sideband_decode(&m.header, &r));
}
END_TEST

/* In memory that ends where the record says it does. */
START_TEST(a_record_of_any_size_is_survived)
{
	const struct mmap2 m = a_mapping();
	const struct comm c = an_exec();
	const struct ksymbol k = a_program();
	const struct perf_event_header *all[] = { &m.header, &c.header, &k.header };
	const struct perf_event_header *whole = all[_i];

	for (uint16_t size = sizeof(*whole); size <= whole->size; size++) {
		struct perf_event_header *rec = malloc(size);
		struct sideband_record r;

		memcpy(rec, whole, size);
		rec->size = size;
		if (sideband_decode(rec, &r) && r.type == SIDEBAND_MMAP) {
			ck_assert_uint_ge(size, 72 + 8);
			ck_assert_uint_le(r.code.name_len, size - 72u - 8u);
		} else if (whole->type == PERF_RECORD_KSYMBOL && sideband_decode(rec, &r)) {
			ck_assert_uint_le(r.kernel.name_len, size - 24u - 8u);
		}
		free(rec);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proc_sideband");
	TCase *t = tcase_create("records");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_test(t, a_mapping_is_decoded);
	tcase_add_test(t, a_name_without_its_nul_ends_with_the_record);
	tcase_add_test(t, an_exec_is_decoded_and_a_mere_rename_is_not);
	tcase_add_test(t, code_of_the_kernel_comes_and_goes);
	tcase_add_test(t, behind_the_time_of_kernel_code_there_may_be_something);
	tcase_add_test(t, code_without_a_name_or_an_extent_is_refused);
	tcase_add_test(t, what_is_not_for_us_is_refused);
	tcase_add_loop_test(t, a_record_of_any_size_is_survived, 0, 3);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
