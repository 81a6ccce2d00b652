/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_stacks.h - the insides of index_stacks.c, which collects mappings, frames
 * and callstacks, and of index_frames.c, which finds out what they are.
 */
#ifndef INDEX_STACKS_H
#define INDEX_STACKS_H

#include "index_impl.h"

#define INDEX_MAX_PATH 4096
/* As deep as a callstack of a sane writer can be: ours have 512 and the kernel's. */
#define INDEX_MAX_DEPTH 4096

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
	uint32_t scratch[INDEX_MAX_DEPTH];
};

#endif
