/* SPDX-License-Identifier: Apache-2.0 */
/* files_jvm.h - what the worker does about interpreted methods of JVMs. */
#ifndef FILES_JVM_H
#define FILES_JVM_H

#include "files_protocol.h"

/* The names of req->jvm.methods in the process whose memory `fd` is. */
void files_jvm_serve_names(const struct files_request *req, int fd, struct files_writer *reply);

#endif
