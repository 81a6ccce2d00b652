/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ioctl.c - one ioctl, one slice on its thread's track.
 *
 * Slices of a thread cannot overlap: a call has returned before the thread makes
 * another, and records come in the order of the returns. Two kinds are written
 * later than they come: one that is repeated, until it is known how often; one
 * with a stack, until its functions have names.
 */
#include "gpu_ioctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/stack_encode.h"
#include "gpu_events.h"
#include "gpu_ioctl_describe.h"
#include "gpu_links.h"
#include "process/process_table.h"

#define MAX_DEVICES \
	64 /* whose driver is remembered; each beyond costs a look into sysfs per call */
#define MAX_RETRIES 64 /* threads that repeat an ioctl at a time; beyond, each one is a slice */
/* Repeated later than that it is another one: a slice must not reach into what comes next. */
#define RETRY_GAP_NS  50000
#define RETRY_WAIT_NS (100 * NS_PER_MS) /* the last of them is written then */

struct device {
	uint32_t rdev;
	char driver[GPU_DRIVER_LEN];
};

/* Calls that are one: the same again and again, because none has got through. */
struct retry {
	struct gpu_ioctl_event last; /* hdr.tid 0: free */
	uint64_t begin_ns;	     /* of the first */
	uint32_t n;
	struct gpu_link_set links;
};

struct gpu_ioctls {
	struct encoder_env env;
	struct gpu_links *links;
	struct stack_encoder *stacks;
	struct device devices[MAX_DEVICES]; /* those met so far */
	size_t n_devices;
	struct retry retries[MAX_RETRIES];
	size_t n_retries;
};

/* A slice that waits for its stack. */
struct waiting {
	struct gpu_ioctl_event ev;
	uint64_t begin_ns;
	uint32_t n_retries;
	struct gpu_link_set links;
};

/* ---- is it a record of ours? ---- */

static bool valid_head(const struct gpu_ioctl_event *ev)
{
	const struct event_hdr *hdr = &ev->hdr;

	return ev->n_in <= GPU_IOCTL_MAX_DATA && ev->n_out <= GPU_IOCTL_MAX_DATA && hdr->tgid &&
	       hdr->tid && ev->enter_ns <= hdr->time_ns && ev->gpu_class > GPU_NONE &&
	       ev->gpu_class < N_GPU_CLASSES && ev->ioctl_class < N_GPU_IOCTL_CLASSES &&
	       !(ev->flags & ~GPU_IOCTL_FLAGS) && memchr(ev->driver, '\0', sizeof(ev->driver));
}

static bool valid_stack(const struct gpu_ioctl_stack_event *ev, size_t len)
{
	return len >= sizeof(ev->ioctl) + USER_STACK_HEAD &&
	       user_stack_valid(&ev->user, len - sizeof(ev->ioctl));
}

bool gpu_ioctl_valid(const struct event_hdr *hdr, size_t len)
{
	const struct gpu_ioctl_event *ev = (const void *)hdr;

	if (len < GPU_IOCTL_HEAD || !valid_head(ev))
		return false;
	switch (hdr->type) {
	case GPU_IOCTL:
	case GPU_IOCTL_UNFINISHED:
		return len == GPU_IOCTL_SIZE(ev->n_in, ev->n_out);
	case GPU_IOCTL_STACK:
		return valid_stack((const void *)hdr, len);
	default:
		return false;
	}
}

/* ---- slices ---- */

static const char *driver_of(struct gpu_ioctls *g, const struct gpu_ioctl_event *ev,
			     char scratch[GPU_DRIVER_LEN])
{
	struct device *d;

	if (ev->driver[0])
		return ev->driver;
	for (size_t i = 0; ev->rdev && i < g->n_devices; i++)
		if (g->devices[i].rdev == ev->rdev)
			return g->devices[i].driver;
	gpu_driver_name(ev->gpu_class, ev->rdev >> 20, ev->rdev & 0xfffff, scratch);
	if (ev->rdev && g->n_devices < MAX_DEVICES) {
		d = &g->devices[g->n_devices++];
		d->rdev = ev->rdev;
		memcpy(d->driver, scratch, GPU_DRIVER_LEN);
	}
	return scratch;
}

static void add_true(struct gpu_description *d, const char *name)
{
	struct trace_arg *arg = gpu_description_add(d, name, ARG_BOOL);

	if (arg)
		arg->u = 1;
}

static int write_slice(struct gpu_ioctls *g, const struct waiting *w, uint64_t callstack_iid)
{
	const struct gpu_ioctl_event *ev = &w->ev;
	const struct event_hdr *hdr = &ev->hdr;
	const struct encoder_env *env = &g->env;
	const struct thread *thread = process_table_thread(env->processes, hdr->tid);
	struct gpu_description d;
	char driver[GPU_DRIVER_LEN];
	struct trace_event event = {
		.name = d.name,
		.category = "gpu",
		.time_ns = w->begin_ns,
		.args = d.args,
		.callstack_iid = callstack_iid,
		.callstack_weight = (double)(hdr->time_ns - w->begin_ns),
		.flow_ids = w->links.starts,
		.n_flow_ids = w->links.n_starts,
		.end_flow_ids = w->links.ends,
		.n_end_flow_ids = w->links.n_ends,
		.stages = w->links.submits,
		.n_stages = w->links.n_submits,
		.waited_stages = w->links.waited,
		.n_waited_stages = w->links.n_waited,
	};
	struct trace_arg *arg;

	gpu_ioctl_describe(ev, driver_of(g, ev, driver), &d);
	arg = w->n_retries ? gpu_description_add(&d, "retries", ARG_UINT) : NULL;
	if (arg)
		arg->u = w->n_retries;
	if (w->begin_ns < env->start_ns)
		event.time_ns = env->start_ns;
	if (w->begin_ns < env->start_ns || ev->flags & GPU_ENTERED_BEFORE)
		add_true(&d, "entered_before");
	event.n_args = d.n_args;

	trace_writer_time(env->writer, hdr->time_ns);
	event.track =
		trace_thread_track(env->writer, hdr->tgid, hdr->tid, thread ? thread->start_ns : 0);
	if (!event.track)
		return -ENOMEM;
	return trace_slice(env->writer, &event, hdr->time_ns,
			   hdr->type == GPU_IOCTL_UNFINISHED ? 0 : w->n_retries + 1);
}

/* The stack_done_fn of the slices that wait for theirs. */
static int write_waiting(void *ctx, void *what, uint64_t callstack_iid)
{
	return write_slice(ctx, what, callstack_iid);
}

static int add_with_stack(struct gpu_ioctls *g, const struct gpu_ioctl_stack_event *ev,
			  const struct waiting *w)
{
	struct stack_sample s = {
		.time_ns = ev->ioctl.hdr.time_ns,
		.tgid = ev->ioctl.hdr.tgid,
		.tid = ev->ioctl.hdr.tid,
		.cpu = ev->ioctl.hdr.cpu,
	};
	struct waiting *copy;

	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *w;
	s.what = copy;
	stack_sample_user(&s, &ev->user);
	return stack_encoder_add(g->stacks, &s);
}

/* ---- repeated ones ---- */

/* Writes those of a thread that are kept, and forgets them. */
static int end_retry(struct gpu_ioctls *g, struct retry *t)
{
	struct waiting w = { t->last, t->begin_ns, t->n - 1, t->links };

	t->last.hdr.tid = 0;
	g->n_retries--;
	return write_slice(g, &w, 0);
}

static struct retry *retry_of(struct gpu_ioctls *g, uint32_t tid)
{
	for (size_t i = 0; g->n_retries && i < MAX_RETRIES; i++)
		if (g->retries[i].last.hdr.tid == tid)
			return &g->retries[i];
	return NULL;
}

static bool same_again(const struct retry *t, const struct gpu_ioctl_event *ev)
{
	const struct gpu_ioctl_event *last = &t->last;

	return last->request == ev->request && last->fd == ev->fd && last->rdev == ev->rdev &&
	       last->gpu_class == ev->gpu_class && last->nr == ev->nr &&
	       ev->enter_ns >= last->hdr.time_ns && ev->enter_ns - last->hdr.time_ns < RETRY_GAP_NS;
}

static void keep_retry(struct gpu_ioctls *g, struct retry *t, const struct gpu_ioctl_event *ev,
		       const struct waiting *w)
{
	size_t size = GPU_IOCTL_SIZE(ev->n_in, ev->n_out);

	if (!t) {
		for (t = g->retries; t->last.hdr.tid; t++)
			;
		g->n_retries++;
	}
	memcpy(&t->last, ev, size);
	t->begin_ns = w->begin_ns;
	t->n = w->n_retries + 1;
	t->links = w->links;
}

/* ---- records ---- */

static int encode(struct gpu_ioctls *g, const struct event_hdr *hdr)
{
	const struct gpu_ioctl_event *ev = (const void *)hdr;
	struct retry *t = retry_of(g, hdr->tid);
	struct waiting w = { .begin_ns = ev->enter_ns };
	int r;

	memcpy(&w.ev, ev, GPU_IOCTL_SIZE(ev->n_in, ev->n_out));
	gpu_links_take(g->links, hdr->tid, ev->enter_ns, &w.links);
	if (t && hdr->type != GPU_IOCTL_UNFINISHED && same_again(t, ev)) {
		w.begin_ns = t->begin_ns;
		w.n_retries = t->n;
		w.ev.n_skipped += t->last.n_skipped;
		if (!w.links.n_starts && !w.links.n_ends && !w.links.n_submits && !w.links.n_waited)
			w.links = t->links;
		if (gpu_ioctl_is_retry(ev->ret)) {
			keep_retry(g, t, &w.ev, &w);
			return 0;
		}
		t->last.hdr.tid = 0;
		g->n_retries--;
	} else if (t) {
		r = end_retry(g, t);
		if (r < 0)
			return r;
	}
	if (hdr->type == GPU_IOCTL && gpu_ioctl_is_retry(ev->ret) && g->n_retries < MAX_RETRIES) {
		keep_retry(g, NULL, ev, &w);
		return 0;
	}
	if (hdr->type == GPU_IOCTL_STACK)
		return add_with_stack(g, (const void *)hdr, &w);
	return write_slice(g, &w, 0);
}

int gpu_ioctls_encode(struct gpu_ioctls *g, const struct event_hdr *hdr)
{
	if (hdr->time_ns >= g->env.start_ns)
		return encode(g, hdr);
	trace_writer_skip(g->env.writer, hdr->type != GPU_IOCTL_UNFINISHED);
	return 0;
}

int gpu_ioctls_flush(struct gpu_ioctls *g, uint64_t now_ns, bool final)
{
	int r = 0;

	for (size_t i = 0; r == 0 && g->n_retries && i < MAX_RETRIES; i++) {
		struct retry *t = &g->retries[i];

		if (t->last.hdr.tid && (final || now_ns > t->last.hdr.time_ns + RETRY_WAIT_NS))
			r = end_retry(g, t);
	}
	return r < 0 ? r : stack_encoder_flush(g->stacks, now_ns, final);
}

bool gpu_ioctls_pending(const struct gpu_ioctls *g)
{
	return stack_encoder_pending(g->stacks);
}

const uint64_t *gpu_ioctls_stack_ends(const struct gpu_ioctls *g)
{
	return stack_encoder_ends(g->stacks);
}

int gpu_ioctls_new(const struct encoder_env *env, struct gpu_links *links, struct gpu_ioctls **ret)
{
	struct gpu_ioctls *g = calloc(1, sizeof(*g));
	struct stack_source source = { .seq = SEQ_EVENTS, .done = write_waiting, .done_ctx = g };
	int r;

	if (!g)
		return -ENOMEM;
	g->env = *env;
	g->links = links;
	r = stack_encoder_new(env, &source, &g->stacks);
	if (r < 0) {
		free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void gpu_ioctls_free(struct gpu_ioctls *g)
{
	if (!g)
		return;
	stack_encoder_free(g->stacks);
	free(g);
}
