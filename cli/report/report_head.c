/* SPDX-License-Identifier: Apache-2.0 */
/* report_head.c - what stands above a report: what was recorded, and what is missing. */
#include "clock.h"
#include "report.h"
#include "report_slices.h"

void report_machine(const struct report *r)
{
	const struct trace_facts *f = trace_index_facts(r->ix);

	printf("%s:", report_printable(r->o->file).s);
	if (f->host != TRACE_NONE)
		printf(" %s,", report_printable(trace_index_string(r->ix, f->host)).s);
	if (f->release != TRACE_NONE)
		printf(" Linux %s", report_printable(trace_index_string(r->ix, f->release)).s);
	if (f->machine != TRACE_NONE)
		printf(" %s", report_printable(trace_index_string(r->ix, f->machine)).s);
	if (f->n_cpus)
		printf("%s %u CPU%s", f->release != TRACE_NONE ? "," : "", f->n_cpus,
		       f->n_cpus == 1 ? "" : "s");
	printf("%s%.3f s, %s%s\n", f->n_cpus || f->release != TRACE_NONE ? "; " : " ",
	       (double)(f->end_ns - f->start_ns) / (double)NS_PER_SEC, report_bytes(f->n_bytes).s,
	       f->complete ? "" : ", without an end");
}

void report_lost(const struct report *r)
{
	const struct trace_facts *f = trace_index_facts(r->ix);
	bool any = false;

	for (size_t i = 0; i < f->n_losses; i++) {
		const struct trace_loss *l = &f->losses[i];

		if (l->n_lost == 0 && l->n_dropped == 0)
			continue;
		printf("LOST of %s events of %s: ", report_number(l->n_produced).s,
		       report_printable(trace_index_string(r->ix, l->source)).s);
		printf("%s in the kernel, ", report_number(l->n_lost).s);
		printf("%s on the way to the file\n", report_number(l->n_dropped).s);
		any = true;
	}
	if (f->n_taken / 9 < f->n_due / 10)
		printf("Only %.1f %% of the samples that were due were taken: times are too "
		       "short.\n",
		       100.0 * (double)f->n_taken / (double)f->n_due);
	if (f->n_perf_lost)
		printf("LOST: %s samples, by their own account\n", report_number(f->n_perf_lost).s);
	if (f->n_faults || f->n_skipped)
		printf("NOT READ: %s damaged packets, %s that lean on what was lost\n",
		       report_number(f->n_faults).s, report_number(f->n_skipped).s);
	if (f->n_zstd)
		printf("%s block%s compressed with zstd, which this reader does not know.\n",
		       report_number(f->n_zstd).s, f->n_zstd == 1 ? " is" : "s are");
	if (f->cut)
		printf("The file ends within a packet.\n");
	if (!any && f->n_losses && !f->n_perf_lost && !f->n_faults && !f->n_skipped)
		printf("Nothing was lost.\n");
}

static void print_others(const struct report *r)
{
	const struct trace_source *s;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	for (size_t i = 0; i < n; i++)
		if (&s[i] != r->source)
			printf("Not shown, see --source: %s, %s sample%s\n",
			       report_source(r, &s[i]).s, report_number(s[i].n_samples).s,
			       s[i].n_samples == 1 ? "" : "s");
}

void report_head(const struct report *r)
{
	const struct trace_source *s = r->source;

	report_machine(r);
	printf("%s: %s", report_source(r, s).s, report_number(r->n_samples).s);
	if (r->n_samples != s->n_samples)
		printf(" of %s", report_number(s->n_samples).s);
	printf(" sample%s of %zu thread%s in %zu process%s", s->n_samples == 1 ? "" : "s",
	       r->n_threads, r->n_threads == 1 ? "" : "s", r->n_processes,
	       r->n_processes == 1 ? "" : "es");
	if (s->unit == TRACE_UNIT_NS || s->unit == TRACE_UNIT_BYTES || r->weight != r->n_samples)
		printf(", %s%s", report_weight(r, r->weight).s,
		       s->unit == TRACE_UNIT_NS && report_is_cpu(r, s) ? " of CPU time" : "");
	fputs("\n", stdout);
	if (r->slices)
		report_slices_head(r);
	report_lost(r);
	print_others(r);
}
