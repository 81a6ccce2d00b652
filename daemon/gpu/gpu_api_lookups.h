/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_api_lookups.h - functions that programs get by asking for them, as with
 * vkGetDeviceProcAddr(): code of a driver that no symbol names.
 *
 * What a process says of itself is not believed: the place must be the beginning of a
 * function, in a file whose name is that of a driver or layer. Then it is probed like
 * any other, in all processes, some 50 ms after the first one has asked.
 */
#ifndef GPU_API_LOOKUPS_H
#define GPU_API_LOOKUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu_api_events.h"

struct gpu_api_lookups;
struct lib_probes;
struct process_table;
struct symbolizer;

/* `probes` must outlive it. */
int gpu_api_lookups_new(struct symbolizer *sym, struct process_table *processes,
			struct lib_probes *probes, struct gpu_api_lookups **ret);
/* Takes NULL. Answers that are still to come find nobody. */
void gpu_api_lookups_free(struct gpu_api_lookups *l);

/* A valid call has returned, of any function. */
void gpu_api_lookups_see(struct gpu_api_lookups *l, const struct gpu_api_event *ev);
/* Tries again what came before its process's mappings were known. */
void gpu_api_lookups_update(struct gpu_api_lookups *l, uint64_t now_ns);

/* Is a file of this path one of a driver or a layer, by its name? */
bool gpu_api_is_driver(const char *path);

#endif
