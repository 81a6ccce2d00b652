/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_index.h - a trace as tables: threads, processes, frames, callstacks,
 * samples and where they come from. What `tracectl report` works with.
 *
 * Takes traces of any producer: samples are StackSample or PerfSample packets
 * of any sequence. Of a file that is cut, damaged in places or has lost blocks,
 * the rest is taken; what was passed over is counted in trace_facts. Events that
 * are not about samples, threads or the trace itself are passed over unread.
 *
 * Things are numbered from 0 in the order in which the file has them; their
 * numbers, and pointers to them, are valid as long as the index. Strings are
 * those of the file and not fit for a terminal. Times are CLOCK_BOOTTIME in
 * nanoseconds.
 */
#ifndef TRACE_INDEX_H
#define TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_file.h"

struct trace_index;

#define TRACE_NONE UINT32_MAX /* no string, no mapping, not known */

/* What all tables of one index may take: ten times what a busy minute needs. */
#define TRACE_INDEX_MAX_BYTES (4ull << 30)

int trace_index_new(struct trace_index **ret);
void trace_index_free(struct trace_index *ix); /* takes NULL */
/* Lowers the limit for tests and fuzzing. */
void trace_index_limit(struct trace_index *ix, size_t max_bytes);

/* Once. -E2BIG: more than the limit; -ENOMEM; or what reading the file gave. */
int trace_index_read(struct trace_index *ix, struct trace_file *f);

/* ---- the trace ---- */

struct trace_loss {
	uint32_t source; /* string: "cpu", "sched" */
	uint64_t n_produced, n_lost, n_dropped;
};

struct trace_facts {
	uint64_t start_ns, end_ns;	 /* of the recording; equal when nothing tells */
	uint64_t realtime_ns;		 /* CLOCK_REALTIME at the first snapshot; 0: not known */
	uint32_t host, release, machine; /* strings or TRACE_NONE */
	uint32_t n_cpus;		 /* 0: not known */
	bool complete;			 /* it has an end */
	bool cut;			 /* the file ends within a packet */
	uint64_t n_bytes, n_packets;
	uint64_t n_faults;    /* packets and blocks that could not be read */
	uint64_t n_zstd;      /* of these: blocks in a compression that this reader does not know */
	uint64_t n_skipped;   /* packets that lean on what was lost before them */
	uint64_t n_stackless; /* samples without a stack: a count of nothing */
	uint64_t n_no_time;   /* samples in no clock that the trace explains */
	uint64_t n_perf_lost; /* said by PerfSamples */
	uint64_t n_due;	      /* samples that should have been taken; 0: not known */
	uint64_t n_taken;     /* of these */

	const struct trace_loss *losses; /* the recorder's own account */
	size_t n_losses;
};

const struct trace_facts *trace_index_facts(const struct trace_index *ix);

const char *trace_index_string(const struct trace_index *ix, uint32_t i); /* TRACE_NONE: "" */
size_t trace_index_n_strings(const struct trace_index *ix);

/* ---- where samples come from ---- */

/* Units of weights, by their numbers in CounterDescriptor. */
enum trace_unit {
	TRACE_UNIT_COUNT, /* of whatever `counter` names */
	TRACE_UNIT_NS,
	TRACE_UNIT_CYCLES,
	TRACE_UNIT_INSTRUCTIONS,
	TRACE_UNIT_BYTES,
	TRACE_UNIT_PAGE_FAULTS,
};

/* The samples of one sequence that count the same thing. */
struct trace_source {
	uint32_t name;	  /* string: "linux.perf"; "" for samples that do not say */
	uint32_t counter; /* string: "cpu-clock 999 Hz", or TRACE_NONE */
	enum trace_unit unit;
	uint32_t sequence;
	uint64_t n_samples, weight;
};

const struct trace_source *trace_index_sources(const struct trace_index *ix, size_t *ret_n);

/* ---- who ---- */

/*
 * A process or thread under one name: who takes another one, by exec or
 * otherwise, is another from then on.
 */
struct trace_process {
	int32_t pid;
	uint32_t name; /* string, of its main thread or else its command; "" when nothing tells */
};

struct trace_thread {
	int32_t tid;
	uint32_t process;
	uint32_t name;
};

uint32_t trace_index_n_processes(const struct trace_index *ix);
const struct trace_process *trace_index_process(const struct trace_index *ix, uint32_t i);
uint32_t trace_index_n_threads(const struct trace_index *ix);
const struct trace_thread *trace_index_thread(const struct trace_index *ix, uint32_t i);

/* ---- stacks ---- */

/* Kinds of frames, by their numbers in Frame; what is not named here is possible. */
enum trace_frame_kind {
	TRACE_FRAME_UNKNOWN,
	TRACE_FRAME_NATIVE,
	TRACE_FRAME_KERNEL,
	TRACE_FRAME_INTERPRETED,
	TRACE_FRAME_JIT,
};

/* A function of a module. */
struct trace_function {
	uint32_t name;	 /* string; "[libc.so.6]" for all of a module that nothing names */
	uint32_t module; /* string: the last component of the path; "" when there is none */
	uint32_t kind;	 /* enum trace_frame_kind */
};

uint32_t trace_index_n_functions(const struct trace_index *ix);
const struct trace_function *trace_index_function(const struct trace_index *ix, uint32_t i);

/* A line of a function's source. */
struct trace_line {
	uint32_t function;
	uint32_t file; /* string, a path; TRACE_NONE: not known */
	uint32_t line; /* 0: not known */
};

uint32_t trace_index_n_lines(const struct trace_index *ix);
const struct trace_line *trace_index_line(const struct trace_index *ix, uint32_t i);

/* Frames, outermost first. */
uint32_t trace_index_n_stacks(const struct trace_index *ix);
uint32_t trace_index_n_frames(const struct trace_index *ix);
const uint32_t *trace_index_stack(const struct trace_index *ix, uint32_t stack, size_t *ret_n);
/*
 * The functions at a frame, the outermost first: the one whose code it is, then
 * those that were inlined into it. At least one.
 */
const uint32_t *trace_index_frame(const struct trace_index *ix, uint32_t frame, size_t *ret_n);
/* The lines in them: as many, in the same order. */
const uint32_t *trace_index_frame_lines(const struct trace_index *ix, uint32_t frame,
					size_t *ret_n);

/* The code that a frame is at. */
struct trace_place {
	const char *path; /* of its module, as late symbols name it; "": none */
	const uint8_t *build_id;
	size_t build_id_len;
	uint64_t address; /* as late symbols have it */
	bool is_native;	  /* of a file, neither the kernel's nor interpreted */
	bool is_named;
	bool has_symbols; /* late ones: it may be inlined, with lines */
};
void trace_index_place(const struct trace_index *ix, uint32_t frame, struct trace_place *ret);

/* ---- samples ---- */

#define TRACE_NO_CPU UINT16_MAX

struct trace_sample {
	uint64_t time_ns; /* 0: not known */
	uint64_t weight;  /* in the unit of its source */
	uint32_t stack;
	uint32_t thread;
	uint16_t source;
	uint16_t cpu;	/* or TRACE_NO_CPU */
	uint16_t ended; /* why its user stack ends early: number of a reason; 0: it is whole */
};

/* In the order of the file, which is not that of time. */
const struct trace_sample *trace_index_samples(const struct trace_index *ix, size_t *ret_n);

/* The names of the reasons: "NOMAP". [0] is "". */
const char *trace_index_reason(const struct trace_index *ix, uint16_t ended);
size_t trace_index_n_reasons(const struct trace_index *ix);

/* ---- waits ---- */

struct trace_wait {
	uint64_t begin_ns, woken_ns, end_ns; /* woken_ns: its end if nobody woke it */
	int32_t tid, waker_tid;		     /* waker_tid 0: not a thread, or not known */
	uint32_t thread;
	uint32_t waker;	   /* thread, or TRACE_NONE */
	uint32_t name;	   /* string: "read pipe" */
	uint32_t reason;   /* string: "read" */
	uint32_t woken_by; /* string: "interrupt"; TRACE_NONE: it was a thread, or nobody */
	uint32_t function; /* string: the kernel's, which woke it; or TRACE_NONE */
	uint32_t stack, waker_stack; /* or TRACE_NONE */
	bool began_before, unfinished;
};

/* Before trace_index_read(): else waits are passed over. */
int trace_index_want_waits(struct trace_index *ix);
/* By thread, and then in the order of their times. */
const struct trace_wait *trace_index_waits(const struct trace_index *ix, size_t *ret_n);

/* ---- slices of a name ---- */

enum trace_slice_owner {
	TRACE_SLICE_OF_THREAD,
	TRACE_SLICE_OF_PROCESS,
	TRACE_SLICE_OF_NOBODY, /* or of a process that is not told */
};

struct trace_slice {
	uint64_t begin_ns, end_ns;
	uint32_t name;	 /* string */
	uint32_t thread; /* of a process: its main one; of nobody: TRACE_NONE */
	uint32_t track;	 /* the same number, the same track; TRACE_NONE: it is alone */
	enum trace_slice_owner owner;
	bool unfinished; /* it ends where the recording does */
};

/*
 * Before trace_index_read(): else they are passed over. Those of one name, or of all that
 * the glob `wanted` matches, which is borrowed.
 */
int trace_index_want_slices(struct trace_index *ix, const char *wanted);
/* In the order of the file. */
const struct trace_slice *trace_index_slices(const struct trace_index *ix, size_t *ret_n);
/* How many slices there are of a name, a string, whether it is wanted or not. */
uint32_t trace_index_n_called(const struct trace_index *ix, uint32_t name);

/* ---- GPUs and displays ---- */

struct trace_gpu_job {
	uint64_t id;
	uint64_t begin_ns, end_ns; /* the ring worked on it */
	uint64_t queued_ns;	   /* before that; UINT64_MAX: not told */
	int32_t pid;
	uint32_t process; /* string: what its process is called */
	uint32_t gpu;	  /* string: "amdgpu 0000:03:00.0", or TRACE_NONE */
	uint32_t ring;	  /* string */
	uint32_t stack;	  /* that submitted it, or TRACE_NONE */
	bool unfinished;
};

struct trace_display_frame {
	uint64_t begin_ns, end_ns; /* from the commit to being shown */
	int32_t pid;
	uint32_t process;    /* string, or TRACE_NONE */
	uint32_t display;    /* string: "amdgpu 0000:03:00.0, CRTC 0" */
	uint32_t verdict;    /* string: "frame late" */
	uint32_t reason;     /* string, or TRACE_NONE */
	uint64_t late_by;    /* vblanks */
	uint64_t seq;	     /* of the vblank that showed it; 0: not known */
	uint64_t refresh_ns; /* of the display; 0: not known */
};

/* Before trace_index_read(): else they are passed over. */
int trace_index_want_gpu(struct trace_index *ix);
/* In the order of their beginnings. */
const struct trace_gpu_job *trace_index_gpu_jobs(const struct trace_index *ix, size_t *ret_n);
/* By display, and then in the order of their ends. */
const struct trace_display_frame *trace_index_frames(const struct trace_index *ix, size_t *ret_n);

/* ---- the network ---- */

enum trace_net_kind {
	TRACE_NET_REQUEST,    /* and its response */
	TRACE_NET_TLS,	      /* a turn of what cannot be read */
	TRACE_NET_LOOKUP,     /* of a name: a query, or a call of getaddrinfo() */
	TRACE_NET_CONNECTION, /* TCP */
	TRACE_NET_FAILED,     /* one that did not come about */
	TRACE_NET_UNIX,	      /* a connection of UNIX sockets */
	TRACE_NET_UDP,	      /* a socket, by what it has moved */
};

enum trace_arg_kind {
	TRACE_ARG_TEXT,
	TRACE_ARG_NUMBER,
	TRACE_ARG_SIGNED,
	TRACE_ARG_BOOL,
};

struct trace_net_arg {
	uint32_t name; /* string */
	uint32_t kind; /* enum trace_arg_kind */
	union {
		uint32_t text; /* string */
		uint64_t number;
		int64_t signed_number;
	};
};

/* A phase; or a mark (of a connection: "retransmit"), which begins where it ends. */
struct trace_net_part {
	uint32_t name; /* string */
	bool is_mark;
	uint64_t begin_ns, end_ns;
	uint32_t first_arg, n_args;
};

struct trace_net {
	enum trace_net_kind kind;
	uint64_t begin_ns, end_ns;
	uint32_t name;	  /* string: "GET /index.html 404" */
	uint32_t origin;  /* string: "example.org:443"; "" on a thread */
	uint32_t process; /* TRACE_NONE: of none */
	bool open;	  /* the file ends before it does */
	uint32_t first_arg, n_args;
	uint32_t first_part, n_parts;
};

/* What is said of all of it: strings, or TRACE_NONE. */
struct trace_net_facts {
	uint32_t level, query, names;
	uint32_t source; /* "on", "off: not asked for" */
};

/* Before trace_index_read(): else it is passed over. */
int trace_index_want_network(struct trace_index *ix);
/* In the order of their beginnings. */
const struct trace_net *trace_index_network(const struct trace_index *ix, size_t *ret_n);
/* The first of all: those of one thing are `n_args` from its `first_arg` on. */
const struct trace_net_arg *trace_index_net_args(const struct trace_index *ix, size_t *ret_n);
const struct trace_net_part *trace_index_net_parts(const struct trace_index *ix, size_t *ret_n);
/* Of the `n_args` from `first_arg` on; NULL: there is none of that name. */
const struct trace_net_arg *trace_index_net_arg(const struct trace_index *ix, uint32_t first_arg,
						uint32_t n_args, const char *name);
const struct trace_net_facts *trace_index_net_facts(const struct trace_index *ix);

#endif
