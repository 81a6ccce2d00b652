/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_modules.c - the addresses that a trace's samples have, by module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "symbolize.h"

static struct trace_module *module_of(struct trace_modules *ms, const struct trace_place *p)
{
	struct trace_module *m, *grown;
	size_t cap = ms->cap ? ms->cap * 2 : 64;

	/* Frames of one module often follow each other, and there are some hundred at most. */
	for (size_t i = ms->n; i-- > 0;) {
		m = &ms->list[i];
		if (m->path == p->path && m->build_id == p->build_id)
			return m;
	}
	if (ms->n == ms->cap) {
		grown = reallocarray(ms->list, cap, sizeof(*grown));
		if (!grown)
			return NULL;
		ms->list = grown;
		ms->cap = cap;
	}
	m = &ms->list[ms->n++];
	*m = (struct trace_module){ .path = p->path,
				    .build_id = p->build_id,
				    .build_id_len = p->build_id_len };
	return m;
}

static int add_address(struct trace_modules *ms, const struct trace_place *p)
{
	struct trace_module *m = module_of(ms, p);
	struct module_address *grown;
	size_t cap;

	if (!m)
		return -ENOMEM;
	if (m->n == m->cap) {
		cap = m->cap ? m->cap * 2 : 64;
		grown = reallocarray(m->addresses, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->addresses = grown;
		m->cap = cap;
	}
	m->addresses[m->n++] = (struct module_address){ p->address, p->is_named };
	return 0;
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
	size_t n = 0;

	qsort(m->addresses, m->n, sizeof(*m->addresses), by_address);
	for (size_t i = 0; i < m->n; i++) {
		if (n > 0 && m->addresses[n - 1].address == m->addresses[i].address)
			m->addresses[n - 1].is_named &= m->addresses[i].is_named;
		else
			m->addresses[n++] = m->addresses[i];
	}
	m->n = n;
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
	for (size_t i = 0; i < ret->n; i++)
		leave_each_once(&ret->list[i]);
	free(stacks_seen);
	free(frames_seen);
	if (r < 0)
		trace_modules_done(ret);
	return r;
}

void trace_modules_done(struct trace_modules *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		free(ms->list[i].addresses);
	free(ms->list);
	*ms = (struct trace_modules){ 0 };
}
