/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_maps.h - the BPF maps that the stack walker finds its way by, and who
 * has which part of them.
 *
 * Tables come and go by file, blocks of mappings by process. Everything is
 * written through shared memory while programs read it: what is new is written
 * first and switched to then, what is old is used again only after it has
 * rested (unwind_maps_collect()). What tables are about: bpf/unwind.h.
 */
#ifndef UNWIND_MAPS_H
#define UNWIND_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"
#include "unwind_table.h"

struct bpf_object;
struct unwind_maps;

/*
 * `in_kernel`: as BPF maps. Without, in plain memory: for tests.
 * About 10 MB, and 4 MiB more for each million rows.
 */
int unwind_maps_new(bool in_kernel, struct unwind_maps **ret);
void unwind_maps_free(struct unwind_maps *m); /* takes NULL */

/* Makes an object that includes unwind.bpf.h use these maps: between open and load. */
int unwind_maps_reuse(struct unwind_maps *m, struct bpf_object *obj);

/* ---- tables ---- */

/* A number for a file's table, which is PENDING. -ENOSPC: too many files. */
int unwind_maps_table_new(struct unwind_maps *m, uint32_t *ret_id);
/*
 * READY, or NONE if it has no rows. -ENOSPC: rows, pages or rules do not fit
 * (another one may have to go first); the state stays as it was.
 */
int unwind_maps_table_fill(struct unwind_maps *m, uint32_t id, const struct unwind_table *table);
void unwind_maps_table_state(struct unwind_maps *m, uint32_t id, enum unwind_table_state state);
const struct unwind_table_ref *unwind_maps_table(const struct unwind_maps *m, uint32_t id);
/* No mapping may use it any more. */
void unwind_maps_table_free(struct unwind_maps *m, uint32_t id, uint64_t now_ns);

/* What holds at `offset` behind the table's first page, as the kernel finds it. NULL: nothing. */
const struct unwind_rule *unwind_maps_rule(const struct unwind_maps *m, uint32_t first_page_index,
					   uint32_t n_pages, uint64_t offset);

/* ---- processes ---- */

/*
 * From now on `maps`, sorted and without overlaps, are the mappings of this
 * program in this process. -ENOSPC: too many mappings or processes.
 */
int unwind_maps_proc_set(struct unwind_maps *m, uint32_t tgid, uint64_t start_ns, uint64_t exec_id,
			 const struct unwind_mapping *maps, uint32_t n, uint64_t now_ns);
void unwind_maps_proc_remove(struct unwind_maps *m, uint32_t tgid, uint64_t now_ns);

/* Every second or so: what has rested is free again. */
void unwind_maps_collect(struct unwind_maps *m, uint64_t now_ns);

struct unwind_maps_stats {
	uint64_t n_tables, n_rows, n_pages, n_rules, n_procs, n_mappings;
	uint64_t bytes; /* of all maps */
};
void unwind_maps_stats(const struct unwind_maps *m, struct unwind_maps_stats *ret);

#endif
