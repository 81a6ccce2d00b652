/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_clocks.c - clock snapshots, the time of packets and events, and what a
 * viewer must know before it can read the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"
#include "clock.h"

#define N_CLOCKS 16 /* ids of builtin clocks are below it */

#define MAX_GAP_NS (15 * NS_PER_SEC)
#define MARGIN_NS  NS_PER_SEC
/* BOOTTIME - MONOTONIC is constant but for suspends; two readings may be torn apart this far. */
#define SUSPEND_MIN_NS (10 * NS_PER_MS)

struct snapshot {
	uint64_t clocks[N_CLOCKS];
	uint32_t present; /* bits */
};

struct check_clocks {
	struct check_list snapshots;
	/* The latest MONOTONIC time of a packet since the last snapshot, as written. */
	uint64_t latest_monotonic, latest_offset;
	/* The latest event since the last snapshot. */
	uint64_t last_time, last_offset;
	const char *last_what;

	uint64_t started_ns; /* tracing_started; 0: not yet */
	uint64_t first_ftrace, first_ftrace_offset;
	bool has_bundle, has_data;
	bool has_uuid, has_system, has_timezone, has_release, has_machine;
};

int check_clocks_new(struct check_clocks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void check_clocks_free(struct check_clocks *k)
{
	if (!k)
		return;
	check_list_done(&k->snapshots);
	free(k);
}

static const struct snapshot *last_snapshot(const struct check_clocks *k)
{
	return k->snapshots.n ? (struct snapshot *)k->snapshots.items + (k->snapshots.n - 1) : NULL;
}

/* ---- snapshots ---- */

void check_clocks_first_packet(struct trace_check *c)
{
	const ClockSnapshot *s = c->pkt->clock_snapshot;

	if (s && s->primary_trace_clock == CLOCK_ID_BOOTTIME)
		return;
	check_report(c, CHECK_FIRST_PACKET, 0,
		     !s				  ? "the first packet is no ClockSnapshot"
		     : s->has_primary_trace_clock ? "the trace clock is not BOOTTIME"
						  : "the first ClockSnapshot names no trace clock");
}

static void read_clocks(struct trace_check *c, const ClockSnapshot *s, struct snapshot *ret)
{
	for (size_t i = 0; i < s->n_clocks; i++) {
		uint32_t id = s->clocks[i]->clock_id;

		if (id >= N_CLOCKS)
			continue;
		if (ret->present & 1u << id)
			check_report(c, CHECK_SNAPSHOT_CLOCKS, 0, "clock %u twice in one snapshot",
				     id);
		ret->present |= 1u << id;
		ret->clocks[id] = s->clocks[i]->timestamp;
	}
}

static void compare(struct trace_check *c, const struct snapshot *old, const struct snapshot *new)
{
	uint64_t then = old->clocks[CLOCK_ID_BOOTTIME], now = new->clocks[CLOCK_ID_BOOTTIME];
	uint64_t awake = new->clocks[CLOCK_ID_MONOTONIC] - old->clocks[CLOCK_ID_MONOTONIC];
	int64_t slept = (int64_t)(now - then - awake);

	if (new->present != old->present)
		check_report(c, CHECK_SNAPSHOT_CLOCKS, now,
			     "not the clocks of the snapshot before");
	if (now < then)
		check_report(c, CHECK_CLOCK_BACK, now, "the trace clock goes back by %llu ns",
			     (unsigned long long)(then - now));
	else if (now - then > MAX_GAP_NS && awake > MAX_GAP_NS)
		check_report(c, CHECK_SNAPSHOT_GAP, now, "%.1f s since the snapshot before",
			     (double)(now - then) / NS_PER_SEC);
	if (slept > (int64_t)SUSPEND_MIN_NS &&
	    c->clocks->latest_monotonic >= new->clocks[CLOCK_ID_MONOTONIC])
		check_report_at(c, CHECK_SNAPSHOT_LATE, c->clocks->latest_offset, now,
				"a packet written before the snapshot is younger than it, "
				"and %.3f s off",
				(double)slept / NS_PER_SEC);
}

/* Nothing is written before it happens: what is younger than the snapshot behind it is wrong. */
static void judge_latest(struct trace_check *c, uint64_t limit_ns)
{
	struct check_clocks *k = c->clocks;

	if (k->last_time > limit_ns)
		check_report_at(c, CHECK_STRAY_TIME, k->last_offset, k->last_time,
				"%s at %.3f s, after the snapshot that follows it", k->last_what,
				check_seconds(c, k->last_time));
	else if (k->last_time > c->summary.end_ns)
		c->summary.end_ns = k->last_time;
	k->last_time = 0;
}

static bool has_other_payload(const TracePacket *p)
{
	return p->ftrace_events || p->process_tree || p->sys_stats || p->process_stats ||
	       p->track_event || p->trace_config || p->ftrace_stats || p->trace_stats ||
	       p->system_info || p->trigger || p->gpu_counter_event || p->gpu_render_stage_event ||
	       p->track_descriptor || p->module_symbols || p->perf_sample || p->cpu_info ||
	       p->service_event || p->gpu_mem_total_event || p->frame_timeline_event ||
	       p->network_packet || p->trace_uuid || p->network_packet_bundle ||
	       p->trace_attributes || p->gpu_info || p->stack_sample || p->interned_data;
}

void check_clocks_snapshot(struct trace_check *c)
{
	static const uint32_t must =
		1u << CLOCK_ID_BOOTTIME | 1u << CLOCK_ID_MONOTONIC | 1u << CLOCK_ID_REALTIME;
	const struct snapshot *old = last_snapshot(c->clocks);
	const ClockSnapshot *s = c->pkt->clock_snapshot;
	struct snapshot new = { 0 }, *item;

	if (has_other_payload(c->pkt))
		check_report(c, CHECK_SNAPSHOT_PAYLOAD, 0,
			     "a ClockSnapshot's packet carries something else");
	read_clocks(c, s, &new);
	if ((new.present &must) != must) {
		check_report(c, CHECK_SNAPSHOT_CLOCKS, new.clocks[CLOCK_ID_BOOTTIME],
			     "BOOTTIME, MONOTONIC or REALTIME is missing");
		return;
	}
	if (old)
		compare(c, old, &new);
	else
		c->summary.start_ns = new.clocks[CLOCK_ID_BOOTTIME];
	item = check_list_add(c, &c->clocks->snapshots, sizeof(*item));
	if (item)
		*item = new;
	judge_latest(c, new.clocks[CLOCK_ID_BOOTTIME] + MARGIN_NS);
	if (c->summary.end_ns < new.clocks[CLOCK_ID_BOOTTIME])
		c->summary.end_ns = new.clocks[CLOCK_ID_BOOTTIME];
	c->clocks->latest_monotonic = 0;
}

/* ---- times ---- */

/* By the nearest earlier snapshot, of those that come before the packet in the file. */
static bool to_boottime(const struct check_clocks *k, uint32_t clock, uint64_t t, uint64_t *ret)
{
	const struct snapshot *s = k->snapshots.items;
	size_t low = 0, high = k->snapshots.n;

	if (clock == CLOCK_ID_BOOTTIME) {
		*ret = t;
		return true;
	}
	if (clock >= N_CLOCKS || high == 0)
		return false;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s[mid].clocks[clock] <= t)
			low = mid;
		else
			high = mid;
	}
	if (!(s[low].present & 1u << clock))
		return false;
	*ret = t - s[low].clocks[clock] + s[low].clocks[CLOCK_ID_BOOTTIME];
	return true;
}

void check_clocks_resolve(struct trace_check *c)
{
	const TracePacket *p = c->pkt;
	struct check_clocks *k = c->clocks;
	uint32_t clock = CLOCK_ID_BOOTTIME;

	if (!p->has_timestamp)
		return;
	if (p->has_timestamp_clock_id)
		clock = p->timestamp_clock_id;
	else if (c->seq && c->seq->has_clock)
		clock = c->seq->clock;
	if (!to_boottime(k, clock, p->timestamp, &c->time_ns)) {
		check_report(c, CHECK_UNKNOWN_CLOCK, 0, "clock %u is in no snapshot so far", clock);
		return;
	}
	c->has_time = true;
	if (clock == CLOCK_ID_MONOTONIC && p->timestamp > k->latest_monotonic) {
		k->latest_monotonic = p->timestamp;
		k->latest_offset = c->offset;
	}
}

void check_time(struct trace_check *c, uint64_t time_ns, const char *what)
{
	struct check_clocks *k = c->clocks;

	k->has_data = true;
	if (!last_snapshot(k))
		return; /* CHECK_FIRST_PACKET has told */
	if (time_ns + MARGIN_NS < c->summary.start_ns) {
		check_report(c, CHECK_STRAY_TIME, time_ns,
			     "%s at %.3f s, before the first snapshot", what,
			     check_seconds(c, time_ns));
		return;
	}
	if (time_ns > k->last_time) {
		k->last_time = time_ns;
		k->last_offset = c->offset;
		k->last_what = what;
	}
}

void check_ftrace_time(struct trace_check *c, uint64_t time_ns)
{
	struct check_clocks *k = c->clocks;

	check_time(c, time_ns, "scheduler event");
	if (k->started_ns && time_ns < k->started_ns) {
		check_report(c, CHECK_BEFORE_START, time_ns,
			     "scheduler event %llu ns before tracing_started",
			     (unsigned long long)(k->started_ns - time_ns));
	} else if (!k->started_ns && (!k->first_ftrace || time_ns < k->first_ftrace)) {
		k->first_ftrace = time_ns;
		k->first_ftrace_offset = c->offset;
	}
}

/* ---- what comes once ---- */

static const char *timed_payload(const TracePacket *p)
{
	return p->track_event		   ? "TrackEvent"
	       : p->stack_sample	   ? "StackSample"
	       : p->perf_sample		   ? "PerfSample"
	       : p->process_tree	   ? "ProcessTree"
	       : p->sys_stats		   ? "SysStats"
	       : p->process_stats	   ? "ProcessStats"
	       : p->gpu_render_stage_event ? "GpuRenderStageEvent"
	       : p->gpu_counter_event	   ? "GpuCounterEvent"
	       : p->gpu_mem_total_event	   ? "GpuMemTotalEvent"
	       : p->frame_timeline_event   ? "FrameTimelineEvent"
	       : p->service_event	   ? "TracingServiceEvent"
	       : p->network_packet	   ? "NetworkPacketEvent"
	       : p->network_packet_bundle  ? "NetworkPacketBundle"
	       : p->trigger		   ? "Trigger"
	       : p->track_descriptor &&
			       (p->track_descriptor->thread || p->track_descriptor->process)
		       ? "thread or process descriptor"
		       : NULL;
}

static void service_event(struct trace_check *c, const TracingServiceEvent *e)
{
	struct check_clocks *k = c->clocks;

	if (e->tracing_started && !k->started_ns) {
		k->started_ns = c->time_ns ? c->time_ns : 1;
		if (k->first_ftrace && k->first_ftrace < k->started_ns)
			check_report_at(c, CHECK_BEFORE_START, k->first_ftrace_offset,
					k->first_ftrace, "scheduler event before tracing_started");
	}
	if (e->tracing_disabled)
		c->summary.complete = true;
}

static void system_info(struct trace_check *c, const SystemInfo *info)
{
	struct check_clocks *k = c->clocks;
	const Utsname *u = info->utsname;

	k->has_system = u && u->sysname && strcmp(u->sysname, "Linux") == 0;
	k->has_release = u && u->release && u->release[0];
	k->has_machine = u && u->machine && u->machine[0];
	k->has_timezone = info->has_timezone_off_mins;
}

void check_clocks_packet(struct trace_check *c)
{
	const TracePacket *p = c->pkt;
	struct check_clocks *k = c->clocks;
	const char *what = timed_payload(p);

	if (what && !p->has_timestamp)
		check_report(c, CHECK_NO_TIME, 0, "%s without a timestamp", what);
	if (c->has_time)
		check_time(c, c->time_ns, what ? what : "packet");
	if (p->trace_uuid)
		k->has_uuid = k->has_uuid || p->trace_uuid->msb || p->trace_uuid->lsb;
	if (p->system_info)
		system_info(c, p->system_info);
	if (p->service_event)
		service_event(c, p->service_event);
	if (p->ftrace_events && !k->has_bundle) {
		k->has_bundle = true;
		if (!k->has_release)
			check_report(c, CHECK_SYSTEM_INFO_LATE, c->time_ns,
				     "a scheduler bundle comes before SystemInfo");
	}
}

static void require(struct trace_check *c, bool has, const char *what)
{
	if (!has)
		check_report_at(c, CHECK_METADATA, UINT64_MAX, 0, "no %s", what);
}

void check_clocks_finish(struct trace_check *c)
{
	struct check_clocks *k = c->clocks;
	const struct snapshot *last = last_snapshot(k);

	/* A file that ends with its head has had no time for all of it. */
	if (k->has_data || c->summary.complete) {
		require(c, k->has_uuid, "TraceUuid");
		require(c, k->has_system, "SystemInfo with sysname Linux");
		require(c, k->has_release, "kernel release in SystemInfo");
		require(c, k->has_machine, "machine in SystemInfo");
		require(c, k->has_timezone, "timezone in SystemInfo");
		require(c, k->started_ns != 0, "tracing_started");
	}
	if (!last)
		return;
	/* The snapshot at the end is missing where the recording did not end. */
	judge_latest(c, last->clocks[CLOCK_ID_BOOTTIME] + MARGIN_NS +
				(c->summary.complete ? 0 : MAX_GAP_NS));
}
