/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader.h - the tokens of JSON, strictly, out of bytes that anybody may have sent.
 * Text must be UTF-8 without NULs; whoever begins has seen to that.
 */
#ifndef JSON_READER_H
#define JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_reader {
	const char *at, *end;
};

enum json_type { JSON_NULL, JSON_BOOL, JSON_I64, JSON_U64, JSON_F64, JSON_STR };

/* Strings go where `text` points to; of those that are longer `is_cut` is set. */
struct json_value {
	enum json_type type;
	uint64_t bits;
	char *text;
	size_t max, len; /* max: without a NUL */
	bool is_cut;
};

void json_skip_blanks(struct json_reader *r);
/* `c`, behind blanks, if that is next. */
bool json_take(struct json_reader *r, char c);

/* -EINVAL: it is none. */
int json_read_string(struct json_reader *r, struct json_value *v);
/* Anything but an object or an array. */
int json_read_value(struct json_reader *r, struct json_value *v);

#endif
