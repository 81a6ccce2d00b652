/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_lookups.c - functions that programs get by asking for them. */
#include "gpu_api_lookups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/lib_probes.h"
#include "gpu_api_symbols.h"
#include "hash.h"
#include "log.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

/* Lookups that wait for the mappings of their process; the others are forgotten. */
#define MAX_WAITING 256
#define MAX_WAIT_NS (2 * NS_PER_SEC)
/* Places that were asked about; beyond, nothing more is learnt. */
#define MAX_PLACES 8192

struct lookup {
	uint32_t tgid;
	uint16_t function; /* in the table: which one was asked for */
	uint64_t address, time_ns;
};

struct gpu_api_lookups {
	struct symbolizer *sym;
	struct process_table *processes;
	struct lib_probes *probes;
	struct hash *places;
	bool is_over;
	unsigned n_asked;
	struct lookup waiting[MAX_WAITING];
	size_t n_waiting;
};

struct question {
	struct gpu_api_lookups *l;
	struct module *module; /* held */
	uint64_t offset;
	const struct lib_function *function;
};

bool gpu_api_is_driver(const char *path)
{
	static const char *const names[] = {
		"libvulkan", "libVk",	       "libvk",	    "amdvlk",  "libGLX_", "libEGL_",
		"libnvidia", "libcuda",	       "libOpenCL", "libpocl", "libEGL.", "libGL",
		"libamdhip", "libhsa-runtime", "libMali",   "libmali", "libPVR",  "libgallium",
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void free_all(struct gpu_api_lookups *l)
{
	hash_free(l->places);
	free(l);
}

/* The symbolizer_functions_fn. */
static void on_answer(void *ctx, const uint64_t *offsets, size_t n)
{
	struct question *q = ctx;
	struct gpu_api_lookups *l = q->l;

	if (!l->is_over && offsets && n == 1 && offsets[0] == q->offset)
		lib_probes_at(l->probes, q->module, q->offset, q->function);
	else if (!l->is_over)
		log_debug("gpu-api: module %llu has no function at 0x%llx",
			  (unsigned long long)q->module->id, (unsigned long long)q->offset);
	module_release(q->module);
	free(q);
	if (--l->n_asked == 0 && l->is_over)
		free_all(l);
}

static bool is_new(struct gpu_api_lookups *l, const struct module *module, uint64_t offset)
{
	const uint64_t key[2] = { module->id, offset };

	if (hash_get(l->places, key, sizeof(key)) || hash_count(l->places) >= MAX_PLACES)
		return false;
	return hash_set(l->places, key, sizeof(key), l) == 0;
}

static void ask(struct gpu_api_lookups *l, struct module *module, uint64_t offset,
		const struct lib_function *function)
{
	struct question *q = malloc(sizeof(*q));

	if (!q)
		return; /* no probe there */
	*q = (struct question){ l, module, offset, function };
	module_hold(module);
	l->n_asked++;
	symbolizer_ask_starts(l->sym, module, &offset, 1, on_answer, q);
}

/* -EAGAIN: its process is not known well enough yet. */
static int resolve(struct gpu_api_lookups *l, const struct lookup *lookup)
{
	bool wait = false;
	const struct mapping *m = process_table_mapping(l->processes, lookup->tgid, lookup->address,
							lookup->time_ns, &wait);
	uint64_t offset;

	if (!m || !m->module)
		return wait ? -EAGAIN : -ENOENT;
	offset = lookup->address - m->start + m->pgoff;
	if (module_is_file(m->module) && gpu_api_is_driver(m->module->path) &&
	    is_new(l, m->module, offset))
		ask(l, m->module, offset, gpu_api_symbol(lookup->function));
	return 0;
}

static uint64_t address_of(const struct gpu_api_event *ev)
{
	switch (gpu_api_functions[ev->call.function].names) {
	case FINDS_BY_RESULT:
		return ev->call.ret;
	case FINDS_BY_OUT:
		return ev->call.flags & GPU_API_OUT_READ ? ev->call.out : 0;
	default:
		return 0;
	}
}

void gpu_api_lookups_see(struct gpu_api_lookups *l, const struct gpu_api_event *ev)
{
	struct lookup lookup = {
		.tgid = ev->hdr.tgid,
		.address = address_of(ev),
		.time_ns = ev->hdr.time_ns,
	};
	char name[GPU_API_TEXT + 1];
	int function;

	if (!lookup.address)
		return;
	memcpy(name, ev->call.text, ev->call.text_len);
	name[ev->call.text_len] = '\0';
	function = gpu_api_by_symbol(name);
	if (function < 0)
		return;
	lookup.function = (uint16_t)function;
	if (resolve(l, &lookup) == -EAGAIN && l->n_waiting < MAX_WAITING)
		l->waiting[l->n_waiting++] = lookup;
}

void gpu_api_lookups_update(struct gpu_api_lookups *l, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_waiting; i++) {
		const struct lookup *w = &l->waiting[i];

		if (resolve(l, w) == -EAGAIN && now_ns < w->time_ns + MAX_WAIT_NS)
			l->waiting[n++] = *w;
	}
	l->n_waiting = n;
}

int gpu_api_lookups_new(struct symbolizer *sym, struct process_table *processes,
			struct lib_probes *probes, struct gpu_api_lookups **ret)
{
	struct gpu_api_lookups *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->sym = sym;
	l->processes = processes;
	l->probes = probes;
	r = hash_new(&l->places);
	if (r < 0) {
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void gpu_api_lookups_free(struct gpu_api_lookups *l)
{
	if (!l)
		return;
	l->is_over = true;
	if (l->n_asked == 0)
		free_all(l);
}
