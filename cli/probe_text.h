/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_text.h - probes as text: on a command line, in files, in the sets that are installed.
 *
 *	NAME at SPEC [end SPEC] [arg NAME=EXPR[:TYPE]]... [if EXPR] [key EXPR]
 *		[counter NAME=EXPR] [stack] [rate N]
 *
 * In a file each begins a line, and goes on in those that begin with a blank; `#` up to the
 * end of a line is a comment. An argument is taken where the probe begins, unless it has to do
 * with the value that a function returns, or is called NAME@end. A word of the grammar within an
 * expression stands in parentheses.
 *
 * What SPEC and EXPR mean is the daemon's business (daemon/probe/probe_def.h).
 */
#ifndef PROBE_TEXT_H
#define PROBE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "control.pb-c.h"

#define MAX_PROBES 64

/* Zero-initialised is empty. */
struct probe_list {
	ProbeDef *defs[MAX_PROBES];
	size_t n;
};

void probe_list_done(struct probe_list *list);

/*
 * Each appends. -EINVAL or another error: `err` says what is wrong, in one line, and nothing
 * was appended.
 */
int probe_text_parse(const char *text, struct probe_list *list, char *err, size_t err_size);
int probe_text_file(const char *path, struct probe_list *list, char *err, size_t err_size);
/* By its name, or several: "libc-malloc,openssl". */
int probe_text_sets(const char *names, struct probe_list *list, char *err, size_t err_size);

/*
 * The options that all commands with probes have; PROBE_OPTIONS are for getopt_long().
 * -EINVAL: said on stderr.
 */
enum { OPT_PROBE = 1024, OPT_PROBE_FILE, OPT_PROBE_SET };
#define PROBE_OPTIONS                                                      \
	{ "probe", required_argument, NULL, OPT_PROBE },                   \
		{ "probe-file", required_argument, NULL, OPT_PROBE_FILE }, \
	{                                                                  \
		"probe-set", required_argument, NULL, OPT_PROBE_SET        \
	}
int probe_option(int option, const char *arg, struct probe_list *list);

/* "100", "100/s": what a second and CPU may have. */
int probe_rate_parse(const char *text, uint32_t *ret);

/* Where sets are: installed beside tracectl, or where the environment's TRACER_PROBES says. */
const char *probe_sets_dir(void);

/* As it would stand in a file, on one line; the caller frees it. NULL: no memory. */
char *probe_text_of(const ProbeDef *def);

#endif
