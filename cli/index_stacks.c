/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_stacks.c - mappings, frames and callstacks of all sequences, each kept
 * once by its content, and the late symbols that say better what they are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

#define MAX_PATH 4096
/* Deeper inlining is nobody's; it bounds what one address can take. */
#define MAX_LINES 64
/* As deep as a callstack of a sane writer can be: ours have 512 and the kernel's. */
#define MAX_DEPTH 4096

/* In pools: no padding. */
struct mapping {
	uint32_t path;	   /* string, as the importer forms it */
	uint32_t build_id; /* string */
};

struct frame {
	uint64_t rel_pc;
	uint32_t function; /* string or TRACE_NONE */
	uint32_t mapping;  /* or TRACE_NONE */
	uint32_t kind;
	uint32_t file; /* string or TRACE_NONE */
	uint32_t line;
	uint32_t zero;
};

/* Of a symbol. */
struct symbol_line {
	uint32_t function, file; /* strings; `file` may be TRACE_NONE */
	uint32_t line;
};

struct symbol_key {
	uint64_t address;
	uint32_t mapping;
	uint32_t zero;
};

struct range {
	size_t start, n;
};

struct index_stacks {
	struct pool *mappings, *frames, *stacks, *functions;
	struct pool *symbols;		/* struct symbol_key */
	struct index_list symbol_lines; /* the innermost first */
	struct index_list ranges;	/* of `symbol_lines`, for each symbol */
	struct index_list chain;	/* functions of frames, the outermost first */
	struct index_list lines;	/* and lines in them */
	struct index_list chains;	/* ranges of both, for each frame */
	struct pool *line_ids;
	uint32_t scratch[MAX_DEPTH];
};

int index_stacks_new(struct trace_index *ix, struct index_stacks **ret)
{
	struct index_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (pool_new(&ix->budget, &s->mappings) < 0 || pool_new(&ix->budget, &s->frames) < 0 ||
	    pool_new(&ix->budget, &s->stacks) < 0 || pool_new(&ix->budget, &s->functions) < 0 ||
	    pool_new(&ix->budget, &s->symbols) < 0 || pool_new(&ix->budget, &s->line_ids) < 0) {
		index_stacks_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void index_stacks_free(struct index_stacks *s)
{
	if (!s)
		return;
	pool_free(s->mappings);
	pool_free(s->frames);
	pool_free(s->stacks);
	pool_free(s->functions);
	pool_free(s->symbols);
	pool_free(s->line_ids);
	free(s->symbol_lines.items);
	free(s->ranges.items);
	free(s->chain.items);
	free(s->lines.items);
	free(s->chains.items);
	free(s);
}

/* ---- what is interned ---- */

/*
 * The importer joins the components with '/' in front of each; a leading "//"
 * becomes "/". Late symbols name a module by that.
 */
static uint32_t mapping_path(struct trace_index *ix, const struct index_sequence *seq,
			     const Mapping *m)
{
	char name[MAX_PATH];
	size_t len = 0;

	for (size_t i = 0; i < m->n_path_string_ids && len < sizeof(name); i++) {
		uint32_t id = index_lookup(seq, TABLE_MAPPING_PATHS, m->path_string_ids[i]);
		const char *text = trace_index_string(ix, id);
		size_t n = strlen(text);

		if (i > 0 || text[0] != '/')
			name[len++] = '/';
		if (n > sizeof(name) - len)
			n = sizeof(name) - len;
		memcpy(name + len, text, n);
		len += n;
	}
	return index_string(ix, name, len);
}

static void define_mapping(struct trace_index *ix, struct index_sequence *seq, const Mapping *m)
{
	struct mapping mapping = { .path = mapping_path(ix, seq, m), .build_id = TRACE_NONE };

	if (m->has_build_id)
		mapping.build_id = index_lookup(seq, TABLE_BUILD_IDS, m->build_id);
	if (mapping.build_id == TRACE_NONE)
		mapping.build_id = index_string(ix, "", 0);
	index_define(ix, seq, TABLE_MAPPINGS, m->iid,
		     index_pool_add(ix, ix->stacks->mappings, &mapping, sizeof(mapping)));
}

static void define_frame(struct trace_index *ix, struct index_sequence *seq, const Frame *f)
{
	struct frame frame = {
		.rel_pc = f->rel_pc,
		.function = index_lookup(seq, TABLE_FUNCTIONS, f->function_name_id),
		.mapping = index_lookup(seq, TABLE_MAPPINGS, f->mapping_id),
		.kind = f->kind > 0 ? (uint32_t)f->kind : TRACE_FRAME_UNKNOWN,
		.file = index_lookup(seq, TABLE_SOURCE_PATHS, f->source_path_iid),
		.line = f->line_number,
	};

	index_define(ix, seq, TABLE_FRAMES, f->iid,
		     index_pool_add(ix, ix->stacks->frames, &frame, sizeof(frame)));
}

/* A frame of which no address is known. */
static uint32_t bare_frame(struct trace_index *ix, uint32_t function, uint32_t file, uint32_t line)
{
	struct frame frame = {
		.function = function,
		.mapping = TRACE_NONE,
		.file = file,
		.line = line,
	};

	return index_pool_add(ix, ix->stacks->frames, &frame, sizeof(frame));
}

/* Of a stack that is too deep the innermost frames are kept. */
static void define_stack(struct trace_index *ix, struct index_sequence *seq, const Callstack *c)
{
	struct index_stacks *s = ix->stacks;
	size_t skip = c->n_frame_ids > MAX_DEPTH ? c->n_frame_ids - MAX_DEPTH : 0;
	size_t n = c->n_frame_ids - skip;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		s->scratch[i] = index_lookup(seq, TABLE_FRAMES, c->frame_ids[skip + i]);
		if (s->scratch[i] == TRACE_NONE)
			s->scratch[i] = bare_frame(ix, TRACE_NONE, TRACE_NONE, 0);
	}
	if (ix->error == 0)
		index_define(ix, seq, TABLE_STACKS, c->iid,
			     index_pool_add(ix, s->stacks, s->scratch, n * sizeof(s->scratch[0])));
}

static void define_strings(struct trace_index *ix, struct index_sequence *seq,
			   enum index_table table, InternedString **strings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const InternedString *s = strings[i];
		/* A build id is no name: it may have zeros in it. */
		uint32_t number = table == TABLE_BUILD_IDS && s->str.len <= MAX_PATH
					  ? index_pool_add(ix, ix->strings, s->str.data, s->str.len)
					  : index_string(ix, s->str.data, s->str.len);

		index_define(ix, seq, table, s->iid, number);
	}
}

/* Within a packet what is referred to may come behind what refers: so by kind. */
void index_stacks_interned(struct trace_index *ix, struct index_sequence *seq,
			   const InternedData *d)
{
	define_strings(ix, seq, TABLE_FUNCTIONS, d->function_names, d->n_function_names);
	define_strings(ix, seq, TABLE_BUILD_IDS, d->build_ids, d->n_build_ids);
	define_strings(ix, seq, TABLE_MAPPING_PATHS, d->mapping_paths, d->n_mapping_paths);
	define_strings(ix, seq, TABLE_SOURCE_PATHS, d->source_paths, d->n_source_paths);
	for (size_t i = 0; i < d->n_mappings; i++)
		define_mapping(ix, seq, d->mappings[i]);
	for (size_t i = 0; i < d->n_frames; i++)
		define_frame(ix, seq, d->frames[i]);
	for (size_t i = 0; i < d->n_callstacks; i++)
		define_stack(ix, seq, d->callstacks[i]);
}

/* ---- stacks that samples carry themselves ---- */

static uint32_t inline_frame(struct trace_index *ix, const struct wire_field *frame)
{
	uint32_t function = TRACE_NONE, file = TRACE_NONE, line = 0;
	struct wire_field f;
	struct wire w;

	wire_init(&w, frame->data, frame->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			function = index_string(ix, f.data, f.len);
		else if (f.number == 2 && f.type == WIRE_BYTES)
			file = index_string(ix, f.data, f.len);
		else if (f.number == 3 && f.type == WIRE_VARINT)
			line = (uint32_t)f.value;
	}
	return bare_frame(ix, function, file, line);
}

uint32_t index_stacks_inline(struct trace_index *ix, const uint8_t *data, size_t len)
{
	struct index_stacks *s = ix->stacks;
	struct wire_field f;
	struct wire w;
	size_t n = 0;

	wire_init(&w, data, len);
	while (n < MAX_DEPTH && wire_next(&w, &f) > 0)
		if (f.number == 1 && f.type == WIRE_BYTES)
			s->scratch[n++] = inline_frame(ix, &f);
	if (n == 0 || ix->error < 0)
		return TRACE_NONE;
	return index_pool_add(ix, s->stacks, s->scratch, n * sizeof(s->scratch[0]));
}

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

	if (m->build_id.len > MAX_PATH)
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

uint32_t index_stacks_root(const struct trace_index *ix, uint32_t stack)
{
	const uint32_t *frames = pool_get(ix->stacks->stacks, stack, NULL);
	const struct frame *f = pool_get(ix->stacks->frames, frames[0], NULL);

	return f->function;
}

const uint32_t *trace_index_stack(const struct trace_index *ix, uint32_t stack, size_t *ret_n)
{
	size_t len;
	const uint32_t *frames = pool_get(ix->stacks->stacks, stack, &len);

	*ret_n = len / sizeof(frames[0]);
	return frames;
}

uint32_t trace_index_n_stacks(const struct trace_index *ix)
{
	return pool_count(ix->stacks->stacks);
}

uint32_t trace_index_n_frames(const struct trace_index *ix)
{
	return pool_count(ix->stacks->frames);
}

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
