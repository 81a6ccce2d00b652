/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_frames.c - what frames are: functions of modules, and lines of them, by
 * their own names and by late symbols, which say it better.
 */
#include <stdio.h>
#include <string.h>

#include "index_stacks.h"

/* Deeper inlining is nobody's; it bounds what one address can take. */
#define MAX_LINES 64

/* ---- late symbols ---- */

static void take_lines(struct trace_index *ix, uint32_t mapping, const AddressSymbols *a)
{
	struct index_stacks *s = ix->stacks;
	struct symbol_key key = { .address = a->address, .mapping = mapping };
	uint32_t i = index_pool_add(ix, s->symbols, &key, sizeof(key));
	struct range *range;

	if (i == TRACE_NONE || i < s->ranges.n)
		return; /* said before */
	range = index_add(ix, &s->ranges, sizeof(*range));
	if (!range)
		return;
	range->start = s->symbol_lines.n;
	for (size_t k = 0; k < a->n_lines && k < MAX_LINES; k++) {
		const char *name = a->lines[k]->function_name;
		struct symbol_line *line;

		if (!name || !name[0])
			continue;
		line = index_add(ix, &s->symbol_lines, sizeof(*line));
		if (!line)
			return;
		line->function = index_cstring(ix, name);
		line->file = index_cstring(ix, a->lines[k]->source_file_name);
		line->line = a->lines[k]->line_number;
		range->n++;
	}
}

void index_stacks_symbols(struct trace_index *ix, const ModuleSymbols *m)
{
	struct mapping key = { .path = index_cstring(ix, m->path ? m->path : "") };
	uint32_t mapping;

	if (m->build_id.len > INDEX_MAX_PATH)
		return;
	key.build_id = index_pool_add(ix, ix->strings, m->build_id.data, m->build_id.len);
	mapping = index_pool_add(ix, ix->stacks->mappings, &key, sizeof(key));
	for (size_t i = 0; i < m->n_address_symbols && ix->error == 0; i++)
		take_lines(ix, mapping, m->address_symbols[i]);
}

/* ---- at the end: what each frame is ---- */

static bool is_kernel(const struct frame *f, const char *path)
{
	return f->kind == TRACE_FRAME_KERNEL || strcmp(path, "/kernel") == 0 ||
	       strcmp(path, "/[kernel.kallsyms]") == 0;
}

static const char *path_of(const struct trace_index *ix, const struct frame *f)
{
	const struct mapping *m;

	if (f->mapping == TRACE_NONE)
		return "";
	m = pool_get(ix->stacks->mappings, f->mapping, NULL);
	return trace_index_string(ix, m->path);
}

/* "/usr/lib/libc.so.6" is "libc.so.6", "/kernel" is "[kernel]". */
static uint32_t module_of(struct trace_index *ix, const struct frame *f, bool kernel)
{
	const char *path = path_of(ix, f), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (kernel && (!name[0] || strcmp(name, "kernel") == 0))
		name = "[kernel]";
	return index_cstring(ix, name);
}

/*
 * Without a name, as recorders write it: "[libc.so.6+0x16d835]". The address is
 * no function, and would make many of one.
 */
static bool is_unnamed(const char *name, const char *module)
{
	size_t len = strlen(module);

	return !name[0] || (len && name[0] == '[' && strncmp(name + 1, module, len) == 0 &&
			    strncmp(name + 1 + len, "+0x", 3) == 0);
}

/* The function that stands for all of a module that have no names: "[libc.so.6]". */
static uint32_t unnamed(struct trace_index *ix, uint32_t module)
{
	const char *name = trace_index_string(ix, module);
	char text[512];

	if (!name[0])
		return index_cstring(ix, "[unknown]");
	if (name[0] == '[') /* "[anon:exec]", "[kernel]" */
		return module;
	snprintf(text, sizeof(text), "[%.500s]", name);
	return index_cstring(ix, text);
}

static void add_function(struct trace_index *ix, const struct trace_function *function,
			 uint32_t file, uint32_t line)
{
	struct index_stacks *s = ix->stacks;
	uint32_t *item = index_add(ix, &s->chain, sizeof(*item));
	struct trace_line key = { .file = file, .line = line };

	if (!item)
		return;
	*item = index_pool_add(ix, s->functions, function, sizeof(*function));
	key.function = *item;
	item = index_add(ix, &s->lines, sizeof(*item));
	if (item)
		*item = index_pool_add(ix, s->line_ids, &key, sizeof(key));
}

static void resolve(struct trace_index *ix, const struct frame *f)
{
	struct index_stacks *s = ix->stacks;
	struct symbol_key key = { .address = f->rel_pc, .mapping = f->mapping };
	uint32_t symbol = pool_find(s->symbols, &key, sizeof(key));
	bool kernel = is_kernel(f, path_of(ix, f));
	struct trace_function function = {
		.name = f->function,
		.module = module_of(ix, f, kernel),
		.kind = kernel ? TRACE_FRAME_KERNEL : f->kind,
	};
	const struct range *range = NULL;

	if (f->mapping != TRACE_NONE && symbol < s->ranges.n)
		range = (const struct range *)s->ranges.items + symbol;
	for (size_t i = range ? range->n : 0; i-- > 0;) {
		const struct symbol_line *line =
			(const struct symbol_line *)s->symbol_lines.items + range->start + i;

		function.name = line->function;
		add_function(ix, &function, line->file, line->line);
	}
	if (range && range->n)
		return;
	if (is_unnamed(trace_index_string(ix, f->function),
		       trace_index_string(ix, function.module)))
		function.name = unnamed(ix, function.module);
	add_function(ix, &function, f->file, f->line);
}

void index_stacks_finish(struct trace_index *ix)
{
	struct index_stacks *s = ix->stacks;
	uint32_t n = pool_count(s->frames);

	for (uint32_t i = 0; i < n && ix->error == 0; i++) {
		struct range *range = index_add(ix, &s->chains, sizeof(*range));

		if (!range)
			return;
		range->start = s->chain.n;
		resolve(ix, pool_get(s->frames, i, NULL));
		range = (struct range *)s->chains.items + i;
		range->n = s->chain.n - range->start;
	}
}

/* ---- asked ---- */

const uint32_t *trace_index_frame(const struct trace_index *ix, uint32_t frame, size_t *ret_n)
{
	const struct range *r = (const struct range *)ix->stacks->chains.items + frame;

	*ret_n = r->n;
	return (const uint32_t *)ix->stacks->chain.items + r->start;
}

const uint32_t *trace_index_frame_lines(const struct trace_index *ix, uint32_t frame, size_t *ret_n)
{
	const struct range *r = (const struct range *)ix->stacks->chains.items + frame;

	*ret_n = r->n;
	return (const uint32_t *)ix->stacks->lines.items + r->start;
}

uint32_t trace_index_n_lines(const struct trace_index *ix)
{
	return pool_count(ix->stacks->line_ids);
}

const struct trace_line *trace_index_line(const struct trace_index *ix, uint32_t i)
{
	return pool_get(ix->stacks->line_ids, i, NULL);
}

void trace_index_place(const struct trace_index *ix, uint32_t frame, struct trace_place *ret)
{
	const struct index_stacks *s = ix->stacks;
	const struct frame *f = pool_get(s->frames, frame, NULL);
	struct symbol_key key = { .address = f->rel_pc, .mapping = f->mapping };
	const char *path = path_of(ix, f), *slash = strrchr(path, '/');
	const struct mapping *m;

	*ret = (struct trace_place){ .path = path, .address = f->rel_pc };
	if (f->mapping == TRACE_NONE)
		return;
	m = pool_get(s->mappings, f->mapping, NULL);
	ret->build_id = pool_get(ix->strings, m->build_id, &ret->build_id_len);
	ret->is_native = !is_kernel(f, path) && f->kind <= TRACE_FRAME_NATIVE;
	ret->is_named = !is_unnamed(trace_index_string(ix, f->function), slash ? slash + 1 : path);
	ret->has_symbols = pool_find(s->symbols, &key, sizeof(key)) < s->ranges.n;
}

uint32_t trace_index_n_functions(const struct trace_index *ix)
{
	return pool_count(ix->stacks->functions);
}

const struct trace_function *trace_index_function(const struct trace_index *ix, uint32_t i)
{
	return pool_get(ix->stacks->functions, i, NULL);
}
