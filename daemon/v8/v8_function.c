/* SPDX-License-Identifier: Apache-2.0 */
/* v8_function.c - a function of V8's in the memory of a process. */
#include "v8_function.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANONYMOUS "(anonymous)"

/* ScopeInfo's flags: src/objects/scope-info.tq, the same in the versions of v8_layout.c. */
#define SCOPE_HAS_SAVED_CLASS	(1u << 10)
#define SCOPE_FUNCTION_VARIABLE (3u << 12)
#define SCOPE_HAS_INFERRED_NAME (1u << 14)
/* So many names or more lie in a table elsewhere. */
#define MAX_INLINED_NAMES 75
#define MAX_LOCALS	  2000 /* offsets have 16 bits */

/* What a ScopeInfo says; 0 where it says nothing. */
struct scope {
	uint64_t name, inferred;
	int32_t start; /* position in the script; -1: not known */
};

static int32_t scope_flags(const struct v8_memory *m, uint64_t scope)
{
	uint64_t word;

	if (!m->layout->raw_scope_flags)
		return v8_small(m, scope, m->layout->scope_flags);
	if (!v8_read_u64(m, scope + (uint64_t)(int64_t)m->layout->scope_flags, &word))
		return -1;
	return (int32_t)(word & INT32_MAX);
}

/* What lies behind the local variables' names and properties, if it is there. */
static void read_scope(const struct v8_memory *m, uint64_t scope, struct scope *ret)
{
	const struct v8_layout *l = m->layout;
	int32_t flags = scope_flags(m, scope);
	int32_t n_locals = v8_small(m, scope, l->scope_n_locals);
	int16_t next = l->scope_first;

	*ret = (struct scope){ .start = -1 };
	if (flags < 0 || n_locals < 0 || n_locals > MAX_LOCALS)
		return;
	next += (int16_t)(8 * (n_locals < MAX_INLINED_NAMES ? 2 * n_locals : 1 + n_locals));
	if ((uint32_t)flags & SCOPE_HAS_SAVED_CLASS)
		next += 8;
	if ((uint32_t)flags & SCOPE_FUNCTION_VARIABLE) {
		ret->name = v8_pointer(m, scope, next);
		next += 16; /* its slot is there, too */
	}
	if ((uint32_t)flags & SCOPE_HAS_INFERRED_NAME) {
		ret->inferred = v8_pointer(m, scope, next);
		next += 8;
	}
	if (l->scope_start)
		next = l->scope_start;
	ret->start = v8_small(m, scope, next);
	if (ret->start > v8_small(m, scope, next + 8))
		ret->start = -1; /* it would begin behind its end */
}

static bool read_name(const struct v8_memory *m, uint64_t string, char *dst)
{
	return string && v8_string(m, string, false, V8_MAX_NAME, dst) > 0;
}

/* 0: it has none. */
static uint64_t script_of(const struct v8_memory *m, uint64_t object)
{
	const struct v8_layout *l = m->layout;
	uint64_t script = v8_pointer(m, object, l->shared_script);

	return v8_type(m, script) == l->type_script ? script : 0;
}

static bool is_same(const struct v8_memory *m, uint64_t object, uint64_t identity)
{
	__u64 window[FRAMES_WINDOW];

	return v8_read(m, object + (uint64_t)(int64_t)m->layout->map, window, sizeof(window)) &&
	       frames_identity(window, m->layout->identity) == identity;
}

/* Modules are known by their address. */
static void drop_scheme(char *file)
{
	if (strncmp(file, "file:///", 8) == 0)
		memmove(file, file + 7, strlen(file + 7) + 1);
}

static int read_names(const struct v8_memory *m, uint64_t object, uint64_t script,
		      struct v8_function *ret, int32_t *ret_start)
{
	const struct v8_layout *l = m->layout;
	uint64_t name = v8_pointer(m, object, l->shared_name);
	uint64_t file = v8_pointer(m, script, l->script_name);
	struct scope scope = { .start = -1 };
	uint32_t type = name ? v8_type(m, name) : V8_NO_TYPE;

	if (type == l->type_scope)
		read_scope(m, name, &scope);
	else if (name && type < l->type_not_string)
		scope.name = name;
	else if (name)
		return -EBADMSG;
	if (!read_name(m, scope.name, ret->name) && !read_name(m, scope.inferred, ret->name))
		strcpy(ret->name, ANONYMOUS);
	if (!file || v8_string(m, file, true, V8_MAX_FILE, ret->file) < 0)
		ret->file[0] = '\0';
	drop_scheme(ret->file);
	*ret_start = scope.start;
	return 0;
}

static int read_function(const struct v8_memory *m, struct v8_lines *lines, uint64_t process,
			 uint64_t object, struct v8_function *ret)
{
	uint64_t script;
	int32_t start;
	int r;

	if (v8_type(m, object) != m->layout->type_shared)
		return -EBADMSG;
	script = script_of(m, object);
	if (!script)
		return -ENOENT;
	r = read_names(m, object, script, ret, &start);
	if (r < 0)
		return r;
	ret->line = start >= 0 ? v8_line(lines, m, process, script, (uint32_t)start) : 0;
	return 0;
}

int v8_function_read(const struct v8_memory *m, struct v8_lines *lines, uint64_t process,
		     uint64_t object, uint64_t identity, struct v8_function *ret)
{
	bool is_unsteady = false;
	struct v8_memory memory = *m;
	int r;

	memory.is_unsteady = &is_unsteady;
	if (!is_same(&memory, object, identity))
		return -ESTALE;
	r = read_function(&memory, lines, process, object, ret);
	/* Had something moved meanwhile, the collector would have changed what leads there. */
	if (is_unsteady || !is_same(m, object, identity))
		return -ESTALE;
	return r;
}
