/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_builder.h - lays rules out as the pages and rows of an unwind table.
 *
 * Keeps to the caps of unwind_table.h: what is beyond them has no rule.
 */
#ifndef TABLE_BUILDER_H
#define TABLE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_table.h"

/* Zero-initialised is empty; table_builder_done() when finished. */
struct table_builder {
	uint32_t *pages, *rows;
	size_t n_pages, pages_cap, n_rows, rows_cap;
	struct unwind_rule *rules;
	size_t n_rules, rules_cap;
	uint32_t *slots; /* a hash table of the rules' numbers, + 1 */
	size_t n_slots;
	uint64_t first_page;
	uint32_t current; /* the rule that holds now */
	bool is_full;
	uint32_t flags; /* UNWIND_TABLE_CUT */
};

/*
 * From this offset in the file on, `rule` holds. Offsets must not go down;
 * of two with the same the second one counts. -ENOMEM.
 */
int table_builder_set(struct table_builder *b, uint64_t offset, const struct unwind_rule *rule);

/* The table, in memory that the caller frees. `flags` are added to the builder's. -ENOMEM. */
int table_builder_finish(struct table_builder *b, uint32_t flags, uint32_t n_fdes, void **ret,
			 size_t *ret_len);
void table_builder_done(struct table_builder *b);

#endif
