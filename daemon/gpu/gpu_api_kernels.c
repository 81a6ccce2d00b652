/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_kernels.c - what the kernels behind the handles of GPU programs are called. */
#include "gpu_api_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_api_table.h"
#include "hash.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

/* Of all processes; frameworks have some thousands. At 100 bytes each. */
#define MAX_KERNELS 65536

struct gpu_api_kernels {
	struct process_table *processes;
	struct hash *names;
};

/* Of one life of a process. */
struct key {
	uint64_t handle, start_ns;
	uint64_t tgid;
};

static struct key key_of(const struct gpu_api_kernels *k, uint32_t tgid, uint64_t handle)
{
	const struct process *p = process_table_get(k->processes, tgid);

	return (struct key){ handle, p ? p->start_ns : 0, tgid };
}

int gpu_api_kernels_new(struct process_table *processes, struct gpu_api_kernels **ret)
{
	struct gpu_api_kernels *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->processes = processes;
	r = hash_new(&k->names);
	if (r < 0) {
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void gpu_api_kernels_free(struct gpu_api_kernels *k)
{
	size_t pos = 0;
	void *name;

	if (!k)
		return;
	while (hash_next(k->names, &pos, NULL, NULL, &name))
		free(name);
	hash_free(k->names);
	free(k);
}

static uint64_t handle_of(const struct gpu_api_event *ev)
{
	switch (gpu_api_functions[ev->call.function].names) {
	case NAMES_BY_OUT:
		return ev->call.flags & GPU_API_OUT_READ ? ev->call.out : 0;
	case NAMES_BY_RESULT:
		return ev->call.ret;
	case NAMES_BY_SECOND:
		return ev->call.args[1];
	default:
		return 0;
	}
}

void gpu_api_kernels_learn(struct gpu_api_kernels *k, const struct gpu_api_event *ev)
{
	uint64_t handle = handle_of(ev);
	struct key key;
	char *name, *old;

	if (!handle || !ev->call.text_len)
		return;
	key = key_of(k, ev->hdr.tgid, handle);
	old = hash_get(k->names, &key, sizeof(key));
	if (!old && hash_count(k->names) >= MAX_KERNELS)
		return;
	name = strndup((const char *)ev->call.text, ev->call.text_len);
	if (!name || hash_set(k->names, &key, sizeof(key), name) < 0)
		free(name);
	else
		free(old);
}

static bool is_address(const struct gpu_api_event *ev)
{
	uint8_t api = gpu_api_functions[ev->call.function].api;

	return api == API_CUDART || api == API_HIP;
}

const char *gpu_api_kernels_name(struct gpu_api_kernels *k, const struct gpu_api_event *ev,
				 uint64_t handle)
{
	struct key key = key_of(k, ev->hdr.tgid, handle);
	const char *name = hash_get(k->names, &key, sizeof(key));
	const struct location *loc;

	if (name || !is_address(ev))
		return name;
	loc = process_table_locate(k->processes, ev->hdr.tgid, handle, ev->hdr.time_ns);
	return loc && loc->ready && loc->has_symbol ? loc->function : NULL;
}
