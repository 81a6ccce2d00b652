/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the perf events of one session. */
#include "sampler.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_load.h"
#include "cpu_events.h"
#include "cpus.h"
#include "log.h"
#include "text.h"
#include "tracefs.h"

struct cpu_event {
	struct bpf_link *link; /* owns the perf event; NULL: CPU is offline */
	int fd;		       /* the link's, to read the count */
	uint64_t count;	       /* when last read */
};

struct event { /* of the configuration */
	struct cpu_sampling sampling;
	bool is_everywhere; /* one perf event sees all CPUs: it is cpus[0] */
	uint64_t cookie;
	uint64_t n_due; /* of events that are closed */
	struct cpu_event cpus[MAX_CPUS];
};

struct sampler {
	struct sampler_programs programs;
	unsigned n_events;
	struct event events[TRACE_MAX_EVENTS];
};

static uint64_t n_due(const struct event *e, const struct cpu_event *ev)
{
	uint64_t count;

	if (!ev->link || e->is_everywhere || read(ev->fd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count / e->sampling.period;
}

static void event_close(struct event *e, struct cpu_event *ev)
{
	e->n_due += n_due(e, ev);
	bpf_link__destroy(ev->link);
	*ev = (struct cpu_event){ .fd = -1 };
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_events; i++)
		for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
			event_close(&s->events[i], &s->events[i].cpus[cpu]);
	free(s);
}

static int event_open(struct sampler *s, const struct event *e, unsigned cpu, struct cpu_event *ret)
{
	DECLARE_LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = e->cookie);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = e->sampling.spec.type,
		.config = e->sampling.spec.config,
		.sample_period = e->is_everywhere ? 1 : e->sampling.period,
		.disabled = 1, /* until the program is attached */
	};
	struct bpf_link *link;
	int fd, r;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event_opts(
		e->is_everywhere ? s->programs.on_tracepoint : s->programs.on_overflow, fd, &opts);
	if (!link) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret = (struct cpu_event){ .link = link, .fd = fd };
	return 0;
}

/* Opens what is not open on the CPUs that are online. */
static int open_events(struct sampler *s, struct event *e)
{
	bool online[MAX_CPUS];
	int r;

	r = cpus_online(online);
	if (r > 0)
		r = 0;
	for (unsigned cpu = 0; r == 0 && cpu < MAX_CPUS; cpu++) {
		if (!online[cpu]) {
			event_close(e, &e->cpus[cpu]);
			continue;
		}
		if (!e->cpus[cpu].link)
			r = event_open(s, e, cpu, &e->cpus[cpu]);
		if (r == -ENODEV) /* went offline just now */
			r = 0;
		if (e->is_everywhere)
			break;
	}
	return r;
}

/* ---- opening, with words ---- */

static int explain_event(int err, const struct cpu_sampling *sampling, char why[WHY_LEN])
{
	const char *name = sampling->event;

	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		snprintf(why, WHY_LEN,
			 "this machine has no hardware counter for '%.40s' (a virtual machine "
			 "often has none): use --event cpu-clock",
			 name);
	else if (err == -EINVAL)
		snprintf(why, WHY_LEN, "the kernel does not take event '%.40s' with this period",
			 name);
	else
		bpf_load_explain(err, "perf_event_open", why, WHY_LEN);
	return err;
}

/* A tracepoint's number, which is the kernel's own. */
static int find_tracepoint(struct event *e, char why[WHY_LEN])
{
	char system[TRACE_EVENT_LEN], *name;
	int r;

	snprintf(system, sizeof(system), "%s", e->sampling.event);
	name = strchr(system, ':');
	*name++ = '\0';
	r = tracefs_event_id(system, name, &e->sampling.spec.config);
	if (r == -ENOENT)
		snprintf(why, WHY_LEN,
			 "this kernel has no tracepoint '%.60s': see "
			 "/sys/kernel/tracing/available_events",
			 e->sampling.event);
	else if (r < 0)
		snprintf(why, WHY_LEN,
			 "the list of tracepoints cannot be read (%s): mount -t tracefs tracefs "
			 "/sys/kernel/tracing",
			 strerror(-r));
	return r;
}

/* The event that had this place before, of another session, has called, too. */
static int forget_calls(const struct sampler *s, const struct event *e)
{
	uint32_t key = (uint32_t)e->cookie;
	uint64_t none[MAX_CPUS] = { 0 };

	return bpf_map_update_elem(s->programs.calls_fd, &key, none, BPF_ANY) < 0 ? -errno : 0;
}

static int add_event(struct sampler *s, const struct trace_config *config, unsigned slot,
		     unsigned i, char why[WHY_LEN])
{
	struct event *e = &s->events[i];
	int r;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		e->cpus[cpu].fd = -1;
	s->n_events = i + 1;
	r = cpu_sampling_plan(config, i, &e->sampling);
	if (r < 0) {
		snprintf(why, WHY_LEN,
			 r == -ERANGE
				 ? "event '%.40s@': behind the @ is a number of events from 1 on"
				 : "there is no event '%.40s': see tracectl record --event help",
			 e->sampling.event);
		return r;
	}
	e->cookie = CPU_COOKIE(slot, i);
	e->is_everywhere = e->sampling.spec.type == PERF_TYPE_TRACEPOINT;
	if (e->is_everywhere) {
		r = find_tracepoint(e, why);
		if (r < 0)
			return r;
		s->programs.tracepoint_periods[e->cookie] = e->sampling.period;
	}
	r = e->is_everywhere ? 0 : forget_calls(s, e);
	if (r == 0)
		r = open_events(s, e);
	return r < 0 ? explain_event(r, &e->sampling, why) : 0;
}

int sampler_new(const struct sampler_programs *programs, const struct trace_config *config,
		unsigned slot, char why[WHY_LEN], struct sampler **ret)
{
	struct sampler *s;
	int r = 0;

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
	s->programs = *programs;
	for (unsigned i = 0; r == 0 && i < cpu_sampling_count(config); i++)
		r = add_event(s, config, slot, i, why);
	if (r < 0) {
		sampler_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- going on ---- */

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

void sampler_tick(struct sampler *s, bool woke_up)
{
	for (unsigned i = 0; i < s->n_events; i++) {
		struct event *e = &s->events[i];
		int r;

		for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
			if (e->cpus[cpu].link && (woke_up || has_died(&e->cpus[cpu], &e->sampling)))
				event_close(e, &e->cpus[cpu]);
		r = open_events(s, e);
		if (r < 0)
			log_warn("cpu: cannot reopen events after a CPU came back: %s, "
				 "trying again",
				 strerror(-r));
	}
}

void sampler_due(const struct sampler *s, struct due_samples *ret)
{
	int n_cpus = libbpf_num_possible_cpus();

	*ret = (struct due_samples){ 0 };
	for (unsigned i = 0; i < s->n_events; i++) {
		const struct event *e = &s->events[i];
		uint32_t key = (uint32_t)e->cookie;
		uint64_t calls[MAX_CPUS] = { 0 };

		if (e->is_everywhere || n_cpus > MAX_CPUS ||
		    bpf_map_lookup_elem(s->programs.calls_fd, &key, calls) < 0)
			continue;
		ret->n_due += e->n_due;
		for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
			ret->n_due += n_due(e, &e->cpus[cpu]);
			ret->n_taken += calls[cpu];
		}
	}
}
