/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_impl.h - the insides of a trace check, shared by its files.
 *
 * Each check_*.c owns one state struct, made by check_X_new(), asked once per
 * packet and once at the end. They meet in struct trace_check: the packet at
 * hand, its sequence, its time.
 *
 * Running out of memory is kept in `error`, as stdio does, and looked at once
 * per packet: what follows an error may be wrong but is safe.
 */
#ifndef CHECK_IMPL_H
#define CHECK_IMPL_H

#include "hash.h"
#include "packet_decoder.h"
#include "trace_check.h"
#include "wire.h"

#define FLAG_CLEARED 1
#define FLAG_NEEDS   2

#define CLOCK_ID_REALTIME  1
#define CLOCK_ID_MONOTONIC 3
#define CLOCK_ID_BOOTTIME  6

/* A content hash must be the same for all tables of a check, not for all checks. */
#define CONTENT_SEED 0x636865636bull

/* Items of one size, packed. Zero-initialised is empty. */
struct check_list {
	void *items;
	size_t n, cap;
};

/* What a packet sequence has said so far. */
struct check_sequence {
	uint32_t id;
	bool valid;   /* its interned data counts: CLEARED came, and no loss since */
	bool dropped; /* it was valid, until previous_packet_dropped */
	bool has_events, has_descriptors, told_shared;
	bool has_clock, has_track;
	uint32_t clock; /* defaults */
	uint64_t track;
	char *source; /* stack_sample_defaults, NULL: none */
	char *counter;
	int32_t unit; /* of `counter` */
	uint64_t n_samples;
	char *session_source, *session_counter; /* of its first sample */
	struct check_interned *interned;	/* NULL: nothing yet */
};

struct check_clocks;
struct check_stacks;
struct check_samples;
struct check_tracks;
struct check_sched;
struct check_lives;
struct check_gpu;
struct check_network;
struct check_flows;
struct check_ledger;

struct trace_check {
	struct packet_decoder *decoder;
	struct check_finding findings[N_CHECK_KINDS];
	struct trace_summary summary;
	int error;
	bool is_snapshot; /* of a flight recorder: it begins in the midst of things */
	size_t n_held;	  /* bytes of all lists */

	struct hash *sequences; /* id -> struct check_sequence */

	/* The packet at hand. */
	const TracePacket *pkt;
	const uint8_t *interned_data; /* its InternedData on the wire */
	size_t interned_len;
	uint64_t offset;
	struct check_sequence *seq; /* NULL: none */
	uint32_t flags;
	bool has_time;
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	bool refers;	  /* to interned data or defaults */

	struct check_clocks *clocks;
	struct check_stacks *stacks;
	struct check_samples *samples;
	struct check_tracks *tracks;
	struct check_sched *sched;
	struct check_lives *lives;
	struct check_gpu *gpu;
	struct check_network *network;
	struct check_flows *flows;
	struct check_ledger *ledger;
};

/* ---- trace_check.c ---- */

/* At the packet at hand. `time_ns` 0: not known. */
void check_report(struct trace_check *c, enum check_kind kind, uint64_t time_ns, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));
/* Elsewhere; UINT64_MAX: at no single place. */
void check_report_at(struct trace_check *c, enum check_kind kind, uint64_t offset, uint64_t time_ns,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* A new zeroed item at the end, or NULL and `c->error`. May move the others. */
void *check_list_add(struct trace_check *c, struct check_list *l, size_t item_size);
void check_list_done(struct check_list *l);
/* Zeroed memory, counted like lists; free() it. */
void *check_alloc(struct trace_check *c, size_t size);
char *check_strdup(struct trace_check *c, const char *s);

/* For messages: `s` made printable and short. */
struct check_text {
	char s[80];
};
struct check_text check_text(const char *s);
struct check_text check_bytes(const void *data, size_t len);

/* Seconds since the first snapshot, for messages. */
double check_seconds(const struct trace_check *c, uint64_t time_ns);

/* ---- check_clocks.c: snapshots, times, what must come first ---- */

int check_clocks_new(struct check_clocks **ret);
void check_clocks_free(struct check_clocks *k);
void check_clocks_first_packet(struct trace_check *c);
/* The packet is a ClockSnapshot: nothing else of it counts. */
void check_clocks_snapshot(struct trace_check *c);
/* Sets has_time and time_ns. */
void check_clocks_resolve(struct trace_check *c);
void check_clocks_packet(struct trace_check *c);
/* An event lies at this time; `what` for the message. */
void check_time(struct trace_check *c, uint64_t time_ns, const char *what);
void check_ftrace_time(struct trace_check *c, uint64_t time_ns);
void check_clocks_finish(struct trace_check *c);

/* ---- check_interning.c ---- */

/* Field numbers of InternedData. */
enum {
	I_CATEGORY = 1,
	I_EVENT_NAME = 2,
	I_ANNOTATION_NAME = 3,
	I_SOURCE_LOCATION = 4,
	I_FUNCTION = 5,
	I_FRAME = 6,
	I_CALLSTACK = 7,
	I_BUILD_ID = 16,
	I_MAPPING_PATH = 17,
	I_SOURCE_PATH = 18,
	I_MAPPING = 19,
	I_LOG_BODY = 20,
	I_GRAPHICS_CONTEXT = 23,
	I_GPU_SPECIFICATION = 24,
	I_KERNEL_SYMBOL = 26,
	I_ANNOTATION_STRING = 29,
	I_PACKET_CONTEXT = 30,
	I_CORRELATION_STRING = 43,
	I_GPU_COUNTERS = 47,
	I_TASK = 48,
	I_EXECUTION = 49,
	I_COUNTER = 50,
	I_ASYNC_CONTEXT = 51,
	I_TYPES,
};

struct check_entry {
	uint64_t content; /* hash */
	/*
	 * Category and annotation name: ENTRY_*. Mapping path: index of its
	 * text. Build id: hash. Mapping, frame, callstack: index in
	 * check_stacks.c. Task: pid << 32 | tid. Execution: cpu. Graphics
	 * context: pid. NO_REF where the message does not have it.
	 */
	uint64_t ref;
	char *text;   /* of a counter, an event, a category, an annotation: its name; or its text */
	int32_t unit; /* of a counter */
	bool resolved; /* what it refers to was looked at */
};

#define NO_REF UINT64_MAX

enum { ENTRY_OTHER, ENTRY_COUNTED, ENTRY_UNFINISHED, ENTRY_COUNT };

void check_interned_free(struct check_interned *in);
/* Flags, defaults and loss of the packet's sequence. False: a viewer would skip the packet. */
bool check_sequence_packet(struct trace_check *c);
void check_interned_data(struct trace_check *c);
/*
 * The entry that the packet at hand refers to, or NULL, reported. Valid until
 * the next interned data.
 */
struct check_entry *check_ref(struct trace_check *c, unsigned type, uint64_t iid);
/* The same without a report. */
struct check_entry *check_entry(const struct check_sequence *seq, unsigned type, uint64_t iid);
/* What a category or annotation name means to us: ENTRY_*. */
uint64_t check_name_class(unsigned type, const char *name, size_t len);

/* ---- check_stacks.c: mappings, frames, callstacks, late symbols ---- */

int check_stacks_new(struct check_stacks **ret);
void check_stacks_free(struct check_stacks *s);
uint64_t check_stacks_path(struct trace_check *c, const void *path, size_t len);
/* Resolve the mappings, frames and callstacks that this packet interned. */
void check_stacks_interned(struct trace_check *c, const InternedData *data);
/* The packet uses a callstack of its sequence. */
void check_stacks_use(struct trace_check *c, uint64_t iid);
void check_stacks_symbols(struct trace_check *c, const ModuleSymbols *m);
void check_stacks_finish(struct trace_check *c);

/* ---- check_samples.c ---- */

int check_samples_new(struct check_samples **ret);
void check_samples_free(struct check_samples *s);
/* Before it is known whether a viewer would skip the packet: counts. */
void check_samples_count(struct trace_check *c);
void check_samples_packet(struct trace_check *c);
void check_samples_finish(struct trace_check *c);

/* ---- check_tracks.c and check_slices.c ---- */

/* Per track; the rest is check_slices.c's. */
struct check_slices {
	struct check_list all;	/* in the order of their BEGINs in the file */
	struct check_list open; /* indexes of those without an END yet */
};

int check_tracks_new(struct check_tracks **ret);
void check_tracks_free(struct check_tracks *t);
void check_tracks_descriptor(struct trace_check *c);
void check_tracks_event(struct trace_check *c);
void check_tracks_finish(struct trace_check *c);

void check_slice_begin(struct trace_check *c, struct check_slices *s, bool unfinished);
void check_slice_end(struct trace_check *c, struct check_slices *s, const char *track);
void check_slices_finish(struct trace_check *c, struct check_slices *s, const char *track);
void check_slices_done(struct check_slices *s);

/* ---- check_sched.c ---- */

int check_sched_new(struct check_sched **ret);
void check_sched_free(struct check_sched *s);
void check_sched_bundle(struct trace_check *c, const FtraceEventBundle *b);
void check_sched_stats(struct trace_check *c, const FtraceStats *stats);
void check_sched_finish(struct trace_check *c);

enum check_running {
	RUNNING_YES,
	RUNNING_NO,
	RUNNING_NOT_COVERED, /* before the first switch of the CPU, or where some were lost */
};
/* After finish. `*ret_tid`: who ran, if not `tid`. */
enum check_running check_sched_running(struct trace_check *c, unsigned cpu, uint64_t time_ns,
				       int32_t tid, int32_t *ret_tid);
uint64_t check_sched_events(const struct trace_check *c);	/* as the ledger counts them */
uint64_t check_sched_lost_bundles(const struct trace_check *c); /* with lost_events */
uint64_t check_sched_dropped(const struct trace_check *c);	/* FtraceStats, END - START */

/* ---- check_lives.c: when a pid was whose ---- */

int check_lives_new(struct check_lives **ret);
void check_lives_free(struct check_lives *l);
void check_lives_newtask(struct trace_check *c, const FtraceEvent *e);
void check_lives_free_task(struct trace_check *c, int32_t pid, uint64_t time_ns);
void check_lives_tree(struct trace_check *c, const ProcessTree *tree);
void check_lives_descriptor(struct trace_check *c, bool process, int32_t pid, uint64_t uuid);
void check_lives_sort(struct trace_check *c); /* before the next two */
bool check_lives_alive(const struct trace_check *c, int32_t pid, uint64_t time_ns);
bool check_lives_named(const struct trace_check *c, int32_t pid); /* as a process */
void check_lives_finish(struct trace_check *c);

/* ---- check_gpu.c: render stages, frames, network bundles ---- */

int check_gpu_new(struct check_gpu **ret);
void check_gpu_free(struct check_gpu *g);
void check_gpu_packet(struct trace_check *c);
void check_gpu_finish(struct trace_check *c);

/* ---- check_network.c: requests and connections ---- */

int check_network_new(struct check_network **ret);
void check_network_free(struct check_network *n);
void check_network_attributes(struct trace_check *c, const TraceAttributes *a);
void check_network_event(struct trace_check *c);
void check_network_finish(struct trace_check *c);

/* ---- check_flows.c: of requests ---- */

#define CHECK_NO_STAGE UINT8_MAX
#define CHECK_NOT_OURS                                                             \
	(UINT8_MAX - 1) /* of another source: a flow of theirs alone is not judged \
			 */

int check_flows_new(struct check_flows **ret);
void check_flows_free(struct check_flows *f);
/*
 * The flows of the event at hand; `stage`: when that is in the life of a request, more is
 * later. Returns the number of the first.
 */
size_t check_flows_add(struct trace_check *c, uint8_t stage);
void check_flows_stage(struct trace_check *c, size_t first, size_t n, uint8_t stage);
void check_flows_finish(struct trace_check *c);

/* ---- check_ledger.c ---- */

int check_ledger_new(struct check_ledger **ret);
void check_ledger_free(struct check_ledger *l);
void check_ledger_attributes(struct trace_check *c, const TraceAttributes *a);
void check_ledger_stats(struct trace_check *c, const TraceStats *stats);
void check_ledger_slice(struct trace_check *c);		      /* one that syscalls counts */
void check_ledger_sample(struct trace_check *c);	      /* of collector cpu */
void check_ledger_instant(struct trace_check *c, uint64_t n); /* on the track "Data loss" */
uint64_t check_ledger_lost(const struct trace_check *c, const char *source);
void check_ledger_finish(struct trace_check *c);
/* Switches that the recorder added because the kernel had not told of them. */
uint64_t check_ledger_inferred(const struct trace_check *c);

#endif
