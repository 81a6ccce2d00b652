/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jvm_procs.h - which processes run HotSpot, whose interpreter keeps in each of its
 * frames which method that is of.
 *
 * By the name of its library alone: where its variables are, and whether it is one at all,
 * the process table knows. Follows the mappings of all processes.
 */
#ifndef JVM_PROCS_H
#define JVM_PROCS_H

#include <stdbool.h>
#include <stdint.h>

#include "frames.h"

struct jvm_procs;
struct mapping;

/* The walker shall take methods along; NULL: no longer. */
typedef void jvm_proc_fn(void *ctx, uint32_t tgid, const struct frames_rule *rule);

int jvm_procs_new(jvm_proc_fn *changed, void *ctx, struct jvm_procs **ret);
void jvm_procs_free(struct jvm_procs *jp); /* takes NULL */

void jvm_procs_mapped(struct jvm_procs *jp, uint32_t tgid, const struct mapping *mapping);
void jvm_procs_forked(struct jvm_procs *jp, uint32_t child, uint32_t parent);
/* Its address space is gone. */
void jvm_procs_emptied(struct jvm_procs *jp, uint32_t tgid);

void jvm_procs_tell_all(struct jvm_procs *jp);
/* 0: it runs none. Another program in the same process has another one. */
uint64_t jvm_procs_id(const struct jvm_procs *jp, uint32_t tgid);

#endif
