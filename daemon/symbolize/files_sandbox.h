/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_sandbox.h - the worker gives up everything it does not need.
 *
 * Afterwards it has no capabilities, no user of its own where that could be
 * given up, no way to open, create, connect or execute anything, and bounds on
 * memory and descriptors. It can read the descriptors that it is sent.
 */
#ifndef FILES_SANDBOX_H
#define FILES_SANDBOX_H

#include <stdbool.h>

#include "files_worker.h"

/*
 * Descriptor `keep_fd` stays open; 0, 1, and (but for sanitizers) 2 lead to
 * /dev/null. One that makes tables may write to the descriptors it is sent, and
 * has less memory.
 */
int files_sandbox_enter(int keep_fd, enum files_worker_kind kind);

/* Built for a sanitizer: no limit on address space, and a looser filter. */
bool files_sandbox_is_loose(void);

#endif
