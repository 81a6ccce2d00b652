/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_loading.c - BPF objects that are loaded by threads, side by side. */
#include "bpf_loading.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"
#include "io.h"
#include "kernel_types.h"

#define KEEP_UP_NS (20 * NS_PER_MS)

/* At a time: each takes 10 MB of memory for the kernel's types. */
#define MAX_BUSY 4

struct bpf_loading {
	struct bpf_object_skeleton *skel;
	struct bpf_object_open_opts opts;
	int types_fd; /* what `opts` names; -1: all of the kernel's */
	char types_path[32];
	pthread_t thread;
	bool is_threaded, is_over;
	unsigned turn;
	int r;
};

/* Of all that is being loaded; `lock` is for what the threads share. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned n_begun, n_turned, n_over; /* all since the beginning */
static unsigned max_busy;

static unsigned cpus_for_loading(void)
{
	bool online[MAX_CPUS];
	int n = cpus_online(online);

	return n < 1 ? 1 : n < MAX_BUSY ? (unsigned)n : MAX_BUSY;
}

/* If it cannot be told what is needed, all is. */
static void write_types(struct bpf_loading *l)
{
	const void *data;
	__u32 size;

	if (kernel_types_write(l->skel, l->types_fd) == 0)
		return;
	data = btf__raw_data(kernel_types(), &size);
	if (data && ftruncate(l->types_fd, 0) == 0 && lseek(l->types_fd, 0, SEEK_SET) == 0)
		(void)io_write_all(l->types_fd, data, size); /* a failure is the object's */
}

static int load_now(struct bpf_loading *l)
{
	if (l->types_fd >= 0)
		write_types(l);
	return bpf_object__load_skeleton(l->skel);
}

static void *load(void *arg)
{
	struct bpf_loading *l = arg;

	pthread_mutex_lock(&lock);
	while (l->turn != n_turned || n_turned - n_over >= max_busy)
		pthread_cond_wait(&changed, &lock);
	n_turned++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);

	l->r = load_now(l);

	pthread_mutex_lock(&lock);
	l->is_over = true;
	n_over++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

struct bpf_loading *bpf_loading_new(void)
{
	struct bpf_loading *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->opts.sz = sizeof(l->opts);
	l->types_fd = kernel_types() ? memfd_create("tracerd-types", MFD_CLOEXEC) : -1;
	if (l->types_fd >= 0) {
		snprintf(l->types_path, sizeof(l->types_path), "/proc/self/fd/%d", l->types_fd);
		l->opts.btf_custom_path = l->types_path;
	}
	return l;
}

const struct bpf_object_open_opts *bpf_loading_opts(const struct bpf_loading *l)
{
	return l ? &l->opts : NULL;
}

void bpf_loading_begin(struct bpf_loading *l, struct bpf_object_skeleton *skel)
{
	if (!l)
		return;
	l->skel = skel;
	pthread_mutex_lock(&lock);
	if (n_begun == n_over)
		max_busy = cpus_for_loading();
	l->turn = n_begun;
	l->is_threaded = pthread_create(&l->thread, NULL, load, l) == 0;
	n_begun += l->is_threaded;
	pthread_mutex_unlock(&lock);
	/* Without a thread, the others wait. */
	if (!l->is_threaded)
		l->r = load_now(l);
}

/* Until `l` is over; NULL: all. */
static void await(const struct bpf_loading *l, bpf_keep_up_fn *keep_up, void *ctx)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	while (l ? !l->is_over : n_over != n_begun) {
		if (!keep_up) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += KEEP_UP_NS;
		until.tv_sec += until.tv_nsec / NS_PER_SEC;
		until.tv_nsec %= NS_PER_SEC;
		if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&lock);
		keep_up(ctx);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
}

int bpf_loading_end(struct bpf_loading **loading, bpf_keep_up_fn *keep_up, void *ctx)
{
	struct bpf_loading *l = *loading;
	int r;

	if (!l)
		return -ENOMEM;
	*loading = NULL;
	if (l->is_threaded) {
		await(l, keep_up, ctx);
		pthread_join(l->thread, NULL);
	}
	if (l->types_fd >= 0)
		close(l->types_fd);
	r = l->r;
	free(l);
	return r;
}

void bpf_loading_await(bpf_keep_up_fn *keep_up, void *ctx)
{
	await(NULL, keep_up, ctx);
}
