/* SPDX-License-Identifier: Apache-2.0 */
/* files_v8.h - what the workers do about V8: its variables in files, its functions in memory. */
#ifndef FILES_V8_H
#define FILES_V8_H

#include "files_protocol.h"

/* `fd` is the program, or library. -1: did not come. */
void files_v8_serve_facts(const struct files_request *req, int fd, struct files_writer *reply);
/* `fd` is the memory of the process. */
void files_v8_serve_names(const struct files_request *req, int fd, struct files_writer *reply);

#endif
