/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - messages for the administrator, on stderr.
 *
 * When stderr is the journal (JOURNAL_STREAM says so) each line starts with its
 * "<priority>" mark, otherwise with the program's name. Control characters of
 * the message are escaped: much of it comes from traced processes.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARN = 4,
	LOG_LEVEL_TOLD = 5, /* what the client that asked is told, too */
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};

void log_init(const char *program, enum log_level max_level);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The one client has the same stderr: what it is told is not logged any more. */
void log_shares_stderr(void);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_told(...)  log_write(LOG_LEVEL_TOLD, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
