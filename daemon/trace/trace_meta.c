/* SPDX-License-Identifier: Apache-2.0 */
/* trace_meta.c - what a trace says about itself. */
#include "trace_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"
#include "trace_tap.h"

/* Ids of the format (builtin_clock.proto). */
enum {
	CLOCK_ID_REALTIME = 1,
	CLOCK_ID_REALTIME_COARSE,
	CLOCK_ID_MONOTONIC,
	CLOCK_ID_MONOTONIC_COARSE,
	CLOCK_ID_MONOTONIC_RAW,
	CLOCK_ID_BOOTTIME
};

static const struct {
	uint32_t id;
	clockid_t clock;
} clocks[] = {
	{ CLOCK_ID_BOOTTIME, CLOCK_BOOTTIME },
	{ CLOCK_ID_MONOTONIC, CLOCK_MONOTONIC },
	{ CLOCK_ID_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW },
	{ CLOCK_ID_REALTIME, CLOCK_REALTIME },
	{ CLOCK_ID_REALTIME_COARSE, CLOCK_REALTIME_COARSE },
	{ CLOCK_ID_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE },
};

_Static_assert(sizeof(clocks) / sizeof(clocks[0]) == TRACE_N_CLOCKS, "all of them");

/* Readings are taken again while somebody comes between them, so often. */
#define CLOCK_TRIES	5
#define CLOCK_WINDOW_NS 5000

void trace_meta_read_clocks(uint64_t ns[TRACE_N_CLOCKS])
{
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t after;

		for (size_t k = 0; k < TRACE_N_CLOCKS; k++)
			ns[k] = clock_ns(clocks[k].clock);
		after = clock_ns(clocks[0].clock);
		if (after - ns[0] < CLOCK_WINDOW_NS)
			break;
	}
}

int trace_meta_put_clocks(struct trace_writer *w, const uint64_t ns[TRACE_N_CLOCKS])
{
	TracePacket pkt = TRACE_PACKET__INIT;
	ClockSnapshot msg = CLOCK_SNAPSHOT__INIT;
	ClockSnapshot__Clock items[TRACE_N_CLOCKS];
	ClockSnapshot__Clock *ptrs[TRACE_N_CLOCKS];

	for (size_t i = 0; i < TRACE_N_CLOCKS; i++) {
		clock_snapshot__clock__init(&items[i]);
		items[i].has_clock_id = items[i].has_timestamp = 1;
		items[i].clock_id = clocks[i].id;
		items[i].timestamp = ns[i];
		ptrs[i] = &items[i];
	}
	msg.n_clocks = TRACE_N_CLOCKS;
	msg.clocks = ptrs;
	msg.has_primary_trace_clock = 1;
	msg.primary_trace_clock = CLOCK_ID_BOOTTIME;
	pkt.has_timestamp = 1;
	pkt.timestamp = ns[0];
	pkt.clock_snapshot = &msg;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

int trace_meta_clocks(struct trace_writer *w)
{
	uint64_t ns[TRACE_N_CLOCKS];

	trace_meta_read_clocks(ns);
	return trace_meta_put_clocks(w, ns);
}

static int put_uuid(struct trace_writer *w)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	TraceUuid uuid = TRACE_UUID__INIT;
	int64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	uuid.has_msb = uuid.has_lsb = 1;
	uuid.msb = random[0];
	uuid.lsb = random[1];
	pkt.trace_uuid = &uuid;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

int trace_meta_machine(struct trace_writer *w)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	SystemInfo info = SYSTEM_INFO__INIT;
	Utsname name = UTSNAME__INIT;
	time_t now = time(NULL);
	struct utsname uts;
	struct sysinfo si;
	struct tm tm;
	int r;

	r = put_uuid(w);
	if (r < 0)
		return r;
	if (uname(&uts) < 0)
		return -errno;
	name.sysname = uts.sysname;
	name.version = uts.version;
	name.release = uts.release;
	name.machine = uts.machine;
	info.utsname = &name;
	info.machine_name = uts.nodename;
	info.tracing_service_version = "tracer " TRACER_VERSION;
	info.has_page_size = info.has_num_cpus = 1;
	info.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	info.num_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (localtime_r(&now, &tm)) {
		info.has_timezone_off_mins = 1;
		info.timezone_off_mins = (int32_t)(tm.tm_gmtoff / 60);
	}
	if (sysinfo(&si) == 0) {
		info.has_system_ram_bytes = 1;
		info.system_ram_bytes = (uint64_t)si.totalram * si.mem_unit;
	}
	pkt.system_info = &info;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

int trace_meta_milestone(struct trace_writer *w, enum trace_milestone what, uint64_t time_ns)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	TracingServiceEvent msg = TRACING_SERVICE_EVENT__INIT;

	msg.has_tracing_started = what == TRACE_STARTED;
	msg.has_all_data_sources_started = what == TRACE_ALL_STARTED;
	msg.has_tracing_disabled = what == TRACE_DISABLED;
	msg.tracing_started = msg.all_data_sources_started = msg.tracing_disabled = 1;
	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.service_event = &msg;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

int trace_meta_attributes(struct trace_writer *w, const struct trace_attribute *attrs, size_t n)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	TraceAttributes msg = TRACE_ATTRIBUTES__INIT;
	TraceAttributes__Attribute *items = calloc(n, sizeof(*items));
	TraceAttributes__Attribute **ptrs = calloc(n, sizeof(*ptrs));
	int r = -ENOMEM;

	if (items && ptrs) {
		for (size_t i = 0; i < n; i++) {
			trace_attributes__attribute__init(&items[i]);
			items[i].key = (char *)attrs[i].key;
			items[i].has_long_value = attrs[i].is_number;
			items[i].long_value = attrs[i].number;
			items[i].string_value = attrs[i].is_number ? NULL : (char *)attrs[i].string;
			ptrs[i] = &items[i];
		}
		msg.n_attribute = n;
		msg.attribute = ptrs;
		pkt.trace_attributes = &msg;
		r = trace_writer_put(w, SEQ_META, &pkt, 0);
	}
	free(items);
	free(ptrs);
	return r;
}

int trace_meta_ftrace_stats(struct trace_writer *w, const uint64_t *dropped, unsigned n_cpus,
			    bool end, uint64_t time_ns)
{
	enum { PHASE_START = 1, PHASE_END = 2 };
	static FtraceCpuStats items[MAX_CPUS];
	static FtraceCpuStats *ptrs[MAX_CPUS];
	TracePacket pkt = TRACE_PACKET__INIT;
	FtraceStats msg = FTRACE_STATS__INIT;

	for (unsigned i = 0; i < n_cpus && i < MAX_CPUS; i++) {
		ftrace_cpu_stats__init(&items[i]);
		items[i].has_cpu = items[i].has_dropped_events = 1;
		items[i].cpu = i;
		items[i].dropped_events = dropped[i];
		ptrs[i] = &items[i];
		msg.n_cpu_stats++;
	}
	msg.has_phase = 1;
	msg.phase = end ? PHASE_END : PHASE_START;
	msg.cpu_stats = ptrs;
	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.ftrace_stats = &msg;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

static void annotate(DebugAnnotation *a, DebugAnnotation **ptr, const char *name)
{
	debug_annotation__init(a);
	a->name = (char *)name;
	*ptr = a;
}

/* Nothing interned, on an essential sequence: a mark of loss must not get lost itself. */
int trace_meta_loss(struct trace_writer *w, uint64_t track, uint64_t time_ns, const char *source,
		    const char *reason, int cpu, uint64_t n)
{
	enum { TYPE_INSTANT = 3 };
	TracePacket pkt = TRACE_PACKET__INIT;
	TrackEvent te = TRACK_EVENT__INIT;
	DebugAnnotation args[4], *ptrs[4];
	const struct trace_tap_event loss = { .kind = TAP_LOSS,
					      .time_ns = time_ns,
					      .end_ns = time_ns,
					      .name = source,
					      .category = reason,
					      .value = (double)n };
	char name[64];

	if (!track)
		return -ENOMEM;
	trace_tap_tell(w, &loss);
	snprintf(name, sizeof(name), "%s events lost", source);
	annotate(&args[0], &ptrs[0], "source");
	args[0].string_value = (char *)source;
	annotate(&args[1], &ptrs[1], "count");
	args[1].has_uint_value = 1;
	args[1].uint_value = n;
	annotate(&args[2], &ptrs[2], "reason");
	args[2].string_value = (char *)reason;
	annotate(&args[3], &ptrs[3], "cpu");
	args[3].has_int_value = 1;
	args[3].int_value = cpu;

	te.n_debug_annotations = cpu < 0 ? 3 : 4;
	te.debug_annotations = ptrs;
	te.has_type = te.has_track_uuid = 1;
	te.type = TYPE_INSTANT;
	te.track_uuid = track;
	te.name = name;
	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.track_event = &te;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

int trace_meta_stats(struct trace_writer *w, const uint64_t *lost, unsigned n_sources)
{
	TraceStats__BufferStats items[32], *ptrs[32];
	TracePacket pkt = TRACE_PACKET__INIT;
	TraceStats msg = TRACE_STATS__INIT;

	for (unsigned i = 0; i < n_sources && i < 32; i++) {
		trace_stats__buffer_stats__init(&items[i]);
		items[i].has_trace_writer_packet_loss = 1;
		items[i].trace_writer_packet_loss = lost[i];
		ptrs[i] = &items[i];
		msg.n_buffer_stats++;
	}
	msg.buffer_stats = ptrs;
	pkt.has_timestamp = 1;
	pkt.timestamp = boot_ns();
	pkt.trace_stats = &msg;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}
