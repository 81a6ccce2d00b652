/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot_memory.h - the memory of a process that runs HotSpot, to be read
 * within bounds.
 *
 * Everything in it is what a traced process says of itself, and may change
 * between two readings: nothing is read twice and believed once, and no chain is
 * followed without a limit.
 */
#ifndef HOTSPOT_MEMORY_H
#define HOTSPOT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hotspot_memory {
	/* As pread() does; `addr` is any number. */
	ssize_t (*read)(void *ctx, void *dst, size_t len, uint64_t addr);
	void *ctx;
	uint32_t n_left; /* readings, some 500 ns each; then all fail */
};

/* All `len` bytes, or false. */
bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *dst, size_t len);
/* As many as there are, up to `len`. */
size_t hotspot_memory_some(struct hotspot_memory *m, uint64_t addr, void *dst, size_t len);
/* Up to `size` - 1 bytes of a string, and a NUL. False: not even its first byte. */
bool hotspot_memory_string(struct hotspot_memory *m, uint64_t addr, char *dst, size_t size);

#endif
