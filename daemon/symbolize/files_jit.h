/* SPDX-License-Identifier: Apache-2.0 */
/* files_jit.h - what the worker does that reads perf maps and jitdump files. */
#ifndef FILES_JIT_H
#define FILES_JIT_H

#include "files_protocol.h"

/*
 * Reads on in `fd`, writes a struct jit_answer to `out_fd`, and says in `reply`
 * how that went. Either may be -1: did not come.
 */
void files_jit_serve(const struct files_request *req, int fd, int out_fd,
		     struct files_writer *reply);

#endif
