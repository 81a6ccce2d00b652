/* SPDX-License-Identifier: Apache-2.0 */
/* report_fuzz.c - see report_fuzz.h. */
#include "report_fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void report_fuzz(const struct report_options *o, const struct trace_index *ix)
{
	FILE *saved_out = stdout, *saved_err = stderr;
	char *text = NULL;
	size_t len;

	stdout = stderr = open_memstream(&text, &len);
	if (!stdout)
		abort();
	report_on(o, ix);
	fclose(stdout);
	stdout = saved_out;
	stderr = saved_err;
	if (strlen(text) != len || !text_is_utf8(text, len))
		abort();
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\n' && ((unsigned char)text[i] < 0x20 || text[i] == 0x7f))
			abort();
	free(text);
}
