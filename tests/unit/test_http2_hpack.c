/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of header fields, against what nghttp2 writes and what it reads of them. */
#include <check.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/http2_hpack.h"
#include "net/http2_huffman.h"

#define MAX_FIELDS 24
#define N_STATIC   61
#define ROOM	   65536

static const struct net_privacy plain = { .query = NET_QUERY_KEEP };

static struct http2_hpack t;
static struct http2_head head;
static nghttp2_hd_deflater *deflater;
static nghttp2_hd_inflater *inflater;

static void set_up(void)
{
	srandom(1);
	http2_hpack_init(&t, &plain, false);
	ck_assert_int_eq(nghttp2_hd_deflate_new(&deflater, 16384), 0);
	ck_assert_int_eq(nghttp2_hd_inflate_new(&inflater), 0);
	ck_assert_int_eq(nghttp2_hd_inflate_change_table_size(inflater, 16384), 0);
}

static void tear_down(void)
{
	http2_hpack_done(&t);
	ck_assert_uint_eq(http2_hpack_bytes(&t), 0);
	nghttp2_hd_deflate_del(deflater);
	nghttp2_hd_inflate_del(inflater);
}

static uint32_t any(uint32_t n)
{
	return (uint32_t)random() % n;
}

/* ---- one block ---- */

struct field {
	char name[64], value[400];
	uint8_t flags;
};

static size_t encode(const struct field *fields, size_t n, uint8_t *block)
{
	nghttp2_nv nv[MAX_FIELDS];
	ssize_t len;

	for (size_t i = 0; i < n; i++)
		nv[i] = (nghttp2_nv){ (uint8_t *)fields[i].name, (uint8_t *)fields[i].value,
				      strlen(fields[i].name), strlen(fields[i].value),
				      fields[i].flags };
	len = nghttp2_hd_deflate_hd(deflater, block, ROOM, nv, n);
	ck_assert_int_ge(len, 0);
	return (size_t)len;
}

static void reference_decode(const uint8_t *block, size_t len)
{
	nghttp2_nv nv;
	int flags = 0;

	while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
		ssize_t r = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, block, len, 1);

		ck_assert_int_ge(r, 0);
		block += r;
		len -= (size_t)r;
	}
	nghttp2_hd_inflate_end_headers(inflater);
}

static const char *value_of(const struct field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].value;
	return "";
}

static int number_of(const struct field *fields, size_t n, const char *name, int none)
{
	const char *value = value_of(fields, n, name);

	return value[0] ? atoi(value) : none;
}

/* With `is_part`, what is missing must have been told of. */
static void must_be(const char *got, const char *want, bool is_part)
{
	char cut[EXCHANGE_PATH_LEN];

	snprintf(cut, sizeof(cut), "%s", want);
	if (!(is_part && head.has_unknown && got[0] == 0))
		ck_assert_str_eq(got, cut);
}

static void head_must_be(const struct field *f, size_t n, bool is_part)
{
	int none = is_part && head.has_unknown;
	int status = number_of(f, n, ":status", 0), grpc = number_of(f, n, "grpc-status", -1);

	must_be(head.method, value_of(f, n, ":method"), is_part);
	must_be(head.scheme, value_of(f, n, ":scheme"), is_part);
	must_be(head.authority, value_of(f, n, ":authority"), is_part);
	must_be(head.host, value_of(f, n, "host"), is_part);
	must_be(head.path, value_of(f, n, ":path"), is_part);
	must_be(head.protocol, value_of(f, n, ":protocol"), is_part);
	must_be(head.content_type, value_of(f, n, "content-type"), is_part);
	must_be(head.x_cache, value_of(f, n, "x-cache"), is_part);
	must_be(head.age, value_of(f, n, "age"), is_part);
	ck_assert((none && head.status == 0) || head.status == status);
	ck_assert((none && head.grpc_status == -1) || head.grpc_status == grpc);
	ck_assert((none && head.length == -1) ||
		  head.length == number_of(f, n, "content-length", -1));
}

/* ---- any blocks ---- */

static const char *const names[] = {
	":method",     ":scheme",	 ":authority",	   ":path",   ":status",
	":protocol",   "host",		 "content-type",   "x-cache", "age",
	"grpc-status", "content-length", "cookie",	   "date",    "authorization",
	"user-agent",  "x-custom",	 "x-another-name", "server",  "x-long-header-name-of-ours",
};

static void any_value(const char *name, char *ret, size_t room)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "OPTIONS" };
	static const char *const schemes[] = { "http", "https", "ftp" };
	static const char *const statuses[] = { "200", "204", "404", "201", "503", "999" };

	if (strcmp(name, ":method") == 0 || strcmp(name, ":protocol") == 0)
		snprintf(ret, room, "%s", methods[any(4)]);
	else if (strcmp(name, ":scheme") == 0)
		snprintf(ret, room, "%s", schemes[any(3)]);
	else if (strcmp(name, ":status") == 0)
		snprintf(ret, room, "%s", statuses[any(6)]);
	else if (strcmp(name, ":path") == 0)
		snprintf(ret, room, "/%u/%*u", any(9), 1 + (int)any(300), any(9));
	else if (strstr(name, "length") || strstr(name, "status") || strcmp(name, "age") == 0)
		snprintf(ret, room, "%u", any(20));
	else
		snprintf(ret, room, "%c%u.%0*u", "aZ~{\\"[any(5)], any(7), 1 + (int)any(40),
			 any(5));
}

static size_t any_fields(struct field *f)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (any(3))
			continue;
		snprintf(f[n].name, sizeof(f[n].name), "%s", names[i]);
		any_value(names[i], f[n].value, sizeof(f[n].value));
		f[n++].flags = any(8) ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX;
	}
	return n;
}

static void any_table_size(void)
{
	static const size_t sizes[] = { 0, 33, 200, 1000, 4096, 10000, 16384 };

	ck_assert_int_eq(nghttp2_hd_deflate_change_table_size(deflater, sizes[any(7)]), 0);
}

static void tables_must_be_equal(void)
{
	ck_assert_uint_eq(t.n, nghttp2_hd_inflate_get_num_table_entries(inflater) - N_STATIC);
	ck_assert_uint_eq(t.size, nghttp2_hd_inflate_get_dynamic_table_size(inflater));
}

START_TEST(any_blocks_are_read_as_nghttp2_reads_them)
{
	static struct field fields[MAX_FIELDS];
	static uint8_t block[ROOM];
	size_t n, len;

	srandom((unsigned)_i + 1);
	for (int i = 0; i < 1000; i++) {
		if (any(30) == 0)
			any_table_size();
		n = any_fields(fields);
		len = encode(fields, n, block);
		reference_decode(block, len);
		ck_assert_int_eq(http2_hpack_block(&t, block, len, &head), 0);
		ck_assert(!head.has_unknown);
		head_must_be(fields, n, false);
		tables_must_be_equal();
	}
}
END_TEST

/* From a block on that was not seen, and each hundredth is not. */
START_TEST(what_is_known_of_half_a_table_is_right)
{
	static struct field fields[MAX_FIELDS];
	static uint8_t block[ROOM];
	size_t n, len, n_unknown = 0, n_known = 0;

	srandom((unsigned)_i + 1);
	for (int i = 0; i < 2000; i++) {
		if (any(200) == 0)
			any_table_size();
		n = any_fields(fields);
		len = encode(fields, n, block);
		if (i < 20 || any(100) == 0) {
			http2_hpack_forget(&t);
			continue;
		}
		ck_assert_int_eq(http2_hpack_block(&t, block, len, &head), 0);
		head_must_be(fields, n, true);
		n_unknown += head.has_unknown;
		n_known += !head.has_unknown;
	}
	ck_assert_uint_gt(n_unknown, 50);
	ck_assert_uint_gt(n_known, 500);
}
END_TEST

START_TEST(a_table_that_is_emptied_is_known_again)
{
	static const uint8_t to_none_and_back[] = { 0x20, 0x3f, 0xe1, 0x1f, 0x82 };

	http2_hpack_forget(&t);
	ck_assert(t.is_partial);
	ck_assert_int_eq(http2_hpack_block(&t, to_none_and_back, 5, &head), 0);
	ck_assert(!t.is_partial);
	ck_assert_uint_eq(t.max_size, 4096);
	ck_assert_str_eq(head.method, "GET");
}
END_TEST

/* Paths that an encoder does put into its table. */
START_TEST(what_refers_to_before_is_unknown)
{
	static const uint8_t insert_path[] = { 0x44, 2, '/', 'a' }, last[] = { 0xbe },
			     one_before[] = { 0xbf }, name_of_it[] = { 0x7f, 0, 2, '/', 'b' };

	http2_hpack_forget(&t);
	ck_assert_int_eq(http2_hpack_block(&t, last, 1, &head), 0);
	ck_assert(head.has_unknown);
	ck_assert_int_eq(http2_hpack_block(&t, insert_path, 4, &head), 0);
	ck_assert_str_eq(head.path, "/a");
	ck_assert(!head.has_unknown);
	ck_assert_int_eq(http2_hpack_block(&t, last, 1, &head), 0);
	ck_assert_str_eq(head.path, "/a");
	ck_assert_int_eq(http2_hpack_block(&t, one_before, 1, &head), 0);
	ck_assert_str_eq(head.path, "");
	ck_assert(head.has_unknown);
	/* A value whose name is not known is not, either; what it moves down is. */
	ck_assert_int_eq(http2_hpack_block(&t, name_of_it, 5, &head), 0);
	ck_assert_str_eq(head.path, "");
	ck_assert(head.has_unknown);
	ck_assert_int_eq(http2_hpack_block(&t, last, 1, &head), 0);
	ck_assert_str_eq(head.path, "");
	ck_assert(head.has_unknown);
	ck_assert_int_eq(http2_hpack_block(&t, one_before, 1, &head), 0);
	ck_assert_str_eq(head.path, "/a");
}
END_TEST

START_TEST(what_is_not_looked_at_is_not_kept)
{
	static const struct field secrets[] = {
		{ "cookie", "SECRET3", 0 },	    { "authorization", "Bearer SECRET2", 0 },
		{ "x-api-key", "SECRET", 0 },	    { "set-cookie", "SECRET", 0 },
		{ "referer", "/?token=SECRET", 0 },
	};
	static uint8_t block[ROOM];
	size_t len = encode(secrets, 5, block);

	ck_assert_int_eq(http2_hpack_block(&t, block, len, &head), 0);
	ck_assert_uint_gt(t.n, 1); /* they are in the table, but without what they say */
	ck_assert_uint_eq(t.n_text, 0);
}
END_TEST

START_TEST(a_path_is_in_the_table_as_it_may_be_kept)
{
	static const uint8_t insert[] = { 0x44, 9, '/', 'x', '?', 'k', '=', 'a', 'b', 'c', 'd' },
			     last[] = { 0xbe };
	static const struct net_privacy hide = { .query = NET_QUERY_HIDE };

	t.privacy = &hide;
	ck_assert_int_eq(http2_hpack_block(&t, insert, sizeof(insert), &head), 0);
	ck_assert_int_eq(http2_hpack_block(&t, last, 1, &head), 0);
	ck_assert(strncmp(head.path, "/x?", 3) == 0);
	ck_assert_ptr_null(strstr(head.path, "abcd"));
	ck_assert_uint_eq(t.n_text, strlen(head.path) + 1);
	ck_assert_uint_eq(t.size, 5 + 9 + 32);
}
END_TEST

/* Where a table would be larger than we want, its newest part is what we have. */
START_TEST(a_table_larger_than_ours)
{
	static const uint8_t to_a_million[] = { 0x3f, 0xa1, 0x8d, 0x3d };
	static const uint8_t insert[] = { 0x44, 2, '/', 'a' };
	uint8_t beyond[] = { 0xff, 0xff, 0x7f };

	ck_assert_int_eq(http2_hpack_block(&t, to_a_million, 4, &head), 0);
	ck_assert_uint_eq(t.max_size, HTTP2_MAX_TABLE);
	for (int i = 0; i < 20000; i++)
		ck_assert_int_eq(http2_hpack_block(&t, insert, 4, &head), 0);
	ck_assert_uint_eq(t.n, HTTP2_MAX_TABLE / (5 + 2 + 32));
	ck_assert_uint_lt(http2_hpack_bytes(&t), 200000);
	ck_assert_int_eq(http2_hpack_block(&t, beyond, 3, &head), 0);
	ck_assert(head.has_unknown);
}
END_TEST

START_TEST(what_is_no_block)
{
	static const struct {
		uint8_t bytes[12];
		size_t n;
	} bad[] = {
		{ { 0x80 }, 1 },			       /* index 0 */
		{ { 0xbe }, 1 },			       /* of an entry that is not there */
		{ { 0x7e, 1, 'x' }, 3 },		       /* likewise, of its name */
		{ { 0xff }, 1 },			       /* the number goes on */
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xf }, 6 },  /* and is too large */
		{ { 0x44 }, 1 },			       /* no value */
		{ { 0x44, 5, '/' }, 3 },		       /* one that is too long */
		{ { 0x44, 0x81, 0 }, 3 },		       /* five bits, and three that are 0 */
		{ { 0x44, 0x82, 0x07, 0xff }, 4 },	       /* more than seven bits of padding */
		{ { 0x44, 0x84, 0xff, 0xff, 0xff, 0xff }, 6 }, /* the code of the string's end */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(http2_hpack_block(&t, bad[i].bytes, bad[i].n, &head), -EBADMSG);
}
END_TEST

/* ---- the code of strings ---- */

static void string_must_be(const char *value, size_t n)
{
	static uint8_t block[ROOM], got[1024];
	nghttp2_nv nv = { (uint8_t *)"x", (uint8_t *)value, 1, n, NGHTTP2_NV_FLAG_NO_INDEX };
	ssize_t len = nghttp2_hd_deflate_hd(deflater, block, ROOM, &nv, 1);
	size_t at = 3, n_code;

	/* 0x10, the name's length and it, the value's length: short ones all. */
	ck_assert_int_gt(len, 4);
	ck_assert_uint_eq(block[at] & 0x80, 0x80);
	n_code = block[at++] & 0x7f;
	if (n_code == 0x7f) {
		ck_assert_uint_lt(block[at], 0x80);
		n_code += block[at++];
	}
	ck_assert_uint_eq(at + n_code, (size_t)len);
	ck_assert_int_eq(http2_huffman_decode(block + at, n_code, got, sizeof(got)), (long)n);
	ck_assert_mem_eq(got, value, n);
	memset(got, 0xee, 3);
	ck_assert_int_eq(http2_huffman_decode(block + at, n_code, got, 2), (long)n);
	ck_assert_uint_eq(got[2], 0xee);
}

START_TEST(each_byte_has_its_code)
{
	char value[64];

	for (int c = 0; c < 256; c++) {
		memset(value, '0', sizeof(value)); /* or it would not be used */
		value[7] = (char)c;
		string_must_be(value, sizeof(value));
		value[sizeof(value) - 1] = (char)c;
		string_must_be(value, sizeof(value));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http2_hpack");
	TCase *c = tcase_create("http2_hpack");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, any_blocks_are_read_as_nghttp2_reads_them, 0, 5);
	tcase_add_loop_test(c, what_is_known_of_half_a_table_is_right, 0, 5);
	tcase_add_test(c, a_table_that_is_emptied_is_known_again);
	tcase_add_test(c, what_refers_to_before_is_unknown);
	tcase_add_test(c, what_is_not_looked_at_is_not_kept);
	tcase_add_test(c, a_path_is_in_the_table_as_it_may_be_kept);
	tcase_add_test(c, a_table_larger_than_ours);
	tcase_add_test(c, what_is_no_block);
	tcase_add_test(c, each_byte_has_its_code);
	suite_add_tcase(s, c);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
