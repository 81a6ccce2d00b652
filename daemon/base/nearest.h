/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - which of many names somebody may have meant, for messages. */
#ifndef NEAREST_H
#define NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_MAX	 4  /* names */
#define NEAREST_NAME_MAX 96 /* bytes of one, with the NUL; longer ones are not offered */

/* Zero-initialised but for `wanted`. */
struct nearest {
	const char *wanted;
	size_t n;
	unsigned distance[NEAREST_MAX]; /* the least one first */
	char names[NEAREST_MAX][NEAREST_NAME_MAX];
};

/* One that may be offered, unless it is the wanted one. */
void nearest_offer(struct nearest *n, const char *name);
/* Whether it would be. */
bool nearest_is(const char *wanted, const char *name);
/* "; near it: a, b, c", or nothing, behind what is in `dst`. */
void nearest_append(const struct nearest *n, char *dst, size_t size);

#endif
