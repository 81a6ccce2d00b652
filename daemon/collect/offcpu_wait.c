/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu_wait.c - a record of a wait, taken apart.
 *
 * The names of kernel functions are known at once. Where they are hidden
 * (kptr_restrict) nothing is found by them, and the wait is what its registers
 * say it is.
 */
#include "offcpu_wait.h"

#include <string.h>

#include "offcpu_reason.h"
#include "symbolize/symbolizer.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct namer {
	struct symbolizer *sym;
	uint64_t time_ns;
};

/* "": not known. */
static const char *name_of(const struct namer *namer, uint64_t ip)
{
	const struct location *loc = symbolizer_locate_kernel(namer->sym, ip - 1, namer->time_ns);

	return loc && loc->has_symbol ? loc->function : "";
}

static bool begins_with_any(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Drops the frames at the top that are our own: the program, and what called it. */
static void drop_ours(const struct namer *namer, struct wait_frames *f)
{
	enum { MAX_OURS = 4 };
	static const char *const callers[] = { "bpf_trace_run", "__bpf_trace_", "__traceiter_" };
	unsigned ours = 0;

	for (unsigned i = 0; i < f->n && i < MAX_OURS; i++)
		if (begins_with_any(name_of(namer, f->ips[i]), callers, N(callers)))
			ours = i + 1;
	f->ips += ours;
	f->n -= ours;
}

/* Interrupts that our counting cannot see: on their way out they are none any more. */
static bool in_softirq(const struct namer *namer, const struct wait_frames *f)
{
	static const char *const names[] = { "handle_softirqs", "__do_softirq", "__irq_exit_rcu",
					     "irq_exit_rcu" };

	for (unsigned i = 0; i < f->n; i++)
		if (begins_with_any(name_of(namer, f->ips[i]), names, N(names)))
			return true;
	return false;
}

/* The first that does not just pass a wakeup on. */
static const char *waking_function(const struct namer *namer, const struct wait_frames *f)
{
	static const char *const passing[] = {
		"try_to_wake_up",   "wake_up_",
		"__wake_up",	    "default_wake_function",
		"swake_up",	    "autoremove_wake_function",
		"complete",	    "woken_wake_function",
		"ep_poll_callback", "pollwake",
	};

	for (unsigned i = 0; i < f->n; i++) {
		const char *name = name_of(namer, f->ips[i]);

		if (!name[0])
			return NULL;
		if (!begins_with_any(name, passing, N(passing)))
			return name;
	}
	return NULL;
}

static bool in_fault(const struct namer *namer, const struct wait_frames *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (wait_is_fault(name_of(namer, f->ips[i])))
			return true;
	return false;
}

static void read_times(const struct offcpu_event *ev, uint64_t start_ns, struct offcpu_wait *w)
{
	w->end_ns = ev->hdr.time_ns;
	w->began_before = ev->flags & OFFCPU_BEGAN_BEFORE || ev->begin_ns < start_ns;
	w->begin_ns = ev->begin_ns < start_ns ? start_ns : ev->begin_ns;
	if (w->begin_ns > w->end_ns)
		w->begin_ns = w->end_ns;
	w->was_woken = ev->woken_ns != 0;
	w->woken_ns = w->was_woken ? ev->woken_ns : w->end_ns;
	/* Who is woken on the way to sleep has not been blocked. */
	if (w->woken_ns < w->begin_ns)
		w->woken_ns = w->begin_ns;
}

static void read_frames(const struct offcpu_event *ev, const struct namer *namer,
			struct offcpu_wait *w)
{
	const struct offcpu_copied *rec = (const void *)ev; /* if it has copies */
	const __u64 *ips = ev->ips;

	w->user = (struct wait_frames){ ips, ev->n_user };
	ips += ev->n_user;
	w->python = (struct wait_frames){ ips, OFFCPU_N_PYTHON(ev) };
	ips += w->python.n;
	w->kernel = (struct wait_frames){ ips, ev->n_kernel };
	ips += ev->n_kernel;
	w->waker_kernel = (struct wait_frames){ ips, ev->n_waker_kernel };
	ips += ev->n_waker_kernel;
	w->waker_user = (struct wait_frames){ ips, ev->n_waker_user };
	drop_ours(namer, &w->waker_kernel);
	if (ev->has_copy & OFFCPU_COPY_SLEEPER) {
		w->copy = &rec->copy;
		w->stack = rec->stacks;
	}
	if (ev->has_copy & OFFCPU_COPY_WAKER) {
		w->waker_copy = &rec->waker_copy;
		w->waker_stack = rec->stacks + rec->copy.len;
	}
}

void offcpu_wait_read(const struct offcpu_event *ev, struct symbolizer *sym, uint64_t start_ns,
		      struct offcpu_wait *ret)
{
	const struct namer namer = { sym, ev->hdr.time_ns };

	*ret = (struct offcpu_wait){ .ev = ev, .unfinished = ev->hdr.type == OFFCPU_UNFINISHED };
	read_times(ev, start_ns, ret);
	read_frames(ev, &namer, ret);
	ret->in_fault = in_fault(&namer, &ret->kernel);
	if (!ret->was_woken)
		return;
	ret->function = waking_function(&namer, &ret->waker_kernel);
	if (ev->flags & OFFCPU_WOKEN_BY_IRQ)
		ret->interrupt = "interrupt";
	else if (ev->flags & OFFCPU_WOKEN_BY_SOFT || in_softirq(&namer, &ret->waker_kernel))
		ret->interrupt = "softirq";
}
