/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_serve.h - the worker's answers: one request and its files in, one reply
 * out. What was read of a file is kept as long as there is room.
 */
#ifndef FILES_SERVE_H
#define FILES_SERVE_H

#include "files_protocol.h"

struct files_server;

int files_server_new(struct files_server **ret);

/*
 * `fds` are those of the request, FILES_FD_MAIN first, -1 where none came. They
 * are the server's from here on.
 */
void files_serve(struct files_server *s, struct files_request *req, const int fds[FILES_MAX_FDS],
		 struct files_writer *reply);

#endif
