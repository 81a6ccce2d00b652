/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sched.c - scheduler bundles: are they well formed, does each CPU's
 * story hold together, and who ran where when?
 *
 * Switches come compact (what ran before is inferred from the switch before)
 * or in full. Both become one list per CPU, 12 bytes each: a busy minute has
 * ten million of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

#define MAX_CPUS 1024 /* of the importer: it refuses the trace beyond */

#define STATE_BITS 0x1ff /* TASK_* as the tracepoint prints them; 0x100: preempted */

/*
 * The tracepoint of a switch fires some instructions before the thread is off
 * the CPU, and a non-maskable interrupt can sample it there.
 */
#define HANDOVER_NS 20000

enum { PHASE_START = 1, PHASE_END = 2 };

struct cpu {
	struct check_list times; /* uint64_t; GAP: switches before it were lost */
	struct check_list tids;	 /* int32_t */
	bool lost;		 /* and no full switch since */
	bool lost_before;	 /* told in an earlier bundle than the one at hand */
	uint32_t sequence;	 /* of its switches; 0: there were none */
	int32_t running;	 /* by the last switch */
	uint64_t dropped_at_start, dropped;
	bool has_start;
};

#define GAP (1ull << 63)

/* One switch of the bundle at hand. */
struct change {
	uint64_t time_ns;
	int64_t prev_state;
	int32_t prev_pid, next_pid;
	bool full;
	uint32_t order;
};

struct check_sched {
	struct cpu *cpus[MAX_CPUS];
	struct check_list changes; /* of the bundle at hand */
	bool has_bundles;
	uint64_t n_lost;	   /* bundles that tell of a loss */
	unsigned n_starts, n_ends; /* FtraceStats */
	uint64_t n_irqs, n_power;
};

int check_sched_new(struct check_sched **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void check_sched_free(struct check_sched *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		if (!s->cpus[i])
			continue;
		check_list_done(&s->cpus[i]->times);
		check_list_done(&s->cpus[i]->tids);
		free(s->cpus[i]);
	}
	check_list_done(&s->changes);
	free(s);
}

static struct cpu *cpu_of(struct trace_check *c, uint64_t number)
{
	if (number >= MAX_CPUS)
		return NULL;
	if (!c->sched->cpus[number])
		c->sched->cpus[number] = check_alloc(c, sizeof(struct cpu));
	return c->sched->cpus[number];
}

static uint64_t time_at(const struct cpu *cpu, size_t i)
{
	return ((const uint64_t *)cpu->times.items)[i] & ~GAP;
}

static bool gap_before(const struct cpu *cpu, size_t i)
{
	return ((const uint64_t *)cpu->times.items)[i] & GAP;
}

static int32_t tid_at(const struct cpu *cpu, size_t i)
{
	return ((const int32_t *)cpu->tids.items)[i];
}

/* ---- switches ---- */

static void add_change(struct trace_check *c, const struct change *change)
{
	struct check_list *l = &c->sched->changes;
	struct change *item = check_list_add(c, l, sizeof(*item));

	if (!item)
		return;
	*item = *change;
	item->order = (uint32_t)l->n;
	check_ftrace_time(c, change->time_ns);
}

static int by_time(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void prev_state(struct trace_check *c, const struct change *s, unsigned number)
{
	uint64_t state = (uint64_t)s->prev_state;

	/* The tracepoint prints the highest bit only. */
	if ((state & ~(uint64_t)STATE_BITS) || (state & (state - 1)))
		check_report(c, CHECK_PREV_STATE, s->time_ns,
			     "prev_state 0x%llx on CPU %u at %.6f s", (unsigned long long)state,
			     number, check_seconds(c, s->time_ns));
}

static void one_switch(struct trace_check *c, struct cpu *cpu, unsigned number,
		       const struct change *s)
{
	bool first = cpu->times.n == 0;
	uint64_t *time;
	int32_t *tid;

	prev_state(c, s, number);
	if ((first || cpu->lost_before) && !s->full)
		check_report(c, CHECK_NO_FULL_SWITCH, s->time_ns,
			     "the first switch on CPU %u%s is a compact one", number,
			     first ? "" : " after a loss");
	if (!first && !cpu->lost && s->full && s->prev_pid != cpu->running)
		check_report(c, CHECK_PREV_PID, s->time_ns,
			     "CPU %u leaves thread %d at %.6f s, but ran %d", number, s->prev_pid,
			     check_seconds(c, s->time_ns), cpu->running);
	if (!first && s->time_ns < time_at(cpu, cpu->times.n - 1))
		check_report(c, CHECK_SCHED_BACK, s->time_ns,
			     "CPU %u switches at %.6f s, after a switch at %.6f s", number,
			     check_seconds(c, s->time_ns),
			     check_seconds(c, time_at(cpu, cpu->times.n - 1)));

	time = check_list_add(c, &cpu->times, sizeof(*time));
	tid = check_list_add(c, &cpu->tids, sizeof(*tid));
	if (!time || !tid)
		return;
	*time = (s->time_ns & ~GAP) | (cpu->lost ? GAP : 0);
	*tid = s->next_pid;
	cpu->running = s->next_pid;
	cpu->sequence = c->pkt->trusted_packet_sequence_id;
	/*
	 * A bundle that tells of a loss may begin with what was kept before it:
	 * only a full switch, or the next bundle, is surely behind.
	 */
	if (s->full || cpu->lost_before)
		cpu->lost = false;
	cpu->lost_before = false;
	c->summary.n_switches++;
}

static void compact_switches(struct trace_check *c, const FtraceEventBundle__CompactSched *s)
{
	size_t n = s->n_switch_timestamp;
	uint64_t t = 0;

	if (s->n_switch_prev_state != n || s->n_switch_next_pid != n ||
	    s->n_switch_next_prio != n || s->n_switch_next_comm_index != n) {
		check_report(c, CHECK_COMPACT_UNEQUAL, 0,
			     "switch arrays of %zu, %zu, %zu, %zu and %zu", n,
			     s->n_switch_prev_state, s->n_switch_next_pid, s->n_switch_next_prio,
			     s->n_switch_next_comm_index);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if ((int64_t)s->switch_timestamp[i] < 0)
			check_report(c, CHECK_COMPACT_NEGATIVE, t, "switch %zu of its bundle", i);
		if (s->switch_next_comm_index[i] >= s->n_intern_table)
			check_report(c, CHECK_COMPACT_INDEX, t,
				     "switch %zu of its bundle: %u of %zu", i,
				     s->switch_next_comm_index[i], s->n_intern_table);
		t += s->switch_timestamp[i];
		add_change(c, &(struct change){
				      .time_ns = t,
				      .prev_state = s->switch_prev_state[i],
				      .next_pid = s->switch_next_pid[i],
			      });
	}
}

static void compact_wakings(struct trace_check *c, const FtraceEventBundle__CompactSched *s,
			    const struct cpu *cpu, unsigned number)
{
	size_t n = s->n_waking_timestamp;
	uint64_t t = 0;

	if (s->n_waking_pid != n || s->n_waking_target_cpu != n || s->n_waking_prio != n ||
	    s->n_waking_comm_index != n ||
	    (s->n_waking_common_flags != n && s->n_waking_common_flags != 0)) {
		check_report(c, CHECK_COMPACT_UNEQUAL, 0,
			     "waking arrays of %zu, %zu, %zu, %zu, %zu and %zu", n, s->n_waking_pid,
			     s->n_waking_target_cpu, s->n_waking_prio, s->n_waking_comm_index,
			     s->n_waking_common_flags);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if ((int64_t)s->waking_timestamp[i] < 0)
			check_report(c, CHECK_COMPACT_NEGATIVE, t, "waking %zu of its bundle", i);
		if (s->waking_comm_index[i] >= s->n_intern_table)
			check_report(c, CHECK_COMPACT_INDEX, t,
				     "waking %zu of its bundle: %u of %zu", i,
				     s->waking_comm_index[i], s->n_intern_table);
		t += s->waking_timestamp[i];
		check_ftrace_time(c, t);
		if (cpu->times.n == 0 || t < time_at(cpu, 0))
			check_report(c, CHECK_WAKING_EARLY, t, "CPU %u wakes %d at %.6f s", number,
				     s->waking_pid[i], check_seconds(c, t));
	}
	c->summary.n_wakings += n;
}

/* ---- full events ---- */

static bool has_payload(const FtraceEvent *e)
{
	const ProtobufCMessageDescriptor *d = &ftrace_event__descriptor;

	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];

		if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
		    *(void *const *)((const char *)e + f->offset))
			return true;
	}
	return false;
}

/* True if it was one of those that are known here. */
static bool event_payload(struct trace_check *c, const FtraceEvent *e)
{
	struct check_sched *s = c->sched;

	if (e->sched_switch) {
		add_change(c, &(struct change){
				      .time_ns = e->timestamp,
				      .prev_state = e->sched_switch->prev_state,
				      .prev_pid = e->sched_switch->prev_pid,
				      .next_pid = e->sched_switch->next_pid,
				      .full = true,
			      });
		return true;
	}
	check_ftrace_time(c, e->timestamp);
	if (e->sched_waking || e->sched_wakeup_new)
		c->summary.n_wakings++;
	else if (e->irq_handler_entry || e->irq_handler_exit || e->softirq_entry || e->softirq_exit)
		s->n_irqs++;
	else if (e->cpu_frequency || e->cpu_idle)
		s->n_power++;
	else if (e->task_newtask)
		check_lives_newtask(c, e);
	else if (e->sched_process_free)
		check_lives_free_task(c, e->sched_process_free->pid, e->timestamp);
	else if (e->sched_blocked_reason && e->sched_blocked_reason->has_caller)
		check_ref(c, I_KERNEL_SYMBOL, e->sched_blocked_reason->caller);
	else
		return has_payload(e);
	return true;
}

static void events(struct trace_check *c, const FtraceEventBundle *b)
{
	for (size_t i = 0; i < b->n_event; i++) {
		const FtraceEvent *e = b->event[i];

		if (!e->has_timestamp) {
			check_report(c, CHECK_EVENT_NO_TIME, 0, "event %zu of its bundle", i);
			continue;
		}
		if (!e->has_pid)
			check_report(c, CHECK_EVENT_NO_PID, e->timestamp,
				     "event %zu of its bundle, at %.6f s", i,
				     check_seconds(c, e->timestamp));
		if (!event_payload(c, e))
			check_report(c, CHECK_EVENT_EMPTY, e->timestamp, "event %zu of its bundle",
				     i);
	}
}

/* ---- bundles ---- */

void check_sched_bundle(struct trace_check *c, const FtraceEventBundle *b)
{
	struct check_list *changes = &c->sched->changes;
	const struct change *item;
	struct cpu *cpu;
	bool sorted = true;

	c->sched->has_bundles = true;
	if (b->has_ftrace_clock && b->ftrace_clock)
		check_report(c, CHECK_FTRACE_CLOCK, 0, "bundle with ftrace_clock %d",
			     b->ftrace_clock);
	cpu = b->has_cpu ? cpu_of(c, b->cpu) : NULL;
	if (!cpu) {
		check_report(c, CHECK_BUNDLE_NO_CPU, 0, "bundle %s",
			     b->has_cpu ? "of a CPU beyond 1023" : "without a CPU");
		return;
	}
	/* What another sequence has lost there, as of processes, were no switches. */
	if (cpu->sequence == 0 || cpu->sequence == c->pkt->trusted_packet_sequence_id) {
		cpu->lost_before = cpu->lost;
		cpu->lost = cpu->lost || b->lost_events;
	}
	c->sched->n_lost += b->lost_events != 0;

	changes->n = 0;
	events(c, b);
	if (b->compact_sched)
		compact_switches(c, b->compact_sched);
	item = changes->items;
	for (size_t i = 1; i < changes->n && sorted; i++)
		sorted = item[i - 1].time_ns <= item[i].time_ns;
	if (!sorted)
		qsort(changes->items, changes->n, sizeof(*item), by_time);
	for (size_t i = 0; i < changes->n; i++)
		one_switch(c, cpu, b->cpu, &item[i]);
	if (b->compact_sched)
		compact_wakings(c, b->compact_sched, cpu, b->cpu);
}

/* ---- FtraceStats ---- */

void check_sched_stats(struct trace_check *c, const FtraceStats *stats)
{
	if (stats->phase != PHASE_START && stats->phase != PHASE_END) {
		check_report(c, CHECK_FTRACE_STATS, c->time_ns, "FtraceStats of phase %d",
			     stats->phase);
		return;
	}
	if (stats->phase == PHASE_START)
		c->sched->n_starts++;
	else
		c->sched->n_ends++;
	for (size_t i = 0; i < stats->n_cpu_stats; i++) {
		const FtraceCpuStats *s = stats->cpu_stats[i];
		struct cpu *cpu = cpu_of(c, s->cpu);

		if (!cpu)
			continue;
		if (stats->phase == PHASE_START)
			cpu->dropped_at_start = s->dropped_events;
		else
			cpu->dropped = s->dropped_events;
	}
}

uint64_t check_sched_dropped(const struct trace_check *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MAX_CPUS; i++) {
		const struct cpu *cpu = c->sched->cpus[i];

		if (cpu && cpu->dropped > cpu->dropped_at_start)
			sum += cpu->dropped - cpu->dropped_at_start;
	}
	return sum;
}

uint64_t check_sched_lost_bundles(const struct trace_check *c)
{
	return c->sched->n_lost;
}

uint64_t check_sched_events(const struct trace_check *c)
{
	return c->summary.n_switches + c->summary.n_wakings + c->sched->n_irqs + c->sched->n_power;
}

/* ---- who ran ---- */

void check_sched_finish(struct trace_check *c)
{
	const struct check_sched *s = c->sched;

	if (!s->has_bundles || !c->summary.complete || (s->n_starts == 1 && s->n_ends == 1))
		return;
	check_report_at(c, CHECK_FTRACE_STATS, UINT64_MAX, 0,
			"%u FtraceStats of phase START and %u of END", s->n_starts, s->n_ends);
}

enum check_running check_sched_running(struct trace_check *c, unsigned number, uint64_t time_ns,
				       int32_t tid, int32_t *ret_tid)
{
	const struct cpu *cpu = number < MAX_CPUS ? c->sched->cpus[number] : NULL;
	size_t low = 0, high = cpu ? cpu->times.n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (time_at(cpu, mid) <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return RUNNING_NOT_COVERED;
	low--; /* the switch before the sample */
	if (low + 1 < cpu->times.n ? gap_before(cpu, low + 1) : cpu->lost || !c->summary.complete)
		return RUNNING_NOT_COVERED;
	/* A switch that the kernel hides is given away by the next one; here none follows. */
	if (low + 1 == cpu->times.n && check_ledger_inferred(c) > 0)
		return RUNNING_NOT_COVERED;
	*ret_tid = tid_at(cpu, low);
	if (*ret_tid == tid)
		return RUNNING_YES;
	if (time_ns - time_at(cpu, low) > HANDOVER_NS)
		return RUNNING_NO;
	return low == 0 || gap_before(cpu, low) || tid_at(cpu, low - 1) == tid ? RUNNING_YES
									       : RUNNING_NO;
}
