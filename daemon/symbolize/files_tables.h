/* SPDX-License-Identifier: Apache-2.0 */
/* files_tables.h - what the worker does that makes unwind tables. */
#ifndef FILES_TABLES_H
#define FILES_TABLES_H

#include "files_protocol.h"

/*
 * Makes the table of `fd` (unwind/eh_frame.h), writes it to `out_fd` from offset
 * 0 on, and says in `reply` how that went. Both may be -1: did not come.
 */
void files_tables_serve(const struct files_request *req, int fd, int out_fd,
			struct files_writer *reply);

#endif
