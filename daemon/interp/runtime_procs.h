/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_procs.h - which processes run a language's runtime, by the files that they
 * have mapped.
 *
 * Each file is asked about once, and what is found in it (its fact) is kept for all
 * processes that have it mapped. Knows no runtime: which files may be one, what a fact
 * says and who is told is up to those who do (python_procs.c, v8_procs.c).
 */
#ifndef RUNTIME_PROCS_H
#define RUNTIME_PROCS_H

#include <stddef.h>
#include <stdint.h>

struct mapping;
struct module;
struct runtime_procs;

struct runtime_kind {
	/* Of what is kept of a file, and of a process; zeros at first. */
	size_t fact_size, proc_size;
	/* Beyond that those of no process go. Hostile users have as many files as they like. */
	size_t max_files;
	/* A new file. The answer may come before this returns. */
	void (*ask)(void *ctx, struct module *module);
	/* A file goes, found or not. May be NULL. */
	void (*forget)(void *ctx, const void *fact);
	/*
	 * A process runs the runtime in this file, or now it is elsewhere in it. `base` is
	 * where offset 0 of the file would be; `fact` is valid until it has ended.
	 */
	void (*runs)(void *ctx, uint32_t tgid, void *proc, const void *fact, uint64_t base);
	void (*ended)(void *ctx, uint32_t tgid);
};

int runtime_procs_new(const struct runtime_kind *kind, void *ctx, struct runtime_procs **ret);
void runtime_procs_free(struct runtime_procs *rp); /* takes NULL; says nothing */

/* Has a module that may be one. */
void runtime_procs_mapped(struct runtime_procs *rp, uint32_t tgid, const struct mapping *mapping);
void runtime_procs_forked(struct runtime_procs *rp, uint32_t child, uint32_t parent);
/* Its address space is gone. */
void runtime_procs_emptied(struct runtime_procs *rp, uint32_t tgid);

/* The answer is there: the fact, to be filled in. NULL: it was told before, or comes too late. */
void *runtime_procs_told(struct runtime_procs *rp, const struct module *module);
/* It was filled in, and the file has the runtime. */
void runtime_procs_found(struct runtime_procs *rp, const struct module *module);

/* NULL: it runs none. */
const void *runtime_procs_get(const struct runtime_procs *rp, uint32_t tgid);
size_t runtime_procs_count(const struct runtime_procs *rp);
/* Those that run it, or the facts of files that have it: from `*pos` = 0 to NULL. */
const void *runtime_procs_next(const struct runtime_procs *rp, size_t *pos, uint32_t *ret_tgid);
const void *runtime_procs_next_fact(const struct runtime_procs *rp, size_t *pos);

#endif
