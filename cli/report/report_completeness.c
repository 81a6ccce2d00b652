/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_completeness.c - how many stacks are whole, and why the others end.
 */
#include "report_completeness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static void count(struct completeness *c, const struct report *r, uint32_t process,
		  const struct trace_sample *s)
{
	const char *reason = trace_index_reason(r->ix, s->ended);
	struct completeness_row *rows[] = { &c->all, &c->processes[process] };

	c->n_reasons_said += s->ended != 0;
	for (size_t i = 0; i < 2; i++) {
		rows[i]->n_samples++;
		rows[i]->n_whole += stack_end_of(reason) == STACK_WHOLE;
		rows[i]->n_without += stack_end_of(reason) == STACK_NONE;
		rows[i]->reasons[s->ended]++;
	}
}

static uint64_t n_ended(const struct completeness_row *row)
{
	return row->n_samples - row->n_whole - row->n_without;
}

/* Where most is missing comes first. */
static int worse(const void *pa, const void *pb)
{
	const struct completeness_row *a = pa, *b = pb;

	if (n_ended(a) != n_ended(b))
		return n_ended(a) > n_ended(b) ? -1 : 1;
	if (a->n_samples != b->n_samples)
		return a->n_samples > b->n_samples ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

int completeness_count(const struct report *r, struct completeness *ret)
{
	size_t n, n_reasons = trace_index_n_reasons(r->ix);
	uint32_t n_processes = trace_index_n_processes(r->ix);
	const struct trace_sample *s = trace_index_samples(r->ix, &n);

	*ret = (struct completeness){ .n_processes = n_processes };
	ret->processes = calloc((size_t)n_processes + 1, sizeof(*ret->processes));
	ret->counts = calloc(((size_t)n_processes + 1) * n_reasons, sizeof(*ret->counts));
	if (!ret->processes || !ret->counts) {
		completeness_done(ret);
		return -ENOMEM;
	}
	ret->all.reasons = ret->counts;
	for (uint32_t i = 0; i < n_processes; i++) {
		ret->processes[i].process = i;
		ret->processes[i].reasons = ret->counts + (i + 1) * n_reasons;
	}
	for (size_t i = 0; i < n; i++)
		if (report_is_meant(r, &s[i]))
			count(ret, r, trace_index_thread(r->ix, s[i].thread)->process, &s[i]);
	qsort(ret->processes, n_processes, sizeof(*ret->processes), worse);
	while (ret->n_processes && ret->processes[ret->n_processes - 1].n_samples == 0)
		ret->n_processes--;
	return 0;
}

void completeness_done(struct completeness *c)
{
	free(c->processes);
	free(c->counts);
}

/* ---- printing ---- */

/* The most frequent reason that ends stacks before its turn `rank`, or 0. */
static uint16_t next_reason(const struct report *r, const struct completeness_row *row,
			    const bool *done)
{
	uint16_t best = 0;

	for (size_t i = 1; i < trace_index_n_reasons(r->ix); i++)
		if (row->reasons[i] && !done[i] && (!best || row->reasons[i] > row->reasons[best]))
			best = (uint16_t)i;
	return best;
}

static void print_row(const struct report *r, const struct completeness_row *row, const char *name)
{
	bool done[COMPLETENESS_MAX_REASONS] = { false };
	const char *sep = "  ";
	uint16_t reason;

	printf("%6.2f%%  ", report_percent(row->n_whole, row->n_samples));
	if (row->n_samples > row->n_without)
		printf("%6.2f%%", report_percent(row->n_whole, row->n_samples - row->n_without));
	else
		printf("%7s", "-");
	printf(" %10s  %s", report_number(row->n_samples).s, name);
	while ((reason = next_reason(r, row, done)) != 0) {
		printf("%s%s %s", sep, report_printable(trace_index_reason(r->ix, reason)).s,
		       report_number(row->reasons[reason]).s);
		done[reason] = true;
		sep = ", ";
	}
	fputs("\n", stdout);
}

static void print_processes(const struct report *r, const struct completeness *c)
{
	size_t shown = c->n_processes < r->o->max_rows ? c->n_processes : r->o->max_rows;

	printf("\n%7s  %7s %10s\n", "whole", "of user", "samples");
	print_row(r, &c->all, "all");
	for (size_t i = 0; i < shown; i++) {
		const struct trace_process *p = trace_index_process(r->ix, c->processes[i].process);
		struct report_text name =
			report_cut(report_printable(trace_index_string(r->ix, p->name)), 60);
		char text[320];

		snprintf(text, sizeof(text), "%.240s [%d]", name.s[0] ? name.s : "?", p->pid);
		print_row(r, &c->processes[i], text);
	}
	if (shown < c->n_processes)
		printf("%28s%zu more, see --top\n", "", c->n_processes - shown);
}

static void print_reasons(const struct report *r, const struct completeness *c)
{
	bool done[COMPLETENESS_MAX_REASONS] = { false };
	uint16_t reason;

	printf("\n%7s %10s  %-12s\n", "share", "samples", "reason");
	while ((reason = next_reason(r, &c->all, done)) != 0) {
		const char *name = trace_index_reason(r->ix, reason);

		printf("%6.2f%% %10s  %-12s  %s\n",
		       report_percent(c->all.reasons[reason], c->all.n_samples),
		       report_number(c->all.reasons[reason]).s, report_printable(name).s,
		       stack_end_text(name));
		done[reason] = true;
	}
}

int report_completeness(struct report *r)
{
	struct completeness c;
	int error = completeness_count(r, &c);

	if (error < 0)
		return error;
	report_head(r);
	if (c.n_reasons_said == 0)
		printf("\nNo sample says that its stack ends early: all are whole, or the recorder "
		       "does not tell.\n");
	print_processes(r, &c);
	if (c.n_reasons_said)
		print_reasons(r, &c);
	completeness_done(&c);
	return 0;
}
