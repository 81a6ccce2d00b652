/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_modules.c - the addresses that a trace's samples have, by module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "symbolize.h"

size_t trace_modules_count(const struct trace_modules *ms)
{
	return ms->list.len / sizeof(struct trace_module);
}

struct trace_module *trace_modules_at(const struct trace_modules *ms, size_t i)
{
	return (struct trace_module *)ms->list.data + i;
}

size_t trace_module_count(const struct trace_module *m)
{
	return m->addresses.len / sizeof(struct module_address);
}

const struct module_address *trace_module_address(const struct trace_module *m, size_t i)
{
	return (const struct module_address *)m->addresses.data + i;
}

/* The index keeps each string once: its address tells which one it is. */
static int module_of(struct trace_modules *ms, const struct trace_place *p,
		     struct trace_module **ret)
{
	const uint64_t key[] = { (uintptr_t)p->path, (uintptr_t)p->build_id };
	struct trace_module m = { .path = p->path,
				  .build_id = p->build_id,
				  .build_id_len = p->build_id_len };
	uintptr_t number; /* from 1 */
	int r = ms->numbers ? 0 : hash_new(&ms->numbers);

	if (r < 0)
		return r;
	number = (uintptr_t)hash_get(ms->numbers, key, sizeof(key));
	if (number == 0) {
		number = trace_modules_count(ms) + 1;
		r = buf_append(&ms->list, &m, sizeof(m));
		if (r == 0)
			r = hash_set(ms->numbers, key, sizeof(key), (void *)number);
		if (r < 0)
			return r;
	}
	*ret = trace_modules_at(ms, number - 1);
	return 0;
}

static int add_address(struct trace_modules *ms, const struct trace_place *p)
{
	struct module_address address = { p->address, p->is_named };
	struct trace_module *m = NULL;
	int r = module_of(ms, p, &m);

	return r < 0 ? r : buf_append(&m->addresses, &address, sizeof(address));
}

static int add_frame(struct trace_modules *ms, const struct trace_index *ix, uint32_t frame)
{
	struct trace_place p;

	trace_index_place(ix, frame, &p);
	if (!p.is_native || !p.path[0] || p.build_id_len > BUILD_ID_MAX)
		return 0;
	if (p.has_symbols) {
		ms->n_known++;
		return 0;
	}
	return add_address(ms, &p);
}

static int by_address(const void *pa, const void *pb)
{
	const struct module_address *a = pa, *b = pb;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* An address has as many frames as it had names: one of them is enough. */
static void leave_each_once(struct trace_module *m)
{
	struct module_address *list = (struct module_address *)m->addresses.data;
	size_t n = 0, n_all = trace_module_count(m);

	qsort(list, n_all, sizeof(*list), by_address);
	for (size_t i = 0; i < n_all; i++) {
		if (n > 0 && list[n - 1].address == list[i].address)
			list[n - 1].is_named &= list[i].is_named;
		else
			list[n++] = list[i];
	}
	m->addresses.len = n * sizeof(*list);
}

static int add_stack(struct trace_modules *ms, const struct trace_index *ix, uint32_t stack,
		     bool *frames_seen)
{
	size_t n;
	const uint32_t *frames = trace_index_stack(ix, stack, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (frames_seen[frames[i]])
			continue;
		frames_seen[frames[i]] = true;
		r = add_frame(ms, ix, frames[i]);
	}
	return r;
}

int trace_modules_find(const struct trace_index *ix, struct trace_modules *ret)
{
	size_t n_samples;
	const struct trace_sample *samples = trace_index_samples(ix, &n_samples);
	bool *stacks_seen = calloc(trace_index_n_stacks(ix) + 1, sizeof(bool));
	bool *frames_seen = calloc(trace_index_n_frames(ix) + 1, sizeof(bool));
	int r = stacks_seen && frames_seen ? 0 : -ENOMEM;

	*ret = (struct trace_modules){ 0 };
	for (size_t i = 0; i < n_samples && r == 0; i++) {
		if (samples[i].stack == TRACE_NONE || stacks_seen[samples[i].stack])
			continue;
		stacks_seen[samples[i].stack] = true;
		r = add_stack(ret, ix, samples[i].stack, frames_seen);
	}
	for (size_t i = 0; i < trace_modules_count(ret); i++)
		leave_each_once(trace_modules_at(ret, i));
	free(stacks_seen);
	free(frames_seen);
	if (r < 0)
		trace_modules_done(ret);
	return r;
}

void trace_modules_done(struct trace_modules *ms)
{
	for (size_t i = 0; i < trace_modules_count(ms); i++)
		buf_done(&trace_modules_at(ms, i)->addresses);
	buf_done(&ms->list);
	hash_free(ms->numbers);
	*ms = (struct trace_modules){ 0 };
}
