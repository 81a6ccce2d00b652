/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_table.h - the unwind table of one file in its flat form: one block of
 * memory, made by the worker, checked by the daemon before it is believed.
 *
 * What pages, rows and rules are: bpf/unwind.h. Rules are numbered within the
 * table here; the daemon renumbers them when it lays the table into maps.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

#define UNWIND_TABLE_MAGIC 0x31425455 /* "UTB1" */

/* Caps of one file. What is beyond them has no rule, and UNWIND_TABLE_CUT is set. */
#define UNWIND_TABLE_MAX_ROWS  (8u << 20) /* 32 MB; libLLVM has 0.95 M, clickhouse 2.8 M */
#define UNWIND_TABLE_MAX_PAGES (1u << 20) /* 4 GiB of text */

/* All caps together, with the head. */
#define UNWIND_TABLE_MAX_BYTES                                                             \
	(64 + (UNWIND_TABLE_MAX_PAGES + UNWIND_TABLE_MAX_ROWS + 1ull) * sizeof(uint32_t) + \
	 UNWIND_MAX_RULES * sizeof(struct unwind_rule))

enum unwind_table_flags {
	UNWIND_TABLE_CUT = 1,	   /* more rows, rules or pages than the caps allow */
	UNWIND_TABLE_DAMAGED = 2,  /* some of the file's CFI could not be read */
	UNWIND_TABLE_NO_CFI = 4,   /* the file has none at all: frame pointers it is */
	UNWIND_TABLE_EH_FRAME = 8, /* where the rows are from */
	UNWIND_TABLE_DEBUG_FRAME = 16,
};

struct unwind_table_head {
	uint32_t magic;
	uint32_t flags;	     /* enum unwind_table_flags */
	uint64_t first_page; /* its offset in the file >> UNWIND_PAGE_SHIFT */
	uint32_t n_pages;
	uint32_t n_rows;
	uint32_t n_rules;
	uint32_t n_fdes;
};

/* The head, then u32 pages[n_pages + 1], u32 rows[n_rows], struct unwind_rule rules[n_rules]. */
struct unwind_table {
	struct unwind_table_head head;
	const uint32_t *pages;
	const uint32_t *rows;
	const struct unwind_rule *rules; /* 4-byte aligned only: copy before use in BPF maps */
};

size_t unwind_table_bytes(const struct unwind_table_head *head);

/*
 * Looks into `len` bytes that stay the caller's. -EBADMSG: not a table in which
 * every look-up stays inside: pages that go down, rows that do not start at 0
 * or do not go up within a page, a rule that is not there, an unknown enum.
 */
int unwind_table_decode(const void *bytes, size_t len, struct unwind_table *ret);

/* The rule at an offset in the file; UNWIND_CFA_NONE outside. For tests: a walk looks into the
 * maps. */
void unwind_table_find(const struct unwind_table *t, uint64_t file_offset, struct unwind_rule *ret);

#endif
