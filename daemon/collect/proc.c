/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - processes, threads and executable mappings: what everything else is
 * named by.
 *
 * Three feeds go into the process table: BPF records of tasks
 * (bpf/proc.bpf.c), perf's records of mappings (proc_sideband.c; the symbolizer is
 * told of the kernel's own code there), and a scan
 * of /proc for what was there before. drain() applies the first two in the
 * order of their time, up to the horizon: a source that is drained after this
 * one to the same horizon finds everything as it was. Only the BPF records are
 * events of the recording; packets are made in proc_encode.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "buf.h"
#include "clock.h"
#include "collector.h"
#include "cpus.h"
#include "event_loop.h"
#include "log.h"
#include "proc.skel.h"
#include "proc_encode.h"
#include "proc_events.h"
#include "proc_sideband.h"
#include "process/proc_parse.h"
#include "process/process_scan.h"
#include "process/process_table_update.h"
#include "symbolize/symbolizer.h"

/*
 * start() scans for so long, enough for a thousand processes; the rest, and
 * the mappings, are read in slices: a quarter of one CPU while there is
 * something to read.
 */
#define SCAN_AT_START_NS (200 * NS_PER_MS)
#define SLICE_NS	 (5 * NS_PER_MS)
#define SLICE_INTERVAL	 (20 * NS_PER_MS)
#define POLL_NS		 NS_PER_MS /* in between, the files of new mappings are opened */
/* Under a load that loses events all the time there is no end of repairing. */
#define REPAIR_INTERVAL (3 * NS_PER_SEC)

/* A record of the BPF ring, waiting in `records` for its turn. */
struct waiting {
	uint64_t time_ns; /* what it is sorted by */
	size_t at, len;
};

struct proc_source {
	struct collector_env env;
	struct proc_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct sideband *sideband; /* NULL: perf events are not to be had */
	struct process_scan *scan; /* NULL: none is under way */
	bool scan_again;
	struct event_source *execs;
	struct event_source *slices; /* NULL: nothing to read in the background */
	uint64_t n_lost, repair_ns;  /* BPF records, as of the last repair; the next one */

	struct buf records;
	struct waiting *waiting;
	size_t n_waiting, cap_waiting;
	uint64_t newest_ns[MAX_CPUS];
};

/* ---- applying ---- */

static void apply_task(struct process_table *pt, const struct proc_task_event *ev)
{
	struct task_info info = { .tid = ev->hdr.tid,
				  .tgid = ev->hdr.tgid,
				  .parent_tgid = ev->ppid,
				  .start_ns = ev->start_ns,
				  .process_start_ns = ev->process_start_ns,
				  .uid = ev->uid,
				  .gid = ev->gid,
				  .is_plain = ev->flags & PROC_IS_PLAIN,
				  .was_plain = ev->flags & PROC_WAS_PLAIN,
				  .cgroup_id = ev->hdr.cgroup_id,
				  .is_kthread = ev->flags & PROC_IS_KTHREAD };

	_Static_assert(sizeof(info.comm) == sizeof(ev->comm), "one length of comm");
	_Static_assert(sizeof(info.nstid) == sizeof(ev->nstid), "one number of namespaces");
	memcpy(info.comm, ev->comm, sizeof(info.comm));
	memcpy(info.nstid, ev->nstid, sizeof(info.nstid));

	switch (ev->hdr.type) {
	case PROC_NEWTASK:
		info.parent_tgid = ev->hdr.peer_tgid;
		process_table_fork(pt, &info);
		break;
	case PROC_RENAME:
		process_table_alive(pt, &info);
		process_table_rename(pt, info.tid, info.start_ns, info.comm);
		break;
	case PROC_EXIT:
		process_table_alive(pt, &info);
		break;
	default: /* PROC_FREE */
		process_table_free_task(pt, info.tid, info.start_ns, ev->hdr.time_ns);
	}
	if (info.tid == info.tgid)
		process_table_whose(pt, &info, ev->hdr.type == PROC_RENAME, ev->hdr.time_ns);
}

static void apply_exec(struct process_table *pt, const struct proc_exec_event *ev)
{
	char cmdline[PROC_ARGS_LEN + 8];
	struct exec_info info = { .tgid = ev->hdr.tgid,
				  .old_tid = ev->old_tid,
				  .start_ns = ev->start_ns,
				  .time_ns = ev->hdr.time_ns,
				  .uid = ev->uid,
				  .gid = ev->gid,
				  .is_plain = ev->flags & PROC_IS_PLAIN,
				  .cgroup_id = ev->hdr.cgroup_id,
				  .cmdline = cmdline };

	memcpy(info.comm, ev->comm, sizeof(info.comm));
	if (ev->args_len > 0)
		info.cmdline_len = proc_tidy_cmdline(cmdline, sizeof(cmdline), ev->args,
						     ev->args_len, ev->args_size > ev->args_len);
	else if (ev->args_size > 0) /* could not be read: the file's name is the next best */
		info.cmdline_len =
			proc_tidy_cmdline(cmdline, sizeof(cmdline), ev->filename,
					  strnlen(ev->filename, sizeof(ev->filename)), false);
	process_table_exec(pt, &info);
}

void proc_apply(struct process_table *pt, const struct event_hdr *ev)
{
	if (ev->type == PROC_EXEC)
		apply_exec(pt, (const void *)ev);
	else
		apply_task(pt, (const void *)ev);
}

static void apply_sideband_event(struct proc_source *s, const struct sideband_event *ev)
{
	if (ev->type == SIDEBAND_EXEC)
		process_table_exec_maps(s->env.processes, ev->tgid, ev->time_ns);
	else if (ev->type == SIDEBAND_MMAP)
		process_table_mmap(s->env.processes, ev->tgid, ev->time_ns, &ev->mapping);
	else if (ev->kernel)
		symbolizer_kernel_change(s->env.symbolizer, ev->kernel);
}

static void apply_sideband(struct proc_source *s, uint64_t horizon_ns)
{
	const struct sideband_event *ev;

	while (s->sideband && (ev = sideband_first(s->sideband, horizon_ns))) {
		apply_sideband_event(s, ev);
		sideband_pop(s->sideband);
	}
}

/* Everybody behind the sink may ask the table about this event, so it comes first. */
static void apply_record(struct proc_source *s, const struct event_hdr *ev, size_t len)
{
	apply_sideband(s, ev->time_ns);
	if (proc_event_valid(ev, len))
		proc_apply(s->env.processes, ev);
	s->env.sink(s->env.sink_ctx, ev, len);
}

/* ---- draining ---- */

/*
 * Records of one CPU stay in the order of their numbers. One that interrupts
 * another between its number and its time is behind it, and yet older.
 */
static uint64_t place_in_time(struct proc_source *s, const struct event_hdr *ev)
{
	uint64_t *newest_ns = &s->newest_ns[ev->cpu < MAX_CPUS ? ev->cpu : 0];

	if (*newest_ns < ev->time_ns)
		*newest_ns = ev->time_ns;
	return *newest_ns;
}

static int keep_record(struct proc_source *s, const struct event_hdr *ev, size_t len)
{
	static const char zeros[8];
	size_t at = s->records.len;
	int r;

	if (s->n_waiting == s->cap_waiting) {
		size_t cap = s->cap_waiting ? 2 * s->cap_waiting : 512;
		struct waiting *more = realloc(s->waiting, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->waiting = more;
		s->cap_waiting = cap;
	}
	r = buf_append(&s->records, ev, len);
	if (r == 0) /* the next one is aligned again */
		r = buf_append(&s->records, zeros, -len % sizeof(zeros));
	if (r < 0) {
		s->records.len = at;
		return r;
	}
	s->waiting[s->n_waiting++] =
		(struct waiting){ .time_ns = place_in_time(s, ev), .at = at, .len = len };
	return 0;
}

static void on_record(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct proc_source *s = ctx;

	/* Without memory for the right order, almost the right order. */
	if (keep_record(s, ev, len) < 0)
		apply_record(s, ev, len);
}

static int older_first(const void *a, const void *b)
{
	const struct waiting *wa = a, *wb = b;

	if (wa->time_ns != wb->time_ns)
		return wa->time_ns < wb->time_ns ? -1 : 1;
	return wa->at < wb->at ? -1 : 1;
}

static void want_slices(struct proc_source *s);

static int proc_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct proc_source *s = state;
	int n;

	if (s->sideband)
		sideband_poll(s->sideband);
	s->records.len = 0;
	s->n_waiting = 0;
	n = bpf_ring_drain(s->ring, horizon_ns, budget, on_record, s);

	/* CPUs take their place in the ring a little before they look at the clock. */
	if (s->n_waiting > 1)
		qsort(s->waiting, s->n_waiting, sizeof(*s->waiting), older_first);
	for (size_t i = 0; i < s->n_waiting; i++)
		apply_record(s, (const void *)(s->records.data + s->waiting[i].at),
			     s->waiting[i].len);
	/* With more in the ring, mappings younger than that may not overtake it. */
	if (n >= 0 && (unsigned)n < budget)
		apply_sideband(s, horizon_ns);
	/* Samples that lie nowhere have asked since the last time; others of theirs wait. */
	if (process_table_wants_reading(s->env.processes))
		want_slices(s);
	return n;
}

/*
 * An exec wakes us. Its record waits for the horizon; what it has mapped is
 * opened now, while it is still there.
 */
static int on_exec(void *ctx, uint32_t events)
{
	struct proc_source *s = ctx;

	(void)events;
	sideband_poll(s->sideband);
	return 0;
}

/* ---- reading /proc in the background ---- */

static void begin_scan(struct proc_source *s)
{
	int r = process_scan_new(s->env.processes, &s->scan);

	s->scan_again = false;
	if (r < 0)
		log_warn("proc: cannot scan /proc: %s, recording with what events tell",
			 strerror(-r));
}

/* False: it is complete. */
static bool scan_on(struct proc_source *s, uint64_t deadline_ns)
{
	int r;

	if (!s->scan && s->scan_again)
		begin_scan(s);
	if (!s->scan)
		return false;
	r = process_scan_step(s->scan, deadline_ns);
	if (r == 0)
		return true;
	if (r < 0)
		log_warn("proc: cannot scan /proc: %s, recording with what events tell",
			 strerror(-r));
	process_scan_free(s->scan);
	s->scan = NULL;
	return s->scan_again;
}

/* Who they are before what is in them. False: nothing is left to do. */
static bool read_on(struct proc_source *s, uint64_t deadline_ns)
{
	return scan_on(s, deadline_ns) || process_table_read_maps(s->env.processes, deadline_ns);
}

static int on_slice(void *ctx, uint32_t events)
{
	struct proc_source *s = ctx;
	uint64_t end_ns = boot_ns() + SLICE_NS;

	(void)events;
	while (read_on(s, boot_ns() + POLL_NS)) {
		if (boot_ns() > end_ns)
			return 0;
		if (s->sideband)
			sideband_poll(s->sideband);
	}
	event_source_free(s->slices);
	s->slices = NULL;
	return 0;
}

static void want_slices(struct proc_source *s)
{
	int r;

	if (s->slices)
		return;
	r = event_loop_add_timer(s->env.loop, SLICE_INTERVAL, on_slice, s, &s->slices);
	if (r < 0) /* tick() asks again */
		log_warn("proc: no timer to read /proc with: %s", strerror(-r));
}

static uint64_t count_lost(struct proc_source *s)
{
	struct event_stream stream;
	uint64_t n = 0;

	for (unsigned cpu = 0; bpf_ring_count(s->ring, 0, cpu, &stream) == 0; cpu++)
		n += stream.n_lost;
	return n;
}

/* What was lost is read from /proc, as it is by then. */
static void repair(struct proc_source *s)
{
	uint64_t n_lost = count_lost(s), n_sideband = 0;

	if (s->sideband)
		n_sideband = sideband_lost(s->sideband);
	if (n_lost > s->n_lost)
		s->scan_again = true;
	if (n_lost > s->n_lost || n_sideband)
		process_table_reread_all(s->env.processes);
	if (n_sideband) {
		symbolizer_kernel_missed(s->env.symbolizer);
		log_info("proc: %llu mapping events were missed, reading all mappings again",
			 (unsigned long long)n_sideband);
	}
	s->n_lost = n_lost;
}

static void proc_tick(void *state, uint64_t now_ns)
{
	struct proc_source *s = state;

	if (s->sideband)
		sideband_tick(s->sideband);
	if (now_ns >= s->repair_ns) {
		repair(s);
		s->repair_ns = now_ns + REPAIR_INTERVAL;
	}
	want_slices(s);
}

/* ---- start and stop ---- */

static void proc_stop(void *state)
{
	struct proc_source *s = state;

	if (!s)
		return;
	process_table_set_exec_pending(s->env.processes, NULL, NULL);
	event_source_free(s->execs);
	event_source_free(s->slices);
	process_scan_free(s->scan);
	sideband_free(s->sideband);
	(void)bpf_loading_end(&s->loading, NULL, NULL);
	bpf_ring_free(s->ring);
	proc_bpf__destroy(s->skel);
	buf_done(&s->records);
	free(s->waiting);
	free(s);
}

static int open_bpf(struct proc_source *s, char why[WHY_LEN])
{
	int r;

	s->loading = bpf_loading_new();
	s->skel = proc_bpf__open_opts(bpf_loading_opts(s->loading));
	if (!s->skel)
		return -errno;
	r = bpf_load_trim(s->skel->obj, why, WHY_LEN);
	if (r < 0)
		return r;
	r = bpf_ring_resize(s->skel->obj, s->env.ring_bytes);
	if (r < 0)
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	else
		bpf_loading_begin(s->loading, s->skel->skeleton);
	return r;
}

static int start_bpf(struct proc_source *s, char why[WHY_LEN])
{
	int r = bpf_loading_end(&s->loading, s->env.keep_up, s->env.keep_up_ctx);

	if (r == 0)
		r = bpf_ring_open(s->skel->obj, &s->ring);
	if (r == 0)
		r = proc_bpf__attach(s->skel);
	if (r < 0)
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	return r;
}

static void start_sideband(struct proc_source *s, char why[WHY_LEN])
{
	int r = sideband_new(s->env.loop, s->env.processes, &s->sideband);

	/* Edge-triggered: the ring stays readable until the horizon has passed. */
	if (r == 0)
		r = event_loop_add(s->env.loop, bpf_ring_fd(s->ring), EPOLLIN | EPOLLET, on_exec, s,
				   &s->execs);
	if (r == 0) {
		process_table_set_exec_pending(s->env.processes, sideband_exec_pending,
					       s->sideband);
		symbolizer_kernel_told(s->env.symbolizer);
		return;
	}
	bpf_load_explain(r, "no names for code of new processes: perf_event_open", why, WHY_LEN);
	sideband_free(s->sideband);
	s->sideband = NULL;
}

static int proc_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct proc_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->env = *env;
	r = open_bpf(s, why);
	if (r < 0)
		proc_stop(s);
	else
		*ret_state = s;
	return r;
}

/* First the events, then what was there before: nobody falls in between. */
static int proc_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct proc_source *s = *ret_state;
	uint64_t until_ns;
	int r;

	process_table_clear(env->processes); /* of what an earlier recording knew */
	r = start_bpf(s, why);
	if (r < 0) {
		proc_stop(s);
		return r;
	}
	start_sideband(s, why);

	begin_scan(s);
	until_ns = boot_ns() + SCAN_AT_START_NS;
	while (boot_ns() < until_ns && scan_on(s, boot_ns() + POLL_NS))
		if (s->sideband)
			sideband_poll(s->sideband);
	want_slices(s);
	return 0;
}

static int proc_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct proc_source *s = state;

	return bpf_ring_count(s->ring, stream, cpu, ret);
}

static struct bpf_object *proc_object(void *state, unsigned i)
{
	struct proc_source *s = state;

	return i == 0 ? s->skel->obj : NULL;
}

const struct collector proc_collector = {
	.name = "proc",
	.summary = "processes and threads: who they are, when they begin and end",
	.always = true,
	.machine_wide = true,
	.is_ftrace = true,
	.prepare = proc_prepare,
	.start = proc_start,
	.stop = proc_stop,
	.drain = proc_drain,
	.count = proc_count,
	.object = proc_object,
	.tick = proc_tick,
	.valid = proc_event_valid,
	.encoder_new = proc_encoder_new,
	.encoder_free = proc_encoder_free,
	.encode = proc_encode,
	.flush = proc_encoder_flush,
	.pending = proc_encoder_pending,
	.lost = proc_encoder_lost,
};
