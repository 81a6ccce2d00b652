/* SPDX-License-Identifier: Apache-2.0 */
/* good_trace.c - a small trace without a mistake, for tests to make one in. */
#include "good_trace.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { SEQ_META = 1, SEQ_EVENTS = 2, SEQ_GPU = 3, SEQ_FTRACE = 5, SEQ_PROCESSES = 6 };
enum { SEQ_TRACKS = 8, SEQ_SAMPLES = 16 };

/* A message of `type` in the trace's memory. */
#define NEW(t, type, init)                                      \
	({                                                      \
		type *new_ = good_trace_alloc(t, sizeof(type)); \
		init(new_);                                     \
		new_;                                           \
	})

/* Sets an optional field. */
#define SET(msg, field, value) ((msg)->has_##field = 1, (msg)->field = (value))

/* An array of one pointer. */
static void *one(struct good_trace *t, void *msg)
{
	void **array = good_trace_alloc(t, sizeof(*array));

	array[0] = msg;
	return array;
}

static void *array_of(struct good_trace *t, const void *items, size_t size)
{
	return memcpy(good_trace_alloc(t, size), items, size);
}

#define ARRAY(t, type, ...) \
	((type *)array_of(t, (const type[]){ __VA_ARGS__ }, sizeof((const type[]){ __VA_ARGS__ })))

/* ---- packets of the good trace ---- */

static TracePacket *add(struct good_trace *t, uint32_t seq, uint64_t time_ns)
{
	TracePacket *pkt = NEW(t, TracePacket, trace_packet__init);
	bool first = !good_trace_has_sequence(t, seq);

	SET(pkt, trusted_packet_sequence_id, seq);
	SET(pkt, sequence_flags, first ? 3 : 2);
	if (time_ns)
		SET(pkt, timestamp, time_ns);
	good_trace_insert(t, pkt, NULL);
	return pkt;
}

static TracePacket *add_snapshot(struct good_trace *t, uint64_t time_ns)
{
	static const uint32_t ids[] = { 6, 3, 5, 1 };
	TracePacket *pkt = add(t, SEQ_META, 0);
	ClockSnapshot *s = NEW(t, ClockSnapshot, clock_snapshot__init);

	s->n_clocks = 4;
	s->clocks = good_trace_alloc(t, 4 * sizeof(s->clocks[0]));
	for (size_t i = 0; i < 4; i++) {
		s->clocks[i] = NEW(t, ClockSnapshot__Clock, clock_snapshot__clock__init);
		SET(s->clocks[i], clock_id, ids[i]);
		SET(s->clocks[i], timestamp, time_ns - (ids[i] == 3 ? SLEPT : 0));
	}
	SET(s, primary_trace_clock, 6);
	pkt->clock_snapshot = s;
	return pkt;
}

static TracePacket *add_service(struct good_trace *t, uint64_t time_ns)
{
	TracePacket *pkt = add(t, SEQ_META, time_ns);

	pkt->service_event = NEW(t, TracingServiceEvent, tracing_service_event__init);
	return pkt;
}

static TracePacket *add_stats(struct good_trace *t, int phase, uint64_t time_ns)
{
	TracePacket *pkt = add(t, SEQ_META, time_ns);
	FtraceStats *s = NEW(t, FtraceStats, ftrace_stats__init);
	FtraceCpuStats *cpu = NEW(t, FtraceCpuStats, ftrace_cpu_stats__init);

	SET(s, phase, phase);
	SET(cpu, cpu, 0);
	SET(cpu, dropped_events, 0);
	s->n_cpu_stats = 1;
	s->cpu_stats = one(t, cpu);
	pkt->ftrace_stats = s;
	return pkt;
}

static ProcessTree__Process *process(struct good_trace *t, int pid, int ppid, const char *argv0)
{
	ProcessTree__Process *p = NEW(t, ProcessTree__Process, process_tree__process__init);

	SET(p, pid, pid);
	SET(p, ppid, ppid);
	p->n_cmdline = 1;
	p->cmdline = one(t, (char *)argv0);
	return p;
}

static ProcessTree__Thread *thread(struct good_trace *t, int tid, int tgid, const char *name)
{
	ProcessTree__Thread *th = NEW(t, ProcessTree__Thread, process_tree__thread__init);

	SET(th, tid, tid);
	SET(th, tgid, tgid);
	th->name = (char *)name;
	return th;
}

static TracePacket *add_tree(struct good_trace *t, uint64_t time_ns)
{
	TracePacket *pkt = add(t, SEQ_PROCESSES, time_ns);

	pkt->process_tree = NEW(t, ProcessTree, process_tree__init);
	return pkt;
}

static void add_head(struct good_trace *t)
{
	SystemInfo *info = NEW(t, SystemInfo, system_info__init);
	ProcessTree *tree;

	t->first_snapshot = add_snapshot(t, T0);
	t->uuid = add(t, SEQ_META, 0);
	t->uuid->trace_uuid = NEW(t, TraceUuid, trace_uuid__init);
	SET(t->uuid->trace_uuid, msb, 1);
	SET(t->uuid->trace_uuid, lsb, 2);

	t->system_info = add(t, SEQ_META, 0);
	t->system_info->system_info = info;
	info->utsname = NEW(t, Utsname, utsname__init);
	info->utsname->sysname = "Linux";
	info->utsname->release = "6.1.0";
	info->utsname->machine = "x86_64";
	SET(info, timezone_off_mins, 60);

	t->started = add_service(t, T0);
	SET(t->started->service_event, tracing_started, 1);

	t->tree = add_tree(t, T0);
	tree = t->tree->process_tree;
	tree->n_processes = 2;
	tree->processes = ARRAY(t, ProcessTree__Process *, process(t, 1, 0, "init"),
				process(t, 100, 1, "/bin/app"));
	tree->n_threads = 3;
	tree->threads = ARRAY(t, ProcessTree__Thread *, thread(t, 1, 1, "init"),
			      thread(t, 100, 100, "app"), thread(t, 101, 100, "worker"));
	t->stats_start = add_stats(t, 1, T0);
}

static TracePacket *add_track(struct good_trace *t, uint64_t uuid, const char *name,
			      uint64_t parent)
{
	TracePacket *pkt = add(t, SEQ_TRACKS, T0);
	TrackDescriptor *d = NEW(t, TrackDescriptor, track_descriptor__init);

	SET(d, uuid, uuid);
	d->name = (char *)name;
	if (parent)
		SET(d, parent_uuid, parent);
	pkt->track_descriptor = d;
	return pkt;
}

static TracePacket *add_thread_track(struct good_trace *t, uint64_t uuid, int tid)
{
	TracePacket *pkt = add_track(t, uuid, NULL, 0);
	ThreadDescriptor *th = NEW(t, ThreadDescriptor, thread_descriptor__init);

	SET(th, pid, 100);
	SET(th, tid, tid);
	pkt->track_descriptor->thread = th;
	return pkt;
}

static void add_tracks(struct good_trace *t)
{
	ProcessDescriptor *p = NEW(t, ProcessDescriptor, process_descriptor__init);

	t->main_track = add_thread_track(t, UUID_MAIN, 100);
	t->worker_track = add_thread_track(t, UUID_WORKER, 101);
	t->process_track = add_track(t, UUID_PROCESS, NULL, 0);
	SET(p, pid, 100);
	t->process_track->track_descriptor->process = p;
	t->loss_track = add_track(t, UUID_LOSS, "Data loss", 0);
	t->rss_track = add_track(t, UUID_RSS, "rss", UUID_PROCESS);
	t->rss_track->track_descriptor->counter =
		NEW(t, CounterDescriptor, counter_descriptor__init);
	t->lane_track = add_track(t, UUID_LANE, "requests", UUID_PROCESS);
}

static FtraceEvent *event(struct good_trace *t, uint64_t time_ns, uint32_t pid)
{
	FtraceEvent *e = NEW(t, FtraceEvent, ftrace_event__init);

	SET(e, timestamp, time_ns);
	SET(e, pid, pid);
	return e;
}

static FtraceEvent *full_switch(struct good_trace *t, uint64_t time_ns, int prev, int next)
{
	FtraceEvent *e = event(t, time_ns, (uint32_t)prev);
	SchedSwitchFtraceEvent *s = NEW(t, SchedSwitchFtraceEvent, sched_switch_ftrace_event__init);

	SET(s, prev_pid, prev);
	SET(s, prev_state, 1);
	SET(s, next_pid, next);
	e->sched_switch = s;
	return e;
}

static TracePacket *add_bundle(struct good_trace *t, uint32_t cpu)
{
	TracePacket *pkt = add(t, SEQ_FTRACE, 0);

	pkt->ftrace_events = NEW(t, FtraceEventBundle, ftrace_event_bundle__init);
	SET(pkt->ftrace_events, cpu, cpu);
	return pkt;
}

static void add_cpu_0(struct good_trace *t)
{
	FtraceEventBundle__CompactSched *s =
		NEW(t, FtraceEventBundle__CompactSched, ftrace_event_bundle__compact_sched__init);
	FtraceEvent *newtask = event(t, MS(2), 100);
	FtraceEventBundle *b;

	newtask->task_newtask = NEW(t, TaskNewtaskFtraceEvent, task_newtask_ftrace_event__init);
	SET(newtask->task_newtask, pid, 200);
	SET(newtask->task_newtask, clone_flags, 0x1200000);

	t->bundle_0 = add_bundle(t, 0);
	b = t->bundle_0->ftrace_events;
	b->n_event = 2;
	b->event = ARRAY(t, FtraceEvent *, full_switch(t, MS(1), 0, 100), newtask);
	b->compact_sched = s;

	/* 100 sleeps at 20 ms, is preempted by 101 at 40 ms. */
	s->n_intern_table = 3;
	s->intern_table = ARRAY(t, char *, "swapper/0", "app", "worker");
	s->n_switch_timestamp = s->n_switch_prev_state = s->n_switch_next_pid = 3;
	s->n_switch_next_prio = s->n_switch_next_comm_index = 3;
	s->switch_timestamp = ARRAY(t, uint64_t, MS(20), 10000000, 10000000);
	s->switch_prev_state = ARRAY(t, int64_t, 1, 0, 0x100);
	s->switch_next_pid = ARRAY(t, int32_t, 0, 100, 101);
	s->switch_next_prio = ARRAY(t, int32_t, 120, 120, 120);
	s->switch_next_comm_index = ARRAY(t, uint32_t, 0, 1, 2);

	s->n_waking_timestamp = s->n_waking_pid = s->n_waking_target_cpu = 2;
	s->n_waking_prio = s->n_waking_comm_index = s->n_waking_common_flags = 2;
	s->waking_timestamp = ARRAY(t, uint64_t, MS(29), 10000000);
	s->waking_pid = ARRAY(t, int32_t, 100, 101);
	s->waking_target_cpu = ARRAY(t, int32_t, 0, 0);
	s->waking_prio = ARRAY(t, int32_t, 120, 120);
	s->waking_comm_index = ARRAY(t, uint32_t, 1, 2);
	s->waking_common_flags = ARRAY(t, uint32_t, 16, 1);
}

static void add_cpu_1(struct good_trace *t)
{
	FtraceEvent *freed = event(t, MS(60), 0);
	FtraceEvent *irq = event(t, MS(5), 200);
	FtraceEventBundle *b;

	freed->sched_process_free =
		NEW(t, SchedProcessFreeFtraceEvent, sched_process_free_ftrace_event__init);
	SET(freed->sched_process_free, pid, 200);
	irq->softirq_entry = NEW(t, SoftirqEntryFtraceEvent, softirq_entry_ftrace_event__init);
	SET(irq->softirq_entry, vec, 1);

	t->bundle_1 = add_bundle(t, 1);
	b = t->bundle_1->ftrace_events;
	b->n_event = 4;
	b->event = ARRAY(t, FtraceEvent *, full_switch(t, MS(4), 0, 200), irq,
			 full_switch(t, MS(50), 200, 0), freed);
}

static void add_sched(struct good_trace *t)
{
	ProcessTree *tree;

	add_cpu_0(t);
	t->later_tree = add_tree(t, MS(3));
	tree = t->later_tree->process_tree;
	tree->n_processes = 1;
	tree->processes = one(t, process(t, 200, 100, "/bin/child"));
	tree->n_threads = 1;
	tree->threads = one(t, thread(t, 200, 200, "child"));
	add_cpu_1(t);
}

static InternedString *string(struct good_trace *t, uint64_t iid, const char *s)
{
	InternedString *m = NEW(t, InternedString, interned_string__init);

	SET(m, iid, iid);
	m->has_str = 1;
	m->str.data = (uint8_t *)s;
	m->str.len = strlen(s);
	return m;
}

static Frame *frame(struct good_trace *t, uint64_t iid, uint64_t function, uint64_t mapping,
		    int kind)
{
	Frame *f = NEW(t, Frame, frame__init);

	SET(f, iid, iid);
	SET(f, function_name_id, function);
	SET(f, mapping_id, mapping);
	SET(f, rel_pc, 0x1000 * iid);
	SET(f, kind, kind);
	return f;
}

static Mapping *mapping(struct good_trace *t, uint64_t iid, uint64_t path, uint64_t build_id)
{
	Mapping *m = NEW(t, Mapping, mapping__init);

	SET(m, iid, iid);
	m->n_path_string_ids = 1;
	m->path_string_ids = ARRAY(t, uint64_t, path);
	if (build_id)
		SET(m, build_id, build_id);
	return m;
}

static StackSample__TaskContext *task(struct good_trace *t, uint64_t iid, uint32_t pid,
				      uint32_t tid)
{
	StackSample__TaskContext *m =
		NEW(t, StackSample__TaskContext, stack_sample__task_context__init);

	SET(m, iid, iid);
	SET(m, pid, pid);
	SET(m, tid, tid);
	return m;
}

static StackSample__ExecutionContext *execution(struct good_trace *t, uint64_t iid, uint32_t cpu)
{
	StackSample__ExecutionContext *m =
		NEW(t, StackSample__ExecutionContext, stack_sample__execution_context__init);

	SET(m, iid, iid);
	SET(m, cpu, cpu);
	SET(m, mode, 1);
	return m;
}

/* main > work of /bin/app, and read of the kernel below it. */
static InternedData *interned_stacks(struct good_trace *t)
{
	InternedData *d = NEW(t, InternedData, interned_data__init);
	Callstack *c = NEW(t, Callstack, callstack__init);

	d->n_function_names = 3;
	d->function_names = ARRAY(t, InternedString *, string(t, 1, "main"), string(t, 2, "work"),
				  string(t, 3, "ksys_read"));
	d->n_build_ids = 1;
	d->build_ids = one(t, string(t, 1, "\x01\x02\x03\x04"));
	d->n_mapping_paths = 2;
	d->mapping_paths =
		ARRAY(t, InternedString *, string(t, 1, "/bin/app"), string(t, 2, "kernel"));
	d->n_mappings = 2;
	d->mappings = ARRAY(t, Mapping *, mapping(t, 1, 1, 1), mapping(t, 2, 2, 0));
	d->n_frames = 3;
	d->frames =
		ARRAY(t, Frame *, frame(t, 1, 1, 1, 1), frame(t, 2, 2, 1, 1), frame(t, 3, 3, 2, 2));
	SET(c, iid, 1);
	c->n_frame_ids = 3;
	c->frame_ids = ARRAY(t, uint64_t, 1, 2, 3);
	d->n_callstacks = 1;
	d->callstacks = one(t, c);
	d->n_stack_sample_task_contexts = 2;
	d->stack_sample_task_contexts =
		ARRAY(t, StackSample__TaskContext *, task(t, 1, 100, 100), task(t, 2, 200, 200));
	d->n_stack_sample_execution_contexts = 2;
	d->stack_sample_execution_contexts =
		ARRAY(t, StackSample__ExecutionContext *, execution(t, 1, 0), execution(t, 2, 1));
	return d;
}

static TracePacketDefaults *sample_defaults(struct good_trace *t, const char *counter)
{
	TracePacketDefaults *d = NEW(t, TracePacketDefaults, trace_packet_defaults__init);
	StackSampleDefaults *s = NEW(t, StackSampleDefaults, stack_sample_defaults__init);
	StackSample__CounterDescriptor *k =
		NEW(t, StackSample__CounterDescriptor, stack_sample__counter_descriptor__init);

	k->name = (char *)counter;
	SET(k, unit, 1);
	s->source = "linux.perf";
	s->primary_descriptor = k;
	SET(d, timestamp_clock_id, 3);
	d->stack_sample_defaults = s;
	return d;
}

static void add_samples(struct good_trace *t)
{
	static const struct {
		uint64_t ms, task, execution;
	} samples[N_SAMPLES] = { { 5, 1, 1 }, { 6, 2, 2 }, { 35, 1, 1 } };

	for (size_t i = 0; i < N_SAMPLES; i++) {
		TracePacket *pkt = add(t, SEQ_SAMPLES, MS(samples[i].ms) - SLEPT);
		StackSample *s = NEW(t, StackSample, stack_sample__init);

		SET(s, task_context_iid, samples[i].task);
		SET(s, execution_context_iid, samples[i].execution);
		SET(s, callstack_iid, 1);
		SET(s, primary_weight, 1000000);
		pkt->stack_sample = s;
		t->samples[i] = pkt;
	}
	t->samples[0]->interned_data = interned_stacks(t);
	t->samples[0]->trace_packet_defaults = sample_defaults(t, "cpu-clock 999 Hz");
}

static TracePacket *add_event(struct good_trace *t, int type, uint64_t track, uint64_t time_ns)
{
	TracePacket *pkt = add(t, SEQ_EVENTS, time_ns);
	TrackEvent *e = NEW(t, TrackEvent, track_event__init);

	SET(e, type, type);
	SET(e, track_uuid, track);
	pkt->track_event = e;
	return pkt;
}

/* A slice of a system call. */
static TracePacket *add_begin(struct good_trace *t, uint64_t time_ns)
{
	TracePacket *pkt = add_event(t, 1, UUID_MAIN, time_ns);
	DebugAnnotation *a = NEW(t, DebugAnnotation, debug_annotation__init);

	SET(pkt->track_event, name_iid, 1);
	pkt->track_event->n_category_iids = 1;
	pkt->track_event->category_iids = ARRAY(t, uint64_t, 1);
	SET(a, name_iid, 1);
	SET(a, uint_value, 7);
	pkt->track_event->n_debug_annotations = 1;
	pkt->track_event->debug_annotations = one(t, a);
	return pkt;
}

static InternedData *interned_names(struct good_trace *t)
{
	InternedData *d = NEW(t, InternedData, interned_data__init);
	EventName *name = NEW(t, EventName, event_name__init);
	EventCategory *category = NEW(t, EventCategory, event_category__init);
	DebugAnnotationName *arg = NEW(t, DebugAnnotationName, debug_annotation_name__init);

	SET(name, iid, 1);
	name->name = "read";
	SET(category, iid, 1);
	category->name = "syscall";
	SET(arg, iid, 1);
	arg->name = "fd";
	d->n_event_names = d->n_event_categories = d->n_debug_annotation_names = 1;
	d->event_names = one(t, name);
	d->event_categories = one(t, category);
	d->debug_annotation_names = one(t, arg);
	return d;
}

static void add_events(struct good_trace *t)
{
	t->begin_a = add_begin(t, MS(6));
	t->begin_a->interned_data = interned_names(t);
	t->end_a = add_event(t, 2, UUID_MAIN, MS(7));
	t->begin_b = add_begin(t, MS(7));
	t->end_b = add_event(t, 2, UUID_MAIN, MS(8));
	t->begin_outer = add_begin(t, MS(6) - 500000);
	t->end_outer = add_event(t, 2, UUID_MAIN, MS(9));
	t->counter = add_event(t, 4, UUID_RSS, MS(10));
	SET(t->counter->track_event, counter_value, 4096);
	t->instant = add_event(t, 3, UUID_LANE, MS(11));
	t->instant->track_event->n_flow_ids = 1;
	t->instant->track_event->flow_ids = ARRAY(t, uint64_t, 77);
}

static TracePacket *add_frame(struct good_trace *t, uint64_t time_ns)
{
	TracePacket *pkt = add(t, SEQ_GPU, time_ns);

	pkt->frame_timeline_event = NEW(t, FrameTimelineEvent, frame_timeline_event__init);
	return pkt;
}

static TracePacket *add_frame_end(struct good_trace *t, int64_t cookie, uint64_t time_ns)
{
	TracePacket *pkt = add_frame(t, time_ns);
	FrameTimelineEvent__FrameEnd *e =
		NEW(t, FrameTimelineEvent__FrameEnd, frame_timeline_event__frame_end__init);

	SET(e, cookie, cookie);
	pkt->frame_timeline_event->frame_end = e;
	return pkt;
}

static void add_frames(struct good_trace *t)
{
	FrameTimelineEvent__ActualSurfaceFrameStart *s =
		NEW(t, FrameTimelineEvent__ActualSurfaceFrameStart,
		    frame_timeline_event__actual_surface_frame_start__init);
	FrameTimelineEvent__ActualDisplayFrameStart *d =
		NEW(t, FrameTimelineEvent__ActualDisplayFrameStart,
		    frame_timeline_event__actual_display_frame_start__init);

	t->frame_start = add_frame(t, MS(20));
	t->frame_start->frame_timeline_event->actual_surface_frame_start = s;
	SET(s, cookie, 1);
	SET(s, token, 1);
	SET(s, display_frame_token, 9);
	SET(s, pid, 100);
	SET(s, present_type, 1);
	SET(s, jank_type, 1);
	SET(s, prediction_type, 1);
	t->frame_end = add_frame_end(t, 1, MS(30));

	t->display_start = add_frame(t, MS(25));
	t->display_start->frame_timeline_event->actual_display_frame_start = d;
	SET(d, cookie, 2);
	SET(d, token, 9);
	SET(d, pid, 1);
	SET(d, present_type, 1);
	SET(d, jank_type, 1);
	SET(d, prediction_type, 1);
	t->display_end = add_frame_end(t, 2, MS(36));
}

static void add_job(struct good_trace *t)
{
	GpuRenderStageEvent *e = NEW(t, GpuRenderStageEvent, gpu_render_stage_event__init);
	InternedData *d = NEW(t, InternedData, interned_data__init);
	InternedGpuRenderStageSpecification *queue =
		NEW(t, InternedGpuRenderStageSpecification,
		    interned_gpu_render_stage_specification__init);
	InternedGraphicsContext *context =
		NEW(t, InternedGraphicsContext, interned_graphics_context__init);
	GpuRenderStageEvent__ExtraData *extra =
		NEW(t, GpuRenderStageEvent__ExtraData, gpu_render_stage_event__extra_data__init);
	GpuCorrelation *links = NEW(t, GpuCorrelation, gpu_correlation__init);
	GpuInfo *info = NEW(t, GpuInfo, gpu_info__init);

	info->n_gpus = 1;
	info->gpus = one(t, NEW(t, GpuInfo__Gpu, gpu_info__gpu__init));
	add(t, SEQ_META, MS(0))->gpu_info = info;
	SET(queue, iid, 1);
	queue->name = "gfx";
	SET(context, iid, 1);
	SET(context, pid, 100);
	d->n_gpu_specifications = d->n_graphics_contexts = 1;
	d->gpu_specifications = one(t, queue);
	d->graphics_contexts = one(t, context);
	SET(e, event_id, 1);
	SET(e, duration, 1000);
	SET(e, hw_queue_iid, 1);
	SET(e, stage_iid, 1);
	SET(e, context, 1);
	SET(e, gpu_id, 0);
	extra->name = "submitted_in";
	extra->value = "ioctl";
	e->n_extra_data = 1;
	e->extra_data = one(t, extra);
	t->job = add(t, SEQ_GPU, MS(12));
	t->job->interned_data = d;
	/* Submitted in the outer slice. */
	t->submitted = 1;
	links->n_render_stage_submission_event_ids = 1;
	links->render_stage_submission_event_ids = &t->submitted;
	t->begin_outer->track_event->gpu_correlation = links;
	t->job->gpu_render_stage_event = e;
}

static void add_network(struct good_trace *t)
{
	NetworkPacketBundle *b = NEW(t, NetworkPacketBundle, network_packet_bundle__init);

	b->ctx = NEW(t, NetworkPacketEvent, network_packet_event__init);
	SET(b->ctx, direction, 1);
	b->n_packet_timestamps = b->n_packet_lengths = 2;
	b->packet_timestamps = ARRAY(t, uint64_t, 0, 10);
	b->packet_lengths = ARRAY(t, uint32_t, 60, 1500);
	t->network = add(t, SEQ_GPU, MS(15));
	t->network->network_packet_bundle = b;
}

static TraceAttributes__Attribute *attribute(struct good_trace *t, const char *key, int64_t value)
{
	TraceAttributes__Attribute *a =
		NEW(t, TraceAttributes__Attribute, trace_attributes__attribute__init);

	a->key = (char *)key;
	SET(a, long_value, value);
	return a;
}

static void add_ledger(struct good_trace *t)
{
	static const struct {
		const char *key;
		int64_t value;
	} values[] = {
		{ "ledger.proc.produced", 4 },
		{ "ledger.proc.lost", 0 },
		{ "ledger.proc.malformed", 0 },
		{ "ledger.proc.filtered", 1 },
		{ "ledger.proc.dropped", 0 },
		{ "ledger.proc.written", 3 },
		{ "ledger.cpu.produced", 3 },
		{ "ledger.cpu.lost", 0 },
		{ "ledger.cpu.malformed", 0 },
		{ "ledger.cpu.filtered", 0 },
		{ "ledger.cpu.dropped", 0 },
		{ "ledger.cpu.written", 3 },
		{ "ledger.sched.produced", 9 },
		{ "ledger.sched.lost", 0 },
		{ "ledger.sched.malformed", 0 },
		{ "ledger.sched.filtered", 0 },
		{ "ledger.sched.dropped", 0 },
		{ "ledger.sched.written", 9 },
		{ "ledger.syscalls.produced", 5 },
		{ "ledger.syscalls.lost", 0 },
		{ "ledger.syscalls.malformed", 1 },
		{ "ledger.syscalls.filtered", 1 },
		{ "ledger.syscalls.dropped", 0 },
		{ "ledger.syscalls.written", 3 },
		{ "kernel.release", 6 },
	};
	const size_t n = sizeof(values) / sizeof(values[0]);
	TraceAttributes *a = NEW(t, TraceAttributes, trace_attributes__init);

	a->n_attribute = n;
	a->attribute = good_trace_alloc(t, n * sizeof(a->attribute[0]));
	for (size_t i = 0; i < n; i++)
		a->attribute[i] = attribute(t, values[i].key, values[i].value);
	t->ledger = add(t, SEQ_META, 0);
	t->ledger->trace_attributes = a;
}

static void add_symbols(struct good_trace *t)
{
	ModuleSymbols *m = NEW(t, ModuleSymbols, module_symbols__init);
	AddressSymbols *a = NEW(t, AddressSymbols, address_symbols__init);
	Line *l = NEW(t, Line, line__init);

	l->function_name = "work(int)";
	SET(a, address, 0x2000);
	a->n_lines = 1;
	a->lines = one(t, l);
	m->path = "/bin/app";
	m->has_build_id = 1;
	m->build_id.data = (uint8_t *)"\x01\x02\x03\x04";
	m->build_id.len = 4;
	m->n_address_symbols = 1;
	m->address_symbols = one(t, a);
	t->symbols = add(t, SEQ_META, 0);
	t->symbols->module_symbols = m;
}

static void add_tail(struct good_trace *t)
{
	TraceStats *s = NEW(t, TraceStats, trace_stats__init);
	TraceStats__BufferStats *b =
		NEW(t, TraceStats__BufferStats, trace_stats__buffer_stats__init);

	t->second_snapshot = add_snapshot(t, MS(10000));
	t->stats_end = add_stats(t, 2, MS(20000));
	t->last_snapshot = add_snapshot(t, MS(20000));
	add_ledger(t);
	SET(b, trace_writer_packet_loss, 0);
	s->n_buffer_stats = 1;
	s->buffer_stats = one(t, b);
	t->trace_stats = add(t, SEQ_META, 0);
	t->trace_stats->trace_stats = s;
	t->disabled = add_service(t, MS(20000));
	SET(t->disabled->service_event, tracing_disabled, 1);
	add_symbols(t);
}

void good_trace_init(struct good_trace *t)
{
	memset(t, 0, sizeof(*t));
	good_trace_start(t);
	add_head(t);
	add_tracks(t);
	add_sched(t);
	add_samples(t);
	add_events(t);
	add_job(t);
	add_frames(t);
	add_network(t);
	add_tail(t);
}

int64_t *good_trace_ledger(struct good_trace *t, const char *key)
{
	TraceAttributes *a = t->ledger->trace_attributes;

	for (size_t i = 0; i < a->n_attribute; i++)
		if (strcmp(a->attribute[i]->key, key) == 0)
			return &a->attribute[i]->long_value;
	ck_abort_msg("no %s", key);
}

static void add_loss_instant(struct good_trace *t, uint64_t n)
{
	TracePacket *pkt = good_trace_copy(t, t->instant);
	DebugAnnotation *count = NEW(t, DebugAnnotation, debug_annotation__init);

	count->name = "count";
	SET(count, uint_value, n);
	pkt->track_event->track_uuid = UUID_LOSS;
	pkt->track_event->n_debug_annotations = 1;
	pkt->track_event->debug_annotations = one(t, count);
	good_trace_insert(t, pkt, t->job);
}

void good_trace_lose(struct good_trace *t, const char *source, uint64_t n)
{
	char key[64];

	snprintf(key, sizeof(key), "ledger.%s.lost", source);
	*good_trace_ledger(t, key) += (int64_t)n;
	snprintf(key, sizeof(key), "ledger.%s.produced", source);
	*good_trace_ledger(t, key) += (int64_t)n;
	t->trace_stats->trace_stats->buffer_stats[0]->trace_writer_packet_loss += n;
	add_loss_instant(t, n);
}
