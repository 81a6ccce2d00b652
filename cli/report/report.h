/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - the insides of `tracectl report`: what all ways to report work
 * with.
 *
 * A way to report is a struct report_mode in the table of report.c and a
 * function in a file of its own, which gets a struct report: the trace as
 * tables, the source of samples, and which samples are meant. With `needs_tree`
 * also these samples as a tree.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "pool.h"
#include "report_options.h"
#include "stack_tree.h"
#include "trace_index.h"

/* What a node of the tree stands for. */
enum label_kind {
	LABEL_FUNCTION, /* a function's number */
	LABEL_LINE,	/* a line's number */
	LABEL_MODULE,	/* a string */
	LABEL_COMM,	/* a string: all threads that are called so */
	LABEL_PROCESS,	/* a process's number */
	LABEL_THREAD,	/* a thread's number */
	LABEL_CPU,	/* a CPU, or TRACE_NO_CPU */
	LABEL_KERNEL,	/* samples of the kernel's frames alone, with --no-kernel */
};

struct label {
	uint32_t kind; /* enum label_kind */
	uint32_t value;
};

struct report {
	const struct report_options *o;
	const struct trace_index *ix;
	const struct trace_source *source; /* that was chosen */
	bool *thread_matches;		   /* for each thread of the index */
	struct report_slices *slices;	   /* NULL: samples need not lie in any */

	/* Those that are meant. */
	uint64_t n_samples, weight;
	size_t n_processes, n_threads;

	struct pool *labels; /* struct label, by the numbers that the tree has */
	struct stack_tree *tree;
	struct pool_budget budget;
};

/* ---- report_select.c: which samples ---- */

/* -ENOENT: there is no such source, said on stderr. */
int report_select(struct report *r);
bool report_is_cpu(const struct report *r,
		   const struct trace_source *s); /* what ran, not what waited */
bool report_is_meant(const struct report *r, const struct trace_sample *s);
void report_done(struct report *r);

/* ---- report_build.c ---- */

/*
 * The samples that are meant as a tree: of each comm, process, thread or CPU, by
 * `o->by`; or from what `o->mode_arg` names to these.
 */
int report_build_tree(struct report *r);

/* ---- report_print.c: names and numbers, fit for a terminal ---- */

struct report_text {
	char s[1200];
};
struct report_text report_printable(const char *s);
size_t report_columns(const char *s);
/* What has more columns (3 at least) ends in "..". */
struct report_text report_cut(struct report_text t, size_t columns);
/* "main", "xz [1234]", "CPU 3" */
struct report_text report_label(const struct report *r, uint32_t label);
/* The same without parameters and template arguments, when it has more columns. */
struct report_text report_short_label(const struct report *r, uint32_t label, size_t columns);
#define REPORT_SHORT 50 /* columns: names of functions are whole up to this */
/* What is left of a terminal's line for a name; elsewhere lines may be long. */
size_t report_room(const struct report *r, size_t used);
/* A number of the source's unit: "1.25 s", "12.3 MB", "1,234". */
struct report_text report_weight(const struct report *r, uint64_t weight);
struct report_text report_number(uint64_t n);
struct report_text report_bytes(uint64_t n);
struct report_text report_duration(uint64_t ns);
/* "linux.perf (cpu-clock 999 Hz)" */
struct report_text report_source(const struct report *r, const struct trace_source *s);
/* Of `whole`; 0 when there is none. */
double report_percent(uint64_t part, uint64_t whole);

const struct label *report_label_of(const struct report *r, uint32_t label);
/* NULL: it is none. */
const struct trace_function *report_function(const struct report *r, const struct label *l);
bool report_is_code(const struct label *l); /* a function or module, not who ran it */
/* "[kernel]", "libc.so.6"; "" */
const char *report_module(const struct report *r, const struct label *l);

/* ---- report_tree.c ---- */

void report_tree(const struct report *r);
int report_callers(struct report *r);

/* ---- report_head.c ---- */

/* What was recorded, which samples these are, what is missing. */
void report_head(const struct report *r);
/* The first and the third of these alone. */
void report_machine(const struct report *r);
void report_lost(const struct report *r);

/* ---- report.c ---- */

/* All of it, by `o->mode`. -ENOENT: there are no such samples, said on stderr. */
int report_on(const struct report_options *o, const struct trace_index *ix);

/* ---- ways to report, each in its own file ---- */

int report_tables(struct report *r); /* report_text.c */
int report_folded(struct report *r);
int report_flame(struct report *r);
int report_json(struct report *r);
int report_completeness(struct report *r);
int report_why(struct report *r);
int report_gpu(struct report *r);
int report_frames(struct report *r);
int report_network(struct report *r);

#endif
