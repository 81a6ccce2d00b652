/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.h - the text file in which a compiler at run time tells what it has
 * generated: /tmp/perf-PID.map.
 *
 * One line for each piece of code, "START SIZE NAME", numbers in hex, with or
 * without 0x (tools/perf/Documentation/jit-interface.txt of Linux). Lines are
 * only ever added; an address that is used again has another line. A pure
 * function over bytes: any input is survived.
 */
#ifndef PERF_MAP_H
#define PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map;

/* What comes before the line's end is in nobody's way: JIT_MAX_NAME is much less. */
#define PERF_MAP_MAX_LINE (64u * 1024)

/* Zero-initialised at the beginning of the file. */
struct perf_map {
	uint64_t time_ns; /* BOOTTIME: lines that come now were not there before */
	bool is_first;	  /* there was no reading before: they may be as old as the process */
	bool skip_line;	  /* the one begun is too long */
	uint64_t n_bad;	  /* lines that are none, or impossible */
	uint64_t n_over_cap;
};

/*
 * Takes the whole lines out of `data`. Returns how many bytes that was: what
 * follows comes again, with more behind it. A line longer than
 * PERF_MAP_MAX_LINE is taken in parts, and counts as bad.
 */
size_t perf_map_parse(struct perf_map *p, const char *data, size_t len, struct jit_map *map);

#endif
