/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_map.h - where a process's generated code is, and was: what perf maps and
 * jitdump files add up to.
 *
 * Addresses are used again and again. The last code put somewhere hides what
 * was there; what it hid is kept with the time of its end, for samples that are
 * older. Lives in the worker; jit_table.h is what comes out.
 */
#ifndef JIT_MAP_H
#define JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map;
struct jit_line_info;

int jit_map_new(struct jit_map **ret);
void jit_map_free(struct jit_map *m); /* takes NULL */
/* Empty again: what was read does not count any more. */
void jit_map_clear(struct jit_map *m);

struct jit_line_info {
	uint64_t offset; /* from the beginning of the code */
	const char *file;
	size_t file_len;
	uint32_t line;
};

struct jit_code {
	uint64_t start, size;
	uint64_t time_ns; /* BOOTTIME: since when */
	/* The time is only when it was noticed: where nothing was before it was there always. */
	bool is_late;
	const char *name; /* bytes; becomes valid UTF-8 */
	size_t name_len;
	const struct jit_line_info *lines; /* sorted by offset */
	size_t n_lines;
};

/*
 * -EINVAL: addresses that cannot be, or no name. -ENOSPC: beyond the caps of
 * jit_table.h; what was there is hidden all the same. -ENOMEM. Times do not go
 * back: an earlier one than the last counts as the last.
 */
int jit_map_add(struct jit_map *m, const struct jit_code *code);
/* Code moves as it is. -ENOENT: none is known that began at `from`. */
int jit_map_move(struct jit_map *m, uint64_t from, uint64_t to, uint64_t size, uint64_t time_ns);

/* Changes with each change. */
uint64_t jit_map_version(const struct jit_map *m);
/* What was replaced before that time is of no more use. */
void jit_map_forget(struct jit_map *m, uint64_t time_ns);

size_t jit_map_bytes(const struct jit_map *m); /* of memory, about */

/* The table of jit_table.h; its size is good until the next change. */
size_t jit_map_table_size(const struct jit_map *m);
void jit_map_write_table(const struct jit_map *m, void *dst);

#endif
