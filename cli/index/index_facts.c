/* SPDX-License-Identifier: Apache-2.0 */
/* index_facts.c - what a trace says of itself: machine, time, and what was lost. */
#include <string.h>

#include "index_impl.h"

#define PREFIX	   "ledger."
#define MAX_LOSSES 64 /* sources of a ledger: there are fewer than ten */

void index_facts_system(struct trace_index *ix, const SystemInfo *info)
{
	struct trace_facts *f = &ix->facts;

	f->host = index_cstring(ix, info->machine_name);
	if (info->num_cpus)
		f->n_cpus = info->num_cpus;
	if (info->utsname) {
		f->release = index_cstring(ix, info->utsname->release);
		f->machine = index_cstring(ix, info->utsname->machine);
	}
}

void index_facts_service(struct trace_index *ix, uint64_t time_ns, const TracingServiceEvent *e)
{
	if (e->tracing_started && time_ns && !ix->has_start) {
		ix->has_start = true;
		ix->facts.start_ns = time_ns;
	}
	if (e->tracing_disabled) {
		ix->facts.complete = true;
		if (time_ns > ix->facts.end_ns)
			ix->facts.end_ns = time_ns;
	}
}

static struct trace_loss *loss_of(struct trace_index *ix, const char *name, size_t len)
{
	uint32_t source = index_string(ix, name, len);
	struct trace_loss *l = ix->losses.items;

	for (size_t i = 0; i < ix->losses.n; i++)
		if (l[i].source == source)
			return &l[i];
	if (ix->losses.n == MAX_LOSSES || source == TRACE_NONE)
		return NULL;
	l = index_add(ix, &ix->losses, sizeof(*l));
	if (l)
		l->source = source;
	return l;
}

/* "ledger.sched.lost" */
static void attribute(struct trace_index *ix, const char *key, uint64_t value)
{
	const char *name = key + strlen(PREFIX), *dot = strrchr(name, '.');
	struct trace_loss *l = dot ? loss_of(ix, name, (size_t)(dot - name)) : NULL;

	if (!l)
		return;
	if (strcmp(dot, ".produced") == 0)
		l->n_produced = value;
	else if (strcmp(dot, ".lost") == 0 || strcmp(dot, ".malformed") == 0)
		l->n_lost += value;
	else if (strcmp(dot, ".dropped") == 0)
		l->n_dropped = value;
}

/* The last account counts: it replaces the one before. */
void index_facts_attributes(struct trace_index *ix, const TraceAttributes *a)
{
	bool fresh = true;

	for (size_t i = 0; i < a->n_attribute; i++) {
		const TraceAttributes__Attribute *at = a->attribute[i];

		if (!at->key || !at->has_long_value)
			continue;
		if (strcmp(at->key, "sampling.due") == 0)
			ix->facts.n_due = (uint64_t)at->long_value;
		if (strcmp(at->key, "sampling.taken") == 0)
			ix->facts.n_taken = (uint64_t)at->long_value;
		if (strncmp(at->key, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (fresh)
			ix->losses.n = 0;
		fresh = false;
		attribute(ix, at->key, (uint64_t)at->long_value);
	}
}

static void set_range(struct trace_index *ix)
{
	struct trace_facts *f = &ix->facts;
	uint64_t first, last, sample_first = UINT64_MAX;
	size_t n;
	const struct trace_sample *s = trace_index_samples(ix, &n);

	index_clocks_range(ix, &first, &last);
	if (last > f->end_ns)
		f->end_ns = last;
	for (size_t i = 0; i < n; i++) {
		if (s[i].time_ns == 0)
			continue;
		if (s[i].time_ns > f->end_ns)
			f->end_ns = s[i].time_ns;
		if (s[i].time_ns < sample_first)
			sample_first = s[i].time_ns;
	}
	if (!ix->has_start)
		f->start_ns = first ? first : sample_first;
	if (f->start_ns > f->end_ns)
		f->start_ns = f->end_ns;
}

void index_facts_finish(struct trace_index *ix)
{
	set_range(ix);
	ix->facts.losses = ix->losses.items;
	ix->facts.n_losses = ix->losses.n;
}
