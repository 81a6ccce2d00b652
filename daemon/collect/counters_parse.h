/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_parse.h - what the kernel's text files in /proc say, as numbers.
 *
 * Pure functions over bytes that need not end in NUL: what does not look as
 * expected is left out, never guessed. The structs are also the items of the
 * collector's records (counters_events.h), hence fixed types and no padding.
 */
#ifndef COUNTERS_PARSE_H
#define COUNTERS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS_MAX_ITEMS 64 /* of one record */
#define COUNTERS_DISK_LEN  32 /* the kernel's DISK_NAME_LEN */
#define COUNTERS_IFACE_LEN 16 /* IFNAMSIZ */

enum counters_kind {
	COUNTERS_MEMINFO = 1, /* kB */
	COUNTERS_VMSTAT,
	COUNTERS_PSI, /* ns */
	COUNTERS_FORKS,
	COUNTERS_IRQS,
	COUNTERS_SOFTIRQS,
};

/* `key` is Perfetto's number within its kind: MeminfoCounters, VmstatCounters, PsiResource. */
#define COUNTERS_MEMINFO_MAX 33
#define COUNTERS_VMSTAT_MAX  95
#define COUNTERS_PSI_MAX     6

struct counters_value {
	uint16_t kind, key;
	uint32_t pad;
	uint64_t value;
};

struct counters_values {
	size_t n;
	struct counters_value items[COUNTERS_MAX_ITEMS];
};

enum counters_cpu_time {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	N_CPU_TIMES
};

struct counters_cpu {
	uint32_t cpu, pad;
	uint64_t times[N_CPU_TIMES]; /* clock ticks from the parser, ns in a record */
};

struct counters_disk {
	char name[COUNTERS_DISK_LEN];
	uint64_t read_sectors, read_ms, write_sectors, write_ms;
};

struct counters_iface {
	char name[COUNTERS_IFACE_LEN];
	uint64_t rx_bytes, tx_bytes;
};

struct counters_process {
	uint32_t tgid;
	int32_t oom_score_adj;
	uint64_t vm_size_kb, rss_kb, anon_kb, file_kb, shmem_kb, swap_kb, hwm_kb;
};

/* These append to what is already there; what does not fit is left out. */
void counters_parse_meminfo(const char *text, size_t len, struct counters_values *values);
void counters_parse_vmstat(const char *text, size_t len, struct counters_values *values);
/* `first` is the key of "some"; the next one is "full". */
void counters_parse_pressure(const char *text, size_t len, uint16_t first,
			     struct counters_values *values);
/* /proc/stat: the totals. */
void counters_parse_stat(const char *text, size_t len, struct counters_values *values);

/*
 * These call `fn` for each item, which is valid during the call, and end when
 * it returns non-zero, with that.
 */
typedef int counters_cpu_fn(void *ctx, const struct counters_cpu *cpu);
typedef int counters_disk_fn(void *ctx, const struct counters_disk *disk);
typedef int counters_iface_fn(void *ctx, const struct counters_iface *iface);

/* /proc/stat: CPUs that have done anything since boot. */
int counters_parse_cpus(const char *text, size_t len, counters_cpu_fn *fn, void *ctx);
/* /proc/diskstats: whole disks that have seen traffic. */
int counters_parse_disks(const char *text, size_t len, counters_disk_fn *fn, void *ctx);
/* /proc/net/dev */
int counters_parse_ifaces(const char *text, size_t len, counters_iface_fn *fn, void *ctx);

struct counters_pid_stat {
	uint64_t cpu_ticks; /* user and system, of all its threads */
	uint64_t start_ticks;
	uint64_t rss_pages;
};
/* /proc/PID/stat, whose second field is a name of the process's choice. -EBADMSG. */
int counters_parse_pid_stat(const char *text, size_t len, struct counters_pid_stat *ret);

/*
 * /proc/PID/status; tgid and oom_score_adj are not in it. -ENODATA: it has no
 * memory (a kernel thread, a zombie).
 */
int counters_parse_pid_status(const char *text, size_t len, struct counters_process *ret);

/* A file that holds one number, signed or not. -EBADMSG. */
int counters_parse_number(const char *text, size_t len, int64_t *ret);

#endif
