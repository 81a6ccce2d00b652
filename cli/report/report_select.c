/* SPDX-License-Identifier: Apache-2.0 */
/* report_select.c - which samples are meant. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "report.h"
#include "report_slices.h"

#define CPU_SOURCE "linux.perf"

/* ---- one source ---- */

bool report_is_cpu(const struct report *r, const struct trace_source *s)
{
	return strcmp(trace_index_string(r->ix, s->name), CPU_SOURCE) == 0;
}

/* CPU time first: that is what a profile is. The less the better. */
static int rank(const struct report *r, const struct trace_source *s)
{
	const char *name = trace_index_string(r->ix, s->name);

	if (report_is_cpu(r, s))
		return s->unit == TRACE_UNIT_BYTES || s->unit == TRACE_UNIT_PAGE_FAULTS;
	return name[0] == '\0' ? 2 : 3;
}

/* "linux.perf", "perf", "cpu-clock 999 Hz", "cpu-clock" */
static bool is_called(const struct report *r, const struct trace_source *s, const char *wanted)
{
	const char *name = trace_index_string(r->ix, s->name);
	const char *counter = trace_index_string(r->ix, s->counter);
	size_t word = strcspn(counter, " ");

	if (strcmp(name, wanted) == 0 || strcmp(counter, wanted) == 0)
		return true;
	if (strncmp(name, "linux.", 6) == 0 && strcmp(name + 6, wanted) == 0)
		return true;
	return word && strlen(wanted) == word && strncmp(counter, wanted, word) == 0;
}

static const struct trace_source *choose_source(const struct report *r)
{
	const struct trace_source *s, *best = NULL;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	for (size_t i = 0; i < n; i++) {
		if (r->o->source && !is_called(r, &s[i], r->o->source))
			continue;
		if (!best || rank(r, &s[i]) < rank(r, best) ||
		    (rank(r, &s[i]) == rank(r, best) && s[i].n_samples > best->n_samples))
			best = &s[i];
	}
	return best;
}

static int no_source(const struct report *r)
{
	const struct trace_source *s;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	if (n == 0) {
		fprintf(stderr, "tracectl: %s has no stack samples\n", clean(r->o->file));
		return -ENOENT;
	}
	fprintf(stderr, "tracectl: %s has no samples of '%s', but of\n", clean(r->o->file),
		clean(r->o->source));
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "  %s\n", report_source(r, &s[i]).s);
	return -ENOENT;
}

/* ---- filters ---- */

static bool is_in(const int32_t *ids, size_t n, int32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return n == 0;
}

static bool thread_matches(const struct report *r, const struct trace_thread *t)
{
	const struct trace_process *p = trace_index_process(r->ix, t->process);
	const struct report_options *o = r->o;

	if (!is_in(o->pids, o->n_pids, p->pid) || !is_in(o->tids, o->n_tids, t->tid))
		return false;
	for (size_t i = 0; i < o->n_comms; i++)
		if (fnmatch(o->comms[i], trace_index_string(r->ix, t->name), 0) == 0 ||
		    fnmatch(o->comms[i], trace_index_string(r->ix, p->name), 0) == 0)
			return true;
	return o->n_comms == 0;
}

bool report_is_meant(const struct report *r, const struct trace_sample *s)
{
	const struct trace_facts *facts = trace_index_facts(r->ix);
	const struct report_options *o = r->o;
	size_t n;

	if (r->source != trace_index_sources(r->ix, &n) + s->source ||
	    !r->thread_matches[s->thread])
		return false;
	if (r->slices && !r->slices->has[s - trace_index_samples(r->ix, &n)])
		return false;
	if (o->has_cpus && (s->cpu >= MAX_CPUS || !o->cpus[s->cpu]))
		return false;
	if (o->has_from && s->time_ns < facts->start_ns + o->from_ns)
		return false;
	return !o->has_to || (s->time_ns && s->time_ns < facts->start_ns + o->to_ns);
}

/* Samples, weight, and of how many. */
static int count(struct report *r)
{
	uint32_t n_threads = trace_index_n_threads(r->ix);
	uint32_t n_processes = trace_index_n_processes(r->ix);
	bool *seen = calloc((size_t)n_threads + n_processes + 1, sizeof(*seen));
	const struct trace_sample *s;
	size_t n;

	if (!seen)
		return -ENOMEM;
	s = trace_index_samples(r->ix, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t process;

		if (!report_is_meant(r, &s[i]))
			continue;
		r->n_samples++;
		if (__builtin_add_overflow(r->weight, s[i].weight, &r->weight))
			r->weight = UINT64_MAX;
		process = trace_index_thread(r->ix, s[i].thread)->process;
		r->n_threads += !seen[s[i].thread];
		r->n_processes += !seen[n_threads + process];
		seen[s[i].thread] = seen[n_threads + process] = true;
	}
	free(seen);
	return 0;
}

int report_select(struct report *r)
{
	uint32_t n = trace_index_n_threads(r->ix);
	int error = 0;

	r->budget.max = TRACE_INDEX_MAX_BYTES;
	r->source = choose_source(r);
	if (!r->source)
		return no_source(r);
	r->thread_matches = calloc((size_t)n + 1, sizeof(*r->thread_matches));
	if (!r->thread_matches)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		r->thread_matches[i] = thread_matches(r, trace_index_thread(r->ix, i));
	if (r->o->slice)
		error = report_slices_select(r);
	return error < 0 ? error : count(r);
}

void report_done(struct report *r)
{
	free(r->thread_matches);
	report_slices_free(r->slices);
	pool_free(r->labels);
	stack_tree_free(r->tree);
}
