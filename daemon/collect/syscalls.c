/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.c - what threads do with sockets, and what they wait for: system
 * calls as slices on the thread's track.
 *
 * BPF side: bpf/syscalls.bpf.c. Slices are made in syscalls_encode.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_iter.h"
#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "collector.h"
#include "log.h"
#include "syscalls.skel.h"
#include "syscalls_encode.h"
#include "syscalls_names.h"

struct syscalls {
	struct syscalls_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
	bool compat_told;
};

static void syscalls_stop(void *state)
{
	struct syscalls *s = state;

	if (!s)
		return;
	(void)bpf_loading_end(&s->loading, NULL, NULL);
	bpf_ring_free(s->ring);
	syscalls_bpf__destroy(s->skel);
	free(s);
}

/* Without the iterators, calls that go on at the start or at the end of a session are not shown. */
static int open_object(struct syscalls *s, bool with_iterators, char why[WHY_LEN])
{
	int r;

	(void)bpf_loading_end(&s->loading, NULL, NULL); /* of a failed attempt */
	syscalls_bpf__destroy(s->skel);
	s->loading = bpf_loading_new();
	s->skel = syscalls_bpf__open_opts(bpf_loading_opts(s->loading));
	if (!s->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	r = bpf_load_trim(s->skel->obj, why, WHY_LEN);
	if (r < 0)
		return r;
	bpf_program__set_autoload(s->skel->progs.unfinished, with_iterators);
	bpf_program__set_autoload(s->skel->progs.entered_before, with_iterators);
	call_numbers((uint8_t *)s->skel->rodata->call_of_nr);
	r = bpf_ring_resize(s->skel->obj, s->env.ring_bytes);
	if (r == 0)
		bpf_loading_begin(s->loading, s->skel->skeleton);
	return r;
}

/*
 * The way out first: a call whose way in was seen must not miss it. Then those
 * that have been entered before; what the iterator finds stays in the kernel.
 */
static int attach(struct syscalls *s)
{
	struct syscalls_bpf *skel = s->skel;

	skel->links.syscall_exit = bpf_program__attach(skel->progs.syscall_exit);
	if (!skel->links.syscall_exit)
		return -errno;
	skel->links.syscall_enter = bpf_program__attach(skel->progs.syscall_enter);
	if (!skel->links.syscall_enter)
		return -errno;
	if (!bpf_program__autoload(skel->progs.unfinished))
		return 0;
	skel->links.unfinished = bpf_program__attach(skel->progs.unfinished);
	skel->links.entered_before = bpf_program__attach(skel->progs.entered_before);
	if (skel->links.entered_before)
		(void)bpf_iter_run(skel->links.entered_before, NULL, NULL); /* as good as it gets */
	return 0;
}

static int syscalls_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct syscalls *s;
	int r;

	if (bpf_tracepoint_args("sys_enter") == -ENOENT) {
		strcpy(why, "the kernel has no tracepoint sys_enter: use one built with "
			    "CONFIG_FTRACE_SYSCALLS");
		return -ENOTSUP;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->env = *env;
	r = open_object(s, true, why);
	if (r < 0 && r != -ENOTSUP) /* no BTF; `why` says so */
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	if (r < 0)
		syscalls_stop(s);
	else
		*ret_state = s;
	return r;
}

static int syscalls_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct syscalls *s = *ret_state;
	int r = bpf_loading_end(&s->loading, env->keep_up, env->keep_up_ctx);

	if (r < 0) {
		r = open_object(s, false, why);
		if (r == 0)
			r = bpf_loading_end(&s->loading, env->keep_up, env->keep_up_ctx);
	}
	if (r == 0)
		r = bpf_ring_open(s->skel->obj, &s->ring);
	if (r == 0)
		r = attach(s);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		syscalls_stop(s);
	}
	return r;
}

static int syscalls_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct syscalls *s = state;

	return bpf_ring_drain(s->ring, horizon_ns, budget, s->env.sink, s->env.sink_ctx);
}

static int syscalls_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct syscalls *s = state;

	return bpf_ring_count(s->ring, stream, cpu, ret);
}

static struct bpf_object *syscalls_object(void *state, unsigned i)
{
	struct syscalls *s = state;

	return i == 0 ? s->skel->obj : NULL;
}

static void syscalls_tick(void *state, uint64_t now_ns)
{
	struct syscalls *s = state;

	(void)now_ns;
	if (s->skel->bss->n_compat && !s->compat_told) {
		s->compat_told = true;
		log_info("syscalls: calls of 32-bit programs are not shown");
	}
}

struct unfinished {
	uint64_t end_ns;
	event_sink_fn *fn;
	void *fn_ctx;
};

static void push_unfinished(void *ctx, const struct event_hdr *hdr, size_t len)
{
	const struct unfinished *u = ctx;
	struct syscalls_event ev = *(const struct syscalls_event *)hdr;

	ev.hdr.time_ns = u->end_ns;
	if (ev.call.enter_ns < u->end_ns && syscalls_valid(&ev.hdr, len))
		u->fn(u->fn_ctx, &ev.hdr, len);
}

static int syscalls_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct syscalls *s = state;
	struct unfinished u = { end_ns, fn, fn_ctx };

	if (!s->skel->links.unfinished)
		return 0;
	return bpf_iter_run(s->skel->links.unfinished, push_unfinished, &u);
}

const struct collector syscalls_collector = {
	.name = "syscalls",
	.summary = "network system calls, waits for descriptors; with --net syscalls, too",
	.on_demand = true,
	.prepare = syscalls_prepare,
	.start = syscalls_start,
	.stop = syscalls_stop,
	.drain = syscalls_drain,
	.count = syscalls_count,
	.object = syscalls_object,
	.tick = syscalls_tick,
	.unfinished = syscalls_unfinished,
	.valid = syscalls_valid,
	.encoder_new = syscalls_encoder_new,
	.encoder_free = syscalls_encoder_free,
	.encode = syscalls_encode,
};
