/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_layout.h - where V8 keeps what it knows of functions, by version.
 *
 * Programs that embed V8 export variables for debuggers that look into what is left of a
 * process (v8dbg_*, from V8's tools/gen-postmortem-metadata.py). They are read once
 * for each file; what they do not say is written here for each version. A version
 * that is not known is not guessed.
 */
#ifndef V8_LAYOUT_H
#define V8_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "frames.h"

enum v8_fact {
	V8_MAJOR,
	V8_MINOR,
	V8_TAGGED_SIZE,
	V8_HEAP_OBJECT_TAG,
	V8_HEAP_OBJECT_TAG_MASK,
	V8_SMI_TAG_MASK,
	V8_SMI_VALUE_SHIFT,
	V8_SMI_SHIFT_SIZE,
	V8_FP_CONTEXT,
	V8_FP_FUNCTION,
	V8_OBJECT_MAP,
	V8_MAP_TYPE,
	V8_FUNCTION_SHARED,
	V8_SHARED_NAME,
	V8_SHARED_SCRIPT,
	V8_SHARED_FLAGS,
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_NAME,
	V8_SCRIPT_LINE_ENDS,
	V8_SCOPE_N_LOCALS,
	V8_SCOPE_FIRST,
	V8_ARRAY_LENGTH,
	V8_ARRAY_DATA,
	V8_STRING_LENGTH,
	V8_STRING_ONE_BYTE,
	V8_STRING_TWO_BYTE,
	V8_CONS_FIRST,
	V8_CONS_SECOND,
	V8_SLICED_PARENT,
	V8_SLICED_OFFSET,
	V8_THIN_ACTUAL,
	V8_EXTERNAL_RESOURCE,
	V8_STRING_REPRESENTATION_MASK,
	V8_STRING_ENCODING_MASK,
	V8_TAG_SEQUENTIAL,
	V8_TAG_CONS,
	V8_TAG_EXTERNAL,
	V8_TAG_SLICED,
	V8_TAG_THIN,
	V8_TAG_ONE_BYTE,
	V8_TYPE_NOT_STRING, /* the first type that is none */
	V8_TYPE_FUNCTION,
	V8_TYPE_SHARED,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE,
	V8_TYPE_ARRAY,
	V8_N_FACTS
};

/* What the variable of this name (all are `int`) says; V8_N_FACTS: nothing of these. */
enum v8_fact v8_fact_of(const char *name);
int v8_is_fact(const char *name);

/* As the worker tells them. */
struct v8_facts {
	uint64_t known; /* a bit for each */
	int32_t values[V8_N_FACTS];
};

_Static_assert(V8_N_FACTS <= 64, "a bit for each");

/* Offsets are from a tagged pointer on: the tag is taken off already. */
struct v8_layout {
	int16_t map, map_type;
	int16_t shared_name, shared_script;
	int16_t script_source, script_name, script_line_offset, script_line_ends, script_id;
	int16_t scope_flags, scope_n_locals, scope_first;
	int16_t scope_start; /* 0: behind what varies in size */
	int16_t array_length, array_data;
	int16_t string_length, one_byte, two_byte;
	int16_t cons_first, cons_second, sliced_parent, sliced_offset, thin_actual, external_data;
	uint16_t representation_mask, encoding_mask;
	uint16_t sequential, cons, external, sliced, thin, one_byte_tag;
	uint16_t type_not_string, type_shared, type_script, type_scope, type_array;
	uint16_t raw_scope_flags;      /* they are no small integer, but 32 bits */
	__u64 identity[FRAMES_WINDOW]; /* frames_rule.mask, from the object itself on */
};

/*
 * What the facts of a file come to, for the walker and for who reads memory. 0, or
 * -ENOTSUP with the reason in `*ret_why`.
 */
int v8_layout(const struct v8_facts *facts, struct v8_layout *ret, struct frames_rule *ret_rule,
	      const char **ret_why);

#endif
