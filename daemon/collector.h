/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.h - the shape of a source of trace data.
 *
 * A collector is one file in daemon/collect/ that defines one
 * `const struct collector`, plus one line in the table in collectors.c. It has
 * two halves: the kernel half runs once, for the union of what all sessions
 * want; the encoder half exists once per session and writes packets.
 *
 * A collector may use the event loop, the BPF skeletons, the process table,
 * the symbolizer and the trace writer. It does not know sessions, sockets or
 * other collectors.
 */
#ifndef COLLECTOR_H
#define COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "trace_config.h"

struct bpf_object;
struct event_loop;
struct interpreter;
struct probes;
struct process_table;
struct symbolizer;
struct trace_writer;
struct unwinder;

/*
 * Takes one whole record; does not keep it. The collector pushes exactly what
 * came out of its ring; `valid` is called by the pipeline.
 */
typedef void event_sink_fn(void *sink_ctx, const struct event_hdr *ev, size_t len);

struct collector_env {
	struct event_loop *loop;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct probes *probes;	   /* NULL: there are none (tests) */
	const char *marker_socket; /* where programs send markers; NULL: nowhere */
	size_t ring_bytes;	   /* size of the collector's BPF ring, a power of two */
	event_sink_fn *sink;
	void *sink_ctx;
	/* To be called when another one of its objects has been loaded after start(). NULL: by
	 * nobody. */
	void (*loaded)(void *sink_ctx);
	/*
	 * To be called now and then by start() and session_open() when they take longer: what
	 * all collectors have is drained. NULL: nobody waits.
	 */
	void (*keep_up)(void *keep_up_ctx);
	void *keep_up_ctx;
};

/* What one session's encoder may use. All outlive the encoder. */
struct encoder_env {
	struct trace_writer *writer;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;	 /* NULL: walks that are not over stay so (tests) */
	struct interpreter *interpreter; /* NULL: native frames alone (tests) */
	struct probes *probes;		 /* NULL: there are none (tests) */
	const struct trace_config *config;
	unsigned slot;	   /* the session's slot, 0 <= slot < EVENT_MAX_STREAMS */
	uint64_t start_ns; /* CLOCK_BOOTTIME; no event of the session is older */
};

#define WHY_LEN 512 /* of the buffers behind `why`: one sentence, with the remedy */

/* Samples that should have been taken, and that were. */
struct due_samples {
	uint64_t n_due, n_taken;
};

struct collector {
	const char *name;    /* as on the command line and in the config */
	const char *summary; /* one line, for `status` and the man page */
	bool on_demand;	     /* left out unless asked for by name */
	bool always;	     /* every session has it; the user cannot switch it off */
	bool loads_longest;  /* prepared before the others, which are loaded meanwhile */

	/* ---- kernel half ---- */

	/*
	 * Optional: what takes long of start(), and needs nothing of other sources: opens the
	 * BPF objects and begins to load them (bpf_loading.h). Called for all sources that a
	 * session wants before the first of them starts, so that they are loaded side by side
	 * and begin together. Fails as start() does; stop() takes what it has made.
	 */
	int (*prepare)(const struct collector_env *env, char why[WHY_LEN], void **ret_state);
	/*
	 * The first session that wants it starts it; the last one stops it. With prepare(),
	 * `*ret_state` is what that has made, which it takes over, also when it fails.
	 * On failure `why` says what is missing and what to do about it, and
	 * `*ret_state` is untouched. Partial success is success: `why` then
	 * says what is left out (empty = nothing).
	 */
	int (*start)(const struct collector_env *env, char why[WHY_LEN], void **ret_state);
	void (*stop)(void *state); /* takes NULL */

	/*
	 * Pushes records with time_ns <= `horizon_ns`, at most about `budget`
	 * of them. Returns the number pushed (== budget: call again), or
	 * -errno. NULL for a collector that has no ring.
	 */
	int (*drain)(void *state, uint64_t horizon_ns, unsigned budget);

	/* The kernel's counters of one stream on one CPU. NULL without a ring. */
	int (*count)(void *state, unsigned stream, unsigned cpu, struct event_stream *ret);

	/*
	 * The loaded BPF objects one by one; NULL: no more. Optional. Their cost is
	 * accounted for, and those with own.bpf.h are told which processes are ours.
	 */
	struct bpf_object *(*object)(void *state, unsigned i);

	/* About once a second: reopen what hotplug closed, poll counters. Optional. */
	void (*tick)(void *state, uint64_t now_ns);

	/*
	 * Optional: what a single session adds in the kernel (its own perf
	 * events). `slot` is the stream its records will carry.
	 */
	int (*session_open)(void *state, const struct trace_config *config, unsigned slot,
			    char why[WHY_LEN]);
	void (*session_close)(void *state, unsigned slot);
	/* Optional, of a session that is open: see sampler_due(). */
	void (*session_due)(void *state, unsigned slot, struct due_samples *ret);
	/*
	 * Optional: hands `fn` a record of everything that had begun by `end_ns`
	 * and is still going on (calls that have not returned), for a session
	 * that ends there. Its encoder takes them after its last event. They
	 * are no events: not in the ledger, without a number of their own.
	 */
	int (*unfinished)(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx);
	/*
	 * Optional: likewise of everything that is there when a session begins at
	 * `start_ns` (sockets). Its encoder takes them before its first event.
	 */
	int (*existing)(void *state, uint64_t start_ns, event_sink_fn *fn, void *fn_ctx);
	bool per_session_streams; /* records of stream N belong to the session in slot N only */

	/* Filters do not apply: the event is about a CPU or the machine, not about a thread. */
	bool machine_wide;
	bool (*is_machine_wide)(const struct event_hdr *ev); /* of some of its events. Optional. */

	/* Its packets are ftrace bundles: losses are told per CPU, as the UI expects of those. */
	bool is_ftrace;

	/* ---- encoder half ---- */

	/* Pure; called for every record before anything else looks at it. Fuzzed. */
	bool (*valid)(const struct event_hdr *ev, size_t len);

	/* Writes the packets that a session starts with. */
	int (*encoder_new)(const struct encoder_env *env, void **ret_encoder);
	void (*encoder_free)(void *encoder); /* takes NULL */
	/* Writes or keeps one event. -errno ends the session. */
	int (*encode)(void *encoder, const struct event_hdr *ev);
	/*
	 * Writes what is kept: called before every block is closed (<= 250 ms
	 * apart) and, with `final`, once at the end. Optional.
	 */
	int (*flush)(void *encoder, uint64_t now_ns, bool final);
	/*
	 * Are there events whose packets wait for something, such as names? At
	 * the end of a session the final flush waits for that, within reason.
	 */
	bool (*pending)(void *encoder);
	/* Of a source of stacks: how many have ended how, by enum unwind_end. Optional. */
	const uint64_t *(*stack_ends)(void *encoder);
	/* Events lost before this point: on `cpu`, or everywhere (-1). Optional. */
	void (*lost)(void *encoder, int cpu);
};

/* In collectors.c. NULL-terminated; the only list. In order of start. */
extern const struct collector *const collectors[];

#define MAX_COLLECTORS 32

const struct collector *collector_by_name(const char *name); /* NULL: no such one */
int collector_index(const struct collector *c);

#endif
