/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_open.h - open a file whose file system may never answer.
 *
 * Any user can mount a FUSE file system, run a program from it, and let open()
 * wait for ever. So that one is called in a thread of its own.
 */
#ifndef SLOW_OPEN_H
#define SLOW_OPEN_H

#include <stdint.h>

/*
 * Opens the file of an O_PATH descriptor, which is borrowed, for reading.
 * -ETIMEDOUT: no answer in time; the thread is left to wait for it. -EAGAIN: it
 * did not get to run, which takes ten times as long to find out. -EBUSY: too
 * many wait already.
 */
int slow_open(int path_fd, uint64_t timeout_ns);

/* The same without a thread, for file systems that answer by themselves. */
int reopen_path(int path_fd);

#endif
