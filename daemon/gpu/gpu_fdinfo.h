/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_fdinfo.h - what /proc/PID/fdinfo/N says of an open DRM file
 * (Documentation/gpu/drm-usage-stats.rst in the kernel's sources).
 *
 * Pure functions over bytes that need not end in NUL. What does not look as
 * documented is left out, never guessed.
 */
#ifndef GPU_FDINFO_H
#define GPU_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_MAX_ENGINES 16
#define GPU_MAX_REGIONS 8
#define GPU_NAME_LEN	32 /* of an engine, a region, a sensor, a driver; with its NUL */

/* One kind of hardware unit: "gfx", "render", "vcs". */
struct gpu_engine {
	char name[GPU_NAME_LEN];
	bool has_ns, has_cycles, has_total;
	uint64_t ns;		/* that it has worked for this client */
	uint64_t cycles, total; /* the same in ticks, and the ticks there were */
	uint32_t capacity;	/* how many there are of the kind, >= 1 */
};

/* Memory of one kind: "vram", "system0". */
struct gpu_region {
	char name[GPU_NAME_LEN];
	bool has_resident, has_total;
	uint64_t resident, total; /* bytes: in place now; asked for */
};

struct gpu_fdinfo {
	char driver[GPU_NAME_LEN]; /* never empty */
	char pdev[GPU_NAME_LEN];   /* "0000:03:00.0"; empty: not a PCI device */
	uint64_t client_id;	   /* one per open file description, however often it is shared */
	size_t n_engines, n_regions;
	struct gpu_engine engines[GPU_MAX_ENGINES];
	struct gpu_region regions[GPU_MAX_REGIONS];
};

/* -ENODATA: the file is none of DRM's, or of a driver that keeps no account. */
int gpu_fdinfo_parse(const char *text, size_t len, struct gpu_fdinfo *ret);

/*
 * The share of the time that one unit of the engine has been at work between two
 * readings that are `dur_ns` apart, in 1/1000 %, at most 100,000. -ENODATA: that
 * cannot be said.
 */
int gpu_engine_busy(const struct gpu_engine *then, const struct gpu_engine *now, uint64_t dur_ns,
		    int64_t *ret);

#endif
