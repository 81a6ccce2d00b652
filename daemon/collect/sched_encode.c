/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_encode.c - scheduler records to FtraceEventBundles, one per CPU and
 * block.
 *
 * Switches and wakings are columns of CompactSched (10 bytes instead of 50);
 * the rest are whole FtraceEvents. The thread switched out is not in a column:
 * the importer takes the one switched in before. So the first switch of a CPU,
 * and the first after a loss, is written as a whole event.
 *
 * Some kernels switch now and then without their tracepoint. The next switch
 * gives it away: it takes a thread off the CPU that was never put on it. The
 * missing switch is then written at the moment the scheduler noted for that
 * thread's arrival, and counted (attribute sched.inferred_switches).
 */
#include "sched_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sched_events.h"
#include "text.h"
#include "trace_meta.h"
#include "trace_writer.h"

/* Of one CPU; then its bundle is written before the block is closed. */
#define MAX_KEPT 1024

/* A clean comm: each of its 15 bytes may become U+FFFD. */
#define CLEAN_COMM (3 * EVENT_COMM_LEN)

/* hdr.seq of a switch that is no event of the kernel's. */
#define INFERRED UINT64_MAX

struct cpu_events {
	struct sched_switch_event switches[MAX_KEPT];
	struct sched_waking_event wakings[MAX_KEPT];
	struct sched_irq_event irqs[MAX_KEPT];
	unsigned n_switches, n_wakings, n_irqs;

	struct sched_switch_event first; /* to be written as a whole event */
	bool has_first;
	bool continuous;   /* the importer knows which thread runs */
	bool is_new;	   /* a segment has begun: the next switch is a whole event */
	uint64_t since_ns; /* of the last switch; 0: there was none */
	uint32_t running;  /* the thread it put there, with priority and name */
	int16_t running_prio;
	char running_comm[EVENT_COMM_LEN];
	int64_t clock_offset; /* BOOTTIME - the scheduler's clock on this CPU */
	bool has_offset;
	uint64_t first_ns; /* since when the importer knows it */
	bool gap;	   /* events were lost behind all that is kept */
	bool lost;	   /* and before it: to be told in the next bundle */
};

struct sched_encoder {
	struct trace_writer *writer;
	unsigned generation, n_drops;		 /* of the writer, when the last bundle was put */
	uint64_t n_inferred;			 /* switches that the kernel did not tell of */
	struct hash *comms;			 /* comm -> its index + 1 in the bundle at hand */
	struct cpu_events *cpus[SCHED_MAX_CPUS]; /* NULL: nothing happened there yet */
};

int sched_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct sched_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->writer = env->writer;
	e->generation = trace_writer_generation(env->writer);
	e->n_drops = trace_writer_n_drops(env->writer);
	r = hash_new(&e->comms);
	if (r < 0) {
		free(e);
		return r;
	}
	*ret_encoder = e;
	return 0;
}

void sched_encoder_free(void *encoder)
{
	struct sched_encoder *e = encoder;

	if (!e)
		return;
	for (unsigned i = 0; i < SCHED_MAX_CPUS; i++)
		free(e->cpus[i]);
	hash_free(e->comms);
	free(e);
}

static struct cpu_events *cpu_of(struct sched_encoder *e, unsigned cpu)
{
	if (!e->cpus[cpu])
		e->cpus[cpu] = calloc(1, sizeof(*e->cpus[cpu]));
	return e->cpus[cpu];
}

void sched_encoder_lost(void *encoder, int cpu)
{
	struct sched_encoder *e = encoder;

	for (unsigned i = 0; i < SCHED_MAX_CPUS; i++) {
		if (!e->cpus[i] || (cpu >= 0 && (unsigned)cpu != i))
			continue;
		e->cpus[i]->gap = true;
		e->cpus[i]->continuous = false;
	}
}

/* ---- one bundle ---- */

struct comm_table {
	char text[2 * MAX_KEPT + 2][CLEAN_COMM];
	char *ptrs[2 * MAX_KEPT + 2];
	size_t n;
};

/* The columns of a bundle; static, since one thread writes one bundle at a time. */
static struct columns {
	uint64_t switch_timestamp[MAX_KEPT];
	int64_t switch_prev_state[MAX_KEPT];
	int32_t switch_next_pid[MAX_KEPT], switch_next_prio[MAX_KEPT];
	uint32_t switch_next_comm_index[MAX_KEPT];
	uint64_t waking_timestamp[MAX_KEPT];
	int32_t waking_pid[MAX_KEPT], waking_target_cpu[MAX_KEPT], waking_prio[MAX_KEPT];
	uint32_t waking_comm_index[MAX_KEPT], waking_common_flags[MAX_KEPT];
	struct comm_table comms;

	FtraceEvent events[MAX_KEPT + 1];
	FtraceEvent *event_ptrs[MAX_KEPT + 1];
	union {
		IrqHandlerEntryFtraceEvent irq_entry;
		IrqHandlerExitFtraceEvent irq_exit;
		SoftirqEntryFtraceEvent softirq_entry;
		SoftirqExitFtraceEvent softirq_exit;
		CpuFrequencyFtraceEvent frequency;
		CpuIdleFtraceEvent idle;
	} payloads[MAX_KEPT];
	char irq_names[MAX_KEPT][3 * SCHED_IRQ_NAME_LEN];
} cols;

static uint32_t comm_index(struct sched_encoder *e, const char comm[EVENT_COMM_LEN])
{
	uintptr_t i = (uintptr_t)hash_get(e->comms, comm, EVENT_COMM_LEN);
	struct comm_table *t = &cols.comms;

	if (i)
		return (uint32_t)(i - 1);
	text_utf8(t->text[t->n], CLEAN_COMM, comm, strnlen(comm, EVENT_COMM_LEN));
	t->ptrs[t->n] = t->text[t->n];
	/* Out of memory: the name stands in the table twice, which is only longer. */
	(void)hash_set(e->comms, comm, EVENT_COMM_LEN, (void *)(uintptr_t)(t->n + 1));
	return (uint32_t)t->n++;
}

static void fill_switches(struct sched_encoder *e, const struct cpu_events *c,
			  FtraceEventBundle__CompactSched *msg)
{
	for (unsigned i = 0; i < c->n_switches; i++) {
		const struct sched_switch_event *ev = &c->switches[i];
		uint64_t before = i ? c->switches[i - 1].hdr.time_ns : 0;

		cols.switch_timestamp[i] = ev->hdr.time_ns - before;
		cols.switch_prev_state[i] = ev->prev_state;
		cols.switch_next_pid[i] = (int32_t)ev->hdr.tid;
		cols.switch_next_prio[i] = ev->next_prio;
		cols.switch_next_comm_index[i] = comm_index(e, ev->next_comm);
	}
	msg->n_switch_timestamp = msg->n_switch_prev_state = msg->n_switch_next_pid =
		msg->n_switch_next_prio = msg->n_switch_next_comm_index = c->n_switches;
	msg->switch_timestamp = cols.switch_timestamp;
	msg->switch_prev_state = cols.switch_prev_state;
	msg->switch_next_pid = cols.switch_next_pid;
	msg->switch_next_prio = cols.switch_next_prio;
	msg->switch_next_comm_index = cols.switch_next_comm_index;
}

static void fill_wakings(struct sched_encoder *e, const struct cpu_events *c,
			 FtraceEventBundle__CompactSched *msg)
{
	for (unsigned i = 0; i < c->n_wakings; i++) {
		const struct sched_waking_event *ev = &c->wakings[i];
		uint64_t before = i ? c->wakings[i - 1].hdr.time_ns : 0;

		cols.waking_timestamp[i] = ev->hdr.time_ns - before;
		cols.waking_pid[i] = (int32_t)ev->hdr.tid;
		cols.waking_target_cpu[i] = (int32_t)ev->target_cpu;
		cols.waking_prio[i] = ev->prio;
		cols.waking_comm_index[i] = comm_index(e, ev->comm);
		cols.waking_common_flags[i] = ev->flags;
	}
	msg->n_waking_timestamp = msg->n_waking_pid = msg->n_waking_target_cpu =
		msg->n_waking_prio = msg->n_waking_comm_index = msg->n_waking_common_flags =
			c->n_wakings;
	msg->waking_timestamp = cols.waking_timestamp;
	msg->waking_pid = cols.waking_pid;
	msg->waking_target_cpu = cols.waking_target_cpu;
	msg->waking_prio = cols.waking_prio;
	msg->waking_comm_index = cols.waking_comm_index;
	msg->waking_common_flags = cols.waking_common_flags;
}

static FtraceEvent *event_at(size_t i, const struct event_hdr *hdr)
{
	FtraceEvent *msg = &cols.events[i];

	ftrace_event__init(msg);
	msg->has_timestamp = msg->has_pid = 1;
	msg->timestamp = hdr->time_ns;
	msg->pid = hdr->peer_tid;
	cols.event_ptrs[i] = msg;
	return msg;
}

static void fill_irq(size_t i, const struct sched_irq_event *ev, size_t payload)
{
	FtraceEvent *msg = event_at(i, &ev->hdr);
	char *name = cols.irq_names[payload];

	switch (ev->hdr.type) {
	case SCHED_IRQ_ENTRY:
		msg->irq_handler_entry = &cols.payloads[payload].irq_entry;
		irq_handler_entry_ftrace_event__init(msg->irq_handler_entry);
		text_utf8(name, sizeof(cols.irq_names[0]), ev->name,
			  strnlen(ev->name, sizeof(ev->name)));
		msg->irq_handler_entry->has_irq = 1;
		msg->irq_handler_entry->irq = (int32_t)ev->number;
		msg->irq_handler_entry->name = name;
		break;
	case SCHED_IRQ_EXIT:
		msg->irq_handler_exit = &cols.payloads[payload].irq_exit;
		irq_handler_exit_ftrace_event__init(msg->irq_handler_exit);
		msg->irq_handler_exit->has_irq = msg->irq_handler_exit->has_ret = 1;
		msg->irq_handler_exit->irq = (int32_t)ev->number;
		msg->irq_handler_exit->ret = (int32_t)ev->value;
		break;
	case SCHED_SOFTIRQ_ENTRY:
		msg->softirq_entry = &cols.payloads[payload].softirq_entry;
		softirq_entry_ftrace_event__init(msg->softirq_entry);
		msg->softirq_entry->has_vec = 1;
		msg->softirq_entry->vec = ev->number;
		break;
	case SCHED_SOFTIRQ_EXIT:
		msg->softirq_exit = &cols.payloads[payload].softirq_exit;
		softirq_exit_ftrace_event__init(msg->softirq_exit);
		msg->softirq_exit->has_vec = 1;
		msg->softirq_exit->vec = ev->number;
		break;
	case SCHED_CPU_FREQUENCY:
		msg->cpu_frequency = &cols.payloads[payload].frequency;
		cpu_frequency_ftrace_event__init(msg->cpu_frequency);
		msg->cpu_frequency->has_state = msg->cpu_frequency->has_cpu_id = 1;
		msg->cpu_frequency->state = ev->value;
		msg->cpu_frequency->cpu_id = ev->number;
		break;
	default: /* SCHED_CPU_IDLE */
		msg->cpu_idle = &cols.payloads[payload].idle;
		cpu_idle_ftrace_event__init(msg->cpu_idle);
		msg->cpu_idle->has_state = msg->cpu_idle->has_cpu_id = 1;
		msg->cpu_idle->state = ev->value;
		msg->cpu_idle->cpu_id = ev->number;
	}
}

static void fill_first(FtraceEvent *msg, const struct sched_switch_event *ev,
		       SchedSwitchFtraceEvent *sw, char comms[2][CLEAN_COMM])
{
	text_utf8(comms[0], CLEAN_COMM, ev->prev_comm, strnlen(ev->prev_comm, EVENT_COMM_LEN));
	text_utf8(comms[1], CLEAN_COMM, ev->next_comm, strnlen(ev->next_comm, EVENT_COMM_LEN));
	msg->sched_switch = sw;
	sw->has_prev_pid = sw->has_prev_prio = sw->has_prev_state = 1;
	sw->has_next_pid = sw->has_next_prio = 1;
	sw->prev_comm = comms[0];
	sw->prev_pid = (int32_t)ev->hdr.peer_tid;
	sw->prev_prio = ev->prev_prio;
	sw->prev_state = ev->prev_state;
	sw->next_comm = comms[1];
	sw->next_pid = (int32_t)ev->hdr.tid;
	sw->next_prio = ev->next_prio;
}

static unsigned kept(const struct cpu_events *c)
{
	return c->n_switches + c->n_wakings + c->n_irqs + c->has_first;
}

static unsigned n_inferred(const struct cpu_events *c)
{
	unsigned n = c->has_first && c->first.hdr.seq == INFERRED;

	for (unsigned i = 0; i < c->n_switches; i++)
		n += c->switches[i].hdr.seq == INFERRED;
	return n;
}

/* Who woke them is not known any more. */
static void skip_wakings(struct sched_encoder *e, struct cpu_events *c, uint64_t before_ns)
{
	unsigned n = 0;

	while (n < c->n_wakings && c->wakings[n].hdr.time_ns < before_ns)
		n++;
	trace_writer_skip(e->writer, n);
	c->n_wakings -= n;
	memmove(c->wakings, c->wakings + n, c->n_wakings * sizeof(c->wakings[0]));
}

/*
 * A dropped block took the importer's knowledge of what runs with it: the first
 * switch of what is kept has to be a whole event.
 */
static void restart_after_drop(struct sched_encoder *e, struct cpu_events *c)
{
	c->lost = true;
	if (c->has_first)
		return;
	if (c->n_switches == 0) {
		c->continuous = false;
		skip_wakings(e, c, UINT64_MAX);
		return;
	}
	c->first = c->switches[0];
	c->first_ns = c->first.hdr.time_ns;
	c->has_first = true;
	c->n_switches--;
	memmove(c->switches, c->switches + 1, c->n_switches * sizeof(c->switches[0]));
	skip_wakings(e, c, c->first_ns);
}

static void notice_drop(struct sched_encoder *e)
{
	unsigned generation = trace_writer_generation(e->writer);
	unsigned n_drops = trace_writer_n_drops(e->writer);

	if (generation == e->generation)
		return;
	for (unsigned i = 0; i < SCHED_MAX_CPUS; i++) {
		if (e->cpus[i] && n_drops != e->n_drops)
			restart_after_drop(e, e->cpus[i]);
		else if (e->cpus[i])
			e->cpus[i]->is_new = true;
	}
	e->generation = generation;
	e->n_drops = n_drops;
}

static int write_bundle(struct sched_encoder *e, unsigned cpu)
{
	struct cpu_events *c = e->cpus[cpu];
	FtraceEventBundle__CompactSched compact = FTRACE_EVENT_BUNDLE__COMPACT_SCHED__INIT;
	SchedSwitchFtraceEvent first = SCHED_SWITCH_FTRACE_EVENT__INIT;
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;
	unsigned n, n_events;
	char comms[2][CLEAN_COMM];

	notice_drop(e); /* the bundle of the CPU before may have gone down */
	n = kept(c);
	n_events = n - n_inferred(c);
	if (n == 0 && !c->lost)
		return 0;
	hash_clear(e->comms);
	cols.comms.n = 0;
	if (c->has_first)
		fill_first(event_at(bundle.n_event++, &c->first.hdr), &c->first, &first, comms);
	for (unsigned i = 0; i < c->n_irqs; i++)
		fill_irq(bundle.n_event++, &c->irqs[i], i);
	bundle.event = cols.event_ptrs;
	if (c->n_switches || c->n_wakings) {
		fill_switches(e, c, &compact);
		fill_wakings(e, c, &compact);
		compact.n_intern_table = cols.comms.n;
		compact.intern_table = cols.comms.ptrs;
		bundle.compact_sched = &compact;
	}
	bundle.has_cpu = 1;
	bundle.cpu = cpu;
	bundle.has_lost_events = c->lost;
	bundle.lost_events = c->lost;
	pkt.ftrace_events = &bundle;

	c->n_switches = c->n_wakings = c->n_irqs = 0;
	c->has_first = c->lost = false;
	return trace_writer_put(e->writer, SEQ_FTRACE, &pkt, n_events);
}

/* What is kept is older than the gap, and the gap is told with what follows it. */
static int write_before_gap(struct sched_encoder *e, unsigned cpu)
{
	struct cpu_events *c = e->cpus[cpu];
	int r = write_bundle(e, cpu);

	c->gap = false;
	c->lost = true;
	return r;
}

int sched_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct sched_encoder *e = encoder;
	int r = 0;

	(void)now_ns;
	for (unsigned i = 0; i < SCHED_MAX_CPUS && r == 0; i++) {
		if (!e->cpus[i])
			continue;
		if (final && e->cpus[i]->gap)
			r = write_before_gap(e, i);
		/* The mark of a loss alone can wait for what follows, but not for ever. */
		if (r == 0 && (final || kept(e->cpus[i])))
			r = write_bundle(e, i);
	}
	if (r == 0 && final && e->n_inferred) {
		struct trace_attribute attr = { .key = "sched.inferred_switches",
						.number = (int64_t)e->n_inferred,
						.is_number = true };

		r = trace_meta_attributes(e->writer, &attr, 1);
	}
	return r;
}

/* ---- keeping ---- */

/*
 * Records of one CPU come in the order of their time, but for those of a
 * program that was interrupted by another: sift the new one down to its place.
 */
#define SIFT_LAST(array, n)                                                                        \
	for (unsigned i_ = (n)-1; i_ > 0 && (array)[i_ - 1].hdr.time_ns > (array)[i_].hdr.time_ns; \
	     i_--) {                                                                               \
		__typeof__((array)[0]) tmp_ = (array)[i_];                                         \
		(array)[i_] = (array)[i_ - 1];                                                     \
		(array)[i_ - 1] = tmp_;                                                            \
	}

static void append_switch(struct cpu_events *c, const struct sched_switch_event *ev)
{
	c->switches[c->n_switches++] = *ev;
	SIFT_LAST(c->switches, c->n_switches);
}

/*
 * The scheduler notes an arrival a little before the tracepoint fires, much
 * before when the machine under us pauses in between: the smallest distance is
 * the true one. Clocks drift against each other by no more than 0.1 %.
 */
static void learn_offset(struct cpu_events *c, const struct sched_switch_event *ev)
{
	int64_t offset = (int64_t)(c->since_ns - ev->prev_arrival);
	int64_t drift = (int64_t)((ev->hdr.time_ns - c->since_ns) / 1000);

	if (!c->has_offset || offset < c->clock_offset + drift)
		c->clock_offset = offset;
	else
		c->clock_offset += drift;
	c->has_offset = true;
}

/*
 * `ev` takes off the CPU a thread that nobody put on it, since the kernel did
 * not tell or since that event was lost: this is the switch that is missing.
 * The thread that was there before most likely went to sleep: had it been
 * preempted it would be back, and a wakeup that follows finds it asleep.
 */
static struct sched_switch_event missing_switch(const struct cpu_events *c,
						const struct sched_switch_event *ev)
{
	enum { SLEEPING = 1 };
	struct sched_switch_event missing = { .hdr = ev->hdr, .prev_state = SLEEPING };
	uint64_t when = c->since_ns + 1;

	if (c->has_offset && ev->prev_arrival)
		when = ev->prev_arrival + (uint64_t)c->clock_offset;
	if (when <= c->since_ns || when >= ev->hdr.time_ns)
		when = c->since_ns + 1;
	if (when > ev->hdr.time_ns)
		when = ev->hdr.time_ns;
	missing.hdr.seq = INFERRED;
	missing.hdr.time_ns = when;
	missing.hdr.tgid = ev->hdr.peer_tgid;
	missing.hdr.tid = ev->hdr.peer_tid;
	missing.hdr.peer_tgid = 0;
	missing.hdr.peer_tid = c->running;
	missing.prev_prio = c->running_prio;
	missing.next_prio = ev->prev_prio;
	memcpy(missing.prev_comm, c->running_comm, sizeof(missing.prev_comm));
	memcpy(missing.next_comm, ev->prev_comm, sizeof(missing.next_comm));
	return missing;
}

/* A whole event where the importer has lost the thread, else one more in the columns. */
static void put_switch(struct cpu_events *c, const struct sched_switch_event *ev)
{
	if (c->continuous && (!c->is_new || c->has_first)) {
		append_switch(c, ev);
		return;
	}
	c->first = *ev;
	/* Who wakes is known all the time when only a segment has begun. */
	if (!c->continuous)
		c->first_ns = ev->hdr.time_ns;
	c->has_first = c->continuous = true;
	c->is_new = false;
}

static void keep_switch(struct sched_encoder *e, struct cpu_events *c,
			const struct sched_switch_event *ev)
{
	if (c->since_ns && ev->hdr.peer_tid != c->running) {
		struct sched_switch_event missing = missing_switch(c, ev);

		put_switch(c, &missing);
		e->n_inferred++;
	} else if (c->since_ns && c->continuous && ev->prev_arrival) {
		learn_offset(c, ev);
	}
	put_switch(c, ev);
	c->since_ns = ev->hdr.time_ns;
	c->running = ev->hdr.tid;
	c->running_prio = ev->next_prio;
	memcpy(c->running_comm, ev->next_comm, sizeof(c->running_comm));
}

int sched_encode(void *encoder, const struct event_hdr *ev)
{
	struct sched_encoder *e = encoder;
	struct cpu_events *c;
	int r;

	notice_drop(e);
	c = cpu_of(e, ev->cpu);
	if (!c)
		return -ENOMEM;
	if (c->gap) {
		r = write_before_gap(e, ev->cpu);
		if (r < 0)
			return r;
	}

	if (ev->type == SCHED_SWITCH) {
		keep_switch(e, c, (const void *)ev);
	} else if (ev->type == SCHED_WAKING && (!c->continuous || ev->time_ns < c->first_ns)) {
		trace_writer_skip(e->writer, 1); /* who wakes is not known yet */
	} else if (ev->type == SCHED_WAKING) {
		c->wakings[c->n_wakings++] = *(const struct sched_waking_event *)ev;
		SIFT_LAST(c->wakings, c->n_wakings);
	} else {
		c->irqs[c->n_irqs++] = *(const struct sched_irq_event *)ev;
	}
	if (c->n_switches + 1 >= MAX_KEPT || c->n_wakings == MAX_KEPT || c->n_irqs == MAX_KEPT)
		return write_bundle(e, ev->cpu);
	return 0;
}
