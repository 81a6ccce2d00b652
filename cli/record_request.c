/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.c - what the daemon is asked for, of the options. */
#include "record_options.h"

void record_fill_start(StartRequest *start, const struct record_options *o)
{
	start->n_sources = o->n_sources;
	start->sources = (char **)o->sources;
	start->n_without = o->n_without;
	start->without = (char **)o->without;
	start->event = (char *)o->event;
	start->n_more_events = o->n_more_events;
	start->more_events = (char **)o->more_events;
	start->has_freq_hz = o->freq_hz != 0;
	start->freq_hz = o->freq_hz;
	start->has_period = o->period != 0;
	start->period = o->period;
	start->n_pids = o->n_pids;
	start->pids = (uint32_t *)o->pids;
	start->comm = (char *)o->comm;
	start->has_cgroup_id = o->has_cgroup;
	start->cgroup_id = o->cgroup_id;
	start->has_uid = o->has_uid;
	start->uid = o->uid;
	start->has_counters_interval_ms = o->counters_interval_ms != 0;
	start->counters_interval_ms = o->counters_interval_ms;
	start->gpu_api = (char *)o->gpu_api;
	start->has_alloc_bytes = o->alloc_bytes != 0;
	start->alloc_bytes = o->alloc_bytes;
	start->has_offcpu_min_ns = o->has_offcpu_min;
	start->offcpu_min_ns = o->offcpu_min_ns;
	start->net = (char *)o->net;
	start->query = (char *)o->query;
	start->names = (char *)o->names;
	start->n_tls_plaintext = o->n_plaintext;
	start->tls_plaintext = (char **)o->plaintext;
	start->n_probes = o->probes.n;
	start->probes = (ProbeDef **)o->probes.defs;
	start->has_duration_ns = o->duration_ns != 0;
	start->duration_ns = o->duration_ns;
}

int record_prepare_child(struct record_options *o, struct child *c)
{
	int r = o->command ? child_prepare(c, o->command) : 0;

	if (r == 0 && o->command && !o->whole_machine && o->n_pids < MAX_PIDS)
		o->pids[o->n_pids++] = (uint32_t)c->pid;
	return r;
}
