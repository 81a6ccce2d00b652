/* SPDX-License-Identifier: Apache-2.0 */
/* report_slices.c - which samples lie in slices of a name, and how long these are. */
#include "report_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "clean.h"
#include "report_window.h"

/* What is meant of a slice. */
struct span {
	uint64_t begin_ns, end_ns;
	enum trace_slice_owner owner;
	int32_t id; /* tid or pid */
	uint32_t track;
	bool unfinished;
};

/* A sample, by its thread or its process. */
struct point {
	uint64_t time_ns;
	size_t sample;
	int32_t id;
};

/* ---- which slices ---- */

static bool owner_is_meant(const struct report *r, const struct trace_slice *s)
{
	const struct report_options *o = r->o;
	const struct trace_process *p;

	if (s->owner == TRACE_SLICE_OF_THREAD)
		return r->thread_matches[s->thread];
	if (s->owner == TRACE_SLICE_OF_NOBODY)
		return !o->n_pids && !o->n_tids && !o->n_comms;
	p = trace_index_process(r->ix, trace_index_thread(r->ix, s->thread)->process);
	return report_window_is_meant(r, p->pid, p->name);
}

/* What lies between --from and --to; false: nothing. */
static bool cut_out(const struct report *r, struct span *s)
{
	uint64_t start_ns = trace_index_facts(r->ix)->start_ns;

	if (r->o->has_from && s->begin_ns < start_ns + r->o->from_ns) {
		if (s->end_ns <= start_ns + r->o->from_ns)
			return false;
		s->begin_ns = start_ns + r->o->from_ns;
	}
	if (r->o->has_to && s->end_ns > start_ns + r->o->to_ns) {
		if (s->begin_ns >= start_ns + r->o->to_ns)
			return false;
		s->end_ns = start_ns + r->o->to_ns;
		s->unfinished = false;
	}
	return true;
}

static struct span span_of(const struct report *r, const struct trace_slice *s)
{
	struct span span = {
		.begin_ns = s->begin_ns,
		.end_ns = s->end_ns,
		.owner = s->owner,
		.track = s->track,
		.unfinished = s->unfinished,
	};
	const struct trace_thread *t;

	if (s->owner == TRACE_SLICE_OF_NOBODY)
		return span;
	t = trace_index_thread(r->ix, s->thread);
	span.id = t->tid;
	if (s->owner == TRACE_SLICE_OF_PROCESS)
		span.id = trace_index_process(r->ix, t->process)->pid;
	else
		span.track = 0; /* what a thread does lies in each other, on however many */
	return span;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_track_and_time(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;
	int c = order(a->owner, b->owner);

	if (c == 0 && a->id != b->id)
		c = a->id < b->id ? -1 : 1;
	if (c == 0)
		c = order(a->track, b->track);
	if (c == 0)
		c = order(a->begin_ns, b->begin_ns);
	return c ? c : order(b->end_ns, a->end_ns);
}

static int by_owner_and_time(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;
	int c = order(a->owner, b->owner);

	if (c == 0 && a->id != b->id)
		c = a->id < b->id ? -1 : 1;
	return c ? c : order(a->begin_ns, b->begin_ns);
}

static bool is_inside(const struct span *s, const struct span *around)
{
	return s->owner == around->owner && s->id == around->id && s->track == around->track &&
	       s->track != TRACE_NONE && s->begin_ns < around->end_ns &&
	       s->end_ns <= around->end_ns;
}

/* Leaves those that are in no other one, in the order of owners and time. */
static size_t leave_outer(struct report_slices *slices, struct span *spans, size_t n)
{
	size_t kept = 0;

	qsort(spans, n, sizeof(*spans), by_track_and_time);
	for (size_t i = 0; i < n; i++) {
		if (kept && is_inside(&spans[i], &spans[kept - 1]))
			slices->n_inside++;
		else
			spans[kept++] = spans[i];
	}
	qsort(spans, kept, sizeof(*spans), by_owner_and_time);
	return kept;
}

static int collect_spans(const struct report *r, struct report_slices *slices, struct span **ret,
			 size_t *ret_n)
{
	const struct trace_slice *s;
	struct span *spans;
	size_t n, n_spans = 0;

	s = trace_index_slices(r->ix, &n);
	spans = calloc(n + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!owner_is_meant(r, &s[i]))
			continue;
		spans[n_spans] = span_of(r, &s[i]);
		n_spans += cut_out(r, &spans[n_spans]);
	}
	*ret_n = leave_outer(slices, spans, n_spans);
	*ret = spans;
	return 0;
}

/* ---- which samples ---- */

static int by_id_and_time(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return order(a->time_ns, b->time_ns);
}

static int collect_points(const struct report *r, enum trace_slice_owner owner, struct point **ret,
			  size_t *ret_n)
{
	const struct trace_sample *s;
	struct point *points;
	size_t n, n_points = 0;

	s = trace_index_samples(r->ix, &n);
	points = calloc(n + 1, sizeof(*points));
	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct trace_thread *t = trace_index_thread(r->ix, s[i].thread);

		if (s[i].time_ns && report_is_meant(r, &s[i]))
			points[n_points++] = (struct point){
				.time_ns = s[i].time_ns,
				.sample = i,
				.id = owner == TRACE_SLICE_OF_THREAD
					      ? t->tid
					      : trace_index_process(r->ix, t->process)->pid,
			};
	}
	qsort(points, n_points, sizeof(*points), by_id_and_time);
	*ret = points;
	*ret_n = n_points;
	return 0;
}

/* The first point of `id` that is not before the time, or what would follow it. */
static size_t first_from(const struct point *p, size_t n, int32_t id, uint64_t time_ns)
{
	struct point key = { .id = id, .time_ns = time_ns };
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_id_and_time(&p[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Spans of one kind of owner; what one of them has taken, the next need not. */
static int take_samples(const struct report *r, struct report_slices *slices,
			const struct span *spans, size_t n_spans)
{
	struct point *points;
	size_t n, taken = 0;
	int error;

	if (n_spans == 0)
		return 0;
	error = collect_points(r, spans[0].owner, &points, &n);
	if (error < 0)
		return error;
	for (size_t i = 0; i < n_spans; i++) {
		const struct span *s = &spans[i];
		size_t first = first_from(points, n, s->id, s->begin_ns);
		size_t end = first_from(points, n, s->id, s->end_ns);

		while (end < n && points[end].id == s->id && points[end].time_ns == s->end_ns)
			end++;
		slices->n_without_samples += first == end;
		for (size_t k = first > taken ? first : taken; k < end; k++)
			slices->has[points[k].sample] = true;
		if (end > taken)
			taken = end;
	}
	free(points);
	return 0;
}

/* ---- how long ---- */

static int by_number(const void *pa, const void *pb)
{
	return order(*(const uint64_t *)pa, *(const uint64_t *)pb);
}

static int measure(struct report_slices *slices, const struct span *spans, size_t n)
{
	slices->durations = calloc(n + 1, sizeof(*slices->durations));
	if (!slices->durations)
		return -ENOMEM;
	slices->n = n;
	for (size_t i = 0; i < n; i++) {
		slices->durations[i] = spans[i].end_ns - spans[i].begin_ns;
		if (__builtin_add_overflow(slices->total_ns, slices->durations[i],
					   &slices->total_ns))
			slices->total_ns = UINT64_MAX;
		slices->n_unfinished += spans[i].unfinished;
		slices->n_of_threads += spans[i].owner == TRACE_SLICE_OF_THREAD;
		slices->n_of_processes += spans[i].owner == TRACE_SLICE_OF_PROCESS;
		slices->n_of_nobody += spans[i].owner == TRACE_SLICE_OF_NOBODY;
	}
	qsort(slices->durations, n, sizeof(*slices->durations), by_number);
	return 0;
}

static uint64_t percentile(const struct report_slices *s, unsigned percent)
{
	size_t i = (s->n * percent + 99) / 100;

	return s->n ? s->durations[i ? i - 1 : 0] : 0;
}

/* ---- all of it ---- */

static int select_from(const struct report *r, struct report_slices *slices)
{
	struct span *spans = NULL;
	size_t n = 0, n_threads, n_processes;
	int error;

	trace_index_samples(r->ix, &n);
	slices->has = calloc(n + 1, sizeof(*slices->has));
	if (!slices->has)
		return -ENOMEM;
	error = collect_spans(r, slices, &spans, &n);
	if (error == 0)
		error = measure(slices, spans, n);
	if (error == 0) {
		n_threads = (size_t)slices->n_of_threads;
		n_processes = (size_t)slices->n_of_processes;
		slices->n_without_samples = slices->n_of_nobody;
		error = take_samples(r, slices, spans, n_threads);
		if (error == 0)
			error = take_samples(r, slices, spans + n_threads, n_processes);
	}
	free(spans);
	return error;
}

int report_slices_select(struct report *r)
{
	struct report_slices *slices;
	size_t n;
	int error;

	trace_index_slices(r->ix, &n);
	if (n == 0) {
		report_slice_names(r);
		return -ENOENT;
	}
	slices = calloc(1, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	error = select_from(r, slices);
	if (error == 0 && slices->n == 0) {
		fprintf(stderr, "tracectl: none of the %s slice%s '%s' in %s is one of those\n",
			report_number(n).s, n == 1 ? "" : "s", clean(r->o->slice),
			clean(r->o->file));
		error = -ENOENT;
	}
	if (error < 0) {
		report_slices_free(slices);
		return error;
	}
	r->slices = slices;
	return 0;
}

void report_slices_free(struct report_slices *s)
{
	if (!s)
		return;
	free(s->has);
	free(s->durations);
	free(s);
}

/* ---- told ---- */

void report_slices_complain(const struct report *r)
{
	const struct report_slices *s = r->slices;

	fprintf(stderr, "tracectl: no sample in %s lies in the %s slice%s '%s' (%s in all)\n",
		clean(r->o->file), report_number(s->n).s, s->n == 1 ? "" : "s", clean(r->o->slice),
		report_duration(s->total_ns).s);
}

/* "4 on threads, 2 of processes (...)" */
static void print_owners(const struct report_slices *s)
{
	const char *comma = "";

	if (s->n_of_threads) {
		printf("%s on threads", report_number(s->n_of_threads).s);
		comma = ", ";
	}
	if (s->n_of_processes) {
		printf("%s%s of processes (with the samples of all their threads)", comma,
		       report_number(s->n_of_processes).s);
		comma = ", ";
	}
	if (s->n_of_nobody)
		printf("%s%s of no known process", comma, report_number(s->n_of_nobody).s);
}

void report_slices_head(const struct report *r)
{
	const struct report_slices *s = r->slices;

	printf("In slices '%s': ", report_printable(r->o->slice).s);
	print_owners(s);
	printf("; %s without a sample", report_number(s->n_without_samples).s);
	if (s->n_inside)
		printf(", %s more inside of these", report_number(s->n_inside).s);
	if (s->n_unfinished)
		printf(", %s unfinished", report_number(s->n_unfinished).s);
	printf("\n  %s in all, mean %s, ", report_duration(s->total_ns).s,
	       report_duration(s->total_ns / s->n).s);
	printf("p50 %s, p95 %s, ", report_duration(percentile(s, 50)).s,
	       report_duration(percentile(s, 95)).s);
	printf("p99 %s, longest %s\n", report_duration(percentile(s, 99)).s,
	       report_duration(percentile(s, 100)).s);
}

void report_slices_json(const struct report *r, struct json *j)
{
	const struct report_slices *s = r->slices;

	json_object(j, "slices");
	json_string(j, "name", r->o->slice);
	json_u64(j, "count", s->n);
	json_u64(j, "of_threads", s->n_of_threads);
	json_u64(j, "of_processes", s->n_of_processes);
	json_u64(j, "of_no_process", s->n_of_nobody);
	json_u64(j, "inside_of_these", s->n_inside);
	json_u64(j, "unfinished", s->n_unfinished);
	json_u64(j, "without_samples", s->n_without_samples);
	json_u64(j, "total_ns", s->total_ns);
	json_u64(j, "mean_ns", s->total_ns / s->n);
	json_u64(j, "p50_ns", percentile(s, 50));
	json_u64(j, "p95_ns", percentile(s, 95));
	json_u64(j, "p99_ns", percentile(s, 99));
	json_u64(j, "longest_ns", percentile(s, 100));
	json_end(j);
}
