/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_ioctl_table.c - ioctls of GPU drivers by driver and number. */
#include "gpu_ioctl_table.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct driver_rows {
	const char *name;
	uint16_t first, end; /* its rows, sorted by number and size */
};

struct status_name {
	uint32_t status;
	const char *name;
};

#include "gpu_ioctls.inc"

_Static_assert(N(drivers) < GPU_MAX_SLOTS, "the kernel's half has room for each driver");

unsigned gpu_ioctl_slot(const char *driver)
{
	for (size_t i = 0; i < N(drivers); i++)
		if (strcmp(drivers[i].name, driver) == 0)
			return (unsigned)i + 1;
	return 0;
}

const char *gpu_ioctl_driver(unsigned slot)
{
	return slot - 1 < N(drivers) ? drivers[slot - 1].name : NULL;
}

const struct gpu_ioctl_info *gpu_ioctl_rows(unsigned slot, size_t *ret_n)
{
	if (slot - 1 >= N(drivers))
		return NULL;
	*ret_n = drivers[slot - 1].end - drivers[slot - 1].first;
	return &rows[drivers[slot - 1].first];
}

/* The first row with that number, or the one behind it. */
static size_t lower_bound(const struct gpu_ioctl_info *row, size_t n, uint32_t nr)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (row[middle].nr < nr)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

const struct gpu_ioctl_info *gpu_ioctl_find(unsigned slot, uint32_t nr, uint32_t size,
					    unsigned direction)
{
	size_t n = 0;
	const struct gpu_ioctl_info *row = gpu_ioctl_rows(slot, &n), *best = NULL;
	unsigned best_fit = 0;

	if (!row)
		return NULL;
	for (size_t i = lower_bound(row, n, nr); i < n && row[i].nr == nr; i++) {
		unsigned fit = 1 + 2 * (row[i].size == size) + (row[i].direction == direction);

		if (fit > best_fit) {
			best = &row[i];
			best_fit = fit;
		}
	}
	return best;
}

const char *gpu_ioctl_class_name(enum gpu_ioctl_class c)
{
	static const char *const names[N_GPU_IOCTL_CLASSES] = {
		[GPU_CLASS_UNKNOWN] = "unknown", [GPU_CLASS_SUBMIT] = "submit",
		[GPU_CLASS_WAIT] = "wait",	 [GPU_CLASS_FENCE] = "fence",
		[GPU_CLASS_KMS] = "kms",	 [GPU_CLASS_MAP] = "map",
		[GPU_CLASS_MEM] = "mem",	 [GPU_CLASS_CTX] = "ctx",
		[GPU_CLASS_OTHER] = "other",	 [GPU_CLASS_QUERY] = "query",
	};

	return c < N_GPU_IOCTL_CLASSES ? names[c] : names[GPU_CLASS_UNKNOWN];
}

const char *gpu_nv_status_name(uint32_t status)
{
	for (size_t i = 0; i < N(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].name;
	return NULL;
}
