/* SPDX-License-Identifier: Apache-2.0 */
/* v8_layout.c - where V8 keeps what it knows of functions, by version. */
#include "v8_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const names[V8_N_FACTS] = {
	[V8_MAJOR] = "_ZN2v88internal7Version6major_E",
	[V8_MINOR] = "_ZN2v88internal7Version6minor_E",
	[V8_TAGGED_SIZE] = "v8dbg_TaggedSize",
	[V8_HEAP_OBJECT_TAG] = "v8dbg_HeapObjectTag",
	[V8_HEAP_OBJECT_TAG_MASK] = "v8dbg_HeapObjectTagMask",
	[V8_SMI_TAG_MASK] = "v8dbg_SmiTagMask",
	[V8_SMI_VALUE_SHIFT] = "v8dbg_SmiValueShift",
	[V8_SMI_SHIFT_SIZE] = "v8dbg_SmiShiftSize",
	[V8_FP_CONTEXT] = "v8dbg_off_fp_context_or_frame_type",
	[V8_FP_FUNCTION] = "v8dbg_off_fp_function",
	[V8_OBJECT_MAP] = "v8dbg_class_HeapObject__map__Map",
	[V8_MAP_TYPE] = "v8dbg_class_Map__instance_type__uint16_t",
	[V8_FUNCTION_SHARED] = "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
	[V8_SHARED_NAME] = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
	[V8_SHARED_SCRIPT] = "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	[V8_SHARED_FLAGS] = "v8dbg_class_SharedFunctionInfo__flags__int",
	[V8_SCRIPT_SOURCE] = "v8dbg_class_Script__source__Object",
	[V8_SCRIPT_NAME] = "v8dbg_class_Script__name__Object",
	[V8_SCRIPT_LINE_ENDS] = "v8dbg_class_Script__line_ends__Object",
	[V8_SCOPE_N_LOCALS] = "v8dbg_scopeinfo_idx_ncontextlocals",
	[V8_SCOPE_FIRST] = "v8dbg_scopeinfo_idx_first_vars",
	[V8_ARRAY_LENGTH] = "v8dbg_class_FixedArrayBase__length__SMI",
	[V8_ARRAY_DATA] = "v8dbg_class_FixedArray__data__uintptr_t",
	[V8_STRING_LENGTH] = "v8dbg_class_String__length__int32_t",
	[V8_STRING_ONE_BYTE] = "v8dbg_class_SeqOneByteString__chars__char",
	[V8_STRING_TWO_BYTE] = "v8dbg_class_SeqTwoByteString__chars__char",
	[V8_CONS_FIRST] = "v8dbg_class_ConsString__first__String",
	[V8_CONS_SECOND] = "v8dbg_class_ConsString__second__String",
	[V8_SLICED_PARENT] = "v8dbg_class_SlicedString__parent__String",
	[V8_SLICED_OFFSET] = "v8dbg_class_SlicedString__offset__SMI",
	[V8_THIN_ACTUAL] = "v8dbg_class_ThinString__actual__String",
	[V8_EXTERNAL_RESOURCE] = "v8dbg_class_ExternalString__resource__Object",
	[V8_STRING_REPRESENTATION_MASK] = "v8dbg_StringRepresentationMask",
	[V8_STRING_ENCODING_MASK] = "v8dbg_StringEncodingMask",
	[V8_TAG_SEQUENTIAL] = "v8dbg_SeqStringTag",
	[V8_TAG_CONS] = "v8dbg_ConsStringTag",
	[V8_TAG_EXTERNAL] = "v8dbg_ExternalStringTag",
	[V8_TAG_SLICED] = "v8dbg_SlicedStringTag",
	[V8_TAG_THIN] = "v8dbg_ThinStringTag",
	[V8_TAG_ONE_BYTE] = "v8dbg_OneByteStringTag",
	[V8_TYPE_NOT_STRING] = "v8dbg_FirstNonstringType",
	[V8_TYPE_FUNCTION] = "v8dbg_type_JSFunction__JS_FUNCTION_TYPE",
	[V8_TYPE_SHARED] = "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
	[V8_TYPE_SCRIPT] = "v8dbg_type_Script__SCRIPT_TYPE",
	[V8_TYPE_SCOPE] = "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
	[V8_TYPE_ARRAY] = "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE",
};

/* As some are called from V8 12 on, which says types of fields more exactly. */
static const struct {
	enum v8_fact fact;
	const char *name;
} aliases[] = {
	{ V8_SHARED_NAME, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_" },
	{ V8_SHARED_NAME,
	  "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_" },
	{ V8_SHARED_SCRIPT, "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_" },
};

enum v8_fact v8_fact_of(const char *name)
{
	if (strncmp(name, "v8dbg_", 6) != 0 && strncmp(name, "_ZN2v88internal7Version", 23) != 0)
		return V8_N_FACTS;
	for (int i = 0; i < V8_N_FACTS; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum v8_fact)i;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(name, aliases[i].name) == 0)
			return aliases[i].fact;
	return V8_N_FACTS;
}

int v8_is_fact(const char *name)
{
	return v8_fact_of(name) != V8_N_FACTS;
}

/*
 * What the variables do not say. The same in all versions that are known here:
 *   src/objects/shared-function-info.tq    function_literal_id follows flags
 *   src/objects/script.tq		     line_offset follows name, id line_ends
 *   src/objects/scope-info.tq		     flags are the first word behind the map
 *   src/objects/string.tq		     the characters' address follows the resource
 */
struct version {
	uint8_t major, minor;
	uint8_t n_function_types; /* src/objects/instance-type.h, from JS_FUNCTION_TYPE on */
	bool raw_scope_flags;	  /* src/objects/scope-info.tq */
	bool start_before_locals; /* the same: position_info */
};

static const struct version versions[] = {
	{ 10, 2, 16, false, false }, /* node 18 */
	{ 11, 3, 16, false, false }, /* node 20 */
	{ 12, 4, 17, false, false }, /* node 22 */
	{ 13, 6, 17, true, true },   /* node 24 */
};

#define MAX_FUNCTION_TYPES 17

static const struct version *find_version(int32_t major, int32_t minor)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].major == major && versions[i].minor == minor)
			return &versions[i];
	return NULL;
}

/* No object of V8's that is looked into has its fields further away. */
#define MAX_OFFSET 4096
#define MAX_INDEX  64 /* of a word in a ScopeInfo */

/* Those that are offsets from the start of an object. */
static bool plausible(const int32_t v[V8_N_FACTS])
{
	for (int i = V8_OBJECT_MAP; i <= V8_EXTERNAL_RESOURCE; i++)
		if (v[i] < 0 || v[i] > MAX_OFFSET)
			return false;
	for (int i = V8_STRING_REPRESENTATION_MASK; i < V8_N_FACTS; i++)
		if (v[i] < 0 || v[i] > UINT16_MAX - MAX_FUNCTION_TYPES)
			return false;
	/* Words that tell one function from another lie in the window that is looked at. */
	return v[V8_SHARED_NAME] % 8 == 0 && v[V8_SHARED_NAME] < 8 * FRAMES_WINDOW &&
	       v[V8_SHARED_SCRIPT] % 8 == 0 && v[V8_SHARED_SCRIPT] < 8 * FRAMES_WINDOW &&
	       v[V8_SHARED_FLAGS] % 8 == 0 && v[V8_SHARED_FLAGS] < 8 * FRAMES_WINDOW &&
	       v[V8_OBJECT_MAP] == 0 && v[V8_SCOPE_N_LOCALS] <= MAX_INDEX &&
	       v[V8_SCOPE_FIRST] <= MAX_INDEX;
}

/* Pointers and small integers as on 64-bit machines without pointer compression. */
static bool has_full_pointers(const int32_t v[V8_N_FACTS])
{
	return v[V8_TAGGED_SIZE] == 8 && v[V8_HEAP_OBJECT_TAG] == 1 &&
	       v[V8_HEAP_OBJECT_TAG_MASK] == 3 && v[V8_SMI_TAG_MASK] == 1 &&
	       v[V8_SMI_VALUE_SHIFT] + v[V8_SMI_SHIFT_SIZE] == 32;
}

#define FIELD(fact) ((int16_t)(v[fact] - 1)) /* without the tag */

static void fill_strings(const int32_t v[V8_N_FACTS], struct v8_layout *l)
{
	l->string_length = FIELD(V8_STRING_LENGTH);
	l->one_byte = FIELD(V8_STRING_ONE_BYTE);
	l->two_byte = FIELD(V8_STRING_TWO_BYTE);
	l->cons_first = FIELD(V8_CONS_FIRST);
	l->cons_second = FIELD(V8_CONS_SECOND);
	l->sliced_parent = FIELD(V8_SLICED_PARENT);
	l->sliced_offset = FIELD(V8_SLICED_OFFSET);
	l->thin_actual = FIELD(V8_THIN_ACTUAL);
	l->external_data = FIELD(V8_EXTERNAL_RESOURCE) + 8;
	l->representation_mask = (uint16_t)v[V8_STRING_REPRESENTATION_MASK];
	l->encoding_mask = (uint16_t)v[V8_STRING_ENCODING_MASK];
	l->sequential = (uint16_t)v[V8_TAG_SEQUENTIAL];
	l->cons = (uint16_t)v[V8_TAG_CONS];
	l->external = (uint16_t)v[V8_TAG_EXTERNAL];
	l->sliced = (uint16_t)v[V8_TAG_SLICED];
	l->thin = (uint16_t)v[V8_TAG_THIN];
	l->one_byte_tag = (uint16_t)v[V8_TAG_ONE_BYTE];
	l->type_not_string = (uint16_t)v[V8_TYPE_NOT_STRING];
}

static void fill(const int32_t v[V8_N_FACTS], struct v8_layout *l)
{
	*l = (struct v8_layout){
		.map = FIELD(V8_OBJECT_MAP),
		.map_type = FIELD(V8_MAP_TYPE),
		.shared_name = FIELD(V8_SHARED_NAME),
		.shared_script = FIELD(V8_SHARED_SCRIPT),
		.script_source = FIELD(V8_SCRIPT_SOURCE),
		.script_name = FIELD(V8_SCRIPT_NAME),
		.script_line_offset = FIELD(V8_SCRIPT_NAME) + 8,
		.script_line_ends = FIELD(V8_SCRIPT_LINE_ENDS),
		.script_id = FIELD(V8_SCRIPT_LINE_ENDS) + 8,
		.scope_flags = FIELD(V8_OBJECT_MAP) + 8,
		/* These are counted in words from there on. */
		.scope_n_locals = (int16_t)(7 + 8 * v[V8_SCOPE_N_LOCALS]),
		.scope_first = (int16_t)(7 + 8 * v[V8_SCOPE_FIRST]),
		.array_length = FIELD(V8_ARRAY_LENGTH),
		.array_data = FIELD(V8_ARRAY_DATA),
		.type_shared = (uint16_t)v[V8_TYPE_SHARED],
		.type_script = (uint16_t)v[V8_TYPE_SCRIPT],
		.type_scope = (uint16_t)v[V8_TYPE_SCOPE],
		.type_array = (uint16_t)v[V8_TYPE_ARRAY],
	};
	fill_strings(v, l);
	l->identity[0] = ~0ull; /* its map */
	l->identity[v[V8_SHARED_NAME] / 8] = ~0ull;
	l->identity[v[V8_SHARED_SCRIPT] / 8] = ~0ull;
	l->identity[v[V8_SHARED_FLAGS] / 8] = 0xffffffffull << 32; /* its number in the script */
}

int v8_layout(const struct v8_facts *facts, struct v8_layout *ret, struct frames_rule *ret_rule,
	      const char **ret_why)
{
	const int32_t *v = facts->values;
	const struct version *known;
	const uint64_t version = 1ull << V8_MAJOR | 1ull << V8_MINOR;

	*ret_why = "it does not say its version";
	if ((facts->known & version) != version)
		return -ENOTSUP;
	*ret_why = "a version whose structures are not known";
	known = find_version(v[V8_MAJOR], v[V8_MINOR]);
	if (!known)
		return -ENOTSUP;
	*ret_why = "it does not describe its structures (v8dbg_*)";
	if (facts->known != (V8_N_FACTS == 64 ? ~0ull : (1ull << V8_N_FACTS) - 1))
		return -ENOTSUP;
	*ret_why = "built with compressed pointers";
	if (!has_full_pointers(v))
		return -ENOTSUP;
	*ret_why = "its description of its structures makes no sense";
	if (!plausible(v) || v[V8_FP_CONTEXT] != -8 || v[V8_FP_FUNCTION] != -16)
		return -ENOTSUP;
	fill(v, ret);
	ret->raw_scope_flags = known->raw_scope_flags;
	if (known->start_before_locals)
		ret->scope_start = ret->scope_n_locals + 8;
	*ret_rule = (struct frames_rule){
		.subject_at = (int16_t)v[V8_FP_FUNCTION],
		.class_at = ret->map,
		.type_at = ret->map_type,
		.object_at = FIELD(V8_FUNCTION_SHARED),
		.window_at = ret->map,
		.type_min = (uint16_t)v[V8_TYPE_FUNCTION],
		.type_max = (uint16_t)(v[V8_TYPE_FUNCTION] + known->n_function_types - 1),
		.tag_mask = 3,
		.tag = 1,
		.has_marker = 1, /* the context, next to the function */
	};
	memcpy(ret_rule->mask, ret->identity, sizeof(ret_rule->mask));
	return 0;
}
