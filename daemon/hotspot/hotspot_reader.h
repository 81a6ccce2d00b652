/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot_reader.h - reads out of the memory of a process that runs HotSpot (the
 * JVM of OpenJDK) where its code is, what it is called, and how to unwind from
 * it; and reads again what has changed.
 *
 * Nothing has to be asked of the program: it is not stopped and needs no flag.
 * Lives in the worker.
 */
#ifndef HOTSPOT_READER_H
#define HOTSPOT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotspot_heaps.h"
#include "hotspot_layout.h"

struct hotspot_memory;
struct hotspot_reader;
struct jit_map;

int hotspot_reader_new(struct hotspot_reader **ret);
void hotspot_reader_free(struct hotspot_reader *r); /* takes NULL */

struct hotspot_read {
	const uint64_t *symbols; /* addresses of hotspot_symbol_names */
	uint64_t since_ns;	 /* when it was read last; 0: never */
	uint64_t now_ns;
};

struct hotspot_result {
	bool is_complete;	   /* else there is more: ask again */
	bool is_over_cap;	   /* more code than we keep */
	char why[HOTSPOT_WHY_MAX]; /* not "": this JVM lacks it, and will never be read */
};

/*
 * A slice of what is new, some 50 ms of work. `m` needs no limit of its own.
 * -EFAULT: it is not to be read now: it begins, or has ended.
 */
int hotspot_reader_read(struct hotspot_reader *r, struct hotspot_memory *m,
			const struct hotspot_read *read, struct hotspot_result *ret);

/* What the code is called. */
struct jit_map *hotspot_reader_map(const struct hotspot_reader *r);

/* How to unwind from the code of a heap: an unwind table, by offset from its start. */
struct hotspot_table {
	struct hotspot_heap heap;
	void *bytes; /* the caller's to free */
	size_t len;
};
/* Fills up to HOTSPOT_MAX_HEAPS tables, and returns how many, or -ENOMEM. */
int hotspot_reader_tables(const struct hotspot_reader *r, struct hotspot_table *ret);

/* Changes with each change of names or tables. */
uint64_t hotspot_reader_version(const struct hotspot_reader *r);
size_t hotspot_reader_bytes(const struct hotspot_reader *r); /* of memory */

#endif
