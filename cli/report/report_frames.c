/* SPDX-License-Identifier: Apache-2.0 */
/* report_frames.c - frames of each display: how many a second, which were late, and why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "clock.h"
#include "json.h"
#include "report.h"
#include "report_window.h"

/* Names of slices, see daemon/gpu/gpu_frame_slices.c. */
#define ON_TIME "frame on time"
#define LATE	"frame late"
#define DROPPED "frame dropped"

/* Frames of one display. */
struct display {
	uint32_t name;
	uint64_t n, n_on_time, n_late, n_dropped, n_missed;
	uint64_t refresh_ns; /* the last one's */
	uint64_t first_ns, last_ns;
	uint64_t *latencies; /* of the whole's */
};

struct frames_report {
	const struct report *r;
	struct report_window window;
	const struct trace_display_frame *frames;
	size_t n_frames;
	struct display *displays;
	size_t n_displays;
	uint64_t *latencies; /* of the displays one after the other, as frames are */
	uint64_t n_meant;
};

static bool is_called(const struct frames_report *f, const struct trace_display_frame *frame,
		      const char *verdict)
{
	return strcmp(trace_index_string(f->r->ix, frame->verdict), verdict) == 0;
}

static bool is_meant(const struct frames_report *f, const struct trace_display_frame *frame)
{
	return report_window_has(&f->window, frame->end_ns, frame->end_ns) &&
	       report_window_is_meant(f->r, frame->pid, frame->process);
}

/* ---- adding up ---- */

static struct display *add_display(struct frames_report *f, uint32_t name)
{
	struct display *d = f->n_displays ? &f->displays[f->n_displays - 1] : NULL;

	if (d && d->name == name)
		return d; /* frames are in the order of their displays */
	d = realloc(f->displays, (f->n_displays + 1) * sizeof(*d));
	if (!d)
		return NULL;
	f->displays = d;
	d = &f->displays[f->n_displays];
	*d = (struct display){ .name = name, .latencies = f->latencies + f->n_meant };
	f->n_displays++;
	return d;
}

static int add(struct frames_report *f, const struct trace_display_frame *frame)
{
	struct display *d = add_display(f, frame->display);

	if (!d)
		return -ENOMEM;
	f->n_meant++;
	if (is_called(f, frame, DROPPED)) {
		d->n_dropped++;
		return 0;
	}
	d->latencies[d->n++] = frame->end_ns - frame->begin_ns;
	d->n_on_time += is_called(f, frame, ON_TIME);
	if (is_called(f, frame, LATE)) {
		d->n_late++;
		d->n_missed += frame->late_by;
	}
	if (frame->refresh_ns)
		d->refresh_ns = frame->refresh_ns;
	if (!d->first_ns)
		d->first_ns = frame->end_ns;
	d->last_ns = frame->end_ns;
	return 0;
}

static int by_number(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static int build(struct frames_report *f)
{
	int r = 0;

	f->frames = trace_index_frames(f->r->ix, &f->n_frames);
	f->latencies = calloc(f->n_frames + 1, sizeof(*f->latencies));
	if (!f->latencies)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_frames && r == 0; i++)
		if (is_meant(f, &f->frames[i]))
			r = add(f, &f->frames[i]);
	for (size_t i = 0; i < f->n_displays; i++)
		qsort(f->displays[i].latencies, f->displays[i].n, sizeof(uint64_t), by_number);
	return r;
}

/* From the first to the last; 0: there is no such time. */
static double per_second(const struct display *d)
{
	return d->last_ns > d->first_ns ? (double)(d->n - 1) * (double)NS_PER_SEC /
						  (double)(d->last_ns - d->first_ns)
					: 0;
}

static double hertz(const struct display *d)
{
	return d->refresh_ns ? (double)NS_PER_SEC / (double)d->refresh_ns : 0;
}

static uint64_t percentile(const struct display *d, unsigned percent)
{
	size_t i = (d->n * percent + 99) / 100;

	return d->n ? d->latencies[i ? i - 1 : 0] : 0;
}

/* ---- as text ---- */

static void print_display(const struct frames_report *f, const struct display *d)
{
	printf("\n%s: %s frame%s", report_printable(trace_index_string(f->r->ix, d->name)).s,
	       report_number(d->n).s, d->n == 1 ? "" : "s");
	if (per_second(d) > 0)
		printf(", %.1f a second", per_second(d));
	if (d->refresh_ns)
		printf(" of %.1f", hertz(d));
	fputs("\n", stdout);
	if (d->n_on_time || d->n_late)
		printf("  %s on time, %s late", report_number(d->n_on_time).s,
		       report_number(d->n_late).s);
	else
		printf("  without vblanks: nothing to be late for");
	if (d->n_missed)
		printf(" by %s vblank%s in all", report_number(d->n_missed).s,
		       d->n_missed == 1 ? "" : "s");
	printf(", %s dropped\n", report_number(d->n_dropped).s);
	if (d->n) {
		printf("  from commit to display: %s, ", report_duration(percentile(d, 50)).s);
		printf("95 %% within %s, ", report_duration(percentile(d, 95)).s);
		printf("the longest %s\n", report_duration(percentile(d, 100)).s);
	}
}

static void print_frame(const struct frames_report *f, const struct trace_display_frame *frame)
{
	const struct trace_index *ix = f->r->ix;
	uint64_t start_ns = trace_index_facts(ix)->start_ns;
	const char *process = trace_index_string(ix, frame->process);
	bool dropped = is_called(f, frame, DROPPED);
	const char *reason = trace_index_string(ix, frame->reason);

	printf("%10.3f s", (double)(int64_t)(frame->end_ns - start_ns) / (double)NS_PER_SEC);
	if (dropped)
		printf(" %8s", "dropped");
	else
		printf(" %8s", report_number(frame->late_by).s);
	printf(" %10s  %-11s  %s, ", report_duration(frame->end_ns - frame->begin_ns).s,
	       report_printable(reason[0] ? reason : "-").s,
	       report_printable(trace_index_string(ix, frame->display)).s);
	printf("%s [%d]\n", report_printable(process[0] ? process : "?").s, frame->pid);
}

static void print_late(const struct frames_report *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_frames; i++) {
		const struct trace_display_frame *frame = &f->frames[i];

		if (!is_meant(f, frame) ||
		    (!is_called(f, frame, LATE) && !is_called(f, frame, DROPPED)))
			continue;
		if (n++ == 0)
			printf("\n%12s %8s %10s  %-11s  %s\n", "shown at", "late by", "after",
			       "because of", "display, process");
		if (n <= f->r->o->max_rows)
			print_frame(f, frame);
	}
	if (n > f->r->o->max_rows)
		printf("%46s%zu more, see --top\n", "", n - f->r->o->max_rows);
}

/* ---- as JSON ---- */

static void put_frame(struct json *j, const struct frames_report *f,
		      const struct trace_display_frame *frame)
{
	const struct trace_index *ix = f->r->ix;

	json_object(j, NULL);
	json_u64(j, "commit_ns", frame->begin_ns);
	json_u64(j, "shown_ns", frame->end_ns);
	json_u64(j, "pid", (uint64_t)frame->pid);
	if (frame->process != TRACE_NONE)
		json_string(j, "process", trace_index_string(ix, frame->process));
	json_string(j, "display", trace_index_string(ix, frame->display));
	json_string(j, "verdict", trace_index_string(ix, frame->verdict));
	json_u64(j, "late_by_vblanks", frame->late_by);
	json_u64(j, "seq", frame->seq);
	if (frame->reason != TRACE_NONE)
		json_string(j, "reason", trace_index_string(ix, frame->reason));
	json_end(j);
}

static void put_json(const struct frames_report *f)
{
	struct json j = { .out = stdout };

	json_object(&j, NULL);
	json_string(&j, "file", f->r->o->file);
	json_array(&j, "displays");
	for (size_t i = 0; i < f->n_displays; i++) {
		const struct display *d = &f->displays[i];

		json_object(&j, NULL);
		json_string(&j, "name", trace_index_string(f->r->ix, d->name));
		json_u64(&j, "frames", d->n);
		json_double(&j, "frames_per_second", per_second(d));
		json_double(&j, "refresh_hz", hertz(d));
		json_u64(&j, "on_time", d->n_on_time);
		json_u64(&j, "late", d->n_late);
		json_u64(&j, "missed_vblanks", d->n_missed);
		json_u64(&j, "dropped", d->n_dropped);
		json_u64(&j, "latency_50_ns", percentile(d, 50));
		json_u64(&j, "latency_95_ns", percentile(d, 95));
		json_u64(&j, "latency_max_ns", percentile(d, 100));
		json_end(&j);
	}
	json_end(&j);
	json_array(&j, "frames");
	for (size_t i = 0; i < f->n_frames; i++)
		if (is_meant(f, &f->frames[i]))
			put_frame(&j, f, &f->frames[i]);
	json_end(&j);
	json_end(&j);
	fputs("\n", stdout);
}

static void print_text(const struct frames_report *f)
{
	report_machine(f->r);
	report_lost(f->r);
	for (size_t i = 0; i < f->n_displays; i++)
		print_display(f, &f->displays[i]);
	print_late(f);
}

int report_frames(struct report *r)
{
	struct frames_report f = { .r = r };
	int error;

	report_window_of(r, &f.window);
	error = build(&f);
	if (error == 0 && f.n_meant == 0) {
		fprintf(stderr, "tracectl: %s has no such frames\n", clean(r->o->file));
		error = -ENOENT;
	}
	if (error == 0 && r->o->json)
		put_json(&f);
	else if (error == 0)
		print_text(&f);
	free(f.latencies);
	free(f.displays);
	return error;
}
