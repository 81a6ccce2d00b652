/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint_format.h - where the fields of a tracepoint's record lie, from the
 * text of its `format` file in tracefs:
 *
 *	field:__data_loc char[] name;	offset:24;	size:4;	signed:1;
 */
#ifndef TRACEPOINT_FORMAT_H
#define TRACEPOINT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct tracepoint_field {
	uint16_t offset; /* in the record, whose common part comes first */
	uint16_t size;
	bool is_signed;
	bool is_data_loc; /* 4 bytes that say where in the record the text is */
	bool is_pointer;
};

/* False: there is no such field, or what is said of it makes no sense. Pure. */
bool tracepoint_field(const char *format, const char *name, struct tracepoint_field *ret);

/*
 * Calls `fn` with each field: what stands before its name, "__data_loc char[]", without
 * blanks around; its name; in how many elements it is, 0: it is no array. Pure.
 */
typedef void tracepoint_field_fn(void *ctx, const char *type, const char *name, unsigned count,
				 const struct tracepoint_field *field);
void tracepoint_fields(const char *format, tracepoint_field_fn *fn, void *ctx);

#endif
