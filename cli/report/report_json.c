/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json.c - all of a report for programs. The tree is a list of nodes that
 * name their parents: nested objects would be as deep as stacks.
 */
#include <errno.h>

#include "json.h"
#include "report.h"
#include "report_completeness.h"
#include "report_slices.h"

static void string(struct json *j, const struct report *r, const char *name, uint32_t s)
{
	if (s != TRACE_NONE)
		json_string(j, name, trace_index_string(r->ix, s));
}

static void put_trace(struct json *j, const struct report *r)
{
	const struct trace_facts *f = trace_index_facts(r->ix);

	json_string(j, "file", r->o->file);
	string(j, r, "host", f->host);
	string(j, r, "release", f->release);
	string(j, r, "machine", f->machine);
	json_u64(j, "cpus", f->n_cpus);
	json_u64(j, "bytes", f->n_bytes);
	json_u64(j, "start_ns", f->start_ns);
	json_u64(j, "end_ns", f->end_ns);
	json_bool(j, "complete", f->complete);
	json_bool(j, "cut", f->cut);
	json_u64(j, "damaged_packets", f->n_faults);
	json_u64(j, "skipped_packets", f->n_skipped);
	json_array(j, "losses");
	for (size_t i = 0; i < f->n_losses; i++) {
		json_object(j, NULL);
		string(j, r, "source", f->losses[i].source);
		json_u64(j, "produced", f->losses[i].n_produced);
		json_u64(j, "lost", f->losses[i].n_lost);
		json_u64(j, "dropped", f->losses[i].n_dropped);
		json_end(j);
	}
	json_end(j);
}

static void put_sources(struct json *j, const struct report *r)
{
	static const char *const units[] = {
		[TRACE_UNIT_COUNT] = "count",	[TRACE_UNIT_NS] = "ns",
		[TRACE_UNIT_CYCLES] = "cycles", [TRACE_UNIT_INSTRUCTIONS] = "instructions",
		[TRACE_UNIT_BYTES] = "bytes",	[TRACE_UNIT_PAGE_FAULTS] = "page faults",
	};
	const struct trace_source *s;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	json_array(j, "sources");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		string(j, r, "name", s[i].name);
		string(j, r, "counter", s[i].counter);
		json_string(j, "unit", units[s[i].unit]);
		json_u64(j, "samples", s[i].n_samples);
		json_u64(j, "weight", s[i].weight);
		json_bool(j, "shown", &s[i] == r->source);
		json_end(j);
	}
	json_end(j);
}

static void put_label(struct json *j, const struct report *r, uint32_t label)
{
	const struct label *l = report_label_of(r, label);
	const struct trace_function *f;
	const struct trace_line *line;
	const struct trace_thread *t;
	const struct trace_process *p;

	switch ((enum label_kind)l->kind) {
	case LABEL_LINE:
		line = trace_index_line(r->ix, l->value);
		string(j, r, "file", line->file);
		json_u64(j, "line", line->line);
		/* fall through */
	case LABEL_FUNCTION:
		f = report_function(r, l);
		string(j, r, "function", f->name);
		string(j, r, "module", f->module);
		break;
	case LABEL_MODULE:
		string(j, r, "module", l->value);
		break;
	case LABEL_COMM:
		string(j, r, "comm", l->value);
		break;
	case LABEL_THREAD:
		t = trace_index_thread(r->ix, l->value);
		string(j, r, "comm", t->name);
		json_u64(j, "tid", (uint64_t)t->tid);
		json_u64(j, "pid", (uint64_t)trace_index_process(r->ix, t->process)->pid);
		break;
	case LABEL_PROCESS:
		p = trace_index_process(r->ix, l->value);
		string(j, r, "comm", p->name);
		json_u64(j, "pid", (uint64_t)p->pid);
		break;
	case LABEL_CPU:
		if (l->value != TRACE_NO_CPU)
			json_u64(j, "cpu", l->value);
		break;
	case LABEL_KERNEL:
		json_string(j, "function", "[kernel]");
		break;
	}
}

static void put_sums(struct json *j, const struct stack_sums *sums)
{
	json_u64(j, "self", sums->self);
	json_u64(j, "total", sums->total);
	json_u64(j, "self_samples", sums->n_self);
	json_u64(j, "total_samples", sums->n_total);
}

/* Functions or modules, and processes, threads, CPUs or comms. */
static void put_table(struct json *j, const struct report *r, const char *name, bool code)
{
	json_array(j, name);
	for (uint32_t i = 0; i < stack_tree_n_labels(r->tree); i++) {
		if (report_is_code(report_label_of(r, i)) != code)
			continue;
		json_object(j, NULL);
		put_label(j, r, i);
		put_sums(j, stack_tree_label_sums(r->tree, i));
		json_end(j);
	}
	json_end(j);
}

static void put_tree(struct json *j, const struct report *r)
{
	json_array(j, "nodes");
	for (uint32_t i = 1; i < stack_tree_n_nodes(r->tree); i++) {
		json_object(j, NULL);
		json_u64(j, "id", i);
		json_u64(j, "parent", stack_tree_parent(r->tree, i));
		put_label(j, r, stack_tree_label(r->tree, i));
		put_sums(j, stack_tree_sums(r->tree, i));
		json_end(j);
	}
	json_end(j);
}

static void put_row(struct json *j, const struct report *r, const struct completeness_row *row)
{
	json_u64(j, "samples", row->n_samples);
	json_u64(j, "whole", row->n_whole);
	json_u64(j, "without_user_stack", row->n_without);
	json_object(j, "reasons");
	for (size_t i = 1; i < trace_index_n_reasons(r->ix); i++)
		if (row->reasons[i])
			json_u64(j, trace_index_reason(r->ix, (uint16_t)i), row->reasons[i]);
	json_end(j);
}

static int put_completeness(struct json *j, const struct report *r)
{
	struct completeness c;
	int error = completeness_count(r, &c);

	if (error < 0)
		return error;
	json_object(j, "completeness");
	put_row(j, r, &c.all);
	json_array(j, "processes");
	for (size_t i = 0; i < c.n_processes; i++) {
		const struct trace_process *p = trace_index_process(r->ix, c.processes[i].process);

		json_object(j, NULL);
		string(j, r, "comm", p->name);
		json_u64(j, "pid", (uint64_t)p->pid);
		put_row(j, r, &c.processes[i]);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	completeness_done(&c);
	return 0;
}

int report_json(struct report *r)
{
	struct json j = { .out = stdout };
	int error;

	json_object(&j, NULL);
	put_trace(&j, r);
	put_sources(&j, r);
	json_u64(&j, "samples", r->n_samples);
	json_u64(&j, "weight", r->weight);
	if (r->slices)
		report_slices_json(r, &j);
	put_table(&j, r,
		  r->o->by == BY_MODULE ? "modules"
		  : r->o->by == BY_LINE ? "lines"
					: "functions",
		  true);
	put_table(&j, r, "groups", false);
	put_tree(&j, r);
	error = put_completeness(&j, r);
	json_end(&j);
	fputs("\n", stdout);
	return error;
}
