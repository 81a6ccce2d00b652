/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_procs.h - which processes run CPython, and where its state is in them.
 *
 * A mapped file with a name like python3.11 or libpython3.11.so.1.0 is looked
 * into once, by the worker: it has the state (_PyRuntime) and says which version
 * it is (Py_Version); the name itself is not believed. Follows the mappings of
 * all processes as the process table learns of them.
 */
#ifndef PYTHON_PROCS_H
#define PYTHON_PROCS_H

#include <stddef.h>
#include <stdint.h>

#include "python.h"

struct files_objects;
struct mapping;
struct module;
struct python_procs;
struct symbolizer;

/* What is known of a process, or of a file, has changed. NULL: it is not Python, or no longer. */
struct python_listener {
	void (*proc)(void *ctx, uint32_t tgid, const struct python_proc *proc);
	void (*program)(void *ctx, const struct python_program_key *key,
			const struct python_program *program);
};

/* `sym` NULL: for tests. */
int python_procs_new(struct symbolizer *sym, const struct python_listener *listener, void *ctx,
		     struct python_procs **ret);
void python_procs_free(struct python_procs *ps); /* takes NULL; after the symbolizer */

void python_procs_mapped(struct python_procs *ps, uint32_t tgid, const struct mapping *mapping);
void python_procs_forked(struct python_procs *ps, uint32_t child, uint32_t parent);
/* Its address space is gone. */
void python_procs_emptied(struct python_procs *ps, uint32_t tgid);

/* The answer to what was asked about a file: a symbolizer_objects_fn. */
void python_procs_told(void *ps, const struct module *module, const struct files_objects *objects);

/* Tells of all processes and programs again. */
void python_procs_tell_all(struct python_procs *ps);
/* Those seen so far; python_proc.layout is an index. */
const struct python_layout *python_procs_layouts(const struct python_procs *ps, size_t *ret_n);

size_t python_procs_count(const struct python_procs *ps);
/* Files of versions that are not known. */
size_t python_procs_unknown(const struct python_procs *ps);

#endif
