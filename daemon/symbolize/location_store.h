/* SPDX-License-Identifier: Apache-2.0 */
/*
 * location_store.h - the locations that exist, each once, and their names.
 *
 * What nobody holds stays as long as there is room: the same code runs again.
 * Where locations and names come from is the symbolizer's business.
 */
#ifndef LOCATION_STORE_H
#define LOCATION_STORE_H

#include <stdint.h>
#include <sys/queue.h>

#include "symbolizer.h"

struct location_store;
struct location_name;

struct location_entry {
	struct location pub; /* first */
	struct location_store *store;
	struct location_name *name;	/* what pub.function lies in, or NULL */
	struct location_name *file;	/* the same for pub.file */
	struct location_entry *same_as; /* held; of a promise that was kept */
	bool is_promise;
	uint64_t key;
	uint32_t n_refs;
	TAILQ_ENTRY(location_entry) link; /* of the unused; free for the holder otherwise */
};

TAILQ_HEAD(location_list, location_entry);

/* One location of `module` less. */
typedef void location_gone_fn(void *ctx, const struct module *module);

int location_store_new(location_gone_fn *gone, void *ctx, struct location_store **ret);
/* Everything, held or not. `gone` is not called. */
void location_store_free(struct location_store *s);

/* `key` tells apart the locations of one module. NULL: not there. */
struct location_entry *location_store_get(struct location_store *s, const struct module *module,
					  uint64_t key);
/* A new one that nobody holds, not ready, `rel_pc` = key. NULL: out of memory. */
struct location_entry *location_store_add(struct location_store *s, const struct module *module,
					  uint64_t key, enum location_kind kind);

/*
 * Make it ready, at first call. A function's name is kept once for all its
 * locations: `symbol` is its start in the module. Without memory for the name
 * it reads like its module.
 */
void location_set_symbol(struct location_entry *e, uint64_t rel_pc, uint64_t symbol,
			 const char *name, size_t len);
/* The same of an interpreted function, with the file and line of its source. */
void location_set_line(struct location_entry *e, uint64_t symbol, const char *name,
		       const char *file, uint32_t line);
void location_set_text(struct location_entry *e, uint64_t rel_pc, const char *text);

/*
 * A location that is yet to be found out, held for the caller; it goes with its
 * last release. location_keep_promise() makes it the same as `loc`, which is
 * ready: another address, but what it says, its id included. NULL: out of memory.
 */
struct location *location_promise(struct location_store *s, const struct module *module,
				  uint64_t pc);
void location_keep_promise(struct location *promise, struct location *loc);

/* The file and line of its source, at most once and before it is made ready. */
void location_set_source(struct location_entry *e, const char *file, size_t len, uint32_t line);

/* Forgets the longest unused, until at most `max_unused` are left. */
void location_store_trim(struct location_store *s, size_t max_unused);
size_t location_store_count(const struct location_store *s);

#endif
