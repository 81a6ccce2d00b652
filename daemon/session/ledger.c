/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the account of one source's events in one session. */
#include "ledger.h"

#include <errno.h>
#include <stdlib.h>

struct ledger_cpu {
	uint64_t first, next;
	uint64_t end; /* when `ended` */
	bool ended;
	uint64_t n_lost;
};

struct ledger {
	unsigned n_cpus;
	bool closed;
	struct ledger_loss fresh, sure; /* since the last ledger_tell(), and before */
	uint64_t n_excess;		/* told as lost, but came after all */
	struct ledger_cpu cpus[];
};

int ledger_new(unsigned n_cpus, struct ledger **ret)
{
	struct ledger *l = calloc(1, sizeof(*l) + n_cpus * sizeof(l->cpus[0]));

	if (!l)
		return -ENOMEM;
	l->n_cpus = n_cpus;
	*ret = l;
	return 0;
}

void ledger_free(struct ledger *l)
{
	free(l);
}

void ledger_begin(struct ledger *l, unsigned cpu, uint64_t first)
{
	l->cpus[cpu].first = l->cpus[cpu].next = first;
}

void ledger_skip(struct ledger *l, unsigned cpu, uint64_t first)
{
	if (l->cpus[cpu].first < first)
		ledger_begin(l, cpu, first);
}

void ledger_end(struct ledger *l, unsigned cpu, uint64_t end)
{
	struct ledger_cpu *c = &l->cpus[cpu];

	/* What has come is there, whatever the kernel's counter said. */
	c->end = end > c->next ? end : c->next;
	c->ended = true;
}

/* ---- losses to be told ---- */

static void add_loss(struct ledger_loss *to, uint64_t n, int cpu, uint64_t time_ns)
{
	to->cpu = to->n && to->cpu != cpu ? -1 : cpu;
	to->n += n;
	to->time_ns = time_ns;
}

static void lose(struct ledger *l, unsigned cpu, uint64_t n, uint64_t time_ns)
{
	l->cpus[cpu].n_lost += n;
	add_loss(&l->fresh, n, (int)cpu, time_ns);
}

static void find_again(struct ledger *l, unsigned cpu)
{
	l->cpus[cpu].n_lost--;
	if (l->fresh.n)
		l->fresh.n--;
	else if (l->sure.n)
		l->sure.n--;
	else
		l->n_excess++;
}

static void confirm(struct ledger *l)
{
	if (l->fresh.n)
		add_loss(&l->sure, l->fresh.n, l->fresh.cpu, l->fresh.time_ns);
	l->fresh.n = 0;
}

bool ledger_tell(struct ledger *l, struct ledger_loss *ret)
{
	uint64_t excess;

	if (l->closed)
		confirm(l);
	excess = l->n_excess < l->sure.n ? l->n_excess : l->sure.n;
	l->n_excess -= excess;
	*ret = l->sure;
	ret->n -= excess;
	l->sure.n = 0;
	confirm(l);
	return ret->n > 0;
}

/* ---- events ---- */

enum ledger_verdict ledger_take(struct ledger *l, unsigned cpu, uint64_t seq, uint64_t time_ns)
{
	struct ledger_cpu *c;
	uint64_t gap;

	if (cpu >= l->n_cpus)
		return LEDGER_NOT_OURS;
	c = &l->cpus[cpu];
	gap = seq > c->next ? seq - c->next : 0;
	if (l->closed || seq < c->first || seq == UINT64_MAX || (c->ended && seq >= c->end))
		return LEDGER_NOT_OURS;
	if (seq < c->next) {
		if (c->n_lost == 0)
			return LEDGER_NOT_OURS;
		find_again(l, cpu);
		return LEDGER_LATE;
	}
	if (gap)
		lose(l, cpu, gap, time_ns);
	c->next = seq + 1;
	if (gap > LEDGER_MAX_LATE)
		return LEDGER_AFTER_LOSS;
	return gap ? LEDGER_AFTER_GAP : LEDGER_IN_ORDER;
}

void ledger_close(struct ledger *l, uint64_t time_ns)
{
	for (unsigned cpu = 0; cpu < l->n_cpus; cpu++) {
		struct ledger_cpu *c = &l->cpus[cpu];

		if (!c->ended || c->end <= c->next)
			continue;
		lose(l, cpu, c->end - c->next, time_ns);
		c->next = c->end;
	}
	l->closed = true;
}

/* ---- sums ---- */

uint64_t ledger_produced(const struct ledger *l)
{
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < l->n_cpus; cpu++) {
		const struct ledger_cpu *c = &l->cpus[cpu];

		/* What was produced and has not come yet is in the ring, or lost. */
		n += (c->ended ? c->end : c->next) - c->first;
	}
	return n;
}

uint64_t ledger_lost_on(const struct ledger *l, unsigned cpu)
{
	return l->cpus[cpu].n_lost;
}

uint64_t ledger_lost(const struct ledger *l)
{
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < l->n_cpus; cpu++)
		n += l->cpus[cpu].n_lost;
	return n;
}
