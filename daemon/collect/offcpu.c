/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu.c - threads that wait: how long, for what, where, and who woke them.
 *
 * BPF side: bpf/offcpu.bpf.c. Packets: slices on a track "Waits" of each
 * thread, and StackSamples weighed in time, made in offcpu_encode.c.
 *
 * The kernel's side knows one minimum, the smallest of all sessions; each
 * session's encoder leaves out what is below its own.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_iter.h"
#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "collector.h"
#include "offcpu.skel.h"
#include "offcpu_encode.h"
#include "offcpu_reason.h"
#include "walks.h"

/* Arguments of sched_switch where it hands over the previous task's state. */
#define SWITCH_ARGS_WITH_STATE 4

/*
 * Threads whose waits can be followed at a time, 2.4 KB each: twice as many as
 * there are now. A machine that starts still more loses their waits, and says so.
 */
#define MIN_THREADS 2048
#define MAX_THREADS 65536

#define NO_MINIMUM UINT64_MAX

/* Stacks copied at the end of a session, of threads that have slept all the time. */
#define MAX_LATE_STACKS 2048

/* The iterators over all tasks that a kernel has: what goes on at the start and at the end. */
enum iterators { NO_ITERATORS, ITERATORS, ITERATORS_WITH_STACKS };

struct offcpu {
	struct offcpu_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
	struct walks walks;
	uint64_t minimum_ns[EVENT_MAX_STREAMS]; /* of the session in the slot, or NO_MINIMUM */
};

static void offcpu_stop(void *state)
{
	struct offcpu *o = state;

	if (!o)
		return;
	(void)bpf_loading_end(&o->loading, NULL, NULL);
	bpf_ring_free(o->ring);
	offcpu_bpf__destroy(o->skel);
	walks_end(&o->walks);
	free(o);
}

/* "running/all", the fourth of /proc/loadavg. */
static unsigned threads_to_follow(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	unsigned n = 0;

	if (f && fscanf(f, "%*s %*s %*s %*u/%u", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	n = n > MAX_THREADS / 2 ? MAX_THREADS : 2 * n;
	return n < MIN_THREADS ? MIN_THREADS : n;
}

static void choose_programs(struct offcpu_bpf *skel, enum iterators iterators)
{
	bool with_state = bpf_tracepoint_args("sched_switch") >= SWITCH_ARGS_WITH_STATE;
	bool has_x86_timer = bpf_tracepoint_args("local_timer_entry") > 0;

	bpf_program__set_autoload(skel->progs.on_switch, with_state);
	bpf_program__set_autoload(skel->progs.on_switch_pre_5_18, !with_state);
	bpf_program__set_autoload(skel->progs.on_x86_timer_entry, has_x86_timer);
	bpf_program__set_autoload(skel->progs.on_x86_timer_exit, has_x86_timer);
	bpf_program__set_autoload(skel->progs.asleep_before, iterators != NO_ITERATORS);
	bpf_program__set_autoload(skel->progs.unfinished, iterators == ITERATORS);
	bpf_program__set_autoload(skel->progs.unfinished_with_stacks,
				  iterators == ITERATORS_WITH_STACKS);
}

/* Without the iterators, waits that go on at the start or at the end are not shown. */
static int open_object(struct offcpu *o, enum iterators iterators, char why[WHY_LEN])
{
	int r;

	(void)bpf_loading_end(&o->loading, NULL, NULL); /* of a failed attempt */
	offcpu_bpf__destroy(o->skel);
	o->loading = bpf_loading_new();
	o->skel = offcpu_bpf__open_opts(bpf_loading_opts(o->loading));
	if (!o->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	choose_programs(o->skel, iterators);
	why[0] = '\0';
	r = bpf_load_trim(o->skel->obj, why, WHY_LEN);
	if (r < 0)
		return r;
	wait_fd_calls((uint8_t *)o->skel->rodata->waits_for_fd);
	r = bpf_ring_resize(o->skel->obj, o->env.ring_bytes);
	if (r == 0)
		r = bpf_map__set_max_entries(o->skel->maps.waits, threads_to_follow());
	if (r == 0)
		r = walks_prepare(&o->walks, &o->env, "offcpu", o->skel->obj,
				  &o->skel->rodata->unwind_by_tables,
				  &o->skel->rodata->python_frames);
	if (r == 0)
		bpf_loading_begin(o->loading, o->skel->skeleton);
	return r;
}

static int await_loaded(struct offcpu *o)
{
	return bpf_loading_end(&o->loading, o->env.keep_up, o->env.keep_up_ctx);
}

/* After another attempt has failed. */
static int load_with(struct offcpu *o, enum iterators iterators, char why[WHY_LEN])
{
	int r = open_object(o, iterators, why);

	return r < 0 ? r : await_loaded(o);
}

static int offcpu_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct offcpu *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->env = *env;
	for (unsigned i = 0; i < EVENT_MAX_STREAMS; i++)
		o->minimum_ns[i] = NO_MINIMUM;
	r = open_object(o, ITERATORS_WITH_STACKS, why);
	if (r < 0 && r != -ENOTSUP) /* no BTF; `why` says so */
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	if (r < 0)
		offcpu_stop(o);
	else
		*ret_state = o;
	return r;
}

static int offcpu_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct offcpu *o = *ret_state;
	int r = await_loaded(o);

	(void)env;
	if (r < 0)
		r = load_with(o, ITERATORS, why);
	if (r < 0)
		r = load_with(o, NO_ITERATORS, why);
	if (r == 0)
		r = walks_begin(&o->walks, &o->env, o->skel->obj, o->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(o->skel->obj, &o->ring);
	if (r == 0)
		r = offcpu_bpf__attach(o->skel);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		offcpu_stop(o);
	}
	return r;
}

static int offcpu_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct offcpu *o = state;

	walks_update(&o->walks);
	return bpf_ring_drain(o->ring, horizon_ns, budget, o->env.sink, o->env.sink_ctx);
}

static struct bpf_object *offcpu_object(void *state, unsigned i)
{
	struct offcpu *o = state;

	return i == 0 ? o->skel->obj : NULL;
}

static int offcpu_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct offcpu *o = state;

	return bpf_ring_count(o->ring, stream, cpu, ret);
}

/* ---- sessions ---- */

static void set_minimum(struct offcpu *o)
{
	uint64_t min_ns = NO_MINIMUM;

	for (unsigned i = 0; i < EVENT_MAX_STREAMS; i++)
		if (o->minimum_ns[i] < min_ns)
			min_ns = o->minimum_ns[i];
	__atomic_store_n(&o->skel->data->wait_min_ns, min_ns, __ATOMIC_RELAXED);
}

static int offcpu_session_open(void *state, const struct trace_config *config, unsigned slot,
			       char why[WHY_LEN])
{
	struct offcpu *o = state;

	(void)why;
	o->minimum_ns[slot] = config->offcpu_min_ns;
	set_minimum(o);
	/* Who sleeps already: as good as it gets, nothing else depends on it. */
	if (o->skel->links.asleep_before)
		(void)bpf_iter_run(o->skel->links.asleep_before, NULL, NULL);
	return 0;
}

static void offcpu_session_close(void *state, unsigned slot)
{
	struct offcpu *o = state;

	o->minimum_ns[slot] = NO_MINIMUM;
	set_minimum(o);
}

struct unfinished {
	uint64_t end_ns;
	event_sink_fn *fn;
	void *fn_ctx;
};

static void push_unfinished(void *ctx, const struct event_hdr *hdr, size_t len)
{
	const struct unfinished *u = ctx;
	struct offcpu_copied rec;

	if (!offcpu_valid(hdr, len))
		return;
	memcpy(&rec, hdr, len);
	rec.ev.hdr.time_ns = u->end_ns;
	if (rec.ev.woken_ns > u->end_ns)
		rec.ev.woken_ns = 0;
	if (rec.ev.begin_ns < u->end_ns)
		u->fn(u->fn_ctx, &rec.ev.hdr, len);
}

static int offcpu_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct offcpu *o = state;
	struct unfinished u = { end_ns, fn, fn_ctx };
	struct bpf_link *link = o->skel->links.unfinished_with_stacks;

	o->skel->bss->n_copies_left = MAX_LATE_STACKS;
	if (!link)
		link = o->skel->links.unfinished;
	return link ? bpf_iter_run(link, push_unfinished, &u) : 0;
}

const struct collector offcpu_collector = {
	.name = "offcpu",
	.summary = "waits of threads: how long, for what, with stacks of sleeper and waker",
	.on_demand = true,
	.prepare = offcpu_prepare,
	.start = offcpu_start,
	.stop = offcpu_stop,
	.drain = offcpu_drain,
	.count = offcpu_count,
	.object = offcpu_object,
	.session_open = offcpu_session_open,
	.session_close = offcpu_session_close,
	.unfinished = offcpu_unfinished,
	.valid = offcpu_valid,
	.encoder_new = offcpu_encoder_new,
	.encoder_free = offcpu_encoder_free,
	.encode = offcpu_encode,
	.flush = offcpu_encoder_flush,
	.pending = offcpu_encoder_pending,
	.stack_ends = offcpu_encoder_stack_ends,
};
