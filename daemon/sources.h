/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.h - the kernel halves of all collectors: started when the first
 * session wants them, stopped after the last, drained in the right order.
 *
 * Knows nothing of sessions; whoever makes it gets every record.
 */
#ifndef SOURCES_H
#define SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf_meter.h"
#include "collector.h"

struct bpf_object;
struct sources;
struct interpreter;
struct probes;
struct unwinder;

/* `valid`: the collector takes the record for one of its own. */
typedef void source_event_fn(void *ctx, unsigned source, const struct event_hdr *ev, size_t len,
			     bool valid);

struct sources_env {
	struct event_loop *loop;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct probes *probes;
	const char *marker_socket; /* kept, not copied; NULL: none */
	size_t ring_bytes;
	source_event_fn *fn;
	void *ctx;
	void (*keep_up)(void *ctx); /* as in struct collector_env; NULL: nobody waits */
};

int sources_new(const struct sources_env *env, struct sources **ret);
void sources_free(struct sources *s); /* takes NULL; stops what runs */

/*
 * collectors[i] will be acquired now: begins what takes long, for several at a time. A failure
 * is told by sources_acquire(). sources_forget() if it is not acquired.
 */
void sources_prepare(struct sources *s, unsigned i);
void sources_forget(struct sources *s);

/*
 * One user more of collectors[i]. On failure `why` says what and what to do;
 * on success it may say what is missing. Pairs with sources_release().
 */
int sources_acquire(struct sources *s, unsigned i, char why[WHY_LEN]);
void sources_release(struct sources *s, unsigned i);
void *sources_state(struct sources *s, unsigned i); /* NULL: not running */

/*
 * Hands over records not younger than `horizon_ns`, of the process source
 * before all others: a sample then finds its mappings. Stops after about
 * `max_ns`. Returns whether something may be left.
 */
bool sources_drain(struct sources *s, uint64_t horizon_ns, uint64_t max_ns);

/*
 * Waits until every BPF program that was running has ended, so that what they
 * counted is also in the rings. Some milliseconds.
 */
void sources_settle(void);

void sources_tick(struct sources *s, uint64_t now_ns);
void sources_exclude(struct sources *s, const uint32_t *tgids, size_t n);
/* From now on records say which of these users they are of. */
void sources_set_users(struct sources *s, const struct event_users *users);

/* The kernel's counters, and the first sequence number not handed over yet. */
int sources_count(struct sources *s, unsigned i, unsigned stream, unsigned cpu,
		  struct event_stream *ret);
uint64_t sources_next_seq(const struct sources *s, unsigned i, unsigned stream, unsigned cpu);

struct source_info {
	bool running;
	int err; /* of the last attempt to start, 0 if it worked or was not made */
	bool tried;
	char why[WHY_LEN];
	uint64_t n_produced, n_lost, n_delivered, n_malformed; /* since started */
	uint64_t bpf_runs, bpf_ns;
};
void sources_info(struct sources *s, unsigned i, struct source_info *ret);

/* Of all our BPF programs so far. */
void sources_bpf_cost(struct sources *s, struct bpf_cost *ret);

#endif
