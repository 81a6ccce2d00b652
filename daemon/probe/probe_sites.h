/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sites.h - where in a file a probe's place is, or its places, and what is known of
 * the values there. Files are read by the worker (symbolizer.h); the kernel's own places
 * are known at once.
 */
#ifndef PROBE_SITES_H
#define PROBE_SITES_H

#include "probe/probe_compile.h"

struct module;
struct symbolizer;

/* Functions of one file that a glob is good for, or sites of one USDT probe. */
#define PROBE_MAX_SITES 1024

struct probe_site {
	uint64_t offset;		 /* in the file: an instruction begins there */
	uint64_t semaphore;		 /* as in struct uprobe_site */
	const struct probe_types *types; /* NULL: nothing is known; valid during the call */
};

/* n 0: there are none, and `why` says why not, with the nearest names. */
typedef void probe_sites_fn(void *ctx, const struct probe_site *sites, size_t n, const char *why);

/*
 * Only places that may be probed: where functions begin, instructions do, USDT probes are;
 * no return of a program made by Go. `fn` is called once, maybe before this returns; `def`
 * and `place` are not kept.
 */
void probe_sites_ask(struct symbolizer *sym, struct module *module, const struct probe_def *def,
		     const struct probe_place *place, probe_sites_fn *fn, void *ctx);

/*
 * Of a tracepoint, by its format; of functions of the kernel, by its BTF. -ENOENT: there is
 * no such place, and `why` has the nearest names.
 */
int probe_kernel_types(const struct probe_place *place, struct probe_types **ret,
		       char why[PROBE_WHY_LEN]);
void probe_types_free(struct probe_types *types); /* takes NULL */

#endif
