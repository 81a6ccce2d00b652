/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - messages for the administrator, on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

#define LINE_MAX_LEN 1024

static const char *program = "tracer";
static enum log_level max_level = LOG_LEVEL_INFO;
static bool to_journal, is_shared;

/* The variable is inherited by whoever is started from a service: it names the stream it means. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return strcmp(stream, own) == 0;
}

void log_init(const char *name, enum log_level level)
{
	program = name;
	max_level = level;
	to_journal = is_journal(STDERR_FILENO);
}

void log_shares_stderr(void)
{
	is_shared = true;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char raw[LINE_MAX_LEN], line[LINE_MAX_LEN], out[LINE_MAX_LEN + 64];
	va_list args;
	int n;

	if (level > max_level || (is_shared && level == LOG_LEVEL_TOLD))
		return;
	va_start(args, fmt);
	n = vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	if (n < 0)
		return;
	text_printable(line, sizeof(line), raw, strlen(raw));

	if (to_journal)
		n = snprintf(out, sizeof(out), "<%d>%s\n", level, line);
	else
		n = snprintf(out, sizeof(out), "%.32s: %s\n", program, line);
	/* One write: lines of several processes do not mix. Nowhere to report a failure to. */
	if (write(STDERR_FILENO, out, (size_t)n) < 0)
		return;
}
