/* SPDX-License-Identifier: Apache-2.0 */
/* report_slice_names.c - when there are no slices of a name: which names are near it. */
#include <string.h>

#include "clean.h"
#include "report_slices.h"

#define N_NEAREST 5
#define MAX_NAME  64 /* bytes that are looked at */

struct near {
	uint32_t name;
	uint32_t n; /* slices */
	unsigned distance;
};

/* Of a glob what is no sign of it. */
static void plain_of(const char *glob, char dst[MAX_NAME + 1])
{
	size_t n = 0;

	for (; *glob && n < MAX_NAME; glob++)
		if (!strchr("*?[]\\", *glob))
			dst[n++] = *glob;
	dst[n] = '\0';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* How many characters are to be changed, put in or left out: Levenshtein's. */
static unsigned edits(const char *a, size_t len_a, const char *b, size_t len_b)
{
	unsigned row[MAX_NAME + 1];

	for (size_t k = 0; k <= len_b; k++)
		row[k] = (unsigned)k;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= len_b; k++) {
			unsigned best = diagonal + (lower(a[i - 1]) != lower(b[k - 1]));

			diagonal = row[k];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[len_b];
}

/* A name that has the other one in it is as near as one with two mistakes. */
static unsigned distance(const char *wanted, const char *name, unsigned worst)
{
	size_t len_wanted = strlen(wanted), len = strnlen(name, MAX_NAME);
	size_t apart = len > len_wanted ? len - len_wanted : len_wanted - len;

	if (len_wanted && (strcasestr(name, wanted) || (len && strcasestr(wanted, name))))
		return 2;
	return apart >= worst ? worst : edits(wanted, len_wanted, name, len);
}

static bool is_nearer(const struct near *a, const struct near *b)
{
	return a->distance != b->distance ? a->distance < b->distance : a->n > b->n;
}

static size_t find_nearest(const struct report *r, struct near nearest[N_NEAREST])
{
	char wanted[MAX_NAME + 1];
	size_t n = 0;

	plain_of(r->o->slice, wanted);
	for (uint32_t i = 0; i < trace_index_n_strings(r->ix); i++) {
		struct near near = { .name = i, .n = trace_index_n_called(r->ix, i) };
		size_t at = n;

		if (near.n == 0)
			continue;
		near.distance = distance(wanted, trace_index_string(r->ix, i),
					 n == N_NEAREST ? nearest[n - 1].distance + 1 : UINT32_MAX);
		if (n < N_NEAREST)
			n++;
		else if (is_nearer(&near, &nearest[n - 1]))
			at = n - 1;
		else
			continue;
		for (; at && is_nearer(&near, &nearest[at - 1]); at--)
			nearest[at] = nearest[at - 1];
		nearest[at] = near;
	}
	return n;
}

void report_slice_names(const struct report *r)
{
	struct near nearest[N_NEAREST];
	size_t n = find_nearest(r, nearest);

	fprintf(stderr, "tracectl: %s has no slices", clean(r->o->file));
	if (n == 0) {
		fputs(": --sources syscalls, net, gpu or gpu-api record some\n", stderr);
		return;
	}
	fprintf(stderr, " '%s'; the nearest:\n", clean(r->o->slice));
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "  %s (%s)\n",
			report_printable(trace_index_string(r->ix, nearest[i].name)).s,
			report_number(nearest[i].n).s);
}
