/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_table.h - the names of one process's generated code, flat: as the worker
 * hands them over, and as the daemon looks them up.
 *
 * One block of memory: head, symbols, past symbols, lines, text. The worker
 * that made it reads hostile files and may have been taken over: the daemon
 * checks the block as a whole before it looks inside.
 */
#ifndef JIT_TABLE_H
#define JIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_TABLE_MAGIC 0x3154494a /* "JIT1" */

/*
 * Of one process. A Java server has some 50,000 methods, a browser's process
 * 100,000; with names of 60 bytes the table of this many takes 60 MB.
 */
#define JIT_MAX_SYMBOLS	   (512u * 1024)
#define JIT_MAX_PAST	   (64u * 1024)
#define JIT_MAX_LINES	   (1u << 20)
#define JIT_MAX_TEXT_BYTES (64u << 20)
#define JIT_MAX_NAME	   1024 /* bytes, and as much for a file; what is longer is cut */

/* No symbol reaches up to here: what user space has with five-level paging. */
#define JIT_MAX_ADDR (1ull << 56)

struct jit_table_head {
	uint32_t magic;
	uint32_t n_symbols; /* in force: sorted by start, without overlaps */
	uint32_t n_past;    /* replaced: sorted by until_ns */
	uint32_t n_lines;   /* each symbol's sorted by offset */
	uint64_t n_text;    /* bytes of names */
	uint64_t newest_ns; /* BOOTTIME; nothing in here has changed since */
};

struct jit_symbol {
	uint64_t start, end;
	uint64_t base;		    /* of the code as it was emitted: what lines count from */
	uint64_t from_ns, until_ns; /* BOOTTIME; UINT64_MAX: in force */
	uint32_t name, name_len;    /* in the text */
	uint32_t first_line, n_lines;
};

struct jit_line {
	uint64_t offset; /* from the symbol's base; holds up to the next one's */
	uint32_t file, file_len;
	uint32_t line;
	uint32_t zero;
};

_Static_assert(sizeof(struct jit_table_head) == 32, "no holes");
_Static_assert(sizeof(struct jit_symbol) == 56, "no holes");
_Static_assert(sizeof(struct jit_line) == 24, "no holes");

static inline uint64_t jit_table_size(const struct jit_table_head *h)
{
	return sizeof(*h) + ((uint64_t)h->n_symbols + h->n_past) * sizeof(struct jit_symbol) +
	       (uint64_t)h->n_lines * sizeof(struct jit_line) + h->n_text;
}

/* A table that was checked, as it lies in memory that is somebody else's. */
struct jit_table {
	struct jit_table_head head;
	const struct jit_symbol *symbols, *past;
	const struct jit_line *lines;
	const char *text;
};

/* `data` is aligned to 8 bytes. -EBADMSG: no table, or one with a wrong reference in it. */
int jit_table_check(const void *data, size_t len, struct jit_table *ret);

struct jit_name {
	uint64_t start; /* address from which on this holds: of the line, or of the function */
	const char *function, *file; /* not NUL-terminated; no file: NULL */
	uint32_t function_len, file_len;
	uint32_t line; /* 0: not known */
};

/* What was at `pc` at that time. */
bool jit_table_find(const struct jit_table *t, uint64_t pc, uint64_t time_ns, struct jit_name *ret);

#endif
