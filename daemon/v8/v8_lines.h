/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_lines.h - lines of scripts in the memory of a process.
 *
 * V8 knows where the lines of a script end once it has reported an error in it; of
 * others the source is read and they are counted. That is kept for the scripts asked about
 * last.
 */
#ifndef V8_LINES_H
#define V8_LINES_H

#include <stdint.h>

#include "v8_memory.h"

struct v8_lines;

int v8_lines_new(struct v8_lines **ret);
void v8_lines_free(struct v8_lines *vl); /* takes NULL */

/*
 * The line, from 1 on, of a character of `script`; 0: not known. `process` tells
 * processes apart.
 */
uint32_t v8_line(struct v8_lines *vl, const struct v8_memory *m, uint64_t process, uint64_t script,
		 uint32_t position);

#endif
