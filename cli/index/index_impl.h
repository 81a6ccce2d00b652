/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_impl.h - the insides of a trace index, shared by its files. Each
 * index_*.c owns one state struct.
 *
 * Running out of memory is kept in `error`, as stdio does, and looked at once
 * per packet: what follows an error may be wrong but is safe.
 */
#ifndef INDEX_IMPL_H
#define INDEX_IMPL_H

#include "hash.h"
#include "packet_decoder.h"
#include "pool.h"
#include "trace_index.h"
#include "wire.h"

/* Items of one size, packed. Zero-initialised is empty. */
struct index_list {
	void *items;
	size_t n, cap;
};

enum index_table {
	TABLE_FUNCTIONS,     /* iid -> string */
	TABLE_BUILD_IDS,     /* string */
	TABLE_MAPPING_PATHS, /* string */
	TABLE_SOURCE_PATHS,  /* string */
	TABLE_MAPPINGS,	     /* mapping */
	TABLE_FRAMES,	     /* frame */
	TABLE_STACKS,	     /* stack */
	TABLE_TASKS,	     /* task */
	TABLE_CPUS,	     /* CPU */
	TABLE_COUNTERS,	     /* counter */
	TABLE_EVENT_NAMES,   /* string; with waits, GPUs, slices or the network only */
	TABLE_ARG_NAMES,     /* string; likewise */
	TABLE_ARG_TEXTS,     /* string; likewise */
	TABLE_GPU_CONTEXTS,  /* pid; with GPUs or slices only */
	TABLE_GPU_QUEUES,    /* string; likewise */
	TABLE_CATEGORIES,    /* string; with the network only */
	N_TABLES
};

/* From iids to numbers. Writers count iids up from 1: most are in `dense`. */
struct index_ids {
	struct index_list dense; /* uint32_t by iid: number + 1; 0: none */
	struct hash *others;	 /* number + 1; NULL: none */
};

/* What a packet sequence has said so far. */
struct index_sequence {
	uint32_t id;
	bool valid;
	bool has_clock;
	uint32_t clock;		  /* default of its packets */
	uint32_t source, counter; /* default of its samples: a string, a counter */
	uint64_t track;		  /* default of its events */
	struct index_ids tables[N_TABLES];
	uint32_t last_counter; /* the latest sample's source is known by these */
	uint32_t last_source_name;
	size_t last_source; /* index + 1; 0: none */
};

struct index_clocks;
struct index_stacks;
struct index_tasks;
struct index_samples;
struct index_waits;
struct index_gpu;
struct index_network;
struct index_slices;

struct trace_index {
	struct pool_budget budget;
	struct packet_decoder *decoder;
	struct pool *strings;
	struct trace_facts facts;
	struct index_list losses;
	struct hash *sequences; /* id -> struct index_sequence */
	int error;
	bool has_start; /* an event tells when recording began; else the first snapshot does */

	struct index_clocks *clocks;
	struct index_stacks *stacks;
	struct index_tasks *tasks;
	struct index_samples *samples;
	struct index_waits *waits; /* NULL: nobody wants them */
	struct index_gpu *gpu;	   /* likewise */
	struct index_network *network;
	struct index_slices *slices;
};

/* ---- trace_index.c ---- */

/* A new zeroed item at the end, or NULL and `ix->error`. May move the others. */
void *index_add(struct trace_index *ix, struct index_list *l, size_t item_size);
/* A string's number; what is longer than any name is cut. */
uint32_t index_string(struct trace_index *ix, const void *data, size_t len);
uint32_t index_cstring(struct trace_index *ix, const char *s); /* NULL: TRACE_NONE */
uint32_t index_pool_add(struct trace_index *ix, struct pool *p, const void *data, size_t len);

/* ---- index_sequences.c ---- */

void index_sequences_free(struct hash *sequences); /* takes NULL */
/* NULL: `id` is that of no sequence, or an error. */
struct index_sequence *index_sequence_of(struct trace_index *ix, uint32_t id);
/* False: the packet leans on what was lost, or was never said. */
bool index_sequence_follow(struct index_sequence *seq, uint32_t flags, bool dropped);

/* What `iid` stands for in the sequence: the first meaning stays. */
void index_define(struct trace_index *ix, struct index_sequence *seq, enum index_table table,
		  uint64_t iid, uint32_t number);
uint32_t index_lookup(const struct index_sequence *seq, enum index_table table, uint64_t iid);

/* ---- index_facts.c ---- */

void index_facts_system(struct trace_index *ix, const SystemInfo *info);
void index_facts_service(struct trace_index *ix, uint64_t time_ns, const TracingServiceEvent *e);
void index_facts_attributes(struct trace_index *ix, const TraceAttributes *a);
void index_facts_finish(struct trace_index *ix); /* after the samples */

/* ---- index_clocks.c: times ---- */

#define CLOCK_ID_REALTIME  1
#define CLOCK_ID_MONOTONIC 3
#define CLOCK_ID_BOOTTIME  6

int index_clocks_new(struct index_clocks **ret);
void index_clocks_free(struct index_clocks *k);
void index_clocks_snapshot(struct trace_index *ix, const ClockSnapshot *s);
/* 0: no snapshot so far explains that clock. */
uint64_t index_clocks_time(const struct trace_index *ix, uint32_t clock, uint64_t time);
/* Of the first and the last snapshot; 0: none. */
void index_clocks_range(const struct trace_index *ix, uint64_t *ret_first, uint64_t *ret_last);

/* ---- index_stacks.c, index_frames.c: mappings, frames, callstacks, late symbols ---- */

int index_stacks_new(struct trace_index *ix, struct index_stacks **ret);
void index_stacks_free(struct index_stacks *s);
void index_stacks_interned(struct trace_index *ix, struct index_sequence *seq,
			   const InternedData *data);
void index_stacks_symbols(struct trace_index *ix, const ModuleSymbols *m);
/* A callstack that a sample carries itself, an InlineCallstack. TRACE_NONE: nothing in it. */
uint32_t index_stacks_inline(struct trace_index *ix, const uint8_t *data, size_t len);
/* The name of the outermost frame: a string, or TRACE_NONE. */
uint32_t index_stacks_root(const struct trace_index *ix, uint32_t stack);
void index_stacks_finish(struct trace_index *ix);

/* ---- index_tasks.c: who was called what, when ---- */

int index_tasks_new(struct trace_index *ix, struct index_tasks **ret);
void index_tasks_free(struct index_tasks *t);
void index_tasks_tree(struct trace_index *ix, uint64_t time_ns, const ProcessTree *tree);
void index_tasks_track(struct trace_index *ix, const TrackDescriptor *d);
/* An FtraceEventBundle: new and renamed tasks. */
void index_tasks_bundle(struct trace_index *ix, const uint8_t *data, size_t len);
#define INDEX_NO_PID INT32_MIN
/* The number of a pair; INDEX_NO_PID where it is not told. */
uint32_t index_tasks_pair(struct trace_index *ix, int32_t pid, int32_t tid);
int32_t index_tasks_tid(const struct trace_index *ix, uint32_t pair);
/* Before index_tasks_thread(). */
void index_tasks_sort(struct trace_index *ix);
/* Whom a pair was at that time. */
uint32_t index_tasks_thread(struct trace_index *ix, uint32_t pair, uint64_t time_ns);

/* ---- index_samples.c ---- */

int index_samples_new(struct trace_index *ix, struct index_samples **ret);
void index_samples_free(struct index_samples *s);
void index_samples_interned(struct trace_index *ix, struct index_sequence *seq,
			    const InternedData *data);
void index_samples_defaults(struct trace_index *ix, struct index_sequence *seq,
			    const TracePacketDefaults *d);

/* What a sample says. */
struct index_sample {
	uint32_t stack;	  /* TRACE_NONE: none, and it is counted as such */
	uint32_t pair;	  /* of index_tasks_pair() */
	uint32_t counter; /* of index_samples_counter(), or TRACE_NONE */
	int64_t cpu;	  /* -1: not told */
	uint64_t weight;
	uint16_t ended; /* of index_samples_reason(); 0: whole */
	bool perf;	/* a PerfSample, which does not name its source */
};

/* `time_ns` 0: not known. */
void index_samples_add(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
		       const struct index_sample *sample);
/* The number of a counter, of a reason for a stack to end. */
uint32_t index_samples_counter(struct trace_index *ix, uint32_t name, enum trace_unit unit);
uint16_t index_samples_reason(struct trace_index *ix, const void *name, size_t len);
void index_samples_finish(struct trace_index *ix);

/* ---- index_waits.c: all but the first two only if `ix->waits` ---- */

int index_waits_new(struct trace_index *ix, struct index_waits **ret);
void index_waits_free(struct index_waits *w);
void index_waits_track(struct trace_index *ix, const TrackDescriptor *d);
/* A TrackEvent as it lies in its packet. */
void index_waits_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		       const uint8_t *data, size_t len);
void index_waits_finish(struct trace_index *ix);

/* The names of events and arguments, and texts of these. */
void index_event_names(struct trace_index *ix, struct index_sequence *seq, const InternedData *d);

/* An argument of an event. */
struct index_arg {
	const char *name; /* "": none */
	uint64_t number;
	uint32_t text; /* string or TRACE_NONE */
};
struct index_arg index_event_arg(struct trace_index *ix, const struct index_sequence *seq,
				 const struct wire_field *annotation);

/* ---- index_gpu.c: all but the first two and index_gpu_interned() only if `ix->gpu` ---- */

int index_gpu_new(struct trace_index *ix, struct index_gpu **ret);
void index_gpu_free(struct index_gpu *g);
void index_gpu_track(struct trace_index *ix, const TrackDescriptor *d);
void index_gpu_info(struct trace_index *ix, const GpuInfo *info);
void index_gpu_interned(struct trace_index *ix, struct index_sequence *seq, const InternedData *d);
/* A TrackEvent, a GpuRenderStageEvent as they lie in their packets. */
void index_gpu_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		     const uint8_t *data, size_t len);
void index_gpu_stage(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		     const uint8_t *data, size_t len);
void index_gpu_finish(struct trace_index *ix);

/* ---- index_network.c: all but the first two only if `ix->network` ---- */

int index_network_new(struct trace_index *ix, struct index_network **ret);
void index_network_free(struct index_network *n);
void index_network_track(struct trace_index *ix, const TrackDescriptor *d);
void index_network_interned(struct trace_index *ix, struct index_sequence *seq,
			    const InternedData *d);
void index_network_attributes(struct trace_index *ix, const TraceAttributes *a);
/* A TrackEvent as it lies in its packet. */
void index_network_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			 const uint8_t *data, size_t len);
/* After index_facts_finish(). */
void index_network_finish(struct trace_index *ix);

/* ---- index_slices.c: all but the first only if `ix->slices` ---- */

void index_slices_free(struct index_slices *s);
void index_slices_track(struct trace_index *ix, const TrackDescriptor *d);
/* A TrackEvent, a GpuRenderStageEvent as they lie in their packets. */
void index_slices_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len);
void index_slices_stage(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len);
/* After index_facts_finish(). */
void index_slices_finish(struct trace_index *ix);

/* ---- index_sample_packets.c ---- */

/* The message as it lies in its packet. */
void index_samples_stack(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
			 const uint8_t *data, size_t len);
void index_samples_perf(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len);

#endif
