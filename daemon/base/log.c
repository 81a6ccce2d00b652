/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - messages for the administrator, on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define LINE_MAX_LEN 1024

static const char *program = "tracer";
static enum log_level max_level = LOG_LEVEL_INFO;
static bool to_journal;

void log_init(const char *name, enum log_level level)
{
	program = name;
	max_level = level;
	to_journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char raw[LINE_MAX_LEN], line[LINE_MAX_LEN], out[LINE_MAX_LEN + 64];
	va_list args;
	int n;

	if (level > max_level)
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
		n = snprintf(out, sizeof(out), "%s: %s\n", program, line);
	/* One write: lines of several processes do not mix. Nowhere to report a failure to. */
	if (write(STDERR_FILENO, out, (size_t)n) < 0)
		return;
}
