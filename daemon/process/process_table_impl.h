/* SPDX-License-Identifier: Apache-2.0 */
/* process_table_impl.h - the inside of the table, for the process_*.c. */
#ifndef PROCESS_TABLE_IMPL_H
#define PROCESS_TABLE_IMPL_H

#include "hash.h"
#include "process/mappings.h"
#include "process/process_table_update.h"

struct jit_pool;
struct maps_reader;
struct proc;
struct process_jit;

struct task {
	struct thread pub; /* first: a thread is its task */
	struct proc *proc;
	struct task *prev, *next; /* among the threads of the process */
	bool exact;		  /* start_ns is not rounded */
	uint32_t scan;		  /* number of the scan that has seen it */
};

enum maps_state {
	MAPS_UNKNOWN, /* the process is older than our events, and was not read yet */
	MAPS_KNOWN,
	MAPS_NONE, /* a kernel thread */
};

/* A process that was another program: what was mapped until then. */
struct old_maps {
	struct mappings *maps;
	uint64_t until_ns; /* 0: no such entry */
};

/* A chain of wrappers in shell, each of which starts the next one. */
#define MAX_OLD_MAPS 4

struct proc {
	struct process pub; /* first: a process is its proc */
	struct task *tasks;
	bool exact;
	uint32_t scan;
	uint64_t cpu_ticks;

	/*
	 * Links, since a pid does not say who; and the dead stay for the sake of
	 * their children. A stray's parent has not been heard of yet.
	 */
	struct proc *parent, *children, *prev_sibling, *next_sibling;
	bool is_stray;

	enum maps_state maps_state;
	struct mappings *maps;			/* NULL: empty */
	struct old_maps old[MAX_OLD_MAPS];	/* before an exec, the latest first */
	uint64_t maps_time_ns;			/* mapping events up to here are in `maps` */
	struct maps_reader *reader;		/* a reading begun, or NULL */
	struct proc *prev_queued, *next_queued; /* to be read in the background */
	bool queued;
	bool maps_lost;		  /* events were lost: `maps` is not to be trusted */
	uint64_t reread_ns;	  /* not before; doubles, since most unknown addresses are junk */
	uint64_t reread_after_ns; /* the interval */

	struct process_jit *jit; /* of its generated code; NULL: none was seen */
	uint64_t jit_maps_version, jit_version;
	uint64_t joint_version; /* stands for these two */
};

struct process_table {
	struct symbolizer *sym;
	struct hash *procs; /* tgid -> struct proc */
	struct hash *tasks; /* tid -> struct task */
	struct proc *strays;
	uint64_t found;
	uint32_t scan;

	int proc_fd;
	bool is_scanning;
	struct module_pins *pins;
	struct mappings_budget budget;
	struct jit_pool *jits;
	struct recent_places *recent; /* NULL: none */
	struct proc *queue_first, *queue_last;
	uint64_t read_credit_ns, credit_time_ns; /* for readings that cannot wait */
	exec_pending_fn *exec_pending;
	void *exec_pending_ctx;
	const struct maps_observer *observer; /* or NULL */
	void *observer_ctx;

	struct process_table_stats stats;
};

struct proc *process_table_proc(const struct process_table *pt, uint32_t tgid);

/* In process_entries.c. */
struct task *process_entry_task(const struct process_table *pt, uint32_t tid);
/* Start times from /proc have lost their last digits: they are not `exact`. */
bool process_entry_same_start(uint64_t a, bool a_exact, uint64_t b, bool b_exact);
bool process_entry_is(const struct task *t, uint64_t start_ns);
/* In place of whoever had the pid or tid before. NULL: does not fit. */
struct proc *process_entry_new(struct process_table *pt, const struct task_info *info,
			       uint64_t start_ns, bool exact);
struct task *process_entry_new_task(struct process_table *pt, struct proc *p,
				    const struct task_info *info, bool exact);
/* Return whether it is another one than before. */
bool process_entry_set_cmdline(struct process_table *pt, struct proc *p, const char *cmdline,
			       size_t len);
bool process_entry_set_comm(char *dst, const char *comm);
/* With a leader its threads: it is freed last, and whoever is left then was missed. */
void process_entry_freed(struct task *t, uint64_t time_ns);
/* Somebody else has its pid since `time_ns`. If its end was not told, it was then. */
void process_entry_replace(struct process_table *pt, struct proc *p, uint64_t time_ns);
void process_entry_remove(struct process_table *pt, struct proc *p);
void process_entry_remove_task(struct process_table *pt, struct task *t);

/* In process_family.c. */
void process_family_join(struct process_table *pt, struct proc *p, uint32_t ppid);
void process_family_leave(struct process_table *pt, struct proc *p);
/* Those become its children that were known before it. */
void process_family_adopt(struct process_table *pt, struct proc *p);
/* Its children learn when it was freed. */
void process_family_tell(struct proc *p, uint64_t free_ns);

/* In process_maps.c. */
void process_maps_fork(struct process_table *pt, struct proc *child, const struct proc *parent);
void process_maps_want(struct process_table *pt, struct proc *p);
/* Those that use the CPU first. */
void process_maps_sort_queue(struct process_table *pt);
void process_maps_drop(struct process_table *pt, struct proc *p);
/* Programs that it has been, up to then. */
void process_maps_forget(struct proc *p, uint64_t before_ns);

/* What was mapped at `time_ns`: NULL, 0: nothing that is known, or not for sure. */
const struct mapping *process_maps_find(const struct proc *p, uint64_t pc, uint64_t time_ns);
uint64_t process_maps_version(const struct proc *p, uint64_t time_ns);

/* In process_locate.c. */
void process_locate_collect(struct process_table *pt, uint64_t now_ns);
void process_locate_forget(struct process_table *pt);

/* In process_generated.c. */
/* Is it a jitdump file that the process has mapped, then so that it can be found? */
void process_generated_mapped(struct process_table *pt, struct proc *p,
			      const struct mapping *mapping);
void process_generated_mapped_all(struct process_table *pt, struct proc *p);
void process_generated_drop(struct proc *p);
/*
 * The location of code that the process has generated itself, as its files
 * tell; NULL: they do not. `is_mapped`: worth waiting for.
 */
struct location *process_generated_locate(struct process_table *pt, struct proc *p, uint64_t pc,
					  uint64_t time_ns, bool is_mapped,
					  struct location *fallback);
/* `maps_version`, or one that stands for it and for what is known of generated code; 0: none. */
uint64_t process_generated_version(struct process_table *pt, struct proc *p, uint64_t maps_version,
				   uint64_t time_ns);

#endif
