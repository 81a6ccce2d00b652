/* SPDX-License-Identifier: Apache-2.0 */
/* trace_filter.c - does this event concern a recording that was told this? */
#include "trace_filter.h"

#include <fnmatch.h>

#include "cgroup.h"
#include "process/process_table.h"

bool trace_filter_any(const struct trace_config *config)
{
	return config->n_pids || config->comm_glob[0] || config->has_cgroup || config->has_uid;
}

bool trace_filter_match(const struct trace_config *config, const struct process_table *pt,
			const struct event_hdr *ev)
{
	const struct process *p = NULL;

	if (config->has_cgroup && !cgroup_contains(config->cgroup_id, ev->cgroup_id))
		return false;
	if (config->n_pids && !process_table_descends(pt, ev->tgid, config->pids, config->n_pids))
		return false;
	if (config->comm_glob[0] || config->has_uid) {
		p = process_table_get(pt, ev->tgid);
		if (!p)
			return false;
	}
	if (config->comm_glob[0] && fnmatch(config->comm_glob, p->comm, 0) != 0)
		return false;
	return !config->has_uid || p->uid == config->uid;
}
