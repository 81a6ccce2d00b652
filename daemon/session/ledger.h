/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - the account of one source's events in one session: by the numbers
 * that the kernel gave them on each CPU, which are the session's, which came and
 * which were lost.
 *
 * Always: produced = taken + lost. What became of the events that were taken is
 * the session's business.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct ledger;

int ledger_new(unsigned n_cpus, struct ledger **ret);
void ledger_free(struct ledger *l); /* takes NULL */

/* The session's are the numbers from `first` up to, once it is known, but not including `end`. */
void ledger_begin(struct ledger *l, unsigned cpu, uint64_t first);
void ledger_skip(struct ledger *l, unsigned cpu, uint64_t first); /* not before these, either */
void ledger_end(struct ledger *l, unsigned cpu, uint64_t end);

/*
 * Late are numbers of programs that were interrupted by another one before
 * their record was in the ring: by a softirq's, an interrupt's, an NMI's.
 */
#define LEDGER_MAX_LATE 3

enum ledger_verdict {
	LEDGER_NOT_OURS, /* not of this session, or it was here before */
	LEDGER_IN_ORDER,
	LEDGER_AFTER_GAP,  /* numbers before it are missing: lost, or late */
	LEDGER_AFTER_LOSS, /* so many are missing that they are not late: lost */
	LEDGER_LATE,	   /* taken for lost before: its program was interrupted by another */
};

/* An event has come. */
enum ledger_verdict ledger_take(struct ledger *l, unsigned cpu, uint64_t seq, uint64_t time_ns);

/* Nothing more will come: what is missing below the ends was lost. */
void ledger_close(struct ledger *l, uint64_t time_ns);

uint64_t ledger_produced(const struct ledger *l);
uint64_t ledger_lost(const struct ledger *l);
uint64_t ledger_lost_on(const struct ledger *l, unsigned cpu);

/* Losses that have not been told yet, as one. */
struct ledger_loss {
	uint64_t n;
	int cpu;	  /* -1: several */
	uint64_t time_ns; /* of the event behind the last gap */
};

/*
 * Takes out losses to be shown where they happened. What is missing since the
 * last call may still come late, and waits for the next; once closed, nothing
 * waits. In all, exactly ledger_lost() are told, unless one came later still.
 */
bool ledger_tell(struct ledger *l, struct ledger_loss *ret);

#endif
