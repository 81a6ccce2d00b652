/* SPDX-License-Identifier: Apache-2.0 */
/* probe_limit.c - how long a probe whose hits cost too much is taken away. */
#include "probe_limit.h"

#include "clock.h"

/* At once they may take this much CPU time; and save up as much. */
#define BURST_NS (200 * NS_PER_MS)

void probe_limit_update(struct probe_limit *l, uint64_t n_hits, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t n = n_hits > l->n_hits ? n_hits - l->n_hits : 0,
		 passed_ns = now_ns - l->updated_ns;
	int64_t most_ns = INT64_MAX / 4;

	l->n_hits = n_hits;
	if (l->updated_ns == 0 || now_ns < l->updated_ns) {
		l->updated_ns = now_ns;
		return;
	}
	l->updated_ns = now_ns;
	if (cost_ns && n > (uint64_t)most_ns / cost_ns)
		n = (uint64_t)most_ns / cost_ns;
	l->debt_ns += (int64_t)(n * cost_ns) - (int64_t)(passed_ns / 100 * PROBE_LIMIT_PERCENT);
	if (l->debt_ns < -(int64_t)BURST_NS)
		l->debt_ns = -(int64_t)BURST_NS;
	l->is_over = l->debt_ns > (l->is_over ? 0 : (int64_t)BURST_NS);
}
