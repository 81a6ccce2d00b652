/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.h - the executable mappings of one address space.
 *
 * The kernel tells what is mapped, never what is unmapped: so the newest
 * mapping of an address wins. A block is counted by its references, since a
 * fork shares its parent's until one of the two changes; mappings_set() copies
 * then. Knows nothing about processes.
 */
#ifndef MAPPINGS_H
#define MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

struct mappings;
struct module;

struct mapping {
	uint64_t start, end;   /* user addresses, end exclusive */
	uint64_t pgoff;	       /* offset in the file of `start`, in bytes */
	struct module *module; /* NULL: nothing is known about it */
};

/* Shared by all blocks of a table: memory is bounded as a whole. In mappings. */
struct mappings_budget {
	size_t n_used, max;
};

/* Of one block: the kernel's default vm.max_map_count is 65530. */
#define MAPPINGS_MAX 65536

struct mappings *mappings_new(struct mappings_budget *budget); /* NULL: out of memory */
struct mappings *mappings_hold(struct mappings *m);
void mappings_release(struct mappings *m); /* takes NULL */

/*
 * Adds `add`, whose module is held, in `*m`, which becomes a copy if it is
 * shared. -ENOSPC: beyond the budget, or beyond MAPPINGS_MAX (the block takes
 * no more for good); -ENOMEM. `*m` stays as it was then.
 */
int mappings_set(struct mappings **m, const struct mapping *add);

/* NULL: nothing is mapped there. Valid until the next change of the block. */
const struct mapping *mappings_find(struct mappings *m, uint64_t pc);
/*
 * All of it, sorted and without overlaps; valid until the next change. -ENOMEM
 * when pieces added lately cannot be sorted in.
 */
int mappings_all(struct mappings *m, const struct mapping **ret, size_t *ret_n);
/* Of the content: blocks with one version hold the same. Never 0, never used again. */
uint64_t mappings_version(const struct mappings *m);
/* A number that stands for no block: for what depends on more than its mappings. */
uint64_t mappings_new_version(void);
size_t mappings_count(const struct mappings *m); /* at most; pieces hidden by newer ones count */

#endif
