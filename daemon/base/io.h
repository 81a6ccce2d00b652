/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - whole reads and writes. */
#ifndef IO_H
#define IO_H

#include <stddef.h>
#include <sys/types.h>

#include "buf.h"

/* Reads a small file of the kernel's (/proc, /sys) as a string. Returns its length or -errno. */
ssize_t io_read_file(const char *path, char *dst, size_t dst_size);
/* Appends a whole file, at most `max` bytes (-EFBIG beyond). */
int io_read_all(const char *path, size_t max, struct buf *dst);
/*
 * Opens a file that somebody has named, for reading, if it is a regular one; else -EINVAL:
 * a device may do something when it is opened, a FIFO lets its other end go on.
 */
int io_open_regular(const char *path);
/* Blocking; restarts after signals and short writes. */
int io_write_all(int fd, const void *data, size_t len);

#endif
