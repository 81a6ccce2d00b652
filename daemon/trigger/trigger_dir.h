/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_dir.h - the directory of snapshots: names, and which of them stay. */
#ifndef TRIGGER_DIR_H
#define TRIGGER_DIR_H

#include <stdint.h>
#include <time.h>

#include "trigger/trigger_config.h"

#define TRIGGER_FILE_END  ".perfetto-trace"
#define TRIGGER_FILE_NAME (TRIGGER_CONFIG_NAME + 32)

/*
 * Opens it, and makes it if it is not there, but not what is above it. Removes what an earlier
 * tracerd has not finished. Returns the descriptor or -errno.
 */
int trigger_dir_open(const char *path);

/* "NAME-20260131-235959.perfetto-trace", in local time. */
void trigger_dir_name(const char *trigger, time_t now, char ret[TRIGGER_FILE_NAME]);

/*
 * Removes the oldest of a trigger's files, by their names, until there are at most `keep`, of
 * at most `max_bytes`. Nothing that is not called like one is touched. At least the newest one
 * stays.
 */
int trigger_dir_prune(int dir_fd, const char *trigger, uint64_t keep, uint64_t max_bytes);

#endif
