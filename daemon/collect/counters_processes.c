/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_processes.c - the survey of all processes and the list of those
 * watched.
 *
 * Once watched, a process stays so until it ends or a more deserving one needs
 * its place: in the UI a counter that is not written any more looks like one
 * that does not change.
 */
#include "collect/counters_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"

#define N_LARGEST     20    /* by memory: as many as one looks at */
#define N_BUSIEST     20    /* by CPU time, of those surveyed in one poll */
#define MAX_KNOWN     65536 /* 5 MB; the process table has its own cap */
#define MIN_SURVEYED  8	    /* per poll, however slow: the round must come to an end */
#define FIRST_BUDGETS 8	    /* the first poll may take longer: a trace starts with it */
#define PID_FILE_LEN  4096  /* status is 1.5 KB, and no longer than its fixed lines */

struct known {
	uint32_t tgid;
	uint32_t index; /* in `all` */
	uint64_t start_ticks, cpu_ticks, rss_pages;
	uint64_t used_ticks; /* between the last two surveys */
	uint64_t deserved;   /* number of the last poll in which it was among the first */
	bool surveyed;
	int status_fd, oom_fd; /* -1: not watched */
};

struct counters_processes {
	int proc_fd;
	struct hash *by_tgid;
	struct known **all;
	size_t n_all, cap_all;
	size_t next; /* where the survey goes on */
	struct known *watched[COUNTERS_MAX_ITEMS];
	size_t n_watched;
	uint64_t n_polls;
};

int counters_processes_new(int proc_fd, struct counters_processes **ret)
{
	struct counters_processes *cp;
	int r;

	cp = calloc(1, sizeof(*cp));
	if (!cp)
		return -ENOMEM;
	cp->proc_fd = proc_fd;
	r = hash_new(&cp->by_tgid);
	if (r < 0) {
		counters_processes_free(cp);
		return r;
	}
	*ret = cp;
	return 0;
}

static void unwatch(struct counters_processes *cp, struct known *k)
{
	if (k->status_fd < 0)
		return;
	close(k->status_fd);
	if (k->oom_fd >= 0)
		close(k->oom_fd);
	k->status_fd = k->oom_fd = -1;
	for (size_t i = 0; i < cp->n_watched; i++) {
		if (cp->watched[i] == k) {
			cp->watched[i] = cp->watched[--cp->n_watched];
			break;
		}
	}
}

static void forget(struct counters_processes *cp, struct known *k)
{
	struct known *last = cp->all[--cp->n_all];

	unwatch(cp, k);
	hash_remove_u64(cp->by_tgid, k->tgid);
	cp->all[k->index] = last;
	last->index = k->index;
	free(k);
}

void counters_processes_free(struct counters_processes *cp)
{
	if (!cp)
		return;
	while (cp->n_all)
		forget(cp, cp->all[cp->n_all - 1]);
	hash_free(cp->by_tgid);
	free(cp->all);
	free(cp);
}

int counters_processes_add(struct counters_processes *cp, uint32_t tgid)
{
	struct known *k;
	int r;

	if (hash_get_u64(cp->by_tgid, tgid))
		return 0;
	if (cp->n_all == MAX_KNOWN)
		return -E2BIG;
	if (cp->n_all == cp->cap_all) {
		size_t cap = cp->cap_all ? cp->cap_all * 2 : 256;
		struct known **all = reallocarray(cp->all, cap, sizeof(struct known *));

		if (!all)
			return -ENOMEM;
		cp->all = all;
		cp->cap_all = cap;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->tgid = tgid;
	k->status_fd = k->oom_fd = -1;
	r = hash_set_u64(cp->by_tgid, tgid, k);
	if (r < 0) {
		free(k);
		return r;
	}
	k->index = cp->n_all;
	cp->all[cp->n_all++] = k;
	return 0;
}

static int open_pid_file(const struct counters_processes *cp, uint32_t tgid, const char *name)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	fd = openat(cp->proc_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* One call is one consistent reading. */
static ssize_t read_at_start(int fd, char text[PID_FILE_LEN])
{
	ssize_t n = pread(fd, text, PID_FILE_LEN, 0);

	return n < 0 ? -errno : n;
}

/* < 0: it is gone, or as good as. */
static int survey_one(struct counters_processes *cp, struct known *k)
{
	struct counters_pid_stat stat;
	char text[PID_FILE_LEN];
	ssize_t n;
	int fd, r;

	fd = open_pid_file(cp, k->tgid, "stat");
	if (fd < 0)
		return fd;
	n = read_at_start(fd, text);
	close(fd);
	if (n < 0)
		return n;
	r = counters_parse_pid_stat(text, n, &stat);
	if (r < 0)
		return r;

	if (k->surveyed && k->start_ticks != stat.start_ticks) {
		unwatch(cp, k); /* another process of the same id */
		k->surveyed = false;
	}
	k->used_ticks =
		k->surveyed && stat.cpu_ticks > k->cpu_ticks ? stat.cpu_ticks - k->cpu_ticks : 0;
	k->surveyed = true;
	k->start_ticks = stat.start_ticks;
	k->cpu_ticks = stat.cpu_ticks;
	k->rss_pages = stat.rss_pages;
	return 0;
}

/* Keeps the `max` largest by `key` in `top`, largest first. */
static void rank(struct known **top, size_t *n, size_t max, struct known *k, uint64_t key,
		 uint64_t (*key_of)(const struct known *))
{
	size_t i = *n;

	if (!key || (i == max && key <= key_of(top[max - 1])))
		return;
	if (i == max)
		i--;
	else
		(*n)++;
	for (; i && key_of(top[i - 1]) < key; i--)
		top[i] = top[i - 1];
	top[i] = k;
}

static uint64_t key_rss(const struct known *k)
{
	return k->rss_pages;
}

static uint64_t key_used(const struct known *k)
{
	return k->used_ticks;
}

/* Makes `k` one of those watched, in place of one that deserves it less. */
static void watch(struct counters_processes *cp, struct known *k)
{
	k->deserved = cp->n_polls;
	if (k->status_fd >= 0)
		return;
	if (cp->n_watched == COUNTERS_MAX_ITEMS) {
		struct known *least = cp->watched[0];

		for (size_t i = 1; i < cp->n_watched; i++)
			if (cp->watched[i]->deserved < least->deserved)
				least = cp->watched[i];
		if (least->deserved == cp->n_polls)
			return;
		unwatch(cp, least);
	}
	k->status_fd = open_pid_file(cp, k->tgid, "status");
	if (k->status_fd < 0)
		return;
	k->oom_fd = open_pid_file(cp, k->tgid, "oom_score_adj");
	cp->watched[cp->n_watched++] = k;
}

static void survey(struct counters_processes *cp, uint64_t budget_ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + budget_ns;
	struct known *largest[N_LARGEST], *busiest[N_BUSIEST];
	size_t n_largest = 0, n_busiest = 0, n = cp->n_all;

	for (size_t i = 0; i < n && cp->n_all; i++) {
		struct known *k;

		if (i >= MIN_SURVEYED && clock_ns(CLOCK_MONOTONIC) >= end)
			break;
		if (cp->next >= cp->n_all)
			cp->next = 0;
		k = cp->all[cp->next];
		/* The last one takes the place of one that is gone: it comes next. */
		if (survey_one(cp, k) < 0) {
			forget(cp, k);
			continue;
		}
		cp->next++;
		rank(busiest, &n_busiest, N_BUSIEST, k, k->used_ticks, key_used);
	}
	for (size_t i = 0; i < cp->n_all; i++)
		rank(largest, &n_largest, N_LARGEST, cp->all[i], cp->all[i]->rss_pages, key_rss);

	for (size_t i = 0; i < n_largest; i++)
		watch(cp, largest[i]);
	for (size_t i = 0; i < n_busiest; i++)
		watch(cp, busiest[i]);
}

static int read_watched(struct known *k, struct counters_process *ret)
{
	char text[PID_FILE_LEN];
	int64_t adj = 0;
	ssize_t n;
	int r;

	n = read_at_start(k->status_fd, text);
	if (n < 0)
		return n;
	r = counters_parse_pid_status(text, n, ret);
	if (r < 0)
		return r;
	if (k->oom_fd >= 0) {
		n = read_at_start(k->oom_fd, text);
		if (n < 0 || counters_parse_number(text, n, &adj) < 0 || adj < -1000 || adj > 1000)
			adj = 0;
	}
	ret->tgid = k->tgid;
	ret->oom_score_adj = adj;
	return 0;
}

size_t counters_processes_poll(struct counters_processes *cp, uint64_t budget_ns,
			       struct counters_process items[COUNTERS_MAX_ITEMS])
{
	size_t n = 0;

	survey(cp, cp->n_polls++ ? budget_ns : budget_ns * FIRST_BUDGETS);
	for (size_t i = 0; i < cp->n_watched;) {
		struct known *k = cp->watched[i];

		if (read_watched(k, &items[n]) < 0) {
			forget(cp, k);
			continue;
		}
		n++;
		i++;
	}
	return n;
}
