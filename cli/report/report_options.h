/* SPDX-License-Identifier: Apache-2.0 */
/* report_options.h - the command line of `tracectl report`. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpus.h"

enum report_by { BY_FUNCTION, BY_LINE, BY_MODULE, BY_PROCESS, BY_THREAD, BY_CPU };

#define REPORT_MAX_NAMES 64 /* of each kind of filter */

struct report_options {
	const char *file;
	const struct report_mode *mode;
	const char *mode_arg;
	enum report_by by;

	/* Which samples: all that are given must match. */
	const char *source;
	int32_t pids[REPORT_MAX_NAMES], tids[REPORT_MAX_NAMES];
	size_t n_pids, n_tids;
	const char *comms[REPORT_MAX_NAMES]; /* globs */
	size_t n_comms;
	bool has_cpus, cpus[MAX_CPUS];
	bool has_from, has_to;
	uint64_t from_ns, to_ns; /* since the start of the recording */
	const char *slice;	 /* name or glob; NULL: they need not lie in slices */

	/* How. */
	bool inlined, kernel;
	bool by_total; /* tables are sorted by it, not by self */
	double min_percent;
	size_t max_depth;     /* of the tree; SIZE_MAX: all */
	size_t max_rows;      /* of tables */
	unsigned width;	      /* columns of the output; 0: it is no terminal */
	bool colour, unicode; /* what it understands */
	bool json;	      /* --json beside a mode that can do both */
};

/*
 * Another way to report: an option of its own. `run` prints to stdout and
 * returns 0 or -errno.
 */
struct report;
struct report_mode {
	const char *option; /* "folded" */
	const char *arg;    /* what its argument is called; NULL: it has none */
	const char *help;
	bool needs_tree; /* report.tree, and all that goes with it */
	int (*run)(struct report *r);
	bool needs_waits; /* of the index; samples are not selected */
	bool needs_gpu;	  /* likewise */
	bool needs_network;
	bool has_json;	 /* --json may go with it */
	bool turns_tree; /* it is of the callers of what the argument names */
};

/* In report.c; the first is the default, which has no option; ends with `run` NULL. */
extern const struct report_mode report_modes[];

/* 0; -EINVAL: said on stderr; 1: help was asked for, and given. */
int report_options_parse(int argc, char **argv, struct report_options *ret);

#endif
