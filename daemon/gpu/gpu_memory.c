/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_memory.c - memory of GPUs as their drivers report it, as counters below
 * "GPU memory": those of a process below the process, the total at the top.
 *
 * Not as Perfetto's packet for it, GpuMemTotalEvent: the UI would take gpu_id for a
 * number of the trace's list of GPUs, which it is not (msm says 0 whatever its card
 * is), and make up processes that the trace does not know.
 */
#include <errno.h>
#include <stdio.h>

#include "gpu_points.h"
#include "gpu_slices_impl.h"
#include "process/process_table.h"

#define MEMORY_HELP                                                                                \
	"As the driver reports it (gpu_mem:gpu_mem_total). gpu_id is the driver's own number, as " \
	"a rule that of its card."

/*
 * Whose it is, if that is wanted. NULL: not; or nobody that the trace knows as alive:
 * the UI would make up a second one.
 */
static const struct process *owner(const struct gpu_slices *s, uint32_t pid, uint64_t time_ns)
{
	const struct process *p = process_table_get(s->env.processes, pid);

	if (!p || p->start_ns > time_ns || (p->free_ns && p->free_ns <= time_ns))
		return NULL;
	return gpu_slices_wanted(s, p->tgid, p->tgid, p->cgroup_id) ? p : NULL;
}

static uint64_t memory_track(struct gpu_slices *s, uint32_t gpu_id, uint64_t parent)
{
	char name[24];
	struct trace_track group = { .name = "GPU memory", .parent = parent };
	struct trace_track track = {
		.name = name,
		.is_counter = true,
		.unit = "bytes",
		.description = MEMORY_HELP,
	};

	snprintf(name, sizeof(name), "gpu_id %u", gpu_id);
	track.parent = trace_track(s->env.writer, &group);
	return track.parent ? trace_track(s->env.writer, &track) : 0;
}

int gpu_slices_memory(struct gpu_slices *s, const struct gpu_point_event *ev)
{
	uint32_t pid = (uint32_t)ev->nums[NUM_PID];
	const struct process *p = NULL;
	uint64_t parent = 0, track;

	if (pid) {
		p = owner(s, pid, ev->hdr.time_ns);
		if (!p) {
			trace_writer_skip(s->env.writer, 1);
			return 0;
		}
		parent = trace_process_track(s->env.writer, p->tgid, p->start_ns);
		if (!parent)
			return -ENOMEM;
	}
	track = memory_track(s, (uint32_t)ev->nums[NUM_GPU_ID], parent);
	if (!track)
		return -ENOMEM;
	return trace_counter_event(s->env.writer, track, ev->hdr.time_ns, false, ev->nums[NUM_SIZE],
				   1);
}
