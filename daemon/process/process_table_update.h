/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table_update.h - how the process table comes to know what it knows:
 * events in the order of their time (collect/proc.c), what /proc shows
 * (process_scan.c), and work that is done in slices.
 *
 * Applying is idempotent: an event about something the scan has already seen,
 * or about somebody unknown, does no harm. A task is its tid and its start
 * time together. Nothing here fails: what does not fit is counted in the
 * table's stats.
 */
#ifndef PROCESS_TABLE_UPDATE_H
#define PROCESS_TABLE_UPDATE_H

#include "process_table.h"

struct mapping;
struct module_pins;

/* For tests: another directory than /proc. Before anything else. */
int process_table_set_proc(struct process_table *pt, const char *path);
int process_table_proc_fd(const struct process_table *pt);
struct module_pins *process_table_pins(struct process_table *pt);

/* ---- events ---- */

struct task_info {
	uint32_t tid, tgid;
	uint32_t parent_tgid; /* of whoever called fork, if it is known; 0: not known */
	uint64_t start_ns, process_start_ns;
	uint32_t uid, gid;
	bool is_plain;	/* see struct process */
	bool was_plain; /* its ids say so; its memory, which would have to, is gone */
	uint64_t cgroup_id;
	bool is_kthread;
	char comm[COMM_LEN];
	uint32_t nstid[MAX_PID_NS];
};

void process_table_fork(struct process_table *pt, const struct task_info *task);
/*
 * It lives, as an event shows. Who was not known yet is now, for what the event
 * says of it: it may end before the scan comes to it.
 */
void process_table_alive(struct process_table *pt, const struct task_info *task);
void process_table_rename(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			  const char comm[COMM_LEN]);
/* Whose it is at `time_ns`, when it may have another name; told by its leader, which is known. */
void process_table_whose(struct process_table *pt, const struct task_info *leader, bool is_renamed,
			 uint64_t time_ns);
/* An event of `time_ns` shows that the user may look into it, if it is the same program by now. */
void process_table_show(struct process_table *pt, uint32_t tgid, uint32_t uid, uint32_t gid,
			uint64_t time_ns);
void process_table_free_task(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			     uint64_t time_ns);

/* The caller of exec, `old_tid`, has become the leader; its mappings come separately. */
struct exec_info {
	uint32_t tgid, old_tid;
	uint64_t start_ns, time_ns;
	uint32_t uid, gid;
	bool is_plain;
	uint64_t cgroup_id;
	char comm[COMM_LEN];
	const char *cmdline; /* as in struct process; may be NULL */
	size_t cmdline_len;
};

void process_table_exec(struct process_table *pt, const struct exec_info *exec);

/* Its address space is new and empty: comes before the mappings of the new program. */
void process_table_exec_maps(struct process_table *pt, uint32_t tgid, uint64_t time_ns);
void process_table_mmap(struct process_table *pt, uint32_t tgid, uint64_t time_ns,
			const struct mapping *mapping);

/* Is this task, of all that had the tid, the one in the table? */
bool process_table_is(const struct process_table *pt, uint32_t tid, uint64_t start_ns);

/*
 * Is an exec of `tgid` on its way that has not been applied yet? What /proc
 * shows may be the new program then. Asked after /proc was read.
 */
typedef bool exec_pending_fn(void *ctx, uint32_t tgid);
void process_table_set_exec_pending(struct process_table *pt, exec_pending_fn *fn, void *ctx);

/*
 * Told of executable mappings as they become known, in the order in which they
 * hold. `emptied`: what was told of this process holds no longer, it has another
 * program or none; more of the same may follow at once.
 */
struct maps_observer {
	void (*mapped)(void *ctx, uint32_t tgid, const struct mapping *mapping);
	void (*forked)(void *ctx, uint32_t child, uint32_t parent);
	void (*emptied)(void *ctx, uint32_t tgid);
};

void process_table_observe_maps(struct process_table *pt, const struct maps_observer *observer,
				void *ctx);

/* ---- what /proc shows ---- */

#define TICK_NS 10000000ull /* of start times in /proc: USER_HZ is 100 everywhere we run */

struct process_seen {
	struct task_info leader;
	uint64_t time_ns;   /* when it was read */
	uint64_t cpu_ticks; /* spent so far: whose mappings are wanted first */
	const char *cmdline;
	size_t cmdline_len;
};

/* Between these two every living process and thread is told of. */
void process_table_scan_begin(struct process_table *pt);
void process_table_saw_process(struct process_table *pt, const struct process_seen *seen);
void process_table_saw_thread(struct process_table *pt, const struct task_info *thread);
/* Who was there at `began_ns` and has not been seen is gone. */
void process_table_scan_end(struct process_table *pt, uint64_t began_ns);
/* After the end, or instead of it. */
void process_table_scan_over(struct process_table *pt);

/* ---- mappings of those who are there already ---- */

/* Mapping events were lost: all are read again, the old ones serving meanwhile. */
void process_table_reread_all(struct process_table *pt);

/* Somebody waits for a process's mappings: process_table_read_maps() has something to do. */
bool process_table_wants_reading(const struct process_table *pt);
/* Reads on until `deadline_ns`. False: nothing is left to do. */
bool process_table_read_maps(struct process_table *pt, uint64_t deadline_ns);

/* Where a pc was then, without a symbol: -ENOENT when not known. `*ret_module` may be NULL. */
int process_table_resolve(struct process_table *pt, uint32_t tgid, uint64_t pc, uint64_t time_ns,
			  struct module **ret_module, uint64_t *ret_offset);

#endif
