/* SPDX-License-Identifier: Apache-2.0 */
/* net_lanes.c - slices that overlap, on as many tracks as that takes. */
#include "net_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LANES 4

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int grow(struct net_lanes *l)
{
	uint32_t n = l->n ? 2 * l->n : FIRST_LANES;
	uint64_t *end_ns, *tracks;

	if (n > NET_MAX_LANES)
		return -ENOSPC;
	end_ns = calloc(2 * n, sizeof(*end_ns));
	tracks = calloc(n, sizeof(*tracks));
	if (!end_ns || !tracks) {
		free(end_ns);
		free(tracks);
		return -ENOMEM;
	}
	if (l->n) {
		memcpy(end_ns + n, l->end_ns + l->n, l->n * sizeof(*end_ns));
		memcpy(tracks, l->tracks, l->n * sizeof(*tracks));
	}
	for (uint32_t i = n - 1; i > 0; i--)
		end_ns[i] = least(end_ns[2 * i], end_ns[2 * i + 1]);
	free(l->end_ns);
	free(l->tracks);
	*l = (struct net_lanes){ end_ns, tracks, n };
	return 0;
}

int net_lanes_take(struct net_lanes *l, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t i = 1;

	if (l->n == 0 || l->end_ns[1] > begin_ns) {
		int r = grow(l);

		if (r < 0)
			return r;
	}
	while (i < l->n)
		i = l->end_ns[2 * i] <= begin_ns ? 2 * i : 2 * i + 1;
	l->end_ns[i] = end_ns;
	for (uint32_t up = i / 2; up > 0; up /= 2)
		l->end_ns[up] = least(l->end_ns[2 * up], l->end_ns[2 * up + 1]);
	return (int)(i - l->n);
}

void net_lanes_done(struct net_lanes *l)
{
	free(l->end_ns);
	free(l->tracks);
	*l = (struct net_lanes){ 0 };
}
