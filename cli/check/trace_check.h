/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_check.h - is a trace as it should be?
 *
 * Feed it the packets of a file, in their order; it finds what a viewer would
 * complain about and, above all, what a viewer would swallow without a word.
 * The sections are those of the format's rules: C1 framing and clocks, C2
 * interning, C3 tracks, C4 scheduling and processes; S for samples, G for GPU
 * and frames, N for the network, L for the ledger of what was recorded and lost.
 *
 * Pure: neither opens nor prints anything.
 */
#ifndef TRACE_CHECK_H
#define TRACE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_file.h"

/* Texts and remedies are in check_kinds.c. */
enum check_kind {
	/* C1: the file */
	CHECK_GARBAGE,
	CHECK_BROKEN_PACKET,
	CHECK_BROKEN_BLOCK,
	CHECK_BLOCK_TOO_BIG,
	CHECK_NESTED_BLOCK,
	CHECK_BLOCK_WRAPPER,
	CHECK_ZSTD,
	CHECK_MIXED_COMPRESSION,
	CHECK_UNKNOWN_FIELD,
	CHECK_NOT_PACKED,
	CHECK_PACKED,
	CHECK_WRONG_TYPE,
	CHECK_BROKEN_MESSAGE,
	/* C1: clocks and what a viewer needs to know first */
	CHECK_FIRST_PACKET,
	CHECK_SNAPSHOT_CLOCKS,
	CHECK_SNAPSHOT_PAYLOAD,
	CHECK_CLOCK_BACK,
	CHECK_SNAPSHOT_GAP,
	CHECK_SNAPSHOT_LATE,
	CHECK_UNKNOWN_CLOCK,
	CHECK_NO_TIME,
	CHECK_STRAY_TIME,
	CHECK_BEFORE_START,
	CHECK_MARKERS,
	CHECK_METADATA,
	CHECK_SYSTEM_INFO_LATE,
	/* C2 */
	CHECK_SEQUENCE_ZERO,
	CHECK_NOT_CLEARED,
	CHECK_DROPPED_BEFORE,
	CHECK_NEEDS_MISSING,
	CHECK_IID_ZERO,
	CHECK_IID_UNKNOWN,
	CHECK_IID_REDEFINED,
	CHECK_EMPTY_CALLSTACK,
	CHECK_FRAME_NO_MAPPING,
	CHECK_FRAME_NO_PC,
	CHECK_FRAME_ORDER,
	CHECK_MAPPING_PER_PROCESS,
	/* C3 */
	CHECK_DESCRIPTOR_BAD,
	CHECK_DESCRIPTOR_SEQUENCE,
	CHECK_UUID_REUSED,
	CHECK_SECOND_UUID,
	CHECK_UNKNOWN_PARENT,
	CHECK_TRACK_DEPTH,
	CHECK_NO_TRACK,
	CHECK_UNKNOWN_TRACK,
	CHECK_COUNTER_EARLY,
	CHECK_COUNTER_VALUE,
	CHECK_TRACK_TYPE,
	CHECK_EVENT_TYPE,
	CHECK_END_WITHOUT_BEGIN,
	CHECK_BEGIN_WITHOUT_END,
	CHECK_SLICE_NEGATIVE,
	CHECK_SLICES_CROSS,
	CHECK_BEGIN_BEFORE_END,
	CHECK_SLICE_DEPTH,
	/* C4 */
	CHECK_BUNDLE_NO_CPU,
	CHECK_FTRACE_CLOCK,
	CHECK_EVENT_NO_PID,
	CHECK_EVENT_NO_TIME,
	CHECK_EVENT_EMPTY,
	CHECK_COMPACT_UNEQUAL,
	CHECK_COMPACT_NEGATIVE,
	CHECK_COMPACT_INDEX,
	CHECK_NO_FULL_SWITCH,
	CHECK_WAKING_EARLY,
	CHECK_PREV_PID,
	CHECK_PREV_STATE,
	CHECK_SCHED_BACK,
	CHECK_FTRACE_STATS,
	CHECK_TREE_CMDLINE,
	CHECK_TREE_PARENT,
	CHECK_TREE_OUTSIDE_LIFE,
	CHECK_TRACK_OUTSIDE_LIFE,
	/* S */
	CHECK_SAMPLE_NO_SOURCE,
	CHECK_SAMPLE_NO_THREAD,
	CHECK_SAMPLE_NO_CALLSTACK,
	CHECK_SAMPLE_UNIT,
	CHECK_SAMPLE_NAMELESS,
	CHECK_SAMPLE_OUTSIDE_LIFE,
	CHECK_SAMPLE_NOT_RUNNING,
	CHECK_SESSION_NAME,
	CHECK_PERF_SAMPLE,
	CHECK_SYMBOLS_EARLY,
	CHECK_SYMBOLS_MODULE,
	CHECK_SYMBOLS_ADDRESS,
	/* G */
	CHECK_STAGE_NO_ID,
	CHECK_STAGE_QUEUE,
	CHECK_STAGE_PROCESS,
	CHECK_STAGE_ID,
	CHECK_STAGE_GPU,
	CHECK_STAGE_FLOW,
	CHECK_FRAME_FIELDS,
	CHECK_FRAME_UNPAIRED,
	CHECK_FRAME_FLOW,
	CHECK_NETWORK_ARRAYS,
	/* N */
	CHECK_NET_PHASE,
	CHECK_NET_PHASE_OVERLAP,
	CHECK_NET_FLOW_END,
	CHECK_NET_FLOW_BACK,
	CHECK_NET_CONNECTION,
	CHECK_NET_QUERY,
	CHECK_NET_SIZE,
	/* L */
	CHECK_LEDGER_MISSING,
	CHECK_LEDGER_SUM,
	CHECK_LEDGER_WRITTEN,
	CHECK_LOSS_INSTANTS,
	CHECK_LOSS_STATS,
	CHECK_LOSS_INVENTED,

	N_CHECK_KINDS,
};

struct check_kind_info {
	const char *section; /* "C2" */
	const char *name;    /* "iid-unknown", for scripts */
	const char *remedy;  /* one sentence */
};

extern const struct check_kind_info check_kinds[N_CHECK_KINDS];

/* Of one kind, at most this many are kept with their text. */
#define CHECK_EXAMPLES 20

struct check_example {
	uint64_t offset;  /* in the file; UINT64_MAX: of no single place */
	uint64_t time_ns; /* CLOCK_BOOTTIME; 0: not known */
	char *text;	  /* printable */
};

struct check_finding {
	uint64_t count; /* 0: nothing of this kind */
	size_t n_examples;
	struct check_example examples[CHECK_EXAMPLES];
};

struct trace_summary {
	uint64_t n_bytes, n_packets, n_samples, n_switches, n_wakings, n_slices;
	uint64_t start_ns, end_ns; /* of the clock snapshots and events; 0: none */
	bool complete;		   /* tracing_disabled is there */
	bool cut;		   /* ends within a packet, at cut_offset */
	uint64_t cut_offset;
	uint64_t n_lost, n_dropped; /* as the ledger has it */
	bool has_ledger;
	uint64_t n_findings; /* kinds with a count */
};

struct trace_check;

int trace_check_new(struct trace_check **ret);
void trace_check_free(struct trace_check *c); /* takes NULL */

/*
 * Reads `f` to its end and checks everything. -ENOMEM, -E2BIG (the trace would
 * need more memory than a check may take) or -errno of read(); what is wrong
 * with the trace itself is no error but a finding.
 */
int trace_check_file(struct trace_check *c, struct trace_file *f);

/* What trace_check_file() does, in pieces. */
int trace_check_packet(struct trace_check *c, const struct trace_packet_bytes *pkt);
void trace_check_fault(struct trace_check *c, const struct trace_file *f);
int trace_check_finish(struct trace_check *c, const struct trace_file_stats *file);

/* Valid as long as `c`. */
const struct check_finding *trace_check_finding(const struct trace_check *c, enum check_kind kind);
void trace_check_summary(const struct trace_check *c, struct trace_summary *ret);

/* "cpu lost 12 of 3456, sched dropped 7": what the ledger says was lost; "" for nothing. */
size_t trace_check_loss(const struct trace_check *c, char *dst, size_t dst_size);

#endif
