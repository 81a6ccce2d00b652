/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the files of code that exist, each once, and the descriptors
 * through which they can still be read.
 *
 * A descriptor keeps a deleted file's blocks and a mounted file system busy, so
 * there is a cap on them and they are closed when no process maps the file.
 * Nothing here reads a file.
 */
#ifndef MODULES_H
#define MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "location_store.h"
#include "symbolizer.h"

struct elf_debug; /* elf_debug.h */
struct modules;

enum module_type { MODULE_FILE, MODULE_PSEUDO, MODULE_KERNEL };

/* Where the DWARF of a file is. */
enum module_dwarf { DWARF_NONE, DWARF_OWN, DWARF_IN_DEBUG_FILE };

/* What is known about the symbols that are elsewhere (symbolizer_debug.c). */
struct module_debug {
	/* skipped: there was no worker to ask, and the names will not come either */
	enum { DEBUG_NOT_ASKED, DEBUG_ASKED, DEBUG_KNOWN, DEBUG_SKIPPED } state;
	unsigned place; /* of the debug file that fits, or of the one being tried; 0: none */
	enum module_dwarf dwarf;
	/* What the file says, but for `alt`, which is of the one with the DWARF. NULL: not needed.
	 */
	struct elf_debug *said;
	unsigned n_kills;  /* of workers, over the last question */
	bool lines_failed; /* reading its DWARF cost a worker, or cannot be done */
};

struct code_module {
	struct module pub; /* first */
	struct modules *owner;
	enum module_type type;
	int fd;		/* -1: none, or closed meanwhile */
	bool is_failed; /* cannot be read, or cost a worker: never again */

	uint32_t n_refs;
	bool was_held;
	size_t n_locations;
	uint64_t idle_since_ns;
	TAILQ_ENTRY(code_module) idle_link, fd_link;
	void *key;
	size_t key_len;

	/* the symbolizer's queue: what is to be asked about this file */
	unsigned n_busy; /* waiting or asked: the descriptor stays open */
	struct location_list waiting;
	bool is_queued; /* has its turn when others have had theirs */
	TAILQ_ENTRY(code_module) work_link;

	struct module_debug debug;
};

TAILQ_HEAD(module_list, code_module);

int modules_new(struct modules **ret);
void modules_free(struct modules *ms);

/* Takes over `fd`. -EINVAL: not a regular file; -ENOSPC: too many modules; -ENOMEM. */
int modules_by_file(struct modules *ms, int fd, const char *path, struct code_module **ret);
/* NULL: out of memory, or too many. Kernel modules are not counted. */
struct code_module *modules_by_name(struct modules *ms, enum module_type type, const char *name);

/* -ENOMEM. */
int modules_keep_debug(struct code_module *m, const struct elf_debug *said);
/*
 * For a file that has been closed meanwhile: a descriptor for the caller, if by
 * its name there is still the very same file. Else -1.
 */
int modules_reopen(const struct code_module *m);
/* Its file is about to be read: other descriptors are closed before this one. */
void modules_touch(struct code_module *m);
void modules_close(struct code_module *m);

/* Closes descriptors, frees modules. True: modules are getting many, drop locations. */
bool modules_collect(struct modules *ms, uint64_t now_ns);
size_t modules_n_files(const struct modules *ms);

#endif
