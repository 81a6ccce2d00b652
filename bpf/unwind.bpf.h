/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unwind.bpf.h - the walk up the running thread's user stack.
 *
 * unwind_user() finds callers by the tables that the daemon has laid into the
 * maps below, made of the call frame information that every program carries: no
 * frame pointers are needed. What each step does: unwind_step.h. One program, no
 * tail calls: bpf_loop() for the frames, global functions for the two searches,
 * so that the verifier looks at each of them once.
 *
 * The maps are the daemon's (daemon/unwind/unwind_maps.c), shared by all objects
 * that include this file: unwind_maps_reuse() before the object is loaded.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#include "common.bpf.h"
#include "frames.bpf.h"
#include "unwind.h"

/*
 * False: frame pointers alone, by the kernel's own walk. For kernels without
 * bpf_loop() (before 5.17), and to measure the difference.
 */
const volatile bool unwind_by_tables = true;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_data);
} unwind_data SEC(".maps");

struct unwind_shard {
	__u32 rows[UNWIND_SHARD_ROWS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_SHARDS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct unwind_shard));
		});
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct unwind_proc);
} unwind_procs SEC(".maps");

#define UNWIND_MAX_STACK (64u << 20) /* further up than this is another stack */

struct unwind_env {
	__u64 regs; /* where the thread's struct pt_regs is */
	__u32 first_mapping, n_mappings;
};

#include "unwind_step.h"

/* ---- looking up ---- */

/* The last of `n` mappings from `first` on that starts at or below `pc`; `first` if none does. */
__attribute__((noinline)) __u32 unwind_find_mapping(__u32 first, __u32 n, __u64 pc)
{
	struct unwind_data *data;
	__u32 zero = 0;

	data = bpf_map_lookup_elem(&unwind_data, &zero);
	if (!data)
		return 0;
	for (int i = 0; i < 17 && n > 1; i++) {
		__u32 half = n / 2;

		if (data->mappings[(first + half) & (UNWIND_MAPPINGS - 1)].start <= pc)
			first += half;
		n -= half;
	}
	return first;
}

/* The row of the page whose first row is `first` that holds at `offset`, without branches. */
__attribute__((noinline)) __u32 unwind_find_row(__u32 first, __u32 offset)
{
	__u32 zero = 0, shard = first >> UNWIND_SHARD_SHIFT, n;
	struct unwind_shard *rows;
	void *inner;

	inner = bpf_map_lookup_elem(&unwind_rows, &shard);
	if (!inner)
		return 0;
	rows = bpf_map_lookup_elem(inner, &zero);
	if (!rows)
		return 0;
	first &= UNWIND_SHARD_ROWS - 1;
	n = UNWIND_ROW_OFFSET(rows->rows[first]);
	for (int i = 0; i < UNWIND_PAGE_SHIFT + 1 && n > 1; i++) {
		__u32 half = n / 2;
		__s64 row = UNWIND_ROW_OFFSET(rows->rows[(first + half) & (UNWIND_SHARD_ROWS - 1)]);

		first += half & (__u32)((row - (__s64)offset - 1) >> 63);
		n -= half;
	}
	return rows->rows[first & (UNWIND_SHARD_ROWS - 1)];
}

static __always_inline struct unwind_data *unwind_data_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&unwind_data, &zero);
}

UNWIND_PART int unwind_locate(struct unwind_walk *w, __u64 pc)
{
	struct unwind_data *data = unwind_data_get();
	const struct unwind_table_ref *table;
	const struct unwind_mapping *m;
	__u32 at;

	UNWIND_REQUIRE(w);
	UNWIND_REQUIRE(data);
	at = unwind_find_mapping(w->env.first_mapping, w->env.n_mappings, pc);
	m = &data->mappings[at & (UNWIND_MAPPINGS - 1)];
	if (w->env.n_mappings == 0 || pc < m->start || pc >= m->end)
		return UNWIND_NOMAP;
	table = &data->tables[m->table & (UNWIND_TABLES - 1)];
	w->is_jit = m->kind != UNWIND_MAPPING_FILE;
	w->has_table = 0;
	if (m->kind != UNWIND_MAPPING_JIT) {
		if (table->state == UNWIND_TABLE_PENDING || table->state == UNWIND_TABLE_FREE)
			return UNWIND_PENDING;
		w->has_table = table->state == UNWIND_TABLE_READY;
	}
	w->start = m->start;
	w->end = m->end;
	w->delta = m->delta - ((__u64)table->first_page << UNWIND_PAGE_SHIFT);
	w->first = table->first;
	w->n_pages = table->n_pages;
	return 0;
}

static __always_inline const struct unwind_rule *unwind_rule_at(struct unwind_walk *w, __u64 offset)
{
	struct unwind_data *data = unwind_data_get();
	__u64 page = offset >> UNWIND_PAGE_SHIFT;
	__u32 first, row;

	if (!data || page >= w->n_pages)
		return 0;
	first = data->pages[(w->first + (__u32)page) & (UNWIND_PAGES - 1)];
	if (first == UNWIND_NO_ROWS)
		return 0;
	row = unwind_find_row(first, offset & (UNWIND_PAGE_SIZE - 1));
	return &data->rules[UNWIND_ROW_RULE(row) & (UNWIND_MAX_RULES - 1)];
}

/* ---- memory and registers ---- */

static __always_inline int unwind_read(struct unwind_walk *w, void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr) ? UNWIND_READ_STACK : 0;
}

/* Where a register lies in the kernel's frame, by DWARF number. */
static __always_inline __u32 unwind_regs_offset(__u32 reg)
{
#if UNWIND_ARM64
	return (reg & 31) * 8;
#else
	/* A byte each, in units of 8: ax 10, dx 12, cx 11, bx 5, si 13, di 14, bp 4, sp 19; r8 9,
	 * ... */
	__u64 at = reg & 8 ? 0x1020306070809ull : 0x13040e0d050b0c0aull;

	return ((at >> (reg & 7) * 8) & 0xff) * 8;
#endif
}

static __always_inline int unwind_register(struct unwind_walk *w, __u32 reg, __u64 *ret)
{
	if (w->regs_at)
		return unwind_read(w, ret, sizeof(*ret),
				   w->regs_at + unwind_signal_index(reg & 31) * 8);
	return bpf_probe_read_kernel(ret, sizeof(*ret),
				     (const void *)w->env.regs + unwind_regs_offset(reg))
		       ? UNWIND_BAD_CFA_REG
		       : 0;
}

static __always_inline void unwind_on_fp(struct unwind_walk *w, __u64 fp)
{
	(void)frames_take(fp, w->sp, w->n);
}

/* ---- walking ---- */

struct unwind_loop {
	struct unwind_walk w;
	__u64 *ips; /* UNWIND_MAX_FRAMES */
	__u64 called;
	__u64 instance;	  /* where the next return_instance is that a uretprobe waits for */
	__u64 trampoline; /* the return address that it has put there */
	int end;
};

/* Of one return any number may wait; beyond this the stack ends. */
#define UNWIND_MAX_URETPROBES 8

/* A uretprobe has taken the return address's place. */
static __always_inline void unwind_find_uretprobes(struct unwind_loop *l, struct task_struct *task)
{
	if (!bpf_core_field_exists(task->utask) || !BPF_CORE_READ(task, utask))
		return;
	l->instance = (__u64)BPF_CORE_READ(task, utask, return_instances);
	if (l->instance)
		l->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

UNWIND_PART int unwind_pass_uretprobe(struct unwind_walk *w, __u64 *at)
{
	bool chained = true;

	UNWIND_REQUIRE(w);
	UNWIND_REQUIRE(at);
	for (int i = 0; i < UNWIND_MAX_URETPROBES && chained; i++) {
		struct return_instance *instance = (void *)*at;

		w->pc = BPF_CORE_READ(instance, orig_ret_vaddr);
		chained = BPF_CORE_READ(instance, chained);
		*at = (__u64)BPF_CORE_READ(instance, next);
	}
	return 0;
}

static long unwind_next(__u64 i, struct unwind_loop *l)
{
	__u32 n = l->w.n;
	int end;

	if (n >= UNWIND_MAX_FRAMES) {
		l->end = UNWIND_DEPTH;
		return 1;
	}
	end = unwind_frame(&l->w, &l->ips[n & (UNWIND_MAX_FRAMES - 1)], &l->called);
	if (end == UNWIND_GO_ON) {
		if (l->instance && l->w.pc == l->trampoline)
			unwind_pass_uretprobe(&l->w, &l->instance);
		return 0;
	}
	l->end = end;
	return 1;
}

/* Reads through CO-RE: architectures name the same thing differently. */
static __always_inline void unwind_begin(struct unwind_walk *w, const void *regs, bool *is_compat)
{
#if UNWIND_ARM64
	const struct pt_regs___arm64_user *r = regs;

	w->pc = BPF_CORE_READ(r, pc);
	w->sp = BPF_CORE_READ(r, sp);
	bpf_core_read(&w->fp, sizeof(w->fp), &r->regs[29]);
	*is_compat = BPF_CORE_READ(r, pstate) & 0x10;
#else
	const struct pt_regs___x86_user *r = regs;

	w->pc = BPF_CORE_READ(r, ip);
	w->sp = BPF_CORE_READ(r, sp);
	w->fp = BPF_CORE_READ(r, bp);
	*is_compat = BPF_CORE_READ(r, cs) == 0x23; /* __USER32_CS */
#endif
	w->env.regs = (__u64)regs;
	w->is_exact = 1;
}

#ifdef UNWIND_FROM_CALLER
/*
 * For programs of uprobes at the first instruction of a function: what a call has
 * left is in its place, whether or not there is a rule for the function. The frame of
 * the function itself is ips[0].
 */
static __always_inline void unwind_to_caller(struct unwind_loop *l)
{
	__u64 ra;

#if UNWIND_ARM64
	if (unwind_register(&l->w, 30, &ra))
		return;
#else
	if (bpf_probe_read_user(&ra, sizeof(ra), (const void *)l->w.sp))
		return;
	l->w.sp += 8;
#endif
	l->ips[0] = l->w.pc;
	l->w.n = 1;
	l->w.pc = ra;
	l->w.is_exact = 0;
}
#endif

/* execve() has no user stack: the old image is gone, the new one has not begun. */
static __always_inline bool unwind_in_execve(const void *regs)
{
#if UNWIND_ARM64
	int nr = BPF_CORE_READ((const struct pt_regs___arm64_nr *)regs, syscallno);

	return nr == 221 || nr == 281;
#else
	long nr = BPF_CORE_READ((const struct pt_regs___x86_nr *)regs, orig_ax);

	return nr == 59 || nr == 322;
#endif
}

struct unwind_result {
	__u32 n; /* frames, innermost first */
	int end; /* enum unwind_end */
};

/*
 * Of a frame that runs: those of a caller are gone. A part of its own, or each way here
 * would be verified with each register.
 */
UNWIND_PART int unwind_copy_registers(struct unwind_walk *w, struct unwind_copy *copy)
{
	UNWIND_REQUIRE(w);
	UNWIND_REQUIRE(copy);
	__builtin_memset(copy->regs, 0, sizeof(copy->regs));
	for (__u32 i = 0; i < UNWIND_N_REGS && w->is_exact; i++)
		(void)unwind_register(w, i, &copy->regs[i]);
	return 0;
}

/* What the daemon needs to go on; the stack itself is copied by unwind_copy_stack(). */
static __always_inline void unwind_copy_state(struct unwind_walk *w, struct task_struct *leader,
					      struct task_struct *task, struct unwind_copy *copy)
{
	copy->pc = w->pc;
	copy->sp = w->sp;
	copy->fp = w->fp;
	copy->is_exact = w->is_exact;
	copy->is_approx = w->is_approx;
	copy->pad = 0;
	copy->bx = 0;
#if UNWIND_ARM64
	copy->has_bx = 0;
#else
	copy->has_bx = unwind_bx(w, &copy->bx) == 0;
#endif
	copy->start_ns = leader->start_boottime;
	copy->exec_id = task->self_exec_id;
	unwind_copy_registers(w, copy);
}

/*
 * How much of the stack there is above sp; of other threads than the first one,
 * nobody knows without trying.
 */
static __always_inline __u64 unwind_stack_size(struct task_struct *task, __u64 sp)
{
	__u64 size = BPF_CORE_READ(task, mm, start_stack) - sp;

	return size < UNWIND_MAX_STACK ? size + 64 : UNWIND_LARGE_COPY_BYTES;
}

/* More pages in a row that are not there are the end of the stack. */
#define UNWIND_MAX_GAP 4

struct unwind_copying {
	struct unwind_copy *copy;
	__u8 *stack;
	__u64 max, size;
	__u32 len, gap;
};

/* To the end of a page, since the next one may not be there. */
static long unwind_copy_page(__u64 i, struct unwind_copying *c)
{
	__u64 from = c->copy->from + c->len;
	__u32 len = c->len, piece = 4096 - (from & 4095);

	if (piece > c->size - len)
		piece = c->size - len;
	barrier_var(piece);
	barrier_var(len);
	if (piece == 0 || piece > 4096 || len > c->max - 4096)
		return 1;
	c->len = len + piece;
	if (bpf_probe_read_user(c->stack + len, piece, (const void *)from) == 0) {
		c->gap = 0;
		c->copy->len = c->len;
		return 0;
	}
	c->copy->missing |= 1u << (i & 15);
	return ++c->gap > UNWIND_MAX_GAP;
}

/*
 * Copies up to `max` bytes of the stack, from the red zone on. Of a large array in a
 * frame, or of a frame that has just begun, pages have never been touched.
 */
static __always_inline void unwind_copy_stack(struct unwind_copy *copy, __u8 *stack, __u32 max)
{
	struct unwind_copying c = { .copy = copy, .stack = stack, .max = max };

	copy->from = copy->sp - UNWIND_RED_ZONE;
	copy->len = copy->missing = 0;
	c.size = unwind_stack_size((void *)bpf_get_current_task_btf(), copy->from);
	if (c.size > max)
		c.size = max;
	bpf_loop(UNWIND_LARGE_COPY_BYTES / 4096 + 1, unwind_copy_page, &c, 0);
}

/*
 * Walks the user stack of the current thread. Writes the frames to `ips`,
 * innermost first: the first is where it runs, the others are return addresses
 * (or, above a signal handler, one more than where it was interrupted). Where
 * the daemon can finish what could not be finished here, `copy` says from where
 * on; otherwise copy->sp is 0.
 */
static __always_inline void unwind_user(__u64 ips[UNWIND_MAX_FRAMES], struct unwind_copy *copy,
					struct unwind_result *ret)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct task_struct *leader = task->group_leader;
	struct unwind_loop l = { .ips = ips, .end = UNWIND_DEPTH };
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct unwind_proc *proc;
	bool is_compat;
	const void *regs;

	ret->n = 0;
	copy->sp = 0;
	copy->len = 0;
	(void)frames_begin();
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER)) {
		ret->end = UNWIND_KTHREAD;
		return;
	}
	ret->end = UNWIND_EXITING;
	if (!BPF_CORE_READ(task, mm))
		return;
	regs = (const void *)bpf_task_pt_regs(task);
	unwind_begin(&l.w, regs, &is_compat);
	ret->end = UNWIND_COMPAT32;
	if (is_compat)
		return;
#ifdef UNWIND_FROM_CALLER
	unwind_to_caller(&l);
#endif
	proc = bpf_map_lookup_elem(&unwind_procs, &tgid);
	if (proc && proc->start_ns == leader->start_boottime &&
	    proc->exec_id == task->self_exec_id) {
		l.w.env.first_mapping = proc->first;
		l.w.env.n_mappings = proc->n;
		unwind_find_uretprobes(&l, task);
#ifdef UNWIND_FROM_CALLER
		if (l.instance && l.w.pc == l.trampoline)
			unwind_pass_uretprobe(&l.w, &l.instance);
#endif
		bpf_loop(UNWIND_MAX_FRAMES + 1, unwind_next, &l, 0);
	} else {
		ips[l.w.n & 1] = l.w.pc; /* the first, or the second */
		l.w.n++;
		l.end = UNWIND_NOPROC;
	}
	ret->n = l.w.n < UNWIND_MAX_FRAMES ? l.w.n : UNWIND_MAX_FRAMES;
	ret->end = l.end;
	if (l.end == UNWIND_COMPLETE || l.end == UNWIND_APPROX)
		return;
	if (l.w.n <= 1 && unwind_in_execve(regs))
		ret->end = UNWIND_EXECVE;
	else if (task->flags & PF_EXITING)
		ret->end = UNWIND_EXITING;
	else if (l.end == UNWIND_NOPROC || l.end == UNWIND_NOMAP || l.end == UNWIND_PENDING)
		unwind_copy_state(&l.w, leader, task, copy);
}

#endif
