/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's replies: what it says is read back, what it cannot have said is refused. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/files_protocol.h"

static struct files_writer w;

static void begin(uint8_t status, uint32_t n)
{
	struct files_reply_head head = {
		.file_id = 77, .seq = 5, .n = n, .status = status, .build_id_len = 20
	};

	memset(head.build_id, 0xab, 20);
	files_reply_begin(&w, &head);
}

static void add(uint8_t flags, const char *name)
{
	struct files_entry_head e = { .vaddr = 0x1234,
				      .symbol = 0x1200,
				      .name_len = (uint16_t)strlen(name),
				      .flags = flags };

	files_reply_add(&w, &e, name);
}

static void make_reply(void)
{
	begin(FILES_OK, 3);
	add(FILES_HAS_VADDR | FILES_HAS_SYMBOL, "first");
	add(0, "");
	add(FILES_HAS_VADDR, "");
}

static int decode(struct files_reply *ret)
{
	return files_reply_decode(w.bytes, w.len, ret);
}

START_TEST(a_reply_is_read_back)
{
	struct files_reply r;
	struct files_entry e;

	make_reply();
	ck_assert_int_eq(decode(&r), 0);
	ck_assert_uint_eq(r.head.file_id, 77);
	ck_assert_uint_eq(r.head.seq, 5);
	ck_assert_uint_eq(r.head.n, 3);
	ck_assert_uint_eq(r.head.status, FILES_OK);
	ck_assert_uint_eq(r.head.build_id_len, 20);
	ck_assert_uint_eq(r.head.build_id[19], 0xab);
	files_reply_next(&r, &e);
	ck_assert_uint_eq(e.head.flags, FILES_HAS_VADDR | FILES_HAS_SYMBOL);
	ck_assert_uint_eq(e.head.vaddr, 0x1234);
	ck_assert_uint_eq(e.head.symbol, 0x1200);
	ck_assert_uint_eq(e.head.name_len, 5);
	ck_assert_int_eq(memcmp(e.name, "first", 5), 0);
	files_reply_next(&r, &e);
	ck_assert_uint_eq(e.head.flags, 0);
	files_reply_next(&r, &e);
	ck_assert_uint_eq(e.head.flags, FILES_HAS_VADDR);
	ck_assert_uint_eq(r.len, 0);
}
END_TEST

START_TEST(the_longest_reply_fits)
{
	char name[DEMANGLE_MAX + 1];
	struct files_reply r;

	memset(name, 'x', DEMANGLE_MAX);
	name[DEMANGLE_MAX] = '\0';
	begin(FILES_OK, FILES_BATCH_MAX);
	for (int i = 0; i < FILES_BATCH_MAX; i++)
		add(FILES_HAS_VADDR | FILES_HAS_SYMBOL, name);
	ck_assert_uint_eq(w.len, FILES_REPLY_MAX);
	ck_assert_int_eq(decode(&r), 0);
}
END_TEST

START_TEST(a_reply_of_any_other_length_is_refused)
{
	struct files_reply r;

	make_reply();
	for (size_t len = 0; len < w.len; len++) {
		/* A copy of just that size, so that reading beyond it shows. */
		uint8_t *bytes = malloc(len ? len : 1);

		ck_assert_ptr_nonnull(bytes);
		memcpy(bytes, w.bytes, len);
		ck_assert_int_eq(files_reply_decode(bytes, len, &r), -EBADMSG);
		free(bytes);
	}
	w.bytes[w.len++] = 0;
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

/* Each changes a good reply in one place. */
static void bad_status(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->status = 0;
}

static void unknown_status(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->status = FILES_GONE + 1;
}

static void entries_with_another_status(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->status = FILES_BROKEN;
}

static void too_few(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->n--;
}

static void too_many(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->n++;
}

static void far_too_many(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->n = UINT32_MAX;
}

static void short_build_id(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->build_id_len = 7;
}

static void long_build_id(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->build_id_len = BUILD_ID_MAX + 1;
}

static void padding_in_head(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)e;
	h->zero[4] = 1;
}

static void padding_in_entry(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->zero[0] = 1;
}

static void unknown_flag(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->flags |= 4;
}

static void name_without_symbol(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->flags = FILES_HAS_VADDR;
}

static void symbol_without_address(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->flags = FILES_HAS_SYMBOL;
}

static void longer_name(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->name_len++;
}

static void name_beyond_the_end(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->name_len = UINT16_MAX;
}

static void no_name(struct files_reply_head *h, struct files_entry_head *e)
{
	(void)h;
	e->name_len = 0;
}

typedef void change_fn(struct files_reply_head *h, struct files_entry_head *e);

static change_fn *const changes[] = {
	bad_status,
	unknown_status,
	entries_with_another_status,
	too_few,
	too_many,
	far_too_many,
	short_build_id,
	long_build_id,
	padding_in_head,
	padding_in_entry,
	unknown_flag,
	name_without_symbol,
	longer_name,
	symbol_without_address,
	name_beyond_the_end,
	no_name,
};

START_TEST(what_the_worker_cannot_have_said_is_refused)
{
	struct files_reply r;
	struct files_reply_head h;
	struct files_entry_head e;

	make_reply();
	memcpy(&h, w.bytes, sizeof(h));
	memcpy(&e, w.bytes + sizeof(h), sizeof(e));
	changes[_i](&h, &e);
	memcpy(w.bytes, &h, sizeof(h));
	memcpy(w.bytes + sizeof(h), &e, sizeof(e));
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(a_name_has_no_nul_inside)
{
	struct files_reply r;

	make_reply();
	ck_assert_int_eq(w.bytes[sizeof(struct files_reply_head) + sizeof(struct files_entry_head)],
			 'f');
	w.bytes[sizeof(struct files_reply_head) + sizeof(struct files_entry_head) + 2] = 0;
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(a_name_longer_than_the_cap_is_refused)
{
	static uint8_t bytes[sizeof(struct files_reply_head) + sizeof(struct files_entry_head) +
			     DEMANGLE_MAX + 1];
	struct files_reply_head h = { .n = 1, .status = FILES_OK };
	struct files_entry_head e = { .name_len = DEMANGLE_MAX + 1,
				      .flags = FILES_HAS_VADDR | FILES_HAS_SYMBOL };
	struct files_reply r;

	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &e, sizeof(e));
	ck_assert_int_eq(files_reply_decode(bytes, sizeof(bytes), &r), -EBADMSG);
	e.name_len--;
	memcpy(bytes + sizeof(h), &e, sizeof(e));
	ck_assert_int_eq(files_reply_decode(bytes, sizeof(bytes) - 1, &r), 0);
}
END_TEST

/* ---- variables ---- */

static struct files_reply_head objects_head;
static struct files_objects objects;

static int decode_objects(struct files_reply *ret)
{
	files_reply_begin(&w, &objects_head);
	files_reply_objects(&w, &objects);
	return decode(ret);
}

static void make_objects(void)
{
	objects_head = (struct files_reply_head){
		.file_id = 77, .n = 2, .kind = FILES_OBJECTS, .status = FILES_OK
	};
	objects = (struct files_objects){ .text_offset = 0x1000,
					  .text_size = 0x200,
					  .text_vaddr = 0x401000,
					  .objects[1] = { .vaddr = 0x404000, .len = 2 } };
	memcpy(objects.objects[1].bytes, "hi", 2);
}

START_TEST(variables_are_read_back)
{
	struct files_reply r;

	make_objects();
	ck_assert_int_eq(decode_objects(&r), 0);
	ck_assert_uint_eq(r.head.kind, FILES_OBJECTS);
	ck_assert_uint_eq(r.objects.text_vaddr, 0x401000);
	ck_assert_uint_eq(r.objects.objects[0].vaddr, 0);
	ck_assert_uint_eq(r.objects.objects[1].vaddr, 0x404000);
	ck_assert_int_eq(memcmp(r.objects.objects[1].bytes, "hi", 2), 0);
	w.len--;
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(variables_that_cannot_be_are_refused)
{
	struct files_reply r;

	make_objects();
	objects.objects[1].len = FILES_OBJECT_BYTES + 1;
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
	make_objects();
	objects.objects[0].len = 1; /* of no variable */
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
	make_objects();
	objects.objects[0].zero = 1;
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
	make_objects();
	objects_head.n = FILES_OBJECTS_MAX + 1;
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
	make_objects();
	objects_head.kind = FILES_OBJECTS + 1;
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
	make_objects();
	objects_head.status = FILES_BROKEN; /* and yet with something to tell */
	ck_assert_int_eq(decode_objects(&r), -EBADMSG);
}
END_TEST

START_TEST(a_request_is_as_long_as_what_it_asks_for)
{
	struct files_request req = { .n = 3 };
	size_t head = offsetof(struct files_request, offsets);

	ck_assert_uint_eq(files_request_len(&req), head + 3 * 8);
	req.n = FILES_BATCH_MAX + 1;
	ck_assert_uint_eq(files_request_len(&req), 0);
	req.kind = FILES_OBJECTS;
	ck_assert_uint_eq(files_request_len(&req), 0);
	req.n = FILES_OBJECTS_MAX;
	ck_assert_uint_eq(files_request_len(&req),
			  head + FILES_OBJECTS_MAX * FILES_OBJECT_NAME_MAX);
	req.kind = FILES_OBJECTS + 1;
	ck_assert_uint_eq(files_request_len(&req), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("files_protocol");
	TCase *tc = tcase_create("files_protocol");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_reply_is_read_back);
	tcase_add_test(tc, the_longest_reply_fits);
	tcase_add_test(tc, a_reply_of_any_other_length_is_refused);
	tcase_add_loop_test(tc, what_the_worker_cannot_have_said_is_refused, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tc, a_name_has_no_nul_inside);
	tcase_add_test(tc, a_name_longer_than_the_cap_is_refused);
	tcase_add_test(tc, variables_are_read_back);
	tcase_add_test(tc, variables_that_cannot_be_are_refused);
	tcase_add_test(tc, a_request_is_as_long_as_what_it_asks_for);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
