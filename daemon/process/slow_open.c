/* SPDX-License-Identifier: Apache-2.0 */
/* slow_open.c - open a file whose file system may never answer. */
#include "slow_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "process/proc_parse.h"

/* Threads that wait for an answer; each has a small stack and one descriptor. */
#define MAX_STUCK   8
#define STACK_BYTES (64 * 1024)
#define MAX_TURNS   10

/* Shared by the caller and the thread; the last of them frees it. */
struct request {
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	int path_fd;
	int fd;	   /* the answer: a descriptor or -errno */
	pid_t tid; /* 0: the thread has not begun */
	bool done, abandoned;
};

static atomic_uint n_threads;

int reopen_path(int path_fd)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static void request_free(struct request *req)
{
	close(req->path_fd);
	pthread_cond_destroy(&req->done_cond);
	pthread_mutex_destroy(&req->lock);
	free(req);
}

static int request_new(int path_fd, struct request **ret)
{
	struct request *req = calloc(1, sizeof(*req));
	pthread_condattr_t attr;
	int r;

	if (!req)
		return -ENOMEM;
	req->path_fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	if (req->path_fd < 0) {
		r = -errno;
		free(req);
		return r;
	}
	pthread_mutex_init(&req->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&req->done_cond, &attr);
	pthread_condattr_destroy(&attr);
	*ret = req;
	return 0;
}

static void *open_thread(void *arg)
{
	struct request *req = arg;
	bool abandoned;
	int fd;

	pthread_mutex_lock(&req->lock);
	req->tid = gettid();
	pthread_mutex_unlock(&req->lock);
	fd = reopen_path(req->path_fd);

	pthread_mutex_lock(&req->lock);
	req->fd = fd;
	req->done = true;
	abandoned = req->abandoned;
	pthread_cond_signal(&req->done_cond);
	pthread_mutex_unlock(&req->lock);
	if (abandoned) {
		if (fd >= 0)
			close(fd);
		request_free(req);
	}
	atomic_fetch_sub(&n_threads, 1);
	return NULL;
}

static int start_thread(struct request *req)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES > PTHREAD_STACK_MIN ? STACK_BYTES
									 : PTHREAD_STACK_MIN);
	r = -pthread_create(&thread, &attr, open_thread, req);
	pthread_attr_destroy(&attr);
	return r;
}

/* On a busy machine it may be the CPU that the thread waits for. */
static bool is_runnable(pid_t tid)
{
	struct proc_stat stat;
	char name[64], text[1024];
	ssize_t n = -1;
	int fd;

	if (tid == 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", (int)tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		close(fd);
	}
	return n > 0 && proc_parse_stat(text, (size_t)n, &stat) == 0 && stat.state == 'R';
}

/* Called with the lock held. 0: done. */
static int wait_for(struct request *req, uint64_t timeout_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < MAX_TURNS; i++) {
		struct timespec until;
		int r = 0;

		until_ns += timeout_ns;
		until = (struct timespec){ .tv_sec = (time_t)(until_ns / NS_PER_SEC),
					   .tv_nsec = (long)(until_ns % NS_PER_SEC) };
		while (!req->done && r == 0)
			r = pthread_cond_timedwait(&req->done_cond, &req->lock, &until);
		if (req->done)
			return 0;
		if (!is_runnable(req->tid))
			return -ETIMEDOUT;
	}
	return -EAGAIN;
}

int slow_open(int path_fd, uint64_t timeout_ns)
{
	struct request *req = NULL;
	bool abandoned;
	int r;

	if (atomic_fetch_add(&n_threads, 1) >= MAX_STUCK) {
		atomic_fetch_sub(&n_threads, 1);
		return -EBUSY;
	}
	r = request_new(path_fd, &req);
	if (r == 0)
		r = start_thread(req);
	if (r < 0 || !req) {
		atomic_fetch_sub(&n_threads, 1);
		if (req)
			request_free(req);
		return r;
	}

	pthread_mutex_lock(&req->lock);
	r = wait_for(req, timeout_ns);
	if (r == 0)
		r = req->fd;
	abandoned = req->abandoned = !req->done;
	pthread_mutex_unlock(&req->lock);
	if (!abandoned) /* else it is the thread's now */
		request_free(req);
	return r;
}
