/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the control protocol. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control_frame.h"

#define MAX 1000u

START_TEST(a_frame_is_read_as_it_was_written)
{
	struct buf b = { 0 };
	struct frame f;
	uint8_t payload[300];

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	ck_assert_int_eq(frame_append(&b, FRAME_REQUEST, payload, 300), 0);
	ck_assert_int_eq(frame_append(&b, FRAME_REPLY, NULL, 0), 0);
	ck_assert_uint_eq(b.len, 2 * FRAME_HEAD + 300);
	ck_assert_int_eq(frame_parse(b.data, b.len, MAX, &f), FRAME_HEAD + 300);
	ck_assert_int_eq(f.type, FRAME_REQUEST);
	ck_assert_uint_eq(f.len, 300);
	ck_assert_mem_eq(f.payload, payload, 300);
	ck_assert_int_eq(frame_parse(b.data + FRAME_HEAD + 300, FRAME_HEAD, MAX, &f), FRAME_HEAD);
	ck_assert_int_eq(f.type, FRAME_REPLY);
	ck_assert_uint_eq(f.len, 0);
	buf_done(&b);
}
END_TEST

START_TEST(half_a_frame_waits_for_the_rest)
{
	struct buf b = { 0 };
	struct frame f;

	ck_assert_int_eq(frame_append(&b, FRAME_TRACE, "0123456789", 10), 0);
	for (size_t len = 0; len < b.len; len++) {
		uint8_t *part = malloc(len ? len : 1); /* ASan sees a look beyond */

		ck_assert_ptr_nonnull(part);
		memcpy(part, b.data, len);
		ck_assert_int_eq(frame_parse(part, len, MAX, &f), 0);
		free(part);
	}
	ck_assert_int_eq(frame_parse(b.data, b.len, MAX, &f), 18);
	buf_done(&b);
}
END_TEST

START_TEST(a_length_beyond_the_limit_is_refused_by_the_head_alone)
{
	uint8_t head[FRAME_HEAD];
	struct frame f;

	frame_head(head, FRAME_REQUEST, MAX);
	ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f), 0);
	frame_head(head, FRAME_REQUEST, MAX + 1);
	ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f), -EMSGSIZE);
	frame_head(head, FRAME_REQUEST, 1u << 30);
	ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f), -EMSGSIZE);
	frame_head(head, FRAME_REQUEST, UINT32_MAX);
	ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f), -EMSGSIZE);
}
END_TEST

START_TEST(a_head_that_nobody_writes_is_refused)
{
	uint8_t head[FRAME_HEAD];
	struct frame f;

	for (unsigned type = 0; type < 256; type++) {
		frame_head(head, type, 0);
		ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f),
				 type >= 1 && type <= 3 ? FRAME_HEAD : -EBADMSG);
	}
	for (unsigned i = 5; i < FRAME_HEAD; i++) {
		frame_head(head, FRAME_REQUEST, 0);
		head[i] = 1;
		ck_assert_int_eq(frame_parse(head, sizeof(head), MAX, &f), -EBADMSG);
	}
}
END_TEST

START_TEST(lengths_are_little_endian)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, FRAME_TRACE, 0x04030201);
	ck_assert_mem_eq(head, "\1\2\3\4\3\0\0\0", FRAME_HEAD);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_frame");
	TCase *tc = tcase_create("control_frame");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_frame_is_read_as_it_was_written);
	tcase_add_test(tc, half_a_frame_waits_for_the_rest);
	tcase_add_test(tc, a_length_beyond_the_limit_is_refused_by_the_head_alone);
	tcase_add_test(tc, a_head_that_nobody_writes_is_refused);
	tcase_add_test(tc, lengths_are_little_endian);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
