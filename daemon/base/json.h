/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON to a stream or into memory. The caller keeps objects and
 * arrays balanced; `name` is NULL inside an array and at the top.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"

#define JSON_MAX_DEPTH 16

struct json { /* initialise with { .out = stream } or { .buf = memory } */
	FILE *out;
	struct buf *buf;
	bool failed; /* memory was out: what is in `buf` is not whole */
	unsigned depth;
	bool not_first[JSON_MAX_DEPTH];
	char closing[JSON_MAX_DEPTH];
};

void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_end(struct json *j); /* of the innermost object or array */
/* Not UTF-8 is replaced, control characters are escaped; NULL is an empty string. */
void json_string(struct json *j, const char *name, const char *value);
void json_u64(struct json *j, const char *name, uint64_t value);
void json_i64(struct json *j, const char *name, int64_t value);
void json_double(struct json *j, const char *name, double value);
void json_bool(struct json *j, const char *name, bool value);

#endif
