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

START_TEST(offsets_of_functions_are_read_back)
{
	struct files_reply_head h = {
		.file_id = 77, .n = 3, .kind = FILES_FUNCTIONS, .status = FILES_OK
	};
	const uint64_t offsets[] = { 0x1000, 0, 0x2000 };
	uint64_t got[FILES_FUNCTIONS_MAX] = { 0 };
	struct files_reply r;

	files_reply_begin(&w, &h);
	files_reply_functions(&w, offsets, 3);
	ck_assert_int_eq(decode(&r), 0);
	files_reply_get_functions(&r, got);
	ck_assert_mem_eq(got, offsets, sizeof(offsets));
	w.len--;
	ck_assert_int_eq(decode(&r), -EBADMSG);
	w.len += 2;
	ck_assert_int_eq(decode(&r), -EBADMSG);
	h.n = 2; /* and three offsets */
	files_reply_begin(&w, &h);
	files_reply_functions(&w, offsets, 3);
	ck_assert_int_eq(decode(&r), -EBADMSG);
	h.n = FILES_FUNCTIONS_MAX + 1;
	files_reply_begin(&w, &h);
	ck_assert_int_eq(decode(&r), -EBADMSG);
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
	req.kind = FILES_FUNCTIONS;
	ck_assert_uint_eq(files_request_len(&req),
			  head + FILES_OBJECTS_MAX * FILES_FUNCTION_NAME_MAX);
	req.n = FILES_FUNCTIONS_MAX + 1;
	ck_assert_uint_eq(files_request_len(&req), 0);
}
END_TEST

/* ---- V8 ---- */

START_TEST(what_v8_says_of_itself_is_read_back)
{
	struct files_reply_head h = { .file_id = 77, .kind = FILES_V8_FACTS, .status = FILES_OK };
	struct v8_facts facts = { .known = 5, .values = { 11, 0, 8 } }, got;
	struct files_reply r;

	files_reply_begin(&w, &h);
	files_reply_facts(&w, &facts);
	ck_assert_int_eq(decode(&r), 0);
	files_reply_get_facts(&r, &got);
	ck_assert_int_eq(memcmp(&got, &facts, sizeof(got)), 0);
	w.len--;
	ck_assert_int_eq(decode(&r), -EBADMSG);
	h.n = 1;
	files_reply_begin(&w, &h);
	files_reply_facts(&w, &facts);
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(names_of_v8_functions_are_read_back)
{
	struct files_reply_head h = {
		.file_id = 77, .n = 2, .kind = FILES_V8_NAMES, .status = FILES_OK
	};
	struct source_frame frames[FILES_FRAMES_MAX];
	struct source_frame f = { "total", "/srv/shop.js", 5, 12, 3 };
	struct files_reply r;

	files_reply_begin(&w, &h);
	ck_assert(files_reply_lines(&w, &f, 1));
	ck_assert(files_reply_lines(&w, &f, 0));
	ck_assert_int_eq(decode(&r), 0);
	ck_assert_uint_eq(files_reply_next_lines(&r, frames), 1);
	ck_assert_uint_eq(frames[0].line, 3);
	ck_assert_int_eq(memcmp(frames[0].function, "total", 5), 0);
	ck_assert_uint_eq(files_reply_next_lines(&r, frames), 0);
	h.n = FILES_V8_MAX + 1;
	files_reply_begin(&w, &h);
	for (uint32_t i = 0; i < h.n; i++)
		ck_assert(files_reply_lines(&w, &f, 1));
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(a_request_about_v8)
{
	struct files_request req = { .kind = FILES_V8_NAMES, .n = FILES_V8_MAX };
	size_t head = offsetof(struct files_request, offsets);

	ck_assert_uint_eq(files_request_len(&req), head + sizeof(req.v8));
	ck_assert_uint_le(head + sizeof(req.v8), FILES_REQUEST_MAX);
	req.n++;
	ck_assert_uint_eq(files_request_len(&req), 0);
	req.kind = FILES_V8_FACTS;
	req.n = 0;
	ck_assert_uint_eq(files_request_len(&req), head);
	req.kind = FILES_JVM_NAMES;
	req.n = FILES_V8_MAX;
	ck_assert_uint_eq(files_request_len(&req), head + sizeof(req.jvm));
	req.n++;
	ck_assert_uint_eq(files_request_len(&req), 0);
}
END_TEST

/* ---- debug files ---- */

static struct files_debug debug;

static int decode_debug(struct files_reply *ret)
{
	struct files_reply_head h = { .file_id = 77, .kind = FILES_DEBUG, .status = FILES_OK };

	files_reply_begin(&w, &h);
	files_reply_debug(&w, &debug);
	return decode(ret);
}

static void make_debug(void)
{
	debug = (struct files_debug){ .fits = 1,
				      .info = { .has_lines = true,
						.build_id_len = 20,
						.build_id = "aaaabbbbccccddddeee",
						.link = "lib.debug",
						.alt = "../x",
						.alt_build_id_len = 8,
						.alt_build_id = "1234567" } };
}

START_TEST(what_a_file_says_about_its_debug_file_is_read_back)
{
	struct files_debug got;
	struct files_reply r;

	make_debug();
	ck_assert_int_eq(decode_debug(&r), 0);
	files_reply_get_debug(&r, &got);
	ck_assert_uint_eq(got.fits, 1);
	ck_assert(got.info.has_lines && !got.info.has_symbols);
	ck_assert_str_eq(got.info.link, "lib.debug");
	ck_assert_str_eq(got.info.alt, "../x");
	ck_assert_uint_eq(got.info.alt_build_id_len, 8);
	w.len--;
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

static void no_boolean(void)
{
	memset(&debug.info.has_symbols, 2, 1);
}

static void fits_somehow(void)
{
	debug.fits = 2;
}

static void endless_link(void)
{
	memset(debug.info.link, 'x', sizeof(debug.info.link));
}

static void more_behind_the_link(void)
{
	debug.info.link[100] = 'x';
}

static void endless_alt(void)
{
	memset(debug.info.alt, 'x', sizeof(debug.info.alt));
}

static void short_alt_id(void)
{
	debug.info.alt_build_id_len = 7;
}

static void long_id(void)
{
	debug.info.build_id_len = BUILD_ID_MAX + 1;
}

static void more_behind_the_id(void)
{
	debug.info.build_id[30] = 1;
}

static void (*const debug_changes[])(void) = { no_boolean,   fits_somehow,
					       endless_link, more_behind_the_link,
					       endless_alt,  short_alt_id,
					       long_id,	     more_behind_the_id };

START_TEST(what_no_file_says_about_its_debug_file_is_refused)
{
	struct files_reply r;

	make_debug();
	debug_changes[_i]();
	ck_assert_int_eq(decode_debug(&r), -EBADMSG);
}
END_TEST

/* ---- lines ---- */

static struct source_frame frame_of(const char *function, const char *source, uint32_t line)
{
	return (struct source_frame){ function, source, strlen(function), strlen(source), line };
}

static void begin_lines(uint32_t n)
{
	struct files_reply_head h = {
		.file_id = 77, .n = n, .kind = FILES_LINES, .status = FILES_OK
	};

	files_reply_begin(&w, &h);
}

static void make_lines(void)
{
	struct source_frame frames[] = { frame_of("inner", "/src/a.h", 7), frame_of("", "", 0),
					 frame_of("outer", "/src/a.c", 12) };

	begin_lines(2);
	ck_assert(files_reply_lines(&w, frames, 3));
	ck_assert(files_reply_lines(&w, NULL, 0));
}

START_TEST(lines_are_read_back)
{
	struct source_frame got[FILES_FRAMES_MAX];
	struct files_reply r;

	make_lines();
	ck_assert_int_eq(decode(&r), 0);
	ck_assert_uint_eq(files_reply_next_lines(&r, got), 3);
	ck_assert_uint_eq(got[0].function_len, 5);
	ck_assert_int_eq(memcmp(got[0].function, "inner", 5), 0);
	ck_assert_uint_eq(got[0].source_len, 8);
	ck_assert_int_eq(memcmp(got[0].source, "/src/a.h", 8), 0);
	ck_assert_uint_eq(got[0].line, 7);
	ck_assert_uint_eq(got[1].function_len + got[1].source_len, 0);
	ck_assert_uint_eq(got[2].line, 12);
	ck_assert_uint_eq(files_reply_next_lines(&r, got), 0);
	ck_assert_uint_eq(r.len, 0);
}
END_TEST

START_TEST(lines_of_any_other_length_are_refused)
{
	struct files_reply r;

	make_lines();
	for (size_t len = 0; len < w.len; len++) {
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

START_TEST(lines_beyond_the_caps_are_refused)
{
	static char text[DEMANGLE_MAX + 2];
	struct source_frame frames[FILES_FRAMES_MAX + 1];
	struct files_reply r;

	for (size_t i = 0; i <= FILES_FRAMES_MAX; i++)
		frames[i] = frame_of("f", "s", 1);
	begin_lines(1);
	ck_assert(files_reply_lines(&w, frames, FILES_FRAMES_MAX));
	ck_assert_int_eq(decode(&r), 0);
	begin_lines(1);
	ck_assert(files_reply_lines(&w, frames, FILES_FRAMES_MAX + 1));
	ck_assert_int_eq(decode(&r), -EBADMSG);

	memset(text, 'x', sizeof(text) - 1);
	frames[0] = frame_of(text, "s", 1);
	begin_lines(1);
	ck_assert(files_reply_lines(&w, frames, 1));
	ck_assert_int_eq(decode(&r), -EBADMSG);
	text[FILES_SOURCE_MAX + 1] = '\0';
	frames[0] = frame_of("f", text, 1);
	begin_lines(1);
	ck_assert(files_reply_lines(&w, frames, 1));
	ck_assert_int_eq(decode(&r), -EBADMSG);
	frames[0] = frame_of("f", "s", 1);
	frames[0].source = "\0";
	begin_lines(1);
	ck_assert(files_reply_lines(&w, frames, 1));
	ck_assert_int_eq(decode(&r), -EBADMSG);
}
END_TEST

START_TEST(a_full_reply_takes_no_more_lines)
{
	struct source_frame got[FILES_FRAMES_MAX], frame = frame_of("function", "source", 1);
	struct files_reply r;
	uint32_t n = 0;

	begin_lines(FILES_BATCH_MAX);
	while (files_reply_lines(&w, &frame, 1))
		n++;
	ck_assert_uint_gt(n, FILES_BATCH_MAX); /* more than are ever asked for */
	begin_lines(FILES_BATCH_MAX);
	for (n = 0; n < FILES_BATCH_MAX; n++)
		ck_assert(files_reply_lines(&w, &frame, 1));
	ck_assert_int_eq(decode(&r), 0);
	for (n = 0; n < FILES_BATCH_MAX; n++)
		ck_assert_uint_eq(files_reply_next_lines(&r, got), 1);
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
	tcase_add_test(tc, offsets_of_functions_are_read_back);
	tcase_add_test(tc, a_request_is_as_long_as_what_it_asks_for);
	tcase_add_test(tc, what_v8_says_of_itself_is_read_back);
	tcase_add_test(tc, names_of_v8_functions_are_read_back);
	tcase_add_test(tc, a_request_about_v8);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	tcase_add_test(tc, what_a_file_says_about_its_debug_file_is_read_back);
	tcase_add_loop_test(tc, what_no_file_says_about_its_debug_file_is_refused, 0,
			    sizeof(debug_changes) / sizeof(debug_changes[0]));
	tcase_add_test(tc, lines_are_read_back);
	tcase_add_test(tc, lines_of_any_other_length_are_refused);
	tcase_add_test(tc, lines_beyond_the_caps_are_refused);
	tcase_add_test(tc, a_full_reply_takes_no_more_lines);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
