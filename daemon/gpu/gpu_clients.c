/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_clients.c - the survey of descriptors, and the clients that it has found.
 *
 * A descriptor is looked at without touching what it leads to: by its link in
 * /proc/PID/fd, and only one that names a DRM node by its fdinfo. Both are texts of
 * the kernel about the process; a name that lies leads to no account of DRM.
 */
#include "gpu/gpu_clients.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "log.h"

#define MAX_KNOWN     65536 /* as counters_processes.c */
#define MAX_CLIENTS   1024
#define MAX_FDS	      4096 /* of a process, the lowest: 5 ms. GPUs are opened early */
#define MIN_SURVEYED  32   /* per poll, however slow: the round must come to an end */
#define FIRST_BUDGETS 16   /* the first poll may take longer: a trace starts with it */
#define FDINFO_LEN    8192 /* 3 KB with all that is documented */

struct client {
	uint32_t tgid;
	unsigned card;
	uint64_t id;
	int fd;		  /* of its fdinfo */
	uint64_t time_ns; /* CLOCK_MONOTONIC, of the last reading; 0: there is none */
	struct gpu_fdinfo last;
};

struct gpu_clients {
	int proc_fd;
	const struct gpu_cards *cards;
	struct hash *known; /* tgid -> itself */
	uint32_t *tgids;
	size_t n_tgids, cap_tgids;
	size_t next; /* where the survey goes on */
	struct client *clients[MAX_CLIENTS];
	size_t n_clients;
	uint64_t n_polls;
	bool too_many, too_many_fds; /* said once */
};

int gpu_clients_new(int proc_fd, const struct gpu_cards *cards, struct gpu_clients **ret)
{
	struct gpu_clients *gc = calloc(1, sizeof(*gc));
	int r;

	if (!gc)
		return -ENOMEM;
	gc->proc_fd = proc_fd;
	gc->cards = cards;
	r = hash_new(&gc->known);
	if (r < 0) {
		gpu_clients_free(gc);
		return r;
	}
	*ret = gc;
	return 0;
}

static void remove_client(struct gpu_clients *gc, size_t i)
{
	close(gc->clients[i]->fd);
	free(gc->clients[i]);
	gc->clients[i] = gc->clients[--gc->n_clients];
}

void gpu_clients_free(struct gpu_clients *gc)
{
	if (!gc)
		return;
	while (gc->n_clients)
		remove_client(gc, gc->n_clients - 1);
	hash_free(gc->known);
	free(gc->tgids);
	free(gc);
}

size_t gpu_clients_count(const struct gpu_clients *gc)
{
	return gc->n_clients;
}

int gpu_clients_add(struct gpu_clients *gc, uint32_t tgid)
{
	if (hash_get_u64(gc->known, tgid))
		return 0;
	if (gc->n_tgids == MAX_KNOWN)
		return -E2BIG;
	if (gc->n_tgids == gc->cap_tgids) {
		size_t cap = gc->cap_tgids ? gc->cap_tgids * 2 : 256;
		uint32_t *tgids = reallocarray(gc->tgids, cap, sizeof(*tgids));

		if (!tgids)
			return -ENOMEM;
		gc->tgids = tgids;
		gc->cap_tgids = cap;
	}
	if (hash_set_u64(gc->known, tgid, gc) < 0)
		return -ENOMEM;
	/* It comes next: programs open their GPU when they begin. */
	if (gc->next < gc->n_tgids) {
		gc->tgids[gc->n_tgids] = gc->tgids[gc->next];
		gc->tgids[gc->next] = tgid;
	} else {
		gc->tgids[gc->n_tgids] = tgid;
	}
	gc->n_tgids++;
	return 0;
}

/* ---- the survey ---- */

/* 0, or -errno when the file does not answer or is none of a GPU. */
static int read_fdinfo(int fd, struct gpu_fdinfo *ret)
{
	char text[FDINFO_LEN];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	return n < 0 ? -errno : gpu_fdinfo_parse(text, (size_t)n, ret);
}

static const struct client *find_client(const struct gpu_clients *gc, unsigned card, uint64_t id)
{
	for (size_t i = 0; i < gc->n_clients; i++)
		if (gc->clients[i]->card == card && gc->clients[i]->id == id)
			return gc->clients[i];
	return NULL;
}

static void add_client(struct gpu_clients *gc, uint32_t tgid, unsigned card, int fd, uint64_t id)
{
	struct client *client;

	if (gc->n_clients == MAX_CLIENTS) {
		if (!gc->too_many)
			log_info("gpu-counters: only %d open files of GPUs are looked at",
				 MAX_CLIENTS);
		gc->too_many = true;
		close(fd);
		return;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return;
	}
	*client = (struct client){ .tgid = tgid, .card = card, .id = id, .fd = fd };
	gc->clients[gc->n_clients++] = client;
}

/* The device whose node descriptor `name` in `dir_fd` is; < 0: it is another file. */
static int card_of(const struct gpu_clients *gc, int dir_fd, const char *name)
{
	static const char dri[] = "/dev/dri/", accel[] = "/dev/accel/";
	char target[64];
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target));

	if (n <= 0 || (size_t)n == sizeof(target))
		return -ENODEV;
	target[n] = 0;
	if (!strncmp(target, dri, sizeof(dri) - 1))
		return gpu_cards_find(gc->cards, target + sizeof(dri) - 1);
	if (!strncmp(target, accel, sizeof(accel) - 1))
		return gpu_cards_find(gc->cards, target + sizeof(accel) - 1);
	return -ENODEV;
}

/* A device that sleeps is not asked about; what uses it wakes it, and is found then. */
static void survey_fd(struct gpu_clients *gc, uint32_t tgid, int dir_fd, const char *name)
{
	int card = card_of(gc, dir_fd, name), fd;
	struct gpu_fdinfo info;
	char path[64];

	if (card < 0 || !gpu_cards_awake(gc->cards, (unsigned)card))
		return;
	snprintf(path, sizeof(path), "%u/fdinfo/%.16s", tgid, name);
	fd = openat(gc->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read_fdinfo(fd, &info) < 0 || find_client(gc, (unsigned)card, info.client_id)) {
		close(fd);
		return;
	}
	add_client(gc, tgid, (unsigned)card, fd, info.client_id);
}

/* -errno: it is gone, or as good as. */
static int survey_one(struct gpu_clients *gc, uint32_t tgid)
{
	unsigned n = 0;
	struct dirent *entry;
	char path[32];
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%u/fd", tgid);
	fd = openat(gc->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (n < MAX_FDS && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		survey_fd(gc, tgid, fd, entry->d_name);
		n++;
	}
	closedir(dir);
	if (n == MAX_FDS && !gc->too_many_fds) {
		log_info("gpu-counters: process %u has many descriptors, only the first %d are "
			 "looked at",
			 tgid, MAX_FDS);
		gc->too_many_fds = true;
	}
	return 0;
}

static void survey(struct gpu_clients *gc, uint64_t budget_ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + budget_ns;
	size_t n = gc->n_tgids;

	for (size_t i = 0; i < n && gc->n_tgids; i++) {
		if (i >= MIN_SURVEYED && clock_ns(CLOCK_MONOTONIC) >= end)
			break;
		if (gc->next >= gc->n_tgids)
			gc->next = 0;
		if (survey_one(gc, gc->tgids[gc->next]) == 0) {
			gc->next++;
			continue;
		}
		/* The last one takes the place of one that is gone: it comes next. */
		hash_remove_u64(gc->known, gc->tgids[gc->next]);
		gc->tgids[gc->next] = gc->tgids[--gc->n_tgids];
	}
}

/* ---- what clients use ---- */

struct report {
	gpu_value_fn *fn;
	void *ctx;
	struct gpu_value v;
};

/* Of the process, and for engines also of the device. */
static void report(struct report *rep, uint16_t kind, const char *name, int64_t value)
{
	struct gpu_value v = rep->v;

	v.kind = kind;
	memcpy(v.name, name, sizeof(v.name));
	v.value = value;
	rep->fn(rep->ctx, &v);
	if (kind != GPU_BUSY)
		return;
	v.tgid = 0;
	rep->fn(rep->ctx, &v);
}

static int64_t clamp(uint64_t n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

static void report_client(struct report *rep, const struct client *client,
			  const struct gpu_fdinfo *now, uint64_t now_ns)
{
	for (size_t i = 0; client->time_ns && i < now->n_engines; i++) {
		const struct gpu_engine *engine = &now->engines[i], *then = NULL;
		int64_t busy;

		for (size_t j = 0; j < client->last.n_engines && !then; j++)
			if (!strcmp(client->last.engines[j].name, engine->name))
				then = &client->last.engines[j];
		if (then && gpu_engine_busy(then, engine, now_ns - client->time_ns, &busy) == 0)
			report(rep, GPU_BUSY, engine->name, busy);
	}
	for (size_t i = 0; i < now->n_regions; i++) {
		const struct gpu_region *region = &now->regions[i];

		if (region->has_resident)
			report(rep, GPU_RESIDENT, region->name, clamp(region->resident));
		if (region->has_total)
			report(rep, GPU_TOTAL, region->name, clamp(region->total));
	}
}

/* It keeps its memory, and does nothing. */
static void report_asleep(struct report *rep, struct client *client)
{
	for (size_t i = 0; i < client->last.n_engines; i++)
		report(rep, GPU_BUSY, client->last.engines[i].name, 0);
	for (size_t i = 0; i < client->last.n_regions; i++) {
		const struct gpu_region *region = &client->last.regions[i];

		if (region->has_resident)
			report(rep, GPU_RESIDENT, region->name, clamp(region->resident));
		if (region->has_total)
			report(rep, GPU_TOTAL, region->name, clamp(region->total));
	}
}

/* false: this client is gone, or its descriptor is another one now. */
static bool poll_client(struct gpu_clients *gc, struct client *client, gpu_value_fn *fn, void *ctx)
{
	struct report rep = { .fn = fn,
			      .ctx = ctx,
			      .v = { .tgid = client->tgid, .card = (uint16_t)client->card } };
	struct gpu_fdinfo now;
	uint64_t now_ns;

	if (!gpu_cards_has(gc->cards, client->card))
		return false;
	if (!gpu_cards_awake(gc->cards, client->card)) {
		report_asleep(&rep, client);
		return true;
	}
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (read_fdinfo(client->fd, &now) < 0 || now.client_id != client->id)
		return false;
	report_client(&rep, client, &now, now_ns);
	client->last = now;
	client->time_ns = now_ns;
	return true;
}

void gpu_clients_poll(struct gpu_clients *gc, uint64_t budget_ns, gpu_value_fn *fn, void *ctx)
{
	survey(gc, gc->n_polls++ ? budget_ns : budget_ns * FIRST_BUDGETS);
	for (size_t i = 0; i < gc->n_clients;) {
		if (poll_client(gc, gc->clients[i], fn, ctx))
			i++;
		else
			remove_client(gc, i);
	}
}
