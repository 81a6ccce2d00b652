/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_stacks.c - mappings, frames and callstacks of all sequences, each kept
 * once by its content.
 */
#include "index_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	char name[INDEX_MAX_PATH];
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
	size_t skip = c->n_frame_ids > INDEX_MAX_DEPTH ? c->n_frame_ids - INDEX_MAX_DEPTH : 0;
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
		uint32_t number = table == TABLE_BUILD_IDS && s->str.len <= INDEX_MAX_PATH
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
	while (n < INDEX_MAX_DEPTH && wire_next(&w, &f) > 0)
		if (f.number == 1 && f.type == WIRE_BYTES)
			s->scratch[n++] = inline_frame(ix, &f);
	if (n == 0 || ix->error < 0)
		return TRACE_NONE;
	return index_pool_add(ix, s->stacks, s->scratch, n * sizeof(s->scratch[0]));
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
