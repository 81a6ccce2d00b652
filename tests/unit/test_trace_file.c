/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_file.c - a trace file read packet by packet, from memory and from pipes. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "buf.h"
#include "good_trace.h"
#include "trace_file.h"
#include "wire.h"

static struct buf file, block, bytes;

static void teardown(void)
{
	buf_done(&file);
	buf_done(&block);
	buf_done(&bytes);
}

/* A packet of one field, timestamp. */
static void put_time(struct buf *out, uint64_t time)
{
	bytes.len = 0;
	put_int(&bytes, 8, time);
	put_packet(out, bytes.data, bytes.len);
}

static uint64_t time_of(const struct trace_packet_bytes *pkt)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, pkt->data, pkt->len);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert_uint_eq(f.number, 8);
	return f.value;
}

static struct trace_file *open_file(void)
{
	struct trace_file *f;

	ck_assert_int_eq(trace_file_open_memory(file.data, file.len, &f), 0);
	return f;
}

/* Reads packets of times 0, 1, ... to the end; returns how many. */
static size_t read_all(struct trace_file *f)
{
	struct trace_packet_bytes pkt;
	size_t n = 0;
	int r;

	while ((r = trace_file_next(f, &pkt)) > 0)
		ck_assert_uint_eq(time_of(&pkt), n++);
	ck_assert_int_eq(r, 0);
	return n;
}

static void assert_fault(struct trace_file *f, enum trace_fault what, uint64_t where)
{
	struct trace_packet_bytes pkt;
	const char *text;
	uint64_t offset;

	ck_assert_int_eq(trace_file_next(f, &pkt), -EBADMSG);
	ck_assert_int_eq(trace_file_fault(f, &text, &offset), what);
	ck_assert_uint_eq(offset, where);
	ck_assert_uint_gt(strlen(text), 0);
}

static void assert_time(struct trace_file *f, uint64_t time)
{
	struct trace_packet_bytes pkt;

	ck_assert_int_eq(trace_file_next(f, &pkt), 1);
	ck_assert_uint_eq(time_of(&pkt), time);
}

START_TEST(an_empty_file_has_no_packets)
{
	struct trace_file *f = open_file();
	struct trace_file_stats s;

	ck_assert_uint_eq(read_all(f), 0);
	trace_file_stats(f, &s);
	ck_assert(!s.cut && s.n_bytes == 0);
	trace_file_free(f);
}
END_TEST

START_TEST(packets_in_and_out_of_blocks_come_in_their_order)
{
	struct trace_packet_bytes pkt;
	struct trace_file_stats s;
	struct trace_file *f;
	size_t block_offset;

	put_time(&file, 0);
	put_time(&block, 1);
	put_time(&block, 2);
	block_offset = file.len;
	put_block(&file, &block);
	put_time(&file, 3);
	f = open_file();
	assert_time(f, 0);
	assert_time(f, 1);
	ck_assert_int_eq(trace_file_next(f, &pkt), 1);
	ck_assert_uint_eq(pkt.offset, block_offset);
	ck_assert_uint_gt(pkt.in_block, 0);
	assert_time(f, 3);
	ck_assert_uint_eq(read_all(f), 0);
	trace_file_stats(f, &s);
	ck_assert_uint_eq(s.n_packets, 4);
	ck_assert_uint_eq(s.n_blocks, 1);
	ck_assert_uint_eq(s.n_inflated, block.len);
	ck_assert_uint_eq(s.n_bytes, file.len);
	trace_file_free(f);
}
END_TEST

START_TEST(empty_packets_are_passed_over)
{
	struct trace_file *f;

	put_packet(&file, "", 0);
	put_time(&file, 0);
	put_packet(&file, "", 0);
	f = open_file();
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_free(f);
}
END_TEST

START_TEST(gzip_blocks_are_read_too)
{
	struct trace_file *f;
	uint8_t out[256];
	z_stream z = { 0 };

	put_time(&block, 0);
	ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = block.data;
	z.avail_in = (uInt)block.len;
	z.next_out = out;
	z.avail_out = sizeof(out);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	bytes.len = 0;
	put_bytes(&bytes, 50, out, z.total_out);
	deflateEnd(&z);
	put_packet(&file, bytes.data, bytes.len);
	f = open_file();
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_free(f);
}
END_TEST

START_TEST(a_file_may_end_anywhere)
{
	size_t ends[8], n_ends = 0;

	for (uint64_t i = 0; i < 3; i++) {
		put_time(&file, i);
		ends[n_ends++] = file.len;
	}
	put_time(&block, 3);
	put_time(&block, 4);
	put_block(&file, &block);

	for (size_t len = 0; len <= file.len; len++) {
		struct trace_file_stats s;
		struct trace_file *f;
		size_t n = 0;

		while (n < n_ends && ends[n] <= len)
			n++;
		ck_assert_int_eq(trace_file_open_memory(file.data, len, &f), 0);
		ck_assert_uint_eq(read_all(f), len == file.len ? 5 : n);
		trace_file_stats(f, &s);
		if (len == file.len || len == 0 || (n > 0 && ends[n - 1] == len)) {
			ck_assert(!s.cut);
		} else {
			ck_assert(s.cut);
			ck_assert_uint_eq(s.cut_offset, n ? ends[n - 1] : 0);
		}
		trace_file_free(f);
	}
}
END_TEST

START_TEST(zeros_at_the_end_are_counted)
{
	struct trace_file_stats s;
	struct trace_file *f;

	put_time(&file, 0);
	ck_assert_int_eq(buf_append(&file, (char[100]){ 0 }, 100), 0);
	f = open_file();
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_stats(f, &s);
	ck_assert_uint_eq(s.n_zeros, 100);
	ck_assert(!s.cut);
	trace_file_free(f);
}
END_TEST

START_TEST(garbage_ends_the_reading_where_it_begins)
{
	struct trace_file *f;
	size_t where;

	put_time(&file, 0);
	where = file.len;
	ck_assert_int_eq(buf_append(&file, "\xff\x0a\x00", 3), 0);
	f = open_file();
	assert_time(f, 0);
	assert_fault(f, TRACE_FAULT_GARBAGE, where);
	ck_assert_uint_eq(read_all(f), 0);
	trace_file_free(f);
}
END_TEST

START_TEST(garbage_behind_zeros_is_garbage)
{
	struct trace_file *f;

	ck_assert_int_eq(buf_append(&file, "\0\0\0\x0a", 4), 0);
	f = open_file();
	assert_fault(f, TRACE_FAULT_GARBAGE, 3);
	trace_file_free(f);
}
END_TEST

START_TEST(an_impossible_length_is_garbage)
{
	struct trace_file *f;

	ck_assert_int_eq(buf_append(&file, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), 0);
	f = open_file();
	assert_fault(f, TRACE_FAULT_GARBAGE, 0);
	trace_file_free(f);
}
END_TEST

/* A field 50 of these bytes, then a good packet: reading goes on behind the fault. */
static void assert_block_fault(const void *data, size_t len, enum trace_fault what)
{
	struct trace_file *f;

	bytes.len = 0;
	put_bytes(&bytes, 50, data, len);
	put_packet(&file, bytes.data, bytes.len);
	put_time(&file, 0);
	f = open_file();
	assert_fault(f, what, 0);
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_free(f);
	file.len = 0;
}

START_TEST(a_block_must_be_one_whole_zlib_stream)
{
	uint8_t z[256];
	uLongf len = sizeof(z);

	put_time(&block, 7);
	ck_assert_int_eq(compress(z, &len, block.data, block.len), Z_OK);
	for (size_t cut = 0; cut < len; cut++)
		assert_block_fault(z, cut, TRACE_FAULT_BLOCK);
	z[len] = 0;
	assert_block_fault(z, len + 1, TRACE_FAULT_BLOCK);     /* one byte too many */
	assert_block_fault(z + 2, len - 2, TRACE_FAULT_BLOCK); /* raw deflate */
	z[len / 2] ^= 0x40;
	assert_block_fault(z, len, TRACE_FAULT_BLOCK);
}
END_TEST

START_TEST(a_block_must_hold_whole_packets)
{
	struct trace_file *f;

	put_time(&block, 0);
	ck_assert_int_eq(buf_append(&block, "\x0a\x05\x08", 3), 0);
	put_block(&file, &block);
	put_time(&file, 1);
	f = open_file();
	assert_time(f, 0);
	assert_fault(f, TRACE_FAULT_BLOCK, 0);
	assert_time(f, 1);
	trace_file_free(f);
}
END_TEST

START_TEST(a_block_within_a_block_is_refused_and_the_rest_is_read)
{
	struct buf outer = { 0 };
	struct trace_file *f;

	put_time(&block, 7);
	put_block(&outer, &block);
	put_time(&outer, 0);
	put_block(&file, &outer);
	f = open_file();
	assert_fault(f, TRACE_FAULT_NESTED, 0);
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_free(f);
	buf_done(&outer);
}
END_TEST

START_TEST(a_block_beyond_the_limit_is_refused)
{
	struct trace_file *f;

	for (uint64_t i = 0; i < 1000; i++)
		put_time(&block, i);
	put_block(&file, &block);
	f = open_file();
	trace_file_limit_block(f, block.len);
	ck_assert_uint_eq(read_all(f), 1000);
	trace_file_free(f);
	f = open_file();
	trace_file_limit_block(f, block.len - 1);
	assert_fault(f, TRACE_FAULT_TOO_BIG, 0);
	ck_assert_uint_eq(read_all(f), 0);
	trace_file_free(f);
}
END_TEST

/* 300 MB of zeros in 300 KB: no more of it than the limit is ever held. */
START_TEST(a_bomb_is_refused)
{
	const size_t n = 300u << 20;
	struct trace_file *f;
	uint8_t *out = malloc(1 << 20);
	uint8_t *zeros = calloc(1, 1 << 20);
	z_stream z = { 0 };

	ck_assert(out && zeros);
	ck_assert_int_eq(deflateInit(&z, 6), Z_OK);
	z.next_out = out;
	z.avail_out = 1 << 20;
	for (size_t done = 0; done < n; done += 1 << 20) {
		z.next_in = zeros;
		z.avail_in = 1 << 20;
		ck_assert_int_eq(deflate(&z, Z_NO_FLUSH), Z_OK);
	}
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	put_bytes(&bytes, 50, out, z.total_out);
	put_packet(&file, bytes.data, bytes.len);
	deflateEnd(&z);
	free(out);
	free(zeros);
	f = open_file();
	assert_fault(f, TRACE_FAULT_TOO_BIG, 0);
	trace_file_free(f);
}
END_TEST

START_TEST(a_packet_that_does_not_parse_is_passed_over)
{
	struct trace_file *f;

	put_packet(&file, "\x0a\x7f", 2);
	put_time(&file, 0);
	f = open_file();
	assert_fault(f, TRACE_FAULT_PACKET, 0);
	ck_assert_uint_eq(read_all(f), 1);
	trace_file_free(f);
}
END_TEST

START_TEST(a_pipe_is_read_in_whatever_pieces_it_comes)
{
	struct trace_file *f;
	int fds[2], status;
	pid_t child;

	for (uint64_t i = 0; i < 20000; i++) {
		put_time(&block, i);
		if (i % 100 == 99) {
			put_block(&file, &block);
			block.len = 0;
		}
	}
	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		size_t pos = 0, n = 1;

		while (pos < file.len) {
			if (n > file.len - pos)
				n = file.len - pos;
			if (write(fds[1], file.data + pos, n) != (ssize_t)n)
				_exit(1);
			pos += n;
			n = n % 977 + 1;
		}
		_exit(0);
	}
	close(fds[1]);
	ck_assert_int_eq(trace_file_open(fds[0], &f), 0);
	ck_assert_uint_eq(read_all(f), 20000);
	trace_file_free(f);
	close(fds[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_read_error_is_returned)
{
	struct trace_packet_bytes pkt;
	struct trace_file *f;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(trace_file_open(fd, &f), 0);
	ck_assert_int_eq(trace_file_next(f, &pkt), -EISDIR);
	trace_file_free(f);
	close(fd);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		an_empty_file_has_no_packets,
		packets_in_and_out_of_blocks_come_in_their_order,
		empty_packets_are_passed_over,
		gzip_blocks_are_read_too,
		a_file_may_end_anywhere,
		zeros_at_the_end_are_counted,
		garbage_ends_the_reading_where_it_begins,
		garbage_behind_zeros_is_garbage,
		an_impossible_length_is_garbage,
		a_block_must_be_one_whole_zlib_stream,
		a_block_must_hold_whole_packets,
		a_block_within_a_block_is_refused_and_the_rest_is_read,
		a_block_beyond_the_limit_is_refused,
		a_bomb_is_refused,
		a_packet_that_does_not_parse_is_passed_over,
		a_pipe_is_read_in_whatever_pieces_it_comes,
		a_read_error_is_returned,
	};
	Suite *suite = suite_create("trace_file");
	TCase *tc = tcase_create("files");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
