/* SPDX-License-Identifier: Apache-2.0 */
/* probes_impl.h - the source of probes, as probes.c and probes_cost.c have it. */
#ifndef COLLECT_PROBES_IMPL_H
#define COLLECT_PROBES_IMPL_H

#include "collector.h"
#include "probe_attach.h"
#include "probe_limit.h"

struct probes_one {
	struct probe *probe;
	struct probe_attached *attached;
	struct probe_limit limit;
	uint64_t paused_since_ns;
	bool told, is_paused;
};

struct probes_source {
	struct collector_env env;
	struct probe_programs *programs;
	struct bpf_ring *ring; /* NULL: there was no probe yet */
	struct probe_places *places;
	struct probe_ends *ends;
	struct probe_attach_env attach_env;
	uint64_t trap_ns; /* what the kernel takes for a hit of a uprobe; 0: not measured yet */
	struct hash *seen, *known; /* mappings by their version, and modules that all have seen */
	uint64_t updated_ns, pruned_ns;
	struct probes_one ones[PROBES_MAX_DEFS];
};

static inline bool probes_is_uprobe(const struct probe *p)
{
	return p->def.at.kind <= PROBE_USDT;
}

/* What the kernel takes for a hit of a uprobe, once. Some milliseconds. */
void probes_measure_trap(struct probes_source *s);
/* What a hit costs, as far as it is known now. */
void probes_update_cost(struct probes_source *s, struct probe *p);
/* Some times a second: takes it away, and puts it back. */
void probes_limit(struct probes_source *s, struct probes_one *one, uint64_t now_ns);

#endif
