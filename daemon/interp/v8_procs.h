/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_procs.h - which processes run V8 (node), and how its functions are found in them.
 *
 * A mapped file with a name like node or libnode.so.108 is looked into once, by the
 * worker: it has variables that say which version it is and how its structures
 * are laid out (v8/v8_layout.h); the name itself is not believed. Follows the mappings of
 * all processes as the process table learns of them.
 */
#ifndef V8_PROCS_H
#define V8_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "v8/v8_layout.h"

struct mapping;
struct module;
struct symbolizer;
struct v8_procs;

struct v8_proc {
	uint64_t
		id; /* never 0, never reused: another program in the same process has another one */
	const struct v8_layout *layout;
	const struct frames_rule *rule;
};

/* What is known of a process has changed. NULL: it does not run V8, or no longer. */
typedef void v8_proc_fn(void *ctx, uint32_t tgid, const struct v8_proc *proc);

/* `sym` NULL: for tests. */
int v8_procs_new(struct symbolizer *sym, v8_proc_fn *changed, void *ctx, struct v8_procs **ret);
void v8_procs_free(struct v8_procs *vp); /* takes NULL; after the symbolizer */

void v8_procs_mapped(struct v8_procs *vp, uint32_t tgid, const struct mapping *mapping);
void v8_procs_forked(struct v8_procs *vp, uint32_t child, uint32_t parent);
/* Its address space is gone. */
void v8_procs_emptied(struct v8_procs *vp, uint32_t tgid);

/* May a file of this name be one? */
bool v8_procs_may_be(const char *path);
/* The answer to what was asked about a file: a symbolizer_v8_fn. */
void v8_procs_told(void *vp, const struct module *module, const struct v8_facts *facts);

void v8_procs_tell_all(struct v8_procs *vp);
const struct v8_proc *v8_procs_get(const struct v8_procs *vp, uint32_t tgid); /* NULL: none */
size_t v8_procs_count(const struct v8_procs *vp);
/* Files of which the functions cannot be found, and of the last one its name and why; or "". */
size_t v8_procs_unknown(const struct v8_procs *vp);
const char *v8_procs_why(const struct v8_procs *vp);

#endif
