/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_limit.h - how long a probe whose hits cost too much is taken away.
 *
 * Who runs into a probe pays for it, whatever becomes of the hit: 1 us on most machines,
 * tens of them in a virtual machine within another one. Over time all hits of a probe may
 * take a quarter of one CPU; beyond, it is away until they have not.
 */
#ifndef PROBE_LIMIT_H
#define PROBE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define PROBE_LIMIT_PERCENT 25 /* of a CPU */

/* Zero-initialised: nothing was seen yet. */
struct probe_limit {
	uint64_t n_hits, updated_ns;
	int64_t debt_ns; /* what they took beyond their share; less than 0: what they may */
	bool is_over;	 /* it should be away */
};

/* `n_hits`: all so far; `cost_ns` of one. Says `is_over`. Pure. */
void probe_limit_update(struct probe_limit *l, uint64_t n_hits, uint64_t cost_ns, uint64_t now_ns);

#endif
