/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_probes.h - probes on the functions of a process by which memory is asked
 * for, wherever its C library or allocator has them.
 *
 * Where they are in a file the symbolizer's worker says; until it has, and if it
 * never does, there are none.
 */
#ifndef ALLOC_PROBES_H
#define ALLOC_PROBES_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

struct alloc_probes;
struct module;
struct process;
struct symbolizer;

/* `prog` gets the probes' hits, with enum alloc_function as cookie; it must outlive them. */
int alloc_probes_new(struct symbolizer *sym, struct bpf_program *prog, struct alloc_probes **ret);
/* Takes NULL. Ends all probes at once; answers that are still to come find nobody. */
void alloc_probes_free(struct alloc_probes *p);

/* May the file of this path have such functions? */
bool alloc_probes_may_be(const char *path);
/* Puts probes on `process` in `module`, which it maps, if they are not there. */
void alloc_probes_put(struct alloc_probes *p, const struct process *process, struct module *module);
/* Ends those of processes that `wanted` says no to. */
typedef bool alloc_wanted_fn(void *ctx, uint32_t tgid, uint64_t start_ns);
void alloc_probes_keep(struct alloc_probes *p, alloc_wanted_fn *wanted, void *ctx);

#endif
