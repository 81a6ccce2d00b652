/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_meter.c - how long BPF programs run, of which the kernel measures a part. */
#include "bpf_meter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

void bpf_cost_add(struct bpf_cost *to, const struct bpf_cost *cost)
{
	to->runs += cost->runs;
	to->ns += cost->ns;
	to->unsampled_ns += cost->unsampled_ns;
}

void bpf_cost_add_object(struct bpf_cost *to, struct bpf_object *obj)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (bpf_program__fd(prog) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) < 0)
			continue;
		to->runs += info.run_cnt;
		to->ns += info.run_time_ns;
		if (bpf_program__type(prog) == BPF_PROG_TYPE_TRACEPOINT)
			to->unsampled_ns += info.run_time_ns;
	}
}

static struct bpf_cost since(const struct bpf_cost *now, const struct bpf_cost *then)
{
	return (struct bpf_cost){ .runs = now->runs - then->runs,
				  .ns = now->ns - then->ns,
				  .unsampled_ns = now->unsampled_ns - then->unsampled_ns };
}

/* What runs in `ns` at the pace of the last window. */
static struct bpf_cost at_pace(const struct bpf_meter *m, uint64_t ns)
{
	double times = m->window_ns ? (double)ns / (double)m->window_ns : 0;

	return (struct bpf_cost){ .runs = (uint64_t)((double)m->window.runs * times),
				  .ns = (uint64_t)((double)m->window.ns * times),
				  .unsampled_ns =
					  (uint64_t)((double)m->window.unsampled_ns * times) };
}

struct bpf_cost bpf_meter_read(const struct bpf_meter *m, const struct bpf_cost *measured,
			       uint64_t now_ns)
{
	struct bpf_cost ret = m->total, rest;

	rest = m->is_open ? since(measured, &m->seen) : at_pace(m, now_ns - m->since_ns);
	bpf_cost_add(&ret, &rest);
	return ret;
}

void bpf_meter_open(struct bpf_meter *m, const struct bpf_cost *measured, uint64_t now_ns)
{
	m->total = bpf_meter_read(m, measured, now_ns);
	m->seen = *measured;
	m->since_ns = now_ns;
	m->is_open = true;
}

void bpf_meter_close(struct bpf_meter *m, const struct bpf_cost *measured, uint64_t now_ns)
{
	m->window = since(measured, &m->seen);
	m->window_ns = now_ns - m->since_ns;
	bpf_cost_add(&m->total, &m->window);
	m->since_ns = now_ns;
	m->is_open = false;
}
