/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - the file that a trace is written to, and the command that it comes from. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <limits.h>
#include <stdbool.h>

/*
 * Creates `name` with the caller's rights, or one of host and time if it is NULL; never
 * through a symbolic link, never into a pipe or device by name; "-" is standard output. What is
 * there already is overwritten if `force`. What is wrong is said.
 */
int output_open(const char *name, bool force, char path[PATH_MAX], int *ret_fd);

/* "tracectl record -o x"; the caller frees it. NULL: no memory. */
char *output_command_line(int argc, char **argv);

#endif
