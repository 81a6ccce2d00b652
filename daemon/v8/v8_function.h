/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_function.h - a function of V8's in the memory of a process: what it is called, in
 * which script and line it begins.
 */
#ifndef V8_FUNCTION_H
#define V8_FUNCTION_H

#include <stdint.h>

#include "v8_lines.h"

#define V8_MAX_NAME 170 /* characters; what is longer is cut */
#define V8_MAX_FILE 512 /* of a script's name; of a longer one the end */

struct v8_function {
	char name[3 * V8_MAX_NAME + 1]; /* UTF-8; never empty: "(anonymous)" */
	char file[3 * V8_MAX_FILE + 1]; /* of a file its path; may be empty */
	uint32_t line;			/* 0: not known */
};

/*
 * Reads the SharedFunctionInfo at `object`. -ESTALE: it is not that of `identity`
 * (frames_identity()), or no longer, or is just being moved; -ENOENT: a builtin function, which has
 * no script; -EBADMSG: it makes no sense.
 */
int v8_function_read(const struct v8_memory *m, struct v8_lines *lines, uint64_t process,
		     uint64_t object, uint64_t identity, struct v8_function *ret);

#endif
