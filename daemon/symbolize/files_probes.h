/* SPDX-License-Identifier: Apache-2.0 */
/* files_probes.h - the worker's answers about places of probes, and their types. */
#ifndef FILES_PROBES_H
#define FILES_PROBES_H

#include "files_protocol.h"

void files_probes_serve_places(struct files_request *req, const int fds[FILES_MAX_FDS],
			       struct files_writer *reply);
/* Keeps the descriptors, -1 then, with the DWARF of the last file that was asked about. */
void files_probes_serve_types(struct files_request *req, int fds[FILES_MAX_FDS],
			      struct files_writer *reply);

#endif
