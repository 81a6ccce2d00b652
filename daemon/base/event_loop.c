/* SPDX-License-Identifier: Apache-2.0 */
/* event_loop.c - one thread, one epoll set, everything is a file descriptor. */
#include "event_loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

#define BATCH 32

struct event_source {
	struct event_loop *loop;
	struct event_source *next_dead;
	int fd;
	bool is_timer; /* the fd is ours */
	event_fn *fn;  /* NULL once freed by the owner */
	void *ctx;
};

struct event_loop {
	int epoll_fd;
	bool stop;

	/* Freed by their owner, but maybe still in the batch being dispatched. */
	struct event_source *dead;
};

int event_loop_new(struct event_loop **ret)
{
	struct event_loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		r = -errno;
		free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

static void bury_the_dead(struct event_loop *loop)
{
	while (loop->dead) {
		struct event_source *src = loop->dead;

		loop->dead = src->next_dead;
		free(src);
	}
}

void event_loop_free(struct event_loop *loop)
{
	if (!loop)
		return;
	bury_the_dead(loop);
	close(loop->epoll_fd);
	free(loop);
}

int event_loop_add(struct event_loop *loop, int fd, uint32_t events, event_fn *fn, void *ctx,
		   struct event_source **ret)
{
	struct event_source *src = calloc(1, sizeof(*src));
	struct epoll_event ev = { .events = events, .data.ptr = src };
	int r;

	if (!src)
		return -ENOMEM;
	*src = (struct event_source){ .loop = loop, .fd = fd, .fn = fn, .ctx = ctx };
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		r = -errno;
		free(src);
		return r;
	}
	*ret = src;
	return 0;
}

int event_source_set(struct event_source *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(src->loop->epoll_fd, EPOLL_CTL_MOD, src->fd, &ev) < 0 ? -errno : 0;
}

int event_loop_add_timer(struct event_loop *loop, uint64_t interval_ns, event_fn *fn, void *ctx,
			 struct event_source **ret)
{
	struct timespec ts = { .tv_sec = (time_t)(interval_ns / NS_PER_SEC),
			       .tv_nsec = (long)(interval_ns % NS_PER_SEC) };
	struct itimerspec spec = { .it_interval = ts, .it_value = ts };
	int fd, r;

	if (interval_ns == 0)
		return -EINVAL; /* the kernel would take it for "never" */
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, 0, &spec, NULL) < 0) {
		r = -errno;
		goto fail;
	}
	r = event_loop_add(loop, fd, EPOLLIN, fn, ctx, ret);
	if (r < 0)
		goto fail;
	(*ret)->is_timer = true;
	return 0;

fail:
	close(fd);
	return r;
}

void event_source_free(struct event_source *src)
{
	if (!src || !src->fn)
		return;
	(void)epoll_ctl(src->loop->epoll_fd, EPOLL_CTL_DEL, src->fd, NULL);
	if (src->is_timer)
		close(src->fd);
	src->fn = NULL;
	src->next_dead = src->loop->dead;
	src->loop->dead = src;
}

void event_loop_stop(struct event_loop *loop)
{
	loop->stop = true;
}

static int dispatch(struct event_source *src, uint32_t events)
{
	uint64_t expirations;

	if (!src->fn)
		return 0;
	if (src->is_timer) {
		if (read(src->fd, &expirations, sizeof(expirations)) < 0)
			return errno == EAGAIN ? 0 : -errno;
		events = 0;
	}
	return src->fn(src->ctx, events);
}

int event_loop_run(struct event_loop *loop)
{
	struct epoll_event batch[BATCH];

	while (!loop->stop) {
		int n = epoll_wait(loop->epoll_fd, batch, BATCH, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			int r = dispatch(batch[i].data.ptr, batch[i].events);

			if (r < 0)
				return r;
		}
		bury_the_dead(loop);
	}
	loop->stop = false;
	return 0;
}
