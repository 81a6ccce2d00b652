/* SPDX-License-Identifier: Apache-2.0 */
/* proc_sideband.c - which code is mapped where, and what the kernel adds to itself. */
#include "proc_sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"
#include "event_loop.h"
#include "perf_ring.h"
#include "process/process_table_update.h"
#include "symbolize/symbolizer.h"

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4) /* Linux 6.0 */
#endif

/* 512 KiB per CPU: some 4,000 mappings, a second of busy compiling. */
#define RING_PAGES 128
/*
 * The traced process pays for waking us, up to 10 us in a virtual machine, and
 * each fork, exit and mapping has a record in here: 5 % of a machine that
 * compiles. It is the exec that wakes us (proc.c); libraries that are loaded
 * later are read with the next drain. This is for storms of them.
 */
#define WAKEUP_BYTES (32 * 1024)
/* Waiting for the horizon: 100,000 mappings in the 100 ms or so that it lags. */
#define MAX_PENDING 100000

struct cpu_ring {
	struct sideband *sb;
	struct perf_ring *ring; /* NULL: offline */
	struct event_source *source;
	uint64_t n_lost;
	uint64_t enabled_ns; /* how long the event has run, at the last tick */
};

struct sideband {
	struct event_loop *loop;
	struct process_table *processes;
	struct cpu_ring *cpus;
	unsigned n_cpus;
	uint64_t n_lost; /* not yet told */

	struct sideband_event *pending; /* from `first` on to be applied, sorted if `sorted` */
	size_t first, n, cap;
	uint64_t n_read;
	bool sorted;
};

/* ---- records ---- */

/* sample_type is PERF_SAMPLE_TIME alone: a record ends with its time, but see ksymbol_time(). */
static uint64_t record_time(const struct perf_event_header *rec)
{
	uint64_t time_ns;

	memcpy(&time_ns, (const uint8_t *)rec + rec->size - sizeof(time_ns), sizeof(time_ns));
	return time_ns;
}

/* The kernel's struct of PERF_RECORD_MMAP2, before its file name. */
struct mmap2_head {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};

static bool decode_mmap2(const struct perf_event_header *rec, struct sideband_record *ret)
{
	const char *name = (const char *)rec + sizeof(struct mmap2_head);
	struct mmap2_head m;

	if (rec->size < sizeof(m) + sizeof(uint64_t))
		return false;
	memcpy(&m, rec, sizeof(m));
	if (!(m.prot & PROT_EXEC) || m.len == 0 || m.addr + m.len < m.addr)
		return false;
	ret->type = SIDEBAND_MMAP;
	ret->pgoff = m.pgoff;
	ret->code = (struct mapped_code){
		.tgid = m.pid,
		.start = m.addr,
		.end = m.addr + m.len,
		.dev_major = m.maj,
		.dev_minor = m.min,
		.inode = m.ino,
		.generation = (uint32_t)m.ino_generation,
		.name = name,
		.name_len = strnlen(name, rec->size - sizeof(m) - sizeof(uint64_t)),
	};
	return true;
}

static bool decode_comm(const struct perf_event_header *rec, struct sideband_record *ret)
{
	uint32_t pid;

	if (!(rec->misc & PERF_RECORD_MISC_COMM_EXEC) ||
	    rec->size < sizeof(*rec) + 2 * sizeof(pid) + sizeof(uint64_t))
		return false;
	memcpy(&pid, rec + 1, sizeof(pid));
	ret->type = SIDEBAND_EXEC;
	ret->code = (struct mapped_code){ .tgid = pid };
	return true;
}

/* The kernel's struct of PERF_RECORD_KSYMBOL, before the name. */
struct ksymbol_head {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags;
};

/*
 * The kernel adds to the size of a record for each one who listens, and does not take it
 * back for the next: who is not the first (another daemon, perf record) finds what was
 * in the ring before behind the time. The name says where that is.
 */
static bool ksymbol_time(const struct perf_event_header *rec, size_t name_len, uint64_t *ret)
{
	size_t at = sizeof(struct ksymbol_head) + (name_len / 8 + 1) * 8; /* with its NUL */

	if (at + sizeof(*ret) > rec->size)
		return false;
	memcpy(ret, (const uint8_t *)rec + at, sizeof(*ret));
	return true;
}

static bool decode_ksymbol(const struct perf_event_header *rec, struct sideband_record *ret)
{
	const char *name = (const char *)rec + sizeof(struct ksymbol_head);
	struct ksymbol_head k;
	size_t name_len;

	if (rec->size < sizeof(k) + sizeof(uint64_t))
		return false;
	memcpy(&k, rec, sizeof(k));
	name_len = strnlen(name, rec->size - sizeof(k) - sizeof(uint64_t));
	ret->type = SIDEBAND_KERNEL;
	if (!ksymbol_time(rec, name_len, &ret->time_ns))
		return false;
	ret->kernel = (struct kernel_change){
		.time_ns = ret->time_ns,
		.start = k.addr,
		.len = k.len,
		.is_gone = k.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		.is_bpf = k.ksym_type == PERF_RECORD_KSYMBOL_TYPE_BPF,
		.name = name,
		.name_len = name_len,
	};
	return k.len > 0 && k.addr + k.len > k.addr && name_len > 0 &&
	       name_len < KERNEL_CODE_NAME_MAX;
}

bool sideband_decode(const struct perf_event_header *rec, struct sideband_record *ret)
{
	bool ours = false;

	if (rec->type == PERF_RECORD_KSYMBOL)
		return decode_ksymbol(rec, ret);
	if (rec->type == PERF_RECORD_MMAP2)
		ours = decode_mmap2(rec, ret);
	else if (rec->type == PERF_RECORD_COMM)
		ours = decode_comm(rec, ret);
	/* -1: a task that has no pid any more. */
	if (!ours || ret->code.tgid == 0 || ret->code.tgid > INT32_MAX)
		return false;
	ret->time_ns = ret->code.time_ns = record_time(rec);
	return true;
}

/* ---- waiting for the horizon ---- */

static struct sideband_event *new_pending(struct sideband *sb)
{
	struct sideband_event *more;
	size_t cap;

	if (sb->first == sb->n)
		sb->first = sb->n = 0;
	if (sb->n < sb->cap)
		return &sb->pending[sb->n++];
	if (sb->first > 0) {
		sb->n -= sb->first;
		memmove(sb->pending, sb->pending + sb->first, sb->n * sizeof(*sb->pending));
		sb->first = 0;
		return &sb->pending[sb->n++];
	}
	cap = sb->cap ? 2 * sb->cap : 256;
	more = cap <= MAX_PENDING ? realloc(sb->pending, cap * sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	sb->pending = more;
	sb->cap = cap;
	return &sb->pending[sb->n++];
}

/* With its name behind it; NULL: out of memory. */
static struct kernel_change *keep_change(const struct kernel_change *change)
{
	struct kernel_change *kept = malloc(sizeof(*kept) + change->name_len);

	if (!kept)
		return NULL;
	*kept = *change;
	kept->name = memcpy(kept + 1, change->name, change->name_len);
	return kept;
}

static void keep_record(struct sideband *sb, struct sideband_event *ev,
			const struct sideband_record *r)
{
	*ev = (struct sideband_event){ .time_ns = r->time_ns,
				       .order = sb->n_read++,
				       .type = r->type };
	if (r->type == SIDEBAND_KERNEL) {
		ev->kernel = keep_change(&r->kernel);
		sb->n_lost += !ev->kernel;
		return;
	}
	ev->tgid = r->code.tgid;
	if (r->type == SIDEBAND_MMAP) {
		ev->mapping = (struct mapping){ .start = r->code.start,
						.end = r->code.end,
						.pgoff = r->pgoff };
		ev->mapping.module =
			module_pins_get(process_table_pins(sb->processes), &r->code, boot_ns());
	}
}

static int on_record(const struct perf_event_header *rec, void *ctx)
{
	struct sideband *sb = ctx;
	struct sideband_record r;
	struct sideband_event *ev;

	if (!sideband_decode(rec, &r))
		return 0;
	ev = new_pending(sb);
	if (!ev) {
		sb->n_lost++;
		return 0;
	}
	keep_record(sb, ev, &r);
	sb->sorted = false;
	return 0;
}

void sideband_poll(struct sideband *sb)
{
	for (unsigned i = 0; i < sb->n_cpus; i++) {
		/* A torn record: the ring has started anew, and counts what it left out. */
		if (sb->cpus[i].ring &&
		    perf_ring_drain(sb->cpus[i].ring, on_record, sb) == -EBADMSG)
			sb->n_lost++;
	}
}

static int older_first(const void *a, const void *b)
{
	const struct sideband_event *ea = a, *eb = b;

	if (ea->time_ns != eb->time_ns)
		return ea->time_ns < eb->time_ns ? -1 : 1;
	return ea->order < eb->order ? -1 : 1;
}

const struct sideband_event *sideband_first(struct sideband *sb, uint64_t horizon_ns)
{
	if (!sb->sorted && sb->n > sb->first)
		qsort(sb->pending + sb->first, sb->n - sb->first, sizeof(*sb->pending),
		      older_first);
	sb->sorted = true;
	if (sb->first == sb->n || sb->pending[sb->first].time_ns > horizon_ns)
		return NULL;
	return &sb->pending[sb->first];
}

void sideband_pop(struct sideband *sb)
{
	struct sideband_event *ev = &sb->pending[sb->first++];

	if (ev->mapping.module)
		module_release(ev->mapping.module);
	free(ev->kernel);
}

bool sideband_exec_pending(void *ctx, uint32_t tgid)
{
	struct sideband *sb = ctx;

	sideband_poll(sb);
	for (size_t i = sb->first; i < sb->n; i++)
		if (sb->pending[i].type == SIDEBAND_EXEC && sb->pending[i].tgid == tgid)
			return true;
	return false;
}

/* ---- events ---- */

static int on_readable(void *ctx, uint32_t events)
{
	struct cpu_ring *c = ctx;

	(void)events;
	if (perf_ring_drain(c->ring, on_record, c->sb) == -EBADMSG)
		c->sb->n_lost++;
	return 0;
}

static void note_lost(struct cpu_ring *c)
{
	uint64_t n_lost = perf_ring_lost(c->ring);

	if (n_lost > c->n_lost)
		c->sb->n_lost += n_lost - c->n_lost;
	c->n_lost = n_lost;
}

static void cpu_close(struct cpu_ring *c)
{
	if (c->ring) {
		(void)on_readable(c, 0);
		note_lost(c);
	}
	event_source_free(c->source);
	perf_ring_free(c->ring);
	*c = (struct cpu_ring){ .sb = c->sb };
}

static int cpu_open(struct cpu_ring *c, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.mmap = 1, /* of executable memory only */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		/* wakeup_events counts samples, and there are none: by bytes, the first one counts.
		 */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int r;

	r = perf_ring_open(&attr, cpu, RING_PAGES, &c->ring);
	if (r < 0)
		return r;
	r = event_loop_add(c->sb->loop, perf_ring_fd(c->ring), EPOLLIN, on_readable, c, &c->source);
	if (r < 0) {
		perf_ring_free(c->ring);
		c->ring = NULL;
	}
	return r;
}

/* Returns the number that are open, or an error when there is none. */
static int open_missing(struct sideband *sb)
{
	bool online[MAX_CPUS];
	int n_open = 0, err = -ENODEV, r;

	r = cpus_online(online);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < sb->n_cpus; i++) {
		struct cpu_ring *c = &sb->cpus[i];

		if (!online[i] && c->ring)
			cpu_close(c);
		if (online[i] && !c->ring) {
			r = cpu_open(c, (int)i);
			if (r < 0)
				err = r;
		}
		n_open += c->ring != NULL;
	}
	return n_open ? n_open : err;
}

int sideband_new(struct event_loop *loop, struct process_table *processes, struct sideband **ret)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int r;

	if (!sb)
		return -ENOMEM;
	sb->loop = loop;
	sb->processes = processes;
	sb->n_cpus = cpus_possible();
	sb->cpus = calloc(sb->n_cpus, sizeof(*sb->cpus));
	r = sb->cpus ? 0 : -ENOMEM;
	for (unsigned i = 0; sb->cpus && i < sb->n_cpus; i++)
		sb->cpus[i].sb = sb;
	if (r == 0)
		r = open_missing(sb);
	if (r < 0) {
		sideband_free(sb);
		return r;
	}
	*ret = sb;
	return 0;
}

void sideband_free(struct sideband *sb)
{
	if (!sb)
		return;
	for (unsigned i = 0; sb->cpus && i < sb->n_cpus; i++)
		cpu_close(&sb->cpus[i]);
	while (sb->first < sb->n)
		sideband_pop(sb);
	free(sb->pending);
	free(sb->cpus);
	free(sb);
}

/*
 * A CPU that goes offline, and every CPU but one in a suspend, silently kills
 * the events on it. A dead event's time stands still; it is opened anew, and
 * what it missed counts as lost.
 */
static bool has_died(struct cpu_ring *c)
{
	uint64_t values[8], before = c->enabled_ns; /* value, time enabled, [lost] */

	if (read(perf_ring_fd(c->ring), values, sizeof(values)) < (ssize_t)(2 * sizeof(values[0])))
		return false;
	c->enabled_ns = values[1];
	return before != 0 && c->enabled_ns == before;
}

void sideband_tick(struct sideband *sb)
{
	int n_before = 0, n;

	for (unsigned i = 0; i < sb->n_cpus; i++) {
		struct cpu_ring *c = &sb->cpus[i];

		if (!c->ring)
			continue;
		note_lost(c);
		if (has_died(c)) {
			cpu_close(c);
			sb->n_lost++;
			continue;
		}
		n_before++;
	}
	n = open_missing(sb);
	if (n > n_before)
		sb->n_lost++; /* it may have run for a while already */
}

uint64_t sideband_lost(struct sideband *sb)
{
	uint64_t n = sb->n_lost;

	sb->n_lost = 0;
	return n;
}
