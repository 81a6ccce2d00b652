/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_memory.c - the memory of a process that runs HotSpot. */
#include "hotspot_memory.h"

#include <string.h>

/* What processes have: with five levels of page tables too. */
#define END (1ull << 56)

size_t hotspot_memory_some(struct hotspot_memory *m, uint64_t addr, void *dst, size_t len)
{
	ssize_t n;

	if (m->n_left == 0 || addr == 0 || addr >= END || len > END - addr)
		return 0;
	m->n_left--;
	n = m->read(m->ctx, dst, len, addr);
	return n > 0 ? (size_t)n : 0;
}

bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *dst, size_t len)
{
	return hotspot_memory_some(m, addr, dst, len) == len;
}

bool hotspot_memory_string(struct hotspot_memory *m, uint64_t addr, char *dst, size_t size)
{
	size_t n = hotspot_memory_some(m, addr, dst, size - 1);

	dst[n] = '\0';
	return n > 0;
}
