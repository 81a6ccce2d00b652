/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ioctl.c - one ioctl, one slice on its thread's track.
 *
 * Slices of a thread cannot overlap: a call has returned before the thread
 * makes another, and records come in the order of the returns.
 */
#include "gpu_ioctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_devices.h"
#include "gpu_events.h"
#include "gpu_links.h"
#include "process/process_table.h"
#include "syscalls_names.h"
#include "trace_writer.h"

struct gpu_ioctls {
	struct encoder_env env;
	struct gpu_links *links;
};

/* A slice in the making. */
struct slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char name[GPU_IOCTL_NAME_LEN];
	char driver[GPU_DRIVER_LEN];
};

bool gpu_ioctl_valid(const struct event_hdr *hdr, size_t len)
{
	const struct gpu_ioctl_event *ev = (const void *)hdr;

	if (hdr->type != GPU_IOCTL && hdr->type != GPU_IOCTL_UNFINISHED)
		return false;
	return len >= GPU_IOCTL_HEAD && ev->n_in <= GPU_IOCTL_MAX_DATA &&
	       ev->n_out <= GPU_IOCTL_MAX_DATA && len == GPU_IOCTL_SIZE(ev->n_in, ev->n_out) &&
	       hdr->tgid && hdr->tid && ev->enter_ns <= hdr->time_ns &&
	       ev->gpu_class > GPU_NONE && ev->gpu_class < N_GPU_CLASSES &&
	       ev->ioctl_class < N_GPU_IOCTL_CLASSES && !(ev->flags & ~GPU_IOCTL_FLAGS) &&
	       memchr(ev->driver, '\0', sizeof(ev->driver));
}

static struct trace_arg *add(struct slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg = &s->args[s->event.n_args++];

	arg->name = name;
	arg->type = type;
	return arg;
}

static void describe(struct gpu_ioctls *g, struct slice *s, const struct gpu_ioctl_event *ev)
{
	uint32_t major = ev->rdev >> 20, minor = ev->rdev & 0xfffff;
	const char *error = call_error(ev->ret);

	gpu_driver_name(ev->gpu_class, major, minor, s->driver);
	gpu_ioctl_name(ev->gpu_class, ev->request, s->driver, s->name);
	s->event.name = s->name;
	s->event.category = "gpu";
	s->event.args = s->args;
	add(s, "fd", ARG_INT)->i = ev->fd;
	add(s, "driver", ARG_STRING)->s = s->driver;
	add(s, "request", ARG_POINTER)->u = ev->request;
	add(s, "minor", ARG_INT)->i = minor;
	if (ev->hdr.type == GPU_IOCTL_UNFINISHED)
		add(s, "unfinished", ARG_BOOL)->u = 1;
	else if (error)
		add(s, "error", ARG_STRING)->s = error;
	s->event.time_ns = ev->enter_ns;
	if (ev->enter_ns < g->env.start_ns) {
		s->event.time_ns = g->env.start_ns;
		add(s, "entered_before", ARG_BOOL)->u = 1;
	}
}

int gpu_ioctls_encode(struct gpu_ioctls *g, const struct event_hdr *hdr)
{
	const struct gpu_ioctl_event *ev = (const void *)hdr;
	const struct encoder_env *env = &g->env;
	unsigned n_events = hdr->type == GPU_IOCTL;
	const struct thread *thread;
	struct gpu_link_set links;
	struct slice s;

	gpu_links_take(g->links, hdr->tid, ev->enter_ns, &links);
	if (hdr->time_ns < env->start_ns) {
		trace_writer_skip(env->writer, n_events);
		return 0;
	}
	memset(&s.event, 0, sizeof(s.event));
	describe(g, &s, ev);
	s.event.flow_ids = links.starts;
	s.event.n_flow_ids = links.n_starts;
	s.event.end_flow_ids = links.ends;
	s.event.n_end_flow_ids = links.n_ends;

	thread = process_table_thread(env->processes, hdr->tid);
	s.event.track =
		trace_thread_track(env->writer, hdr->tgid, hdr->tid, thread ? thread->start_ns : 0);
	if (!s.event.track)
		return -ENOMEM;
	return trace_slice(env->writer, &s.event, hdr->time_ns, n_events);
}

int gpu_ioctls_flush(struct gpu_ioctls *g, uint64_t now_ns, bool final)
{
	(void)g;
	(void)now_ns;
	(void)final;
	return 0;
}

bool gpu_ioctls_pending(const struct gpu_ioctls *g)
{
	(void)g;
	return false;
}

int gpu_ioctls_new(const struct encoder_env *env, struct gpu_links *links, struct gpu_ioctls **ret)
{
	struct gpu_ioctls *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->env = *env;
	g->links = links;
	*ret = g;
	return 0;
}

void gpu_ioctls_free(struct gpu_ioctls *g)
{
	free(g);
}
