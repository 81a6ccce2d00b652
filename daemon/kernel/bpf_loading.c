/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_loading.c - BPF objects that are loaded by threads, side by side. */
#include "bpf_loading.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "cpus.h"

#define KEEP_UP_NS (20 * NS_PER_MS)

/* At a time: each takes 10 MB of memory for the kernel's types. */
#define MAX_BUSY 4

struct bpf_loading {
	struct bpf_object_skeleton *skel;
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

static void *load(void *arg)
{
	struct bpf_loading *l = arg;

	pthread_mutex_lock(&lock);
	while (l->turn != n_turned || n_turned - n_over >= max_busy)
		pthread_cond_wait(&changed, &lock);
	n_turned++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);

	l->r = bpf_object__load_skeleton(l->skel);

	pthread_mutex_lock(&lock);
	l->is_over = true;
	n_over++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

struct bpf_loading *bpf_loading_begin(struct bpf_object_skeleton *skel)
{
	struct bpf_loading *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
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
		l->r = bpf_object__load_skeleton(skel);
	return l;
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
	r = l->r;
	free(l);
	return r;
}

void bpf_loading_await(bpf_keep_up_fn *keep_up, void *ctx)
{
	await(NULL, keep_up, ctx);
}

int bpf_load_while(struct bpf_object_skeleton *skel, bpf_keep_up_fn *keep_up, void *ctx)
{
	struct bpf_loading *l = bpf_loading_begin(skel);

	return bpf_loading_end(&l, keep_up, ctx);
}
