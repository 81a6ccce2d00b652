/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_spec.h - what a trigger waits for, as its author has written it.
 *
 *   slice:NAME>10ms          a slice that took longer
 *   late-frame[>=N]          a frame that was shown late, by so many vblanks
 *   http:status>=500         a response with such a status
 *   http:latency>200ms       a request that took longer
 *   exit:COMM[=CODE]         a program that exits, with such a code
 *   signal:COMM[=SIGSEGV]    one that is killed by a signal
 *   psi:cpu|memory|io>30%    some task was stalled for such a part of the last second
 *   probe:NAME[=ARG>N]       a probe is hit, with such an argument
 *   marker:NAME[=ARG>N]      a marker, of a slice at its end
 *   sigusr2                  tracerd gets the signal SIGUSR2
 *
 * NAME and COMM are globs. Behind it, each after a comma: category=GLOB and comm=GLOB of what
 * has happened, pid=N, and min_interval=1s: what comes sooner after the last is counted only.
 */
#ifndef TRIGGER_SPEC_H
#define TRIGGER_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIGGER_SPEC_LEN 256
#define TRIGGER_NAME_LEN 128
#define TRIGGER_WHY_LEN	 512 /* of the buffers behind `why`: one message, with what is allowed */

enum trigger_kind {
	TRIGGER_SLICE,
	TRIGGER_LATE_FRAME,
	TRIGGER_HTTP_STATUS,
	TRIGGER_HTTP_LATENCY,
	TRIGGER_EXIT,
	TRIGGER_SIGNAL,
	TRIGGER_PSI,
	TRIGGER_PROBE,
	TRIGGER_MARKER,
	TRIGGER_SIGUSR2,
};

enum trigger_op {
	TRIGGER_ANY, /* whatever it is */
	TRIGGER_EQ,
	TRIGGER_NE,
	TRIGGER_GT,
	TRIGGER_GE,
	TRIGGER_LT,
	TRIGGER_LE,
};

enum trigger_resource { TRIGGER_CPU, TRIGGER_MEMORY, TRIGGER_IO, TRIGGER_RESOURCES };

struct trigger_spec {
	char text[TRIGGER_SPEC_LEN]; /* as it was written */
	enum trigger_kind kind;
	char name[TRIGGER_NAME_LEN]; /* NAME or COMM */
	enum trigger_resource resource;
	char arg[TRIGGER_NAME_LEN];
	enum trigger_op op;
	/*
	 * What is compared with: ns, vblanks, percent, a status, code, signal or argument; of the
	 * latter also a text. Exact for all integers of 64 bits.
	 */
	long double number;
	bool is_number;
	char value[TRIGGER_NAME_LEN]; /* glob */

	char category[TRIGGER_NAME_LEN], comm[TRIGGER_NAME_LEN]; /* globs; "": any */
	uint32_t pid;						 /* 0: any */
	uint64_t min_interval_ns;
};

/* -EINVAL: `why` says what is wrong, and what is allowed. `*ret` is whole only on success. */
int trigger_spec_parse(const char *text, struct trigger_spec *ret, char why[TRIGGER_WHY_LEN]);

bool trigger_compare(enum trigger_op op, long double a, long double b);

/* "SIGSEGV", "SEGV" or "11" to 11; -EINVAL. And back, to "SIGSEGV" or "signal 34". */
#define TRIGGER_SIGNAL_LEN 24
int trigger_signal_number(const char *name);
void trigger_signal_text(int number, char dst[TRIGGER_SIGNAL_LEN]);

const char *trigger_resource_name(enum trigger_resource resource);

#endif
