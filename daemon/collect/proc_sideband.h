/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_sideband.h - which code is mapped where, and which code the kernel adds
 * to itself, as perf tells it: one dummy event and ring per CPU, merged in the
 * order of time.
 *
 * When a ring is read the mapped files are opened then and there: a process may
 * live for a millisecond only. So it is read whenever sideband_poll() is called,
 * and when some records are in it. Who is told of the mapping when is another
 * matter: the records wait here, with their module, until the collector's
 * horizon has come to them.
 */
#ifndef PROC_SIDEBAND_H
#define PROC_SIDEBAND_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/mappings.h"
#include "process/module_pins.h"
#include "symbolize/kernel_code.h"

struct event_loop;
struct process_table;
struct sideband;

enum sideband_type {
	SIDEBAND_EXEC = 1, /* the address space is new: comes before its first mapping */
	SIDEBAND_MMAP,
	SIDEBAND_KERNEL, /* of no process */
};

struct sideband_event {
	uint64_t time_ns, order;
	enum sideband_type type;
	uint32_t tgid;
	struct mapping mapping;	      /* its module is held */
	struct kernel_change *kernel; /* of SIDEBAND_KERNEL */
};

/* Fails when the events cannot be opened on any CPU. */
int sideband_new(struct event_loop *loop, struct process_table *processes, struct sideband **ret);
void sideband_free(struct sideband *sb); /* takes NULL */

/* Reads what is in the rings now. */
void sideband_poll(struct sideband *sb);

/* The oldest event that is not younger than `horizon_ns`, or NULL. Valid until the next call. */
const struct sideband_event *sideband_first(struct sideband *sb, uint64_t horizon_ns);
void sideband_pop(struct sideband *sb);

/* An exec_pending_fn; `ctx` is a struct sideband. */
bool sideband_exec_pending(void *ctx, uint32_t tgid);

/* Opens events on CPUs that have come online, and anew where they have died. */
void sideband_tick(struct sideband *sb);

/* Records lost since the last call, including those of times without an event. */
uint64_t sideband_lost(struct sideband *sb);

/* ---- for tests ---- */

struct sideband_record {
	uint64_t time_ns;
	enum sideband_type type;
	uint64_t pgoff;
	struct mapped_code code; /* points into the record, as the next one does */
	struct kernel_change kernel;
};

/* False: nothing for us, or malformed. Pure. */
bool sideband_decode(const struct perf_event_header *rec, struct sideband_record *ret);

#endif
