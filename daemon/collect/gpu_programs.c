/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_programs.c - at which places of the kernel ioctls are seen. */
#include "gpu_programs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_load.h"
#include "gpu.skel.h"
#include "gpu/gpu_rules.h"
#include "log.h"
#include "tracefs.h"

void gpu_places_find(struct gpu_places *ret)
{
	int r = bpf_can_attach_to(GPU_IOCTL_FUNCTION);
	uint64_t id;

	ret->compat_function = r == 0 && bpf_can_attach_to(GPU_COMPAT_IOCTL_FUNCTION) == 0;
	ret->place = GPU_AT_FUNCTION;
	if (r == 0)
		return;
	log_debug("gpu: the function of ioctl cannot be watched: %s", strerror(-r));
	r = tracefs_event_id("syscalls", "sys_enter_ioctl", &id);
	ret->place = GPU_AT_TRACEPOINTS;
	if (r == 0)
		return;
	log_info("gpu: tracepoints of all system calls: those of ioctl alone: %s", strerror(-r));
	ret->place = GPU_AT_ALL_CALLS;
}

void gpu_programs_choose(struct gpu_bpf *skel, const struct gpu_places *at, bool with_iterators)
{
	bool function = at->place == GPU_AT_FUNCTION, compat = function && at->compat_function;
	bool tracepoints = at->place == GPU_AT_TRACEPOINTS, all = at->place == GPU_AT_ALL_CALLS;

	bpf_program__set_autoload(skel->progs.on_function_enter, function);
	bpf_program__set_autoload(skel->progs.on_function_exit, function);
	bpf_program__set_autoload(skel->progs.on_compat_function_enter, compat);
	bpf_program__set_autoload(skel->progs.on_compat_function_exit, compat);
	bpf_program__set_autoload(skel->progs.on_ioctl_enter, tracepoints);
	bpf_program__set_autoload(skel->progs.on_ioctl_exit, tracepoints);
	bpf_program__set_autoload(skel->progs.on_any_enter, all);
	bpf_program__set_autoload(skel->progs.on_any_exit, all);
	bpf_program__set_autoload(skel->progs.entered_before, with_iterators);
	bpf_program__set_autoload(skel->progs.unfinished, with_iterators);
	bpf_program__set_autoload(skel->progs.compat_processes, with_iterators && tracepoints);
	skel->rodata->only_compat = tracepoints;
}

void gpu_programs_choose_compat(struct gpu_bpf *skel)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(
		prog, prog == skel->progs.on_any_enter || prog == skel->progs.on_any_exit);
}

/* As libbpf does, but also where tracefs is not mounted. */
static int attach_tracepoint(struct bpf_program *prog, const char *name, struct bpf_link **ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
	};
	uint64_t id;
	int fd, r = tracefs_event_id("syscalls", name, &id);

	if (r < 0)
		return r;
	attr.config = id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = bpf_program__attach_perf_event(prog, fd);
	if (*ret)
		return 0; /* the descriptor is the link's */
	r = -errno;
	close(fd);
	return r;
}

static int attach_one(struct bpf_program *prog, struct bpf_link **ret)
{
	*ret = bpf_program__attach(prog);
	return *ret ? 0 : -errno;
}

static int attach_to_functions(struct gpu_bpf *skel, bool compat)
{
	int r = attach_one(skel->progs.on_function_exit, &skel->links.on_function_exit);

	if (r == 0)
		r = attach_one(skel->progs.on_function_enter, &skel->links.on_function_enter);
	if (r < 0 || !compat)
		return r;
	r = attach_one(skel->progs.on_compat_function_exit, &skel->links.on_compat_function_exit);
	return r < 0 ? r
		     : attach_one(skel->progs.on_compat_function_enter,
				  &skel->links.on_compat_function_enter);
}

static int attach_to_tracepoints(struct gpu_bpf *skel)
{
	int r = attach_tracepoint(skel->progs.on_ioctl_exit, "sys_exit_ioctl",
				  &skel->links.on_ioctl_exit);

	return r < 0 ? r
		     : attach_tracepoint(skel->progs.on_ioctl_enter, "sys_enter_ioctl",
					 &skel->links.on_ioctl_enter);
}

static int attach_to_all_calls(struct gpu_bpf *skel)
{
	int r = attach_one(skel->progs.on_any_exit, &skel->links.on_any_exit);

	return r < 0 ? r : attach_one(skel->progs.on_any_enter, &skel->links.on_any_enter);
}

int gpu_programs_attach(struct gpu_bpf *skel, const struct gpu_places *at)
{
	if (at->place == GPU_AT_FUNCTION)
		return attach_to_functions(skel, at->compat_function);
	return at->place == GPU_AT_TRACEPOINTS ? attach_to_tracepoints(skel)
					       : attach_to_all_calls(skel);
}
