/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters_poll.c - adds up what the clients of a process use, and makes
 * records of it and of the sensors.
 *
 * What was used and is not any more becomes 0 once: in the UI a counter that is not
 * written any more looks like one that does not change.
 */
#include "gpu/gpu_counters_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_cards.h"
#include "gpu/gpu_clients.h"
#include "gpu/gpu_counters_events.h"

/* 1024 clients with all that fits into their fdinfo would be 40,000; each has a few. */
#define MAX_VALUES 32768

struct values {
	struct gpu_value *all;
	size_t n, cap;
};

struct gpu_counters_poll {
	int proc_fd;
	struct gpu_cards *cards;
	struct gpu_clients *clients;
	size_t n_cards;
	struct values now, last; /* sorted when a poll is over */
	uint64_t n_records;
	struct gpu_counters_record rec; /* the one being filled */
	event_sink_fn *sink;
	void *sink_ctx;
};

int gpu_counters_poll_new(const char *proc, const char *sys, struct gpu_counters_poll **ret)
{
	struct gpu_counters_poll *poll = calloc(1, sizeof(*poll));
	int r;

	if (!poll)
		return -ENOMEM;
	poll->proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (poll->proc_fd < 0) {
		r = -errno;
		goto fail;
	}
	r = gpu_cards_new(sys, &poll->cards);
	if (r == 0)
		r = gpu_clients_new(poll->proc_fd, poll->cards, &poll->clients);
	if (r < 0)
		goto fail;
	*ret = poll;
	return 0;

fail:
	gpu_counters_poll_free(poll);
	return r;
}

void gpu_counters_poll_free(struct gpu_counters_poll *poll)
{
	if (!poll)
		return;
	gpu_clients_free(poll->clients);
	gpu_cards_free(poll->cards);
	if (poll->proc_fd >= 0)
		close(poll->proc_fd);
	free(poll->now.all);
	free(poll->last.all);
	free(poll);
}

bool gpu_counters_poll_has_gpu(const struct gpu_counters_poll *poll)
{
	return poll->n_cards > 0;
}

void gpu_counters_poll_process(struct gpu_counters_poll *poll, uint32_t tgid)
{
	/* Out of memory, or too many: this one has no counters. */
	(void)gpu_clients_add(poll->clients, tgid);
}

void gpu_counters_poll_explain(struct gpu_counters_poll *poll, char why[WHY_LEN])
{
	struct gpu_card_item items[GPU_MAX_CARDS];
	size_t n;

	why[0] = 0;
	poll->n_cards = gpu_cards_scan(poll->cards);
	n = gpu_cards_list(poll->cards, items);
	for (size_t i = 0; i < n && !why[0]; i++)
		if (!strcmp(items[i].driver, "nvidia"))
			snprintf(why, WHY_LEN,
				 "of %s only whether it is awake: NVIDIA's driver gives busy time, "
				 "memory, clocks, temperature and power to its own library alone",
				 items[i].device);
}

uint64_t gpu_counters_poll_count(const struct gpu_counters_poll *poll)
{
	return poll->n_records;
}

/* ---- values ---- */

static void add_value(void *ctx, const struct gpu_value *v)
{
	struct values *values = ctx;

	if (values->n == values->cap) {
		size_t cap = values->cap ? values->cap * 2 : 64;
		struct gpu_value *all;

		if (values->cap >= MAX_VALUES)
			return;
		all = reallocarray(values->all, cap, sizeof(*all));
		if (!all)
			return; /* this poll lacks it */
		values->all = all;
		values->cap = cap;
	}
	values->all[values->n++] = *v;
}

/* Of whom and what: all but the number. */
static int compare(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct gpu_value, value));
}

/* Sorted, and one for each process, device, kind and name. */
static void add_up(struct values *values)
{
	size_t n = 0;

	if (values->n)
		qsort(values->all, values->n, sizeof(values->all[0]), compare);
	for (size_t i = 0; i < values->n; i++) {
		struct gpu_value *v = &values->all[i];
		int64_t *sum = n ? &values->all[n - 1].value : NULL;

		if (!n || compare(&values->all[n - 1], v) != 0)
			values->all[n++] = *v;
		else if (__builtin_add_overflow(*sum, v->value, sum))
			*sum = INT64_MAX;
	}
	values->n = n;
}

/* Several clients, each almost all the time: more than there is only by imprecision. */
static void limit(struct values *values)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->all[i].kind == GPU_BUSY && values->all[i].value > 100000)
			values->all[i].value = 100000;
}

/* ---- records ---- */

/* Hands over what has gathered and makes room for more of `type`. */
static void push(struct gpu_counters_poll *poll, unsigned type)
{
	struct gpu_counters_record *rec = &poll->rec;

	if (!rec->n)
		return;
	rec->hdr.type = (uint16_t)type;
	rec->hdr.size = (uint16_t)gpu_counters_record_size(type, rec->n);
	rec->hdr.seq = poll->n_records++;
	poll->sink(poll->sink_ctx, &rec->hdr, rec->hdr.size);
	rec->n = 0;
}

static void push_value(struct gpu_counters_poll *poll, const struct gpu_value *v)
{
	poll->rec.items.values[poll->rec.n++] = *v;
	if (poll->rec.n == GPU_COUNTERS_ITEMS)
		push(poll, GPU_COUNTERS_VALUES);
}

/* A device that is off does nothing; how warm it is and what it draws nobody knows. */
static bool ends_with_0(unsigned kind)
{
	return kind == GPU_BUSY || kind == GPU_RESIDENT || kind == GPU_TOTAL ||
	       kind == GPU_SENSOR_BUSY || kind == GPU_SENSOR_HZ;
}

/*
 * Is there still somebody to whom it can end? Of a process that is over nothing is said
 * after its end; that it is there now says that it was there at the time of this poll.
 */
static bool has_owner(const struct gpu_counters_poll *poll, const struct gpu_value *v)
{
	char path[16];

	if (!gpu_cards_has(poll->cards, v->card))
		return false;
	snprintf(path, sizeof(path), "%u", v->tgid);
	return !v->tgid || faccessat(poll->proc_fd, path, F_OK, 0) == 0;
}

/* Both lists are sorted: what is only in the older one has come to its end. */
static void push_values(struct gpu_counters_poll *poll)
{
	const struct gpu_value *now = poll->now.all, *last = poll->last.all;
	const struct gpu_value *now_end = now + poll->now.n, *last_end = last + poll->last.n;

	while (now < now_end || last < last_end) {
		int order = now == now_end ? 1 : last == last_end ? -1 : compare(now, last);

		if (order > 0) {
			struct gpu_value gone = *last++;

			gone.value = 0;
			if (ends_with_0(gone.kind) && has_owner(poll, &gone))
				push_value(poll, &gone);
			continue;
		}
		last += order == 0;
		push_value(poll, now++);
	}
	push(poll, GPU_COUNTERS_VALUES);
}

void gpu_counters_poll_run(struct gpu_counters_poll *poll, uint64_t now_ns, uint64_t budget_ns,
			   event_sink_fn *sink, void *sink_ctx)
{
	struct values swap = poll->last;

	poll->n_cards = gpu_cards_scan(poll->cards);
	if (!poll->n_cards && !gpu_clients_count(poll->clients) && !poll->now.n)
		return;
	poll->sink = sink;
	poll->sink_ctx = sink_ctx;
	memset(&poll->rec, 0, sizeof(poll->rec));
	poll->rec.hdr.time_ns = now_ns;

	poll->last = poll->now;
	poll->now = swap;
	poll->now.n = 0;
	gpu_clients_poll(poll->clients, budget_ns, add_value, &poll->now);
	add_up(&poll->now);
	limit(&poll->now);
	/* Of sensors there is one of a name: a second one is not added to it. */
	gpu_cards_read(poll->cards, now_ns, add_value, &poll->now);
	if (poll->now.n)
		qsort(poll->now.all, poll->now.n, sizeof(poll->now.all[0]), compare);

	poll->rec.n = (uint32_t)gpu_cards_list(poll->cards, poll->rec.items.cards);
	push(poll, GPU_COUNTERS_CARDS);
	push_values(poll);
}
