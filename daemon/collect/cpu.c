/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - stack samples of whatever runs.
 *
 * BPF side: bpf/cpu.bpf.c. Each session has perf events of its own, one per
 * CPU, with the session's slot as attach cookie: two sessions on one thread
 * see exactly their own samples. Always a fixed period; the kernel's freq mode
 * samples idle machines too often. Packets: StackSample, made in cpu_encode.c.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_load.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "cpu.skel.h"
#include "cpu_encode.h"
#include "cpus.h"
#include "interp/interpreter.h"
#include "io.h"
#include "log.h"
#include "text.h"
#include "unwind/unwinder.h"

struct cpu_event {
	struct bpf_link *link; /* owns the perf event; NULL: CPU is offline */
	int fd;		       /* the link's, to read the count */
	uint64_t count;	       /* when last read */
};

struct sampler { /* of one session */
	struct cpu_sampling sampling;
	struct cpu_event events[MAX_CPUS];
};

struct cpu {
	struct cpu_bpf *skel;
	struct bpf_ring *ring;
	struct collector_env env;
	struct sampler *samplers[EVENT_MAX_STREAMS];
	bool has_unwinder, has_interpreter;
	uint64_t asleep_ns; /* BOOTTIME - MONOTONIC: grows with each suspend */
};

static void cpu_stop(void *state)
{
	struct cpu *c = state;

	if (!c)
		return;
	bpf_ring_free(c->ring);
	cpu_bpf__destroy(c->skel);
	if (c->has_unwinder)
		unwinder_release(c->env.unwinder);
	if (c->has_interpreter)
		interpreter_unuse(c->env.interpreter);
	free(c);
}

/* By tables, where the kernel can loop so long; else by frame pointers alone. */
static int prepare_walks(struct cpu *c)
{
	int r;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) != 1) {
		log_warn("cpu: this kernel has no bpf_loop (Linux 5.17): stacks by frame pointers");
		c->skel->rodata->unwind_by_tables = false;
		c->skel->rodata->python_frames = false;
		return 0;
	}
	r = unwinder_acquire(c->env.unwinder, c->env.loop);
	if (r < 0)
		return r;
	c->has_unwinder = true;
	r = unwinder_reuse(c->env.unwinder, c->skel->obj);
	return r < 0 ? r : interpreter_reuse(c->env.interpreter, c->skel->obj);
}

static int begin_walks(struct cpu *c)
{
	int r;

	if (!c->skel->rodata->python_frames)
		return 0;
	r = interpreter_use(c->env.interpreter, c->skel->obj);
	c->has_interpreter = r == 0;
	return r;
}

static int cpu_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct cpu *c;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->env = *env;
	c->asleep_ns = asleep_ns();
	c->skel = cpu_bpf__open();
	if (!c->skel) {
		r = -errno;
		goto fail;
	}
	r = bpf_ring_resize(c->skel->obj, env->ring_bytes);
	if (r == 0)
		r = prepare_walks(c);
	if (r == 0)
		r = cpu_bpf__load(c->skel);
	if (r == 0)
		r = begin_walks(c);
	if (r == 0)
		r = bpf_ring_open(c->skel->obj, &c->ring);
	if (r < 0) {
		bpf_load_explain(r, "BPF program", why, WHY_LEN);
		goto fail;
	}
	*ret_state = c;
	return 0;

fail:
	cpu_stop(c);
	return r;
}

static int cpu_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct cpu *c = state;

	if (c->has_unwinder)
		unwinder_update(c->env.unwinder);
	return bpf_ring_drain(c->ring, horizon_ns, budget, c->env.sink, c->env.sink_ctx);
}

static struct bpf_object *cpu_object(void *state)
{
	struct cpu *c = state;

	return c->skel->obj;
}

static int cpu_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct cpu *c = state;

	return bpf_ring_count(c->ring, stream, cpu, ret);
}

static void cpu_exclude(void *state, const uint32_t *tgids, size_t n)
{
	struct cpu *c = state;

	for (size_t i = 0; i < EVENT_MAX_OWN; i++)
		c->skel->bss->own_tgids[i] = i < n ? tgids[i] : 0;
}

/* ---- a session's events ---- */

static void event_close(struct cpu_event *ev)
{
	bpf_link__destroy(ev->link);
	*ev = (struct cpu_event){ .fd = -1 };
}

static int event_open(struct cpu *c, const struct cpu_sampling *sampling, unsigned cpu,
		      unsigned slot, struct cpu_event *ret)
{
	DECLARE_LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = slot);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = sampling->spec.type,
		.config = sampling->spec.config,
		.sample_period = sampling->period,
		.disabled = 1, /* until the program is attached */
	};
	struct bpf_link *link;
	int fd, r;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event_opts(c->skel->progs.on_overflow, fd, &opts);
	if (!link) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret = (struct cpu_event){ .link = link, .fd = fd };
	return 0;
}

static void cpu_session_close(void *state, unsigned slot)
{
	struct cpu *c = state;
	struct sampler *s = c->samplers[slot];

	if (!s)
		return;
	for (unsigned i = 0; i < MAX_CPUS; i++)
		event_close(&s->events[i]);
	free(s);
	c->samplers[slot] = NULL;
}

/* Opens what is not open on the CPUs that are online. Returns the number open, or -errno. */
static int open_events(struct cpu *c, struct sampler *s, unsigned slot)
{
	bool online[MAX_CPUS];
	int n = 0, r;

	r = cpus_online(online);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		if (!online[i]) {
			event_close(&s->events[i]);
			continue;
		}
		if (!s->events[i].link) {
			r = event_open(c, &s->sampling, i, slot, &s->events[i]);
			if (r == -ENODEV) /* went offline just now */
				continue;
			if (r < 0)
				return r;
		}
		n++;
	}
	return n;
}

static void explain_event(int err, const struct trace_config *config, char why[WHY_LEN])
{
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		snprintf(why, WHY_LEN,
			 "this machine has no hardware counter for '%.40s' (a virtual machine "
			 "often has none): use --event cpu-clock",
			 config->event);
	else if (err == -EINVAL)
		snprintf(why, WHY_LEN, "the kernel does not take event '%.40s' with this period",
			 config->event);
	else
		bpf_load_explain(err, "perf_event_open", why, WHY_LEN);
}

static int cpu_session_open(void *state, const struct trace_config *config, unsigned slot,
			    char why[WHY_LEN])
{
	struct cpu *c = state;
	struct sampler *s;
	int r;

	/* The kernel would take it and then leave samples out, without a word. */
	if (!config->period && config->freq_hz > perf_event_max_rate()) {
		snprintf(why, WHY_LEN,
			 "%u Hz is above this kernel's limit of %u: lower --freq or raise "
			 "kernel.perf_event_max_sample_rate",
			 config->freq_hz, perf_event_max_rate());
		return -ERANGE;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (unsigned i = 0; i < MAX_CPUS; i++)
		s->events[i].fd = -1;
	c->samplers[slot] = s;
	r = cpu_sampling_plan(config, &s->sampling);
	if (r < 0) {
		snprintf(why, WHY_LEN,
			 "there is no event '%.40s': see tracectl record --event help",
			 config->event);
		goto fail;
	}
	r = open_events(c, s, slot);
	if (r < 0) {
		explain_event(r, config, why);
		goto fail;
	}
	return 0;

fail:
	cpu_session_close(c, slot);
	return r;
}

/*
 * A CPU that goes offline, and every CPU but one in a suspend, silently kills
 * the events on it: no error, no hangup, the count just stands still. A clock
 * that stands still is such a one.
 */
static bool has_died(struct cpu_event *ev, const struct cpu_sampling *sampling)
{
	bool is_clock = sampling->spec.type == PERF_TYPE_SOFTWARE &&
			sampling->spec.config == PERF_COUNT_SW_CPU_CLOCK;
	uint64_t count, before = ev->count;

	if (!is_clock || read(ev->fd, &count, sizeof(count)) != sizeof(count))
		return false;
	ev->count = count;
	return before != 0 && count == before;
}

static void cpu_tick(void *state, uint64_t now_ns)
{
	struct cpu *c = state;
	uint64_t asleep = asleep_ns();
	/* The two clocks are read one after the other: less than a millisecond is no sleep. */
	bool woke_up = asleep > c->asleep_ns + NS_PER_MS;

	(void)now_ns;
	c->asleep_ns = asleep;
	for (unsigned slot = 0; slot < EVENT_MAX_STREAMS; slot++) {
		struct sampler *s = c->samplers[slot];
		int r;

		if (!s)
			continue;
		for (unsigned i = 0; i < MAX_CPUS; i++)
			if (s->events[i].link && (woke_up || has_died(&s->events[i], &s->sampling)))
				event_close(&s->events[i]);
		r = open_events(c, s, slot);
		if (r < 0)
			log_warn(
				"cpu: cannot reopen events after a CPU came back: %s, trying again",
				strerror(-r));
	}
}

const struct collector cpu_collector = {
	.name = "cpu",
	.summary = "stack samples of every running thread, at a fixed period",
	.start = cpu_start,
	.stop = cpu_stop,
	.drain = cpu_drain,
	.count = cpu_count,
	.object = cpu_object,
	.tick = cpu_tick,
	.session_open = cpu_session_open,
	.session_close = cpu_session_close,
	.exclude = cpu_exclude,
	.per_session_streams = true,
	.valid = cpu_sample_valid,
	.encoder_new = cpu_encoder_new,
	.encoder_free = cpu_encoder_free,
	.encode = cpu_encode,
	.flush = cpu_encoder_flush,
	.pending = cpu_encoder_pending,
	.stack_ends = cpu_encoder_stack_ends,
};
