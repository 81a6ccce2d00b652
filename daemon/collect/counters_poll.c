/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_poll.c - reads the machine's counters and makes records of them.
 */
#include "collect/counters_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "collect/counters_events.h"
#include "collect/counters_processes.h"
#include "log.h"

#define MAX_TEXT   (4u << 20) /* /proc/stat of a machine with thousands of interrupts: 100 KB */
#define MAX_CPUS   8192	      /* the kernel's own limit on x86 */
#define MAX_DISKS  512	      /* more cannot be told apart in the UI */
#define MAX_IFACES 512	      /* a host of containers has one for each */
#define SLOW_NS	   (5 * NS_PER_MS) /* of cpufreq, see below */

enum { MEMINFO, VMSTAT, STAT, DISKSTATS, NET_DEV, PSI_CPU, PSI_IO, PSI_MEMORY, N_FILES };

static const char *const file_names[N_FILES] = {
	[MEMINFO] = "meminfo",
	[VMSTAT] = "vmstat",
	[STAT] = "stat",
	[DISKSTATS] = "diskstats",
	/* Of the host: the daemon's unit gives it a network namespace of its own. */
	[NET_DEV] = "1/net/dev",
	[PSI_CPU] = "pressure/cpu",
	[PSI_IO] = "pressure/io",
	[PSI_MEMORY] = "pressure/memory",
};

struct counters_poll {
	int proc_fd;
	int files[N_FILES]; /* -1: not there */
	struct buf text;
	struct counters_cpu *cpus; /* the last values, by CPU number */
	size_t n_cpus;
	uint64_t ns_per_tick;
	int *cpufreq; /* -1: none */
	size_t n_cpufreq;
	struct counters_processes *processes;
	uint64_t n_records, n_disks, n_ifaces;
	struct counters_record rec; /* the one being filled */
	event_sink_fn *sink;
	void *sink_ctx;
};

/* Reads a file from its start as a whole into `text`. */
static int read_whole(struct counters_poll *poll, int fd)
{
	struct buf *b = &poll->text;

	b->len = 0;
	for (;;) {
		ssize_t n;
		int r = buf_reserve(b, 16384);

		if (r < 0)
			return r;
		n = pread(fd, b->data + b->len, b->cap - b->len, (off_t)b->len);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		if (b->len > MAX_TEXT)
			return -E2BIG;
	}
}

static const char *text_of(const struct counters_poll *poll)
{
	return (const char *)poll->text.data;
}

/* A file that is there may still refuse to be read: pressure/ without psi=1. */
static void open_files(struct counters_poll *poll, char why[WHY_LEN])
{
	size_t len = 0;

	for (int i = 0; i < N_FILES; i++) {
		int fd = openat(poll->proc_fd, file_names[i], O_RDONLY | O_CLOEXEC);
		int r = fd < 0 ? -errno : read_whole(poll, fd);

		if (fd < 0 && i == NET_DEV) {
			fd = openat(poll->proc_fd, "net/dev", O_RDONLY | O_CLOEXEC);
			r = fd < 0 ? -errno : 0;
		}
		if (r < 0 && fd >= 0) {
			close(fd);
			fd = -1;
		}
		poll->files[i] = fd;
		if (r < 0 && len < WHY_LEN)
			len += (size_t)snprintf(why + len, WHY_LEN - len, "%s%s: %s",
						len ? ", " : "left out: ", file_names[i],
						strerror(-r));
	}
	if (poll->files[PSI_CPU] < 0 && len < WHY_LEN)
		snprintf(why + len, WHY_LEN - len, " (pressure/: boot with psi=1)");
}

static void open_cpufreq(struct counters_poll *poll, const char *cpus)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < COUNTERS_MAX_CPUFREQ; cpu++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/cpu%u", cpus, cpu);
		if (access(path, F_OK) < 0)
			break;
		snprintf(path, sizeof(path), "%s/cpu%u/cpufreq/scaling_cur_freq", cpus, cpu);
		poll->cpufreq[cpu] = open(path, O_RDONLY | O_CLOEXEC);
		if (poll->cpufreq[cpu] >= 0)
			n = cpu + 1;
		poll->n_cpufreq = cpu + 1;
	}
	poll->n_cpufreq = n;
}

int counters_poll_new(const char *proc, const char *cpus, char why[WHY_LEN],
		      struct counters_poll **ret)
{
	struct counters_poll *poll;
	bool any = false;
	int r = -ENOMEM;

	why[0] = 0;
	poll = calloc(1, sizeof(*poll));
	if (!poll)
		return -ENOMEM;
	poll->ns_per_tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	for (int i = 0; i < N_FILES; i++)
		poll->files[i] = -1;
	poll->proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (poll->proc_fd < 0) {
		r = -errno;
		goto fail;
	}
	poll->cpufreq = calloc(COUNTERS_MAX_CPUFREQ, sizeof(*poll->cpufreq));
	if (!poll->cpufreq)
		goto fail;
	open_cpufreq(poll, cpus);
	open_files(poll, why);
	for (int i = 0; i < N_FILES; i++)
		any |= poll->files[i] >= 0;
	if (!any) {
		r = -ENOENT;
		goto fail;
	}
	r = counters_processes_new(poll->proc_fd, &poll->processes);
	if (r < 0)
		goto fail;
	*ret = poll;
	return 0;

fail:
	counters_poll_free(poll);
	return r;
}

static void close_cpufreq(struct counters_poll *poll)
{
	for (size_t i = 0; i < poll->n_cpufreq; i++)
		if (poll->cpufreq[i] >= 0)
			close(poll->cpufreq[i]);
	poll->n_cpufreq = 0;
}

void counters_poll_free(struct counters_poll *poll)
{
	if (!poll)
		return;
	counters_processes_free(poll->processes);
	close_cpufreq(poll);
	free(poll->cpufreq);
	for (int i = 0; i < N_FILES; i++)
		if (poll->files[i] >= 0)
			close(poll->files[i]);
	if (poll->proc_fd >= 0)
		close(poll->proc_fd);
	free(poll->cpus);
	buf_done(&poll->text);
	free(poll);
}

void counters_poll_process(struct counters_poll *poll, uint32_t tgid)
{
	/* Out of memory, or too many: this one has no counters. */
	(void)counters_processes_add(poll->processes, tgid);
}

uint64_t counters_poll_count(const struct counters_poll *poll)
{
	return poll->n_records;
}

/* ---- records ---- */

/* Hands over what has gathered and makes room for more of `type`. */
static void push(struct counters_poll *poll, unsigned type)
{
	struct counters_record *rec = &poll->rec;

	if (!rec->n)
		return;
	rec->hdr.type = (uint16_t)type;
	rec->hdr.size = (uint16_t)counters_record_size(type, rec->n);
	rec->hdr.seq = poll->n_records++;
	poll->sink(poll->sink_ctx, &rec->hdr, rec->hdr.size);
	rec->n = 0;
}

static bool read_file(struct counters_poll *poll, int file)
{
	return poll->files[file] >= 0 && read_whole(poll, poll->files[file]) == 0;
}

static void poll_system(struct counters_poll *poll)
{
	struct counters_values values = { 0 };

	if (read_file(poll, MEMINFO))
		counters_parse_meminfo(text_of(poll), poll->text.len, &values);
	if (read_file(poll, VMSTAT))
		counters_parse_vmstat(text_of(poll), poll->text.len, &values);
	for (uint16_t i = 0; i < 3; i++)
		if (read_file(poll, PSI_CPU + i))
			counters_parse_pressure(text_of(poll), poll->text.len, 1 + 2 * i, &values);
	/* Last, since the CPUs want the same text. */
	if (read_file(poll, STAT))
		counters_parse_stat(text_of(poll), poll->text.len, &values);
	else
		poll->text.len = 0;
	memcpy(poll->rec.items.values, values.items, values.n * sizeof(values.items[0]));
	poll->rec.n = (uint32_t)values.n;
	push(poll, COUNTERS_SYSTEM);
}

static int grow_cpus(struct counters_poll *poll, size_t n)
{
	struct counters_cpu *cpus = reallocarray(poll->cpus, n, sizeof(*cpus));

	if (!cpus)
		return -ENOMEM;
	memset(cpus + poll->n_cpus, 0, (n - poll->n_cpus) * sizeof(*cpus));
	poll->cpus = cpus;
	poll->n_cpus = n;
	return 0;
}

/*
 * Idle and iowait are known to go back a little (proc(5)); what reads the
 * trace takes that for an error.
 */
static int add_cpu(void *ctx, const struct counters_cpu *cpu)
{
	struct counters_poll *poll = ctx;
	struct counters_cpu *last;

	if (cpu->cpu >= MAX_CPUS || (cpu->cpu >= poll->n_cpus && grow_cpus(poll, cpu->cpu + 1) < 0))
		return 0;
	last = &poll->cpus[cpu->cpu];
	last->cpu = cpu->cpu;
	for (int i = 0; i < N_CPU_TIMES; i++) {
		uint64_t ns;

		if (!__builtin_mul_overflow(cpu->times[i], poll->ns_per_tick, &ns) &&
		    ns > last->times[i])
			last->times[i] = ns;
	}
	poll->rec.items.cpus[poll->rec.n++] = *last;
	if (poll->rec.n == COUNTERS_MAX_ITEMS)
		push(poll, COUNTERS_CPUS);
	return 0;
}

static int add_disk(void *ctx, const struct counters_disk *disk)
{
	struct counters_poll *poll = ctx;

	poll->rec.items.disks[poll->rec.n++] = *disk;
	if (poll->rec.n == COUNTERS_MAX_ITEMS)
		push(poll, COUNTERS_DISKS);
	return ++poll->n_disks == MAX_DISKS;
}

static int add_iface(void *ctx, const struct counters_iface *iface)
{
	struct counters_poll *poll = ctx;

	poll->rec.items.ifaces[poll->rec.n++] = *iface;
	if (poll->rec.n == COUNTERS_MAX_ITEMS)
		push(poll, COUNTERS_IFACES);
	return ++poll->n_ifaces == MAX_IFACES;
}

/*
 * Some drivers ask the hardware, and kernels before 5.17 on x86 slept 10 ms for
 * each CPU: nothing may hold up the daemon like that.
 */
static void poll_cpufreq(struct counters_poll *poll)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < poll->n_cpufreq; i++) {
		char text[32];
		ssize_t n = -1;
		int64_t khz;

		if (poll->cpufreq[i] >= 0)
			n = pread(poll->cpufreq[i], text, sizeof(text), 0);
		if (n < 0 || counters_parse_number(text, (size_t)n, &khz) < 0 || khz < 0 ||
		    khz > UINT32_MAX)
			khz = 0; /* offline */
		poll->rec.items.khz[poll->rec.n++] = (uint32_t)khz;
		if (clock_ns(CLOCK_MONOTONIC) - start > SLOW_NS) {
			log_info("counters: leaving out the CPUs' frequency: slow to read here");
			close_cpufreq(poll);
			poll->rec.n = 0;
			return;
		}
	}
	push(poll, COUNTERS_CPUFREQ);
}

void counters_poll_run(struct counters_poll *poll, uint64_t now_ns, uint64_t budget_ns,
		       event_sink_fn *sink, void *sink_ctx)
{
	poll->sink = sink;
	poll->sink_ctx = sink_ctx;
	memset(&poll->rec, 0, sizeof(poll->rec));
	poll->rec.hdr.time_ns = now_ns;
	poll->n_disks = poll->n_ifaces = 0;

	poll_system(poll);
	counters_parse_cpus(text_of(poll), poll->text.len, add_cpu, poll);
	push(poll, COUNTERS_CPUS);
	poll_cpufreq(poll);
	if (read_file(poll, DISKSTATS))
		counters_parse_disks(text_of(poll), poll->text.len, add_disk, poll);
	push(poll, COUNTERS_DISKS);
	if (read_file(poll, NET_DEV))
		counters_parse_ifaces(text_of(poll), poll->text.len, add_iface, poll);
	push(poll, COUNTERS_IFACES);
	poll->rec.n = (uint32_t)counters_processes_poll(poll->processes, budget_ns,
							poll->rec.items.processes);
	push(poll, COUNTERS_PROCESSES);
}
