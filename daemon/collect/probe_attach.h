/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_attach.h - one probe in the kernel: the files that its places are in, where in
 * them, and what is attached there.
 *
 * A file is looked at when somebody maps it, or before, where it is known; the worker is
 * asked where the places are (probe/probe_types.h), and each gets the code that is made for
 * it. All processes that map the file are probed then, also later ones, from their first
 * instruction.
 */
#ifndef PROBE_ATTACH_H
#define PROBE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/probes.h"
#include "probe_ends.h"
#include "probe_places.h"
#include "probe_programs.h"

struct module;
struct probe_attached;
struct symbolizer;

struct probe_attach_env {
	struct probes *probes;
	struct symbolizer *symbolizer;
	struct probe_places *places;
	struct probe_ends *ends;
	struct probe_programs *programs; /* what the probe needs is loaded */
};

/* `env` must outlive it. What can be attached at once is. On failure `why` explains. */
int probe_attached_new(const struct probe_attach_env *env, struct probe *p, char why[PROBE_WHY_LEN],
		       struct probe_attached **ret);
/* Takes NULL. Ends all of it; answers that are to come find nobody. */
void probe_attached_free(struct probe_attached *a);

/*
 * Cheap when it is none of the probe's files, or is known. `stays`: also while nobody maps
 * it, since somebody may.
 */
void probe_attached_look(struct probe_attached *a, struct module *module, const char *path,
			 bool stays);
/*
 * Lets go of files that nobody maps any more, the second time that it is called: a container's
 * file system is not kept for ever.
 */
typedef bool probe_mapped_fn(void *ctx, const struct module *module);
void probe_attached_prune(struct probe_attached *a, probe_mapped_fn *fn, void *ctx);
/* Could a file of this name be meant, wherever it lies? */
bool probe_attached_wants_name(const struct probe_attached *a, const char *name);
/* Has a file been found for each of its places? */
bool probe_attached_has_files(const struct probe_attached *a);
/* Nobody looks for more now: is it on, or waiting? `near`: "; near it: ...", or nothing. */
void probe_attached_settle(struct probe_attached *a, const char *near);

void probe_attached_count(struct probe_attached *a); /* fills the probe's numbers */

/* Takes it away for a while; puts it back, once probe_ends_pending() says no. */
void probe_attached_pause(struct probe_attached *a);
void probe_attached_resume(struct probe_attached *a);

/* "libc.so.6" and "libc" mean "libc.so.6.1"; globs as fnmatch(3) has them. Pure. */
bool probe_name_means(const char *wanted, const char *name);

#endif
