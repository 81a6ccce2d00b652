/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_cut_sched.c - where a snapshot begins: bundles of scheduler and process events.
 *
 * A CPU's first switch in a trace has to be a whole event, and who wakes is not known before
 * it. Of processes nothing is left out: who ended just before the beginning is in its tree.
 */
#include <stdlib.h>
#include <string.h>

#include "flight/flight_cut_impl.h"

/* The message of a switch, in memory that lives as long as the bundle's. */
static FtraceEvent *whole_switch(const struct cut_cpu *cpu,
				 const FtraceEventBundle__CompactSched *s, size_t i)
{
	FtraceEvent *ev = calloc(1, sizeof(*ev));
	SchedSwitchFtraceEvent *sw = calloc(1, sizeof(*sw));
	const char *comm = s->intern_table[s->switch_next_comm_index[i]];

	if (!ev || !sw) {
		free(ev);
		free(sw);
		return NULL;
	}
	ftrace_event__init(ev);
	sched_switch_ftrace_event__init(sw);
	ev->has_timestamp = ev->has_pid = 1;
	ev->timestamp = s->switch_timestamp[i];
	ev->pid = (uint32_t)cpu->pid;
	ev->sched_switch = sw;
	sw->has_prev_pid = sw->has_prev_prio = sw->has_prev_state = 1;
	sw->has_next_pid = sw->has_next_prio = 1;
	sw->prev_comm = strdup(cpu->comm);
	sw->prev_pid = cpu->pid;
	sw->prev_prio = cpu->prio;
	sw->prev_state = s->switch_prev_state[i];
	sw->next_comm = strdup(comm);
	sw->next_pid = s->switch_next_pid[i];
	sw->next_prio = s->switch_next_prio[i];
	return ev;
}

static void remember(struct cut_cpu *cpu, int32_t pid, int32_t prio, const char *comm)
{
	cpu->has_before = true;
	cpu->pid = pid;
	cpu->prio = prio;
	strncpy(cpu->comm, comm ? comm : "", sizeof(cpu->comm) - 1);
}

static void begin_cpu(struct cut_cpu *cpu, uint64_t time_ns)
{
	if (!cpu->begun)
		cpu->begun_ns = time_ns;
	cpu->begun = true;
}

static bool cut_events(struct flight_cut *c, struct cut_cpu *cpu, FtraceEventBundle *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n_event; i++) {
		FtraceEvent *ev = b->event[i];
		const SchedSwitchFtraceEvent *sw = ev->sched_switch;

		if (ev->timestamp >= c->begin_ns) {
			if (sw)
				begin_cpu(cpu, ev->timestamp);
			b->event[n++] = ev;
			continue;
		}
		if (sw)
			remember(cpu, sw->next_pid, sw->next_prio, sw->next_comm);
		protobuf_c_message_free_unpacked(&ev->base, NULL);
	}
	flight_cut_count(c, "sched", b->n_event - n);
	if (n == b->n_event)
		return false;
	b->n_event = n;
	return true;
}

/* Times in columns are differences; here they are times for as long as it is worked on. */
static void add_up(uint64_t *times, size_t n)
{
	for (size_t i = 1; i < n; i++)
		times[i] += times[i - 1];
}

static void take_apart(uint64_t *times, size_t n)
{
	for (size_t i = n; i-- > 1;)
		times[i] -= times[i - 1];
}

#define CUT_COLUMN(column, n_column, from)                                                    \
	do {                                                                                  \
		(n_column) -= (from);                                                         \
		if ((n_column) > 0)                                                           \
			memmove((column), (column) + (from), (n_column) * sizeof(*(column))); \
	} while (0)

static void cut_switch_columns(FtraceEventBundle__CompactSched *s, size_t from)
{
	CUT_COLUMN(s->switch_timestamp, s->n_switch_timestamp, from);
	CUT_COLUMN(s->switch_prev_state, s->n_switch_prev_state, from);
	CUT_COLUMN(s->switch_next_pid, s->n_switch_next_pid, from);
	CUT_COLUMN(s->switch_next_prio, s->n_switch_next_prio, from);
	CUT_COLUMN(s->switch_next_comm_index, s->n_switch_next_comm_index, from);
}

static void cut_waking_columns(FtraceEventBundle__CompactSched *s, size_t from)
{
	CUT_COLUMN(s->waking_timestamp, s->n_waking_timestamp, from);
	CUT_COLUMN(s->waking_pid, s->n_waking_pid, from);
	CUT_COLUMN(s->waking_target_cpu, s->n_waking_target_cpu, from);
	CUT_COLUMN(s->waking_prio, s->n_waking_prio, from);
	CUT_COLUMN(s->waking_comm_index, s->n_waking_comm_index, from);
	if (s->n_waking_common_flags >= from)
		CUT_COLUMN(s->waking_common_flags, s->n_waking_common_flags, from);
}

/* True: the bundle has one event more. */
static bool add_whole_switch(FtraceEventBundle *b, const struct cut_cpu *cpu, size_t i)
{
	FtraceEvent **grown = reallocarray(b->event, b->n_event + 1, sizeof(*grown));

	if (!grown)
		return false;
	b->event = grown;
	b->event[b->n_event] = whole_switch(cpu, b->compact_sched, i);
	b->n_event += b->event[b->n_event] != NULL;
	return b->n_event > 0;
}

static bool cut_switches(struct flight_cut *c, struct cut_cpu *cpu, FtraceEventBundle *b)
{
	FtraceEventBundle__CompactSched *s = b->compact_sched;
	size_t n = s->n_switch_timestamp, from = 0;

	add_up(s->switch_timestamp, n);
	while (from < n && s->switch_timestamp[from] < c->begin_ns) {
		remember(cpu, s->switch_next_pid[from], s->switch_next_prio[from],
			 s->intern_table[s->switch_next_comm_index[from]]);
		from++;
	}
	flight_cut_count(c, "sched", from);
	if (from < n && !cpu->begun) {
		begin_cpu(cpu, s->switch_timestamp[from]);
		/* Else it is the first of a segment, which has its whole event already. */
		if (cpu->has_before && add_whole_switch(b, cpu, from))
			from++;
	}
	cut_switch_columns(s, from);
	take_apart(s->switch_timestamp, n - from);
	return from > 0;
}

static bool cut_wakings(struct flight_cut *c, const struct cut_cpu *cpu,
			FtraceEventBundle__CompactSched *s)
{
	size_t n = s->n_waking_timestamp, from = 0;

	add_up(s->waking_timestamp, n);
	while (from < n && (!cpu->begun || s->waking_timestamp[from] < cpu->begun_ns))
		from++;
	flight_cut_count(c, "sched", from);
	cut_waking_columns(s, from);
	take_apart(s->waking_timestamp, n - from);
	return from > 0;
}

static bool move_events(struct flight_cut *c, FtraceEventBundle *b)
{
	bool changed = false;

	for (size_t i = 0; i < b->n_event; i++) {
		if (b->event[i]->timestamp >= c->begin_ns)
			continue;
		b->event[i]->timestamp = c->begin_ns;
		changed = true;
	}
	return changed;
}

bool flight_cut_bundle(struct flight_cut *c, FtraceEventBundle *b, bool of_processes)
{
	struct cut_cpu *cpu = b->cpu < MAX_CPUS ? &c->cpus[b->cpu] : NULL;
	bool changed, was_begun;

	if (!cpu)
		return false;
	if (of_processes)
		return move_events(c, b);
	was_begun = cpu->begun;
	changed = cut_events(c, cpu, b);
	if (b->compact_sched) {
		changed = cut_switches(c, cpu, b) || changed;
		changed = cut_wakings(c, cpu, b->compact_sched) || changed;
	}
	/* What was lost before it is not missing here. */
	if (!was_begun && b->lost_events) {
		b->has_lost_events = b->lost_events = 0;
		changed = true;
	}
	return changed;
}
