/* SPDX-License-Identifier: GPL-2.0 */
/*
 * own.bpf.h - processes of our own, which are not part of what is observed. The
 * daemon finds the map by its name and writes it while programs are attached
 * (daemon/sources.c).
 */
#ifndef OWN_BPF_H
#define OWN_BPF_H

#include "event.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_own);
} own SEC(".maps");

static __always_inline bool is_own(__u32 tgid)
{
	__u32 zero = 0;
	struct event_own *o = bpf_map_lookup_elem(&own, &zero);

	for (int i = 0; o && i < EVENT_MAX_OWN && o->tgids[i]; i++)
		if (o->tgids[i] == tgid)
			return true;
	return false;
}

#endif
