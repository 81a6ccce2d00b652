/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c - fields as they lie in memory, and packets decoded from them. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "good_trace.h"
#include "packet_decoder.h"
#include "wire.h"

START_TEST(a_varint_of_each_length_is_read_back)
{
	for (unsigned bits = 0; bits < 64; bits++) {
		uint64_t value = (1ull << bits) | 1, back;
		uint8_t bytes[WIRE_VARINT_MAX];
		size_t n = wire_put_varint(bytes, value);
		struct wire w;

		ck_assert_uint_eq(n, bits / 7 + 1);
		ck_assert_uint_eq(wire_put_varint(NULL, value), n);
		wire_init(&w, bytes, n);
		ck_assert_int_eq(wire_varint(&w, &back), 0);
		ck_assert_uint_eq(back, value);
		ck_assert(wire_at_end(&w));
		/* One byte less is a varint that has not ended. */
		wire_init(&w, bytes, n - 1);
		ck_assert_int_eq(wire_varint(&w, &back), -ENODATA);
	}
}
END_TEST

START_TEST(a_varint_beyond_64_bits_is_refused)
{
	uint8_t bytes[11];
	struct wire w;
	uint64_t v;

	memset(bytes, 0xff, sizeof(bytes));
	wire_init(&w, bytes, sizeof(bytes));
	ck_assert_int_eq(wire_varint(&w, &v), -EBADMSG);
	bytes[9] = 2; /* bit 64 */
	ck_assert_int_eq(wire_varint(&w, &v), -EBADMSG);
	bytes[9] = 1;
	ck_assert_int_eq(wire_varint(&w, &v), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

START_TEST(each_wire_type_is_read)
{
	static const uint8_t bytes[] = "\x08\x05"		/* 1: 5 */
				       "\x11\1\2\3\4\5\6\7\x08" /* 2: fixed64 */
				       "\x1a\3abc"		/* 3: bytes */
				       "\x25\1\0\0\x80";	/* 4: fixed32 */
	struct wire_field f;
	struct wire w;

	wire_init(&w, bytes, sizeof(bytes) - 1);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert(f.number == 1 && f.type == WIRE_VARINT && f.value == 5);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert(f.number == 2 && f.type == WIRE_FIXED64 && f.value == 0x0807060504030201);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert(f.number == 3 && f.type == WIRE_BYTES && f.len == 3);
	ck_assert_mem_eq(f.data, "abc", 3);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert(f.number == 4 && f.type == WIRE_FIXED32 && f.value == 0x80000001);
	ck_assert_int_eq(wire_next(&w, &f), 0);
}
END_TEST

static void assert_refused(const char *bytes, size_t len)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, bytes, len);
	ck_assert_int_eq(wire_next(&w, &f), -EBADMSG);
}

START_TEST(what_does_not_fit_is_refused)
{
	assert_refused("\x1a\4abc", 5);			 /* longer than the message */
	assert_refused("\x11\1\2\3", 4);		 /* half a fixed64 */
	assert_refused("\x25\1", 2);			 /* half a fixed32 */
	assert_refused("\x08", 1);			 /* a tag alone */
	assert_refused("\x0b", 1);			 /* a group */
	assert_refused("\x0f\1", 2);			 /* wire type 7 */
	assert_refused("\x02\0", 2);			 /* field 0 */
	assert_refused("\xfa\xff\xff\xff\xff\x0f\0", 7); /* a field number beyond 2^29 */
	/* A length of 2^64 - 1 must not wrap. */
	assert_refused("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
}
END_TEST

/* ---- packets ---- */

struct seen {
	unsigned n;
	enum wire_deviation what;
	char message[32];
	uint32_t field;
};

static void on_deviation(void *ctx, enum wire_deviation what, const char *message, uint32_t field)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->what = what;
	seen->field = field;
	strncpy(seen->message, message, sizeof(seen->message) - 1);
}

static struct packet_decoder *decoder;
static struct buf bytes, inner;

static void setup(void)
{
	ck_assert_int_eq(packet_decoder_new(&decoder), 0);
}

static void teardown(void)
{
	packet_decoder_free(decoder);
	buf_done(&bytes);
	buf_done(&inner);
}

static struct seen decode(int expect, const TracePacket **ret)
{
	struct seen seen = { 0 };

	ck_assert_int_eq(packet_decode(decoder, bytes.data, bytes.len, on_deviation, &seen, ret),
			 expect);
	return seen;
}

START_TEST(a_packet_is_decoded)
{
	const TracePacket *pkt;

	put_int(&bytes, 8, 12345);
	put_int(&bytes, 10, 7);
	ck_assert_uint_eq(decode(0, &pkt).n, 0);
	ck_assert_uint_eq(pkt->timestamp, 12345);
	ck_assert_uint_eq(pkt->trusted_packet_sequence_id, 7);
}
END_TEST

START_TEST(packed_and_not_packed_are_both_decoded_and_told_apart)
{
	const TracePacket *pkt;
	struct seen seen;

	/* StackSample.follower_weights is packed, TrackEvent.category_iids is not. */
	put_int(&inner, 14, 3);
	put_bytes(&bytes, 135, inner.data, inner.len);
	seen = decode(0, &pkt);
	ck_assert_uint_eq(seen.n, 1);
	ck_assert_int_eq(seen.what, WIRE_NOT_PACKED);
	ck_assert_str_eq(seen.message, "StackSample");
	ck_assert_uint_eq(seen.field, 14);
	ck_assert_uint_eq(pkt->stack_sample->n_follower_weights, 1);

	bytes.len = inner.len = 0;
	put_bytes(&inner, 3, "\1\2", 2);
	put_bytes(&bytes, 11, inner.data, inner.len);
	seen = decode(0, &pkt);
	ck_assert_uint_eq(seen.n, 1);
	ck_assert_int_eq(seen.what, WIRE_PACKED);
	ck_assert_str_eq(seen.message, "TrackEvent");
	ck_assert_uint_eq(pkt->track_event->n_category_iids, 2);
}
END_TEST

START_TEST(a_broken_message_deep_inside_is_found)
{
	const TracePacket *pkt;
	struct seen seen;

	put_bytes(&inner, 1, "\x12\x09", 2); /* a function name longer than all of it */
	put_bytes(&bytes, 12, inner.data, inner.len);
	seen = decode(-EBADMSG, &pkt);
	ck_assert_int_eq(seen.what, WIRE_BROKEN);
	ck_assert_str_eq(seen.message, "EventCategory");
}
END_TEST

/* 60 MB of empty events would unpack to some 8 GB. */
START_TEST(a_packet_that_unpacks_to_too_much_is_refused)
{
	static const uint8_t empty[] = { 2 << 3 | WIRE_BYTES, 0 };
	const TracePacket *pkt;

	/* Not by put_bytes(): four million of Check's assertions take a minute. */
	ck_assert_int_eq(buf_reserve(&inner, sizeof(empty) * (4 << 20)), 0);
	for (int i = 0; i < 4 << 20; i++)
		(void)buf_append(&inner, empty, sizeof(empty));
	put_bytes(&bytes, 1, inner.data, inner.len);
	decode(-E2BIG, &pkt);
	/* The next one is fine. */
	bytes.len = 0;
	put_int(&bytes, 8, 1);
	decode(0, &pkt);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire");
	TCase *fields = tcase_create("fields"), *packets = tcase_create("packets");
	SRunner *sr;
	int failed;

	tcase_add_test(fields, a_varint_of_each_length_is_read_back);
	tcase_add_test(fields, a_varint_beyond_64_bits_is_refused);
	tcase_add_test(fields, each_wire_type_is_read);
	tcase_add_test(fields, what_does_not_fit_is_refused);
	suite_add_tcase(suite, fields);
	tcase_add_checked_fixture(packets, setup, teardown);
	tcase_set_timeout(packets, 60);
	tcase_add_test(packets, a_packet_is_decoded);
	tcase_add_test(packets, packed_and_not_packed_are_both_decoded_and_told_apart);
	tcase_add_test(packets, a_broken_message_deep_inside_is_found);
	tcase_add_test(packets, a_packet_that_unpacks_to_too_much_is_refused);
	suite_add_tcase(suite, packets);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
