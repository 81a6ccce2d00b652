/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib_probes.h - probes on functions of libraries, known by their names.
 *
 * Where the functions are in a file the symbolizer's worker says; until it has, and
 * if it never does, there are none. A file is probed in all processes, also in those
 * that map it later, or in some of them.
 */
#ifndef LIB_PROBES_H
#define LIB_PROBES_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lib_probes;
struct module;
struct process;
struct symbolizer;

struct lib_function {
	const char *name; /* fewer than FILES_FUNCTION_NAME_MAX bytes */
	uint16_t cookie;  /* for the program, of whichever file */
	uint8_t group;	  /* < 32: what is not wanted has no probe */
};

#define LIB_PROGRAMS 2

struct lib_probes_env {
	const char *collector; /* who it is, for the log */
	struct symbolizer *symbolizer;
	/* In the order in which they are attached; they end in the opposite one. NULL: no more. */
	struct {
		struct bpf_program *prog; /* must outlive the probes */
		bool at_return;
	} programs[LIB_PROGRAMS];
};

int lib_probes_new(const struct lib_probes_env *env, struct lib_probes **ret);
/* Takes NULL. Ends all probes at once; answers that are still to come find nobody. */
void lib_probes_free(struct lib_probes *ps);

/* Bit i: group i. In files that are probed, what is missing of them comes at once. */
void lib_probes_want(struct lib_probes *ps, uint32_t groups);

/* `functions` must outlive the probes, and be the same ones for the same file. */
void lib_probes_in_all(struct lib_probes *ps, struct module *module,
		       const struct lib_function *functions, size_t n);
void lib_probes_in_process(struct lib_probes *ps, const struct process *process,
			   struct module *module, const struct lib_function *functions, size_t n);
/* A place that is known without asking, in all processes. */
void lib_probes_at(struct lib_probes *ps, struct module *module, uint64_t offset,
		   const struct lib_function *function);

/* Ends those of single processes that `wanted` says no to. */
typedef bool lib_wanted_fn(void *ctx, uint32_t tgid, uint64_t start_ns);
void lib_probes_keep(struct lib_probes *ps, lib_wanted_fn *wanted, void *ctx);

/* Answers of the worker are missing: there will be more probes. */
bool lib_probes_pending(const struct lib_probes *ps);
/* Places that are probed in all processes. */
size_t lib_probes_count(const struct lib_probes *ps);
/* Why probes could not be put, lastly; 0: they could. */
int lib_probes_error(const struct lib_probes *ps);

#endif
