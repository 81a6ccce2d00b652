/* SPDX-License-Identifier: Apache-2.0 */
/* python_codes.c - the code objects of Python programs: names, files and lines. */
#include "python_codes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "python_lines.h"

/*
 * 32 MB: 60,000 functions of ordinary size (a large Django site has as many), or
 * 9,000 made as large as can be.
 */
#define MAX_BYTES (32u << 20)

/* The walkers forget those that are forgotten here, and must have room for what comes until then.
 */
#define MAX_CODES (PYTHON_MAX_CODES / 4 * 3)

#define UNKNOWN_NAME "<unknown>"

/*
 * In UTF-8 a character of one byte takes at most three (a NUL reads as U+FFFD),
 * larger ones no more than that for each byte. Then an ellipsis and the end.
 */
#define STRING_MAX(bytes) (3 * (bytes) + 4)

struct code {
	struct python_code_info pub; /* first */
	TAILQ_ENTRY(code) link;
	size_t size;
	size_t table_len;
	const uint8_t *table; /* behind the structure, as are the strings */
};

TAILQ_HEAD(codes, code);

struct python_codes {
	struct hash *by_number;
	struct codes used; /* longest unused first */
	size_t bytes;
	python_code_forgotten_fn *forgotten;
	void *ctx;
};

int python_codes_new(python_code_forgotten_fn *forgotten, void *ctx, struct python_codes **ret)
{
	struct python_codes *pc = calloc(1, sizeof(*pc));
	int r;

	if (!pc)
		return -ENOMEM;
	pc->forgotten = forgotten;
	pc->ctx = ctx;
	TAILQ_INIT(&pc->used);
	r = hash_new(&pc->by_number);
	if (r < 0) {
		free(pc);
		return r;
	}
	*ret = pc;
	return 0;
}

static void forget(struct python_codes *pc, struct code *c)
{
	hash_remove_u64(pc->by_number, c->pub.number);
	TAILQ_REMOVE(&pc->used, c, link);
	pc->bytes -= c->size;
	free(c);
}

void python_codes_free(struct python_codes *pc)
{
	struct code *c, *next;

	if (!pc)
		return;
	for (c = TAILQ_FIRST(&pc->used); c; c = next) {
		next = TAILQ_NEXT(c, link);
		free(c);
	}
	hash_free(pc->by_number);
	free(pc);
}

/* ---- records ---- */

static bool string_valid(const struct python_string *s, size_t max)
{
	if (s->kind == 0)
		return s->bytes == 0;
	if (s->kind != 1 && s->kind != 2 && s->kind != 4)
		return false;
	return s->bytes <= max && s->bytes % s->kind == 0 && s->bytes / s->kind <= s->length;
}

static bool event_valid(const struct python_code_event *ev, size_t len)
{
	return ev->code != 0 && ev->linetable_bytes <= PYTHON_MAX_LINETABLE &&
	       ev->linetable_bytes <= ev->linetable_len &&
	       len == PYTHON_CODE_HEAD + ev->linetable_bytes &&
	       string_valid(&ev->name, PYTHON_MAX_NAME) && string_valid(&ev->file, PYTHON_MAX_FILE);
}

static size_t put_utf8(char *dst, uint32_t ch)
{
	if (ch == 0 || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000))
		ch = 0xfffd;
	if (ch < 0x80) {
		dst[0] = (char)ch;
		return 1;
	}
	if (ch < 0x800) {
		dst[0] = (char)(0xc0 | ch >> 6);
		dst[1] = (char)(0x80 | (ch & 63));
		return 2;
	}
	if (ch < 0x10000) {
		dst[0] = (char)(0xe0 | ch >> 12);
		dst[1] = (char)(0x80 | (ch >> 6 & 63));
		dst[2] = (char)(0x80 | (ch & 63));
		return 3;
	}
	dst[0] = (char)(0xf0 | ch >> 18);
	dst[1] = (char)(0x80 | (ch >> 12 & 63));
	dst[2] = (char)(0x80 | (ch >> 6 & 63));
	dst[3] = (char)(0x80 | (ch & 63));
	return 4;
}

/* Into `dst`, which has room for STRING_MAX(); returns the length with the NUL. */
static size_t put_string(char *dst, const struct python_string *s, const uint8_t *text)
{
	size_t n = 0;

	for (size_t i = 0; i < s->bytes; i += s->kind) {
		uint32_t ch = 0;

		memcpy(&ch, text + i, s->kind); /* little-endian machines only, as all we run on */
		n += put_utf8(dst + n, ch);
	}
	if (s->kind && s->length > s->bytes / s->kind)
		n += put_utf8(dst + n, 0x2026);
	dst[n++] = 0;
	return n;
}

static struct code *code_new(const struct python_code_event *ev)
{
	char name[STRING_MAX(PYTHON_MAX_NAME)], file[STRING_MAX(PYTHON_MAX_FILE)];
	size_t name_len, file_len, size;
	struct code *c;
	char *end;

	name_len = put_string(name, &ev->name, ev->name_text);
	file_len = put_string(file, &ev->file, ev->file_text);
	if (name_len == 1) {
		strcpy(name, UNKNOWN_NAME);
		name_len = sizeof(UNKNOWN_NAME);
	}
	size = sizeof(*c) + name_len + file_len + ev->linetable_bytes;
	c = malloc(size);
	if (!c)
		return NULL;
	end = (char *)(c + 1);
	*c = (struct code){
		.pub = { .number = ev->code,
			 .tgid = ev->tgid,
			 .address = ev->address,
			 .name = end,
			 .file = end + name_len,
			 .first_line = ev->first_line > 0 ? ev->first_line : 0 },
		.size = size,
		.table = (const uint8_t *)end + name_len + file_len,
		.table_len = ev->linetable_bytes,
	};
	memcpy(end, name, name_len);
	memcpy(end + name_len, file, file_len);
	memcpy(end + name_len + file_len, ev->linetable, ev->linetable_bytes);
	return c;
}

int python_codes_add(struct python_codes *pc, const void *record, size_t len)
{
	const struct python_code_event *ev = record;
	struct code *c, *old;

	if (len < PYTHON_CODE_HEAD || !event_valid(ev, len))
		return -EBADMSG;
	if (hash_get_u64(pc->by_number, ev->code))
		return 0;
	c = code_new(ev);
	if (!c)
		return -ENOMEM;
	if (hash_set_u64(pc->by_number, c->pub.number, c) < 0) {
		free(c);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&pc->used, c, link);
	pc->bytes += c->size;
	while ((pc->bytes > MAX_BYTES || hash_count(pc->by_number) > MAX_CODES) &&
	       (old = TAILQ_FIRST(&pc->used)) != c) {
		pc->forgotten(pc->ctx, old->pub.tgid, old->pub.address);
		forget(pc, old);
	}
	return 0;
}

/* ---- use ---- */

const struct python_code_info *python_codes_get(struct python_codes *pc, uint32_t number)
{
	struct code *c = hash_get_u64(pc->by_number, number);

	if (!c)
		return NULL;
	TAILQ_REMOVE(&pc->used, c, link);
	TAILQ_INSERT_TAIL(&pc->used, c, link);
	return &c->pub;
}

int32_t python_code_line(const struct python_code_info *code, uint32_t unit)
{
	const struct code *c = (const struct code *)code;
	int32_t line = 0;

	if (unit != PYTHON_NO_UNIT)
		line = python_line(c->table, c->table_len, code->first_line, unit);
	return line > 0 ? line : code->first_line;
}

size_t python_codes_count(const struct python_codes *pc)
{
	return hash_count(pc->by_number);
}
