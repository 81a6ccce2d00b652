/* SPDX-License-Identifier: Apache-2.0 */
/* clean.c - strings from elsewhere, for a terminal. */
#include "clean.h"

#include <limits.h>
#include <string.h>

#include "text.h"

#define N_BUFFERS 4

const char *clean(const char *s)
{
	static char buffers[N_BUFFERS][PATH_MAX];
	static unsigned next;
	char *dst = buffers[next++ % N_BUFFERS];

	text_printable(dst, sizeof(buffers[0]), s ? s : "", s ? strlen(s) : 0);
	return dst;
}
