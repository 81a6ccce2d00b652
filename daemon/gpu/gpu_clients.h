/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_clients.h - which processes use which GPU, and how much of it.
 *
 * A survey goes round the descriptors of all processes in slices of bounded time,
 * as that of counters_processes.h does; of what it finds the fdinfo is read at
 * every poll. A client is an open file description: however many descriptors and
 * processes share it, it counts once, for the process that it was found in first.
 */
#ifndef GPU_CLIENTS_H
#define GPU_CLIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu_cards.h"

struct gpu_clients;

/* `proc_fd` is a directory like /proc; it and `cards` stay the caller's. */
int gpu_clients_new(int proc_fd, const struct gpu_cards *cards, struct gpu_clients **ret);
void gpu_clients_free(struct gpu_clients *gc); /* takes NULL */

/* There is a process `tgid`. Cheap when it is known already. */
int gpu_clients_add(struct gpu_clients *gc, uint32_t tgid);

/*
 * Looks at descriptors for about `budget_ns`, then reads all clients. What they
 * have used is handed to `fn`: several values of one process, device, kind and name
 * are to be added up.
 */
void gpu_clients_poll(struct gpu_clients *gc, uint64_t budget_ns, gpu_value_fn *fn, void *ctx);

size_t gpu_clients_count(const struct gpu_clients *gc);

#endif
