/* SPDX-License-Identifier: Apache-2.0 */
/* record_options.h - the command lines of `tracectl record` and `tracectl watch`, checked. */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child.h"
#include "control.pb-c.h"
#include "probe_text.h"

#define MAX_NAMES	32
#define MAX_PIDS	64
#define MAX_MORE_EVENTS 7
#define MAX_PLAINTEXT	8

struct record_options {
	uint64_t duration_ns; /* 0: until Ctrl-C or the command's end */
	const char *output;   /* NULL: a name is made up; "-": stdout */
	bool force;	      /* an existing file is overwritten */
	bool quiet;
	bool whole_machine; /* -a: also with a command */
	const char *event;
	const char *more_events[MAX_MORE_EVENTS];
	size_t n_more_events;
	uint32_t freq_hz; /* 0: default */
	uint64_t period;
	char *sources[MAX_NAMES], *without[MAX_NAMES];
	size_t n_sources, n_without;
	uint32_t pids[MAX_PIDS];
	size_t n_pids;
	const char *comm;
	bool has_cgroup, has_uid;
	uint64_t cgroup_id;
	uint32_t uid;
	uint32_t counters_interval_ms; /* 0: default */
	uint64_t alloc_bytes;	       /* 0: default */
	const char *gpu_api;	       /* classes of calls; NULL: it was not asked for */
	/* The network; NULL: the daemon's default. */
	const char *net, *query, *names;
	const char *plaintext[MAX_PLAINTEXT];
	size_t n_plaintext;
	bool has_offcpu_min;
	uint64_t offcpu_min_ns;
	struct probe_list probes; /* of this recording alone */
	/* Of `watch` alone. */
	const char *events[MAX_NAMES], *chosen[MAX_NAMES]; /* of probes that are there */
	size_t n_events, n_chosen;
	uint64_t min_ns;
	char **command; /* NULL: none; into argv */
};

/*
 * -EINVAL: wrong, said on stderr. -ECANCELED: --help was asked for and given.
 * Splits lists in place: argv is changed.
 */
int record_options_parse(int argc, char **argv, struct record_options *ret);
int watch_options_parse(int argc, char **argv, struct record_options *ret);

/* In record_request.c. What points somewhere points into the options. */
void record_fill_start(StartRequest *start, const struct record_options *o);
/* Forks the command, if there is one, and makes it what is recorded. */
int record_prepare_child(struct record_options *o, struct child *c);

#endif
