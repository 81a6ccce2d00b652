/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c - which of many names somebody may have meant. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/*
 * How many letters must be changed, added or left out; two that are swapped count once.
 * Beyond `max` it may be any number beyond it.
 */
static unsigned edits(const char *a, const char *b, unsigned max)
{
	unsigned rows[3][NEAREST_NAME_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > nb + max || nb > na + max)
		return max + 1;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], least = (unsigned)i;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);

			row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    rows[(i - 2) % 3][j - 2] + 1 < row[j])
				row[j] = rows[(i - 2) % 3][j - 2] + 1;
			if (row[j] < least)
				least = row[j];
		}
		if (least > max)
			return max + 1;
	}
	return rows[na % 3][nb];
}

void nearest_offer(struct nearest *n, const char *name)
{
	size_t len = strlen(n->wanted), i;
	unsigned most = len < 4 ? 1 : 1 + (unsigned)len / 4, distance;

	if (len == 0 || len >= NEAREST_NAME_MAX || !*name || strlen(name) >= NEAREST_NAME_MAX ||
	    strcmp(name, n->wanted) == 0)
		return;
	distance = edits(n->wanted, name, most);
	/* What contains it comes behind all that are like it. */
	if (distance > most && (len < 4 || !strstr(name, n->wanted)))
		return;
	for (i = 0; i < n->n; i++)
		if (strcmp(n->names[i], name) == 0)
			return;
	for (i = n->n; i > 0 && n->distance[i - 1] > distance; i--)
		;
	if (i == NEAREST_MAX)
		return;
	if (n->n < NEAREST_MAX)
		n->n++;
	memmove(&n->distance[i + 1], &n->distance[i], (n->n - i - 1) * sizeof(n->distance[0]));
	memmove(n->names[i + 1], n->names[i], (n->n - i - 1) * sizeof(n->names[0]));
	n->distance[i] = distance;
	snprintf(n->names[i], sizeof(n->names[i]), "%s", name);
}

bool nearest_is(const char *wanted, const char *name)
{
	struct nearest n = { .wanted = wanted };

	nearest_offer(&n, name);
	return n.n > 0;
}

void nearest_append(const struct nearest *n, char *dst, size_t size)
{
	for (size_t i = 0; i < n->n; i++) {
		size_t len = strlen(dst);

		snprintf(dst + len, size - len, "%s%s", i ? ", " : "; near it: ", n->names[i]);
	}
}
