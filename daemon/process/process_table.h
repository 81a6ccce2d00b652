/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table.h - every process, thread and executable mapping there is, as
 * of the last event applied.
 *
 * Filled by a scan of /proc (process_scan.c) and by events in the order of
 * their time (collect/proc.c). Keys are pids of the initial pid namespace.
 * What has exited stays findable for some seconds, since samples of it may
 * still be in other rings; an entry of a reused pid replaces it at once.
 */
#ifndef PROCESS_TABLE_H
#define PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct location;
struct mapping;
struct mappings;
struct module;
struct symbolizer;
struct process_table;

#define COMM_LEN   16
#define MAX_PID_NS 4 /* nested pid namespaces whose ids are kept */

struct thread {
	uint32_t tid, tgid;
	uint64_t start_ns; /* BOOTTIME; from /proc rounded down to 10 ms */
	uint64_t free_ns;  /* when its task was freed; 0 = it lives */
	uint64_t found;	   /* see process_table_found(); 0: known from its fork on */
	bool took_over;	   /* who had its tid before has died, but was not freed by then */
	char comm[COMM_LEN];
	uint32_t nstid[MAX_PID_NS]; /* in inner namespaces, outermost first; 0-ended */
};

struct process {
	uint32_t tgid;
	uint32_t ppid;		 /* who forked it; of those found in /proc, the parent then */
	uint64_t parent_free_ns; /* when the parent was freed; 0 = it lives, or is not known */
	uint64_t start_ns;
	uint64_t free_ns; /* 0 = it lives */
	uint32_t uid, gid;
	/*
	 * When it last had the name and arguments that it has, the kernel would have let its
	 * user look into it (bpf/user.bpf.h): they are no secret from them.
	 */
	bool is_plain;
	uint64_t told_ns; /* when that was, in the order of the events */
	uint64_t cgroup_id;
	bool is_kthread;
	char comm[COMM_LEN]; /* of the leader */
	char *cmdline;	     /* arguments, each ended by NUL; NULL: none (a kernel thread) */
	size_t cmdline_len;
	uint32_t nspid[MAX_PID_NS];
	uint64_t exec_ns; /* last exec seen, or 0 */
};

int process_table_new(struct symbolizer *sym, struct process_table **ret);
void process_table_free(struct process_table *pt);

/* NULL: not known. Valid until the next event is applied. */
const struct process *process_table_get(const struct process_table *pt, uint32_t tgid);
const struct thread *process_table_thread(const struct process_table *pt, uint32_t tid);

/* In no particular order; `fn` must not change the table. Non-zero stops. */
typedef int process_fn(void *ctx, const struct process *p);
typedef int thread_fn(void *ctx, const struct thread *t);
int process_table_each(const struct process_table *pt, process_fn *fn, void *ctx);
int process_table_each_thread(const struct process_table *pt, const struct process *p,
			      thread_fn *fn, void *ctx);

/*
 * Counts what the scan has found or corrected, without an event that tells of
 * it: the threads whose `found` is greater than an earlier value.
 */
uint64_t process_table_found(const struct process_table *pt);

/* Is it the user's, with all that is known of it? Takes NULL. */
bool process_is_users(const struct process *p, uint32_t uid, uint32_t gid);

/* Is `tgid` one of `roots` or a descendant of one, as far as parents are known? */
bool process_table_descends(const struct process_table *pt, uint32_t tgid, const uint32_t *roots,
			    size_t n_roots);

/*
 * The location of `pc` in the address space of `tgid` at `time_ns` (BOOTTIME):
 * generated code may be replaced at any time. Always gives one unless memory is
 * out (NULL): code without a known mapping reads "[unknown]", code in anonymous
 * memory "[anon:exec]". A process whose mappings are not known yet is read from
 * /proc at once if it lives (rate-limited).
 */
struct location *process_table_locate(struct process_table *pt, uint32_t tgid, uint64_t pc,
				      uint64_t time_ns);
/* Those of a stack. False: out of memory. */
bool process_table_locate_all(struct process_table *pt, uint32_t tgid, const uint64_t *pcs,
			      size_t n, uint64_t time_ns, struct location **ret);

/*
 * While this number stays, so does what process_table_locate() says of the
 * process at such times, and another process with the same number has the same
 * mappings. 0: no such promise, ask each time.
 */
uint64_t process_table_maps_version(struct process_table *pt, uint32_t tgid, uint64_t time_ns);

/*
 * What was mapped at `pc` at `time_ns`: for whoever needs more than a name. NULL: nothing
 * that is known; `*ret_wait` then says whether it may be soon. Valid until the
 * next event is applied.
 */
const struct mapping *process_table_mapping(struct process_table *pt, uint32_t tgid, uint64_t pc,
					    uint64_t time_ns, bool *ret_wait);
/* All of it. NULL: a kernel thread, or not known. */
struct mappings *process_table_mappings(const struct process_table *pt, uint32_t tgid);

/*
 * How to unwind from code that the process has generated itself, where that says it.
 * 0 and NULL: nobody knows. -EAGAIN: not known yet. Valid until the next event is
 * applied. The number stays with what it is about; `*ret_current`: it is that of
 * `time_ns`, else newer ones will come.
 */
struct jit_frames;
int process_table_frames(struct process_table *pt, uint32_t tgid, uint64_t time_ns,
			 const struct jit_frames **ret, uint64_t *ret_version, bool *ret_current);

/* Where in a process that runs HotSpot its variables are (enum hotspot_symbol). -ENOENT: it does not. */
int process_table_jvm(struct process_table *pt, uint32_t tgid, uint64_t *ret_symbols);

/* There may be some that live and are not known yet. */
bool process_table_is_scanning(const struct process_table *pt);

/* About once a second: forgets what is gone. */
void process_table_collect(struct process_table *pt, uint64_t now_ns);
/* Nobody records: lets go of everything. The next scan finds it again. */
void process_table_clear(struct process_table *pt);

struct process_table_stats {
	uint64_t n_processes, n_threads, n_mappings;
	uint64_t n_rescans;  /* of a process, to repair lost or missed mapping events */
	uint64_t n_unpinned; /* files gone before they could be opened */
	uint64_t n_over_cap; /* processes, threads or mappings beyond the caps */
	/* Files in which processes tell of the code they generate: read so far ... */
	uint64_t n_jit_files;
	uint64_t n_jit_refused; /* not read, or not to the end: not theirs, broken, too large */
	uint64_t n_jit_missed;	/* addresses or names: not there in time, no sense, no room */
};
void process_table_stats(const struct process_table *pt, struct process_table_stats *ret);

#endif
