/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot_rows.h - how to unwind from the code of one blob of HotSpot's: the
 * rows that a compiler would have put into .eh_frame.
 *
 * Compiled methods keep no frame pointer; their frames have a constant size, of
 * which the blob tells. Where it is not there yet, or no longer, is found in the
 * code: the instructions that make a frame and those that undo it are always the
 * same. x86-64.
 */
#ifndef HOTSPOT_ROWS_H
#define HOTSPOT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

enum hotspot_kind {
	HOTSPOT_COMPILED, /* or another blob with a frame of constant size */
	HOTSPOT_INTERPRETER,
	HOTSPOT_STUBS,	   /* many functions, most with a frame pointer */
	HOTSPOT_FRAMELESS, /* adapters, tables, small helpers */
};

/* By the name that it gives itself. */
enum hotspot_kind hotspot_kind_of(const char *name, int32_t frame_size);
/* Then its name is that of its method. */
bool hotspot_is_method(const char *name);

struct hotspot_row {
	uint32_t at; /* in the code: from here on this holds */
	struct unwind_rule rule;
};

struct hotspot_code {
	enum hotspot_kind kind;
	bool is_method;
	int32_t frame_size, frame_complete; /* as in struct hotspot_blob */
	uint64_t size;
	const uint8_t *bytes; /* its first ones */
	size_t n_bytes;
};

/* At most `max` rows, the first one at 0; returns how many. */
size_t hotspot_rows(const struct hotspot_code *code, struct hotspot_row *ret, size_t max);

#endif
