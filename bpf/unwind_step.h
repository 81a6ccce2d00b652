/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * unwind_step.h - one step from a frame to its caller.
 *
 * Compiled twice: in BPF, where memory is the running thread's
 * (unwind.bpf.h), and in the daemon, where it is a copied piece of a stack
 * (daemon/unwind/stack_walk.c). Each defines `struct unwind_env` before and the
 * four functions that are only declared here after.
 */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include "unwind.h"

#if defined(__bpf__) ? defined(__TARGET_ARCH_arm64) : defined(__aarch64__)
#define UNWIND_ARM64 1
#else
#define UNWIND_ARM64 0
#endif

#if UNWIND_ARM64
#define UNWIND_REG_BX	255 /* there is none */
#define UNWIND_REG_FP	29
#define UNWIND_REG_SP	31
#define UNWIND_REG_RA	30
#define UNWIND_N_REGS	32
#define UNWIND_USER_END (1ull << 48)
/* struct rt_sigframe: siginfo, then ucontext up to uc_mcontext.regs; sp and pc follow x30. */
#define UNWIND_SIGNAL_REGS 312
#define UNWIND_SIGNAL_FP   (UNWIND_SIGNAL_REGS + 29 * 8)
#define UNWIND_SIGNAL_SP   (UNWIND_SIGNAL_REGS + 31 * 8)
#else
#define UNWIND_REG_BX	   3
#define UNWIND_REG_FP	   6
#define UNWIND_REG_SP	   7
#define UNWIND_N_REGS	   16
#define UNWIND_USER_END	   (1ull << 56) /* five levels of page tables */
/* ucontext.uc_mcontext.gregs: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
#define UNWIND_SIGNAL_REGS 40
#define UNWIND_SIGNAL_FP   (UNWIND_SIGNAL_REGS + 10 * 8)
#define UNWIND_SIGNAL_SP   (UNWIND_SIGNAL_REGS + 15 * 8)
#endif

/* A frame pointer further up than this is something else in that register. */
#define UNWIND_MAX_FP_DISTANCE (16u << 20)
#define UNWIND_MIN_PC	       4096

struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 bx_at;   /* where this frame's rbx was saved; 0: it is still in the register */
	__u64 regs_at; /* registers saved by a signal, in user memory; 0: the thread's own */

	__u64 start, end, delta; /* the mapping of the last frame */
	__u32 first, n_pages;	 /* its table's pages; unwind_step() looks no further */
	__u8 is_jit;
	__u8 has_table;

	__u8 is_exact;	/* pc is where it runs, not where it will return to */
	__u8 is_approx; /* a frame was found by less than a rule */
	__u32 n;	/* frames so far */
	struct unwind_env env;
};

#define UNWIND_GO_ON (-1)

/*
 * In BPF the larger parts are global functions: each is verified once, whatever
 * the walk holds, and not again with every way that leads to it. So a walk holds
 * no pointers, and a part has to ask whether there is one at all.
 */
#ifdef __bpf__
#define UNWIND_PART __attribute__((noinline))
#define UNWIND_REQUIRE(w)                       \
	do {                                    \
		if (!(w))                       \
			return UNWIND_NO_STATE; \
	} while (0)
#else
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define UNWIND_PART	  static
#define UNWIND_REQUIRE(w) (void)(w)
#endif

/* Each 0, or an enum unwind_end. */
static __always_inline int unwind_read(struct unwind_walk *w, void *dst, __u32 size, __u64 addr);
/* The register `reg` of the frame that runs: exact frames only. Not the stack pointer. */
static __always_inline int unwind_register(struct unwind_walk *w, __u32 reg, __u64 *ret);
/* Fills in the mapping of `pc`. */
UNWIND_PART int unwind_locate(struct unwind_walk *w, __u64 pc);
/* It goes on by frame pointer, from the frame at `fp`. */
static __always_inline void unwind_on_fp(struct unwind_walk *w, __u64 fp);
/* The rule at an offset in the table; NULL: none. */
static __always_inline const struct unwind_rule *unwind_rule_at(struct unwind_walk *w,
								__u64 offset);

/* By DWARF number, the index in what a signal has saved. */
static __always_inline __u32 unwind_signal_index(__u32 reg)
{
#if UNWIND_ARM64
	return reg;
#else
	if (reg >= 8)
		return reg - 8;
	/* rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp: a nibble each. */
	return (0xfa89becdu >> (reg * 4)) & 15;
#endif
}

/* The caller is at `ra`, its stack begins at `sp`. */
static __always_inline int unwind_return(struct unwind_walk *w, __u64 ra, __u64 sp)
{
#if UNWIND_ARM64
	ra &= UNWIND_USER_END - 1; /* without its authentication code */
#endif
	/* The ABI's mark of the outermost frame. */
	if (ra == 0 && w->fp == 0)
		return w->is_approx ? UNWIND_APPROX : UNWIND_COMPLETE;
	if (ra < UNWIND_MIN_PC || ra >= UNWIND_USER_END)
		return UNWIND_BAD_PC;
	w->pc = ra;
	w->sp = sp;
	w->is_exact = 0;
	return UNWIND_GO_ON;
}

#if !UNWIND_ARM64
/*
 * V8's code looks whether it still holds before it makes its frame, and how many
 * arguments there were after it has unmade it.
 */
static __always_inline bool unwind_is_v8_edge(const __u64 code[3])
{
	const __u64 entry = 0x5756e5894855; /* push %rbp; mov %rsp,%rbp; push %rsi; push %rdi */
	const __u64 mask = 0xffffffffffff;

	return ((code[0] >> 48 | code[1] << 16) & mask) == entry || /* jnz; entry */
	       (code[1] >> 16 & mask) == entry ||		    /* testb; jnz; entry */
	       ((code[1] >> 48 | code[2] << 16) & mask) == entry || /* mov; testb; jnz; entry */
	       (code[0] & 0xffffff) == 0xc2037f ||		    /* jg; ret $n */
	       (code[0] & 0xffffff00ffffff) == 0xc2037f00f98348;    /* cmp $n,%rcx; jg; ret $n */
}

/*
 * Generated code has no rules, and in its first and last instructions the frame
 * pointer is the caller's. 1: done, `*ret` is the result.
 */
static __always_inline int unwind_prologue(struct unwind_walk *w, int *ret)
{
	__u64 code[3] = { 0 };
	__u32 op, at;
	__u64 ra;

	if (unwind_read(w, code, 4, w->pc))
		return 0;
	op = code[0];
	if ((op & 0xff) == 0x55 || (op & 0xff) == 0xc3 || (op & 0xff) == 0xc2) /* push %rbp; ret */
		at = 0;
	else if ((op & 0xffffff) == 0xe58948 || (op & 0xffff) == 0xc35d)
		at = 8; /* mov %rsp,%rbp; pop %rbp and ret */
	else if (!unwind_read(w, code, sizeof(code), w->pc) && unwind_is_v8_edge(code))
		at = 0;
	else
		return 0;
	if (at && unwind_read(w, &w->fp, sizeof(w->fp), w->sp))
		return 0;
	if (unwind_read(w, &ra, sizeof(ra), w->sp + at))
		return 0;
	w->is_approx = 1;
	*ret = unwind_return(w, ra, w->sp + at + 8);
	return 1;
}

/* Is there a call that ends where this address points? */
static __always_inline bool unwind_is_call(__u64 before)
{
	/* The eight bytes in front, the last one highest: e8 rel32, or ff /2 of any length. */
	for (int at = 1; at <= 6; at++) {
		__u32 op = before >> (8 * at), ends = 8 - at;

		if (at == 3 && (op & 0xff) == 0xe8)
			return true;
		if ((op & 0x38ff) == 0x10ff && (ends != 5))
			return true;
	}
	return false;
}

/*
 * A function without rules that runs: if it has pushed nothing, its return
 * address is at sp, and in front of where that points there is a call. Such are
 * system calls in clone(), start-up code, hand-written loops.
 */
static __always_inline int unwind_leaf(struct unwind_walk *w, int *ret)
{
	__u64 ra, before;

	if (unwind_read(w, &ra, sizeof(ra), w->sp) || ra < UNWIND_MIN_PC || ra >= UNWIND_USER_END ||
	    unwind_read(w, &before, sizeof(before), ra - 8) || !unwind_is_call(before))
		return 0;
	w->is_approx = 1;
	*ret = unwind_return(w, ra, w->sp + 8);
	return 1;
}

/*
 * CPython's trampolines (-X perf) keep no frame pointer: sub $8,%rsp; call; add
 * $8,%rsp; ret. The return address points at the last two.
 */
static __always_inline int unwind_is_trampoline(struct unwind_walk *w)
{
	__u64 code = 0;

	return !w->is_exact && !unwind_read(w, &code, 8, w->pc) &&
	       (code & 0xffffffffffull) == 0xc308c48348ull;
}
#endif

/* By frame pointer, where nothing better is known. */
UNWIND_PART int unwind_by_fp(struct unwind_walk *w)
{
	__u64 saved[2], fp;
	int no_fp, r;

	UNWIND_REQUIRE(w);
	fp = w->fp;
	no_fp = w->is_jit ? UNWIND_JIT_NOFP : UNWIND_NO_CFI;
#if !UNWIND_ARM64
	if (w->is_exact && unwind_prologue(w, &r))
		return r;
	if (w->is_exact && !w->is_jit && unwind_leaf(w, &r))
		return r;
	if (w->is_jit && unwind_is_trampoline(w)) {
		if (unwind_read(w, &saved[1], 8, w->sp + 8))
			return UNWIND_READ_STACK;
		return unwind_return(w, saved[1], w->sp + 16);
	}
#endif
	if (!w->is_jit) {
		w->is_approx = 1;
		if (fp == 0) /* as the ABI wants it in the outermost frame */
			return UNWIND_APPROX;
	}
	if (fp < w->sp || (fp & 7) || fp - w->sp > UNWIND_MAX_FP_DISTANCE)
		return no_fp;
	if (unwind_read(w, saved, sizeof(saved), fp))
		return UNWIND_READ_FP;
	/* Whatever is in the register, what it points at must be a return address. */
	if (saved[1] < UNWIND_MIN_PC || saved[1] >= UNWIND_USER_END)
		return no_fp;
	r = unwind_locate(w, saved[1] - 1);
	if (r && r != UNWIND_PENDING)
		return no_fp;
	unwind_on_fp(w, fp);
	w->fp = saved[0];
	return unwind_return(w, saved[1], fp + 16);
}

/* The kernel's frame: all registers are as they were when the signal came. */
UNWIND_PART int unwind_signal(struct unwind_walk *w)
{
	__u64 saved[2], regs;

	UNWIND_REQUIRE(w);
	regs = w->sp + UNWIND_SIGNAL_REGS;
	if (unwind_read(w, &w->fp, sizeof(w->fp), w->sp + UNWIND_SIGNAL_FP) ||
	    unwind_read(w, saved, sizeof(saved), w->sp + UNWIND_SIGNAL_SP))
		return UNWIND_READ_STACK;
	if (saved[1] < UNWIND_MIN_PC || saved[1] >= UNWIND_USER_END)
		return UNWIND_BAD_PC;
	w->sp = saved[0];
	w->pc = saved[1];
	w->regs_at = regs;
	w->bx_at = 0;
	w->is_exact = 1;
	return UNWIND_GO_ON;
}

/* rbx lives long: it is where it was saved last, or still in its register. */
static __always_inline int unwind_bx(struct unwind_walk *w, __u64 *ret)
{
	if (w->bx_at)
		return unwind_read(w, ret, sizeof(*ret), w->bx_at);
	return unwind_register(w, UNWIND_REG_BX, ret);
}

static __always_inline int unwind_cfa_register(struct unwind_walk *w, __u32 reg, __u64 *ret)
{
	if (reg == UNWIND_REG_BX)
		return unwind_bx(w, ret);
	if (!w->is_exact || reg >= UNWIND_N_REGS || reg == UNWIND_REG_SP)
		return UNWIND_BAD_CFA_REG;
	return unwind_register(w, reg, ret);
}

static __always_inline int unwind_cfa(struct unwind_walk *w, const struct unwind_rule *rule,
				      __u64 *ret)
{
	__u64 base;
	__s64 off = rule->cfa_off;

	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		*ret = w->sp + off;
		return 0;
	case UNWIND_CFA_FP:
		*ret = w->fp + off;
		return 0;
	case UNWIND_CFA_REG:
		if (unwind_cfa_register(w, rule->cfa_reg, &base))
			return UNWIND_BAD_CFA_REG;
		*ret = base + off;
		return 0;
	case UNWIND_CFA_DEREF_SP:
	case UNWIND_CFA_DEREF_FP:
		base = rule->cfa == UNWIND_CFA_DEREF_SP ? w->sp : w->fp;
		if (unwind_read(w, &base, sizeof(base), base + off))
			return UNWIND_READ_STACK;
		*ret = base + rule->cfa_add;
		return 0;
	case UNWIND_CFA_PLT:
		*ret = w->sp + 8 + ((w->pc & 15) >= (__u64)off ? 8 : 0);
		return 0;
	case UNWIND_CFA_BAD_EXPR:
		return UNWIND_BAD_CFA_EXPR;
	default:
		return UNWIND_BAD_RA;
	}
}

/* The return address, and rbp beside it: in most frames one read gives both. */
static __always_inline int unwind_saved(struct unwind_walk *w, const struct unwind_rule *rule,
					__u64 cfa, __u64 *ret_ra)
{
	__u64 pair[2], fp = w->fp;
	int r;

	if (rule->ra == UNWIND_REG_CFA_OFF && rule->fp == UNWIND_REG_CFA_OFF &&
	    rule->fp_off + 8 == rule->ra_off) {
		if (unwind_read(w, pair, sizeof(pair), cfa + rule->fp_off))
			return UNWIND_READ_STACK;
		w->fp = pair[0];
		*ret_ra = pair[1];
		return 0;
	}
	if (rule->ra == UNWIND_REG_CFA_OFF || rule->ra == UNWIND_REG_DEREF_FP) {
		__u64 base = rule->ra == UNWIND_REG_CFA_OFF ? cfa : fp;

		if (rule->ra == UNWIND_REG_DEREF_FP)
			unwind_on_fp(w, fp);
		if (unwind_read(w, ret_ra, sizeof(*ret_ra), base + rule->ra_off))
			return UNWIND_READ_STACK;
	} else {
		__u32 reg = (__u16)rule->ra_off;

#if UNWIND_ARM64
		if (rule->ra == UNWIND_REG_SAME)
			reg = UNWIND_REG_RA;
#endif
		if (!w->is_exact || reg >= UNWIND_N_REGS || reg == UNWIND_REG_SP)
			return UNWIND_BAD_RA;
		r = unwind_register(w, reg, ret_ra);
		if (r)
			return UNWIND_BAD_RA;
	}
	if (rule->fp == UNWIND_REG_CFA_OFF || rule->fp == UNWIND_REG_DEREF_FP) {
		__u64 base = rule->fp == UNWIND_REG_CFA_OFF ? cfa : fp;

		if (unwind_read(w, &w->fp, sizeof(w->fp), base + rule->fp_off))
			return UNWIND_READ_FP;
	} else if (rule->fp != UNWIND_REG_SAME) {
		w->fp = 0; /* nothing can be read through it */
	}
	return 0;
}

UNWIND_PART int unwind_by_rule(struct unwind_walk *w, const struct unwind_rule *rule)
{
	__u64 cfa = 0, ra = 0;
	int r;

	UNWIND_REQUIRE(w);
	UNWIND_REQUIRE(rule);
	r = unwind_cfa(w, rule, &cfa);
	if (r)
		return r;
	/* Only a frame that has pushed nothing yet may end where it begins. */
	if (cfa < w->sp || (cfa == w->sp && !w->is_exact))
		return UNWIND_SP_BACKWARD;
	r = unwind_saved(w, rule, cfa, &ra);
	if (r)
		return r;
	if (rule->bx_off) /* what is gone can't be read either */
		w->bx_at = rule->bx_off == UNWIND_BX_GONE ? UNWIND_BX_GONE : cfa + rule->bx_off;
	return unwind_return(w, ra, cfa);
}

/* What users of the stack look up: one less is inside the frame's function. */
static __always_inline __u64 unwind_frame_ip(const struct unwind_walk *w)
{
	return w->is_exact && w->n > 0 ? w->pc + 1 : w->pc;
}

/* From the frame at pc, sp, fp to its caller: UNWIND_GO_ON, or why not. */
UNWIND_PART int unwind_step(struct unwind_walk *w)
{
	const struct unwind_rule *rule;
	__u64 pc;
	int r;

	UNWIND_REQUIRE(w);
	pc = w->is_exact ? w->pc : w->pc - 1;
	if (pc < w->start || pc >= w->end) {
		r = unwind_locate(w, pc);
		if (r)
			return r;
	}
	if (!w->has_table)
		return unwind_by_fp(w);
	rule = unwind_rule_at(w, pc + w->delta);
	if (!rule || rule->cfa == UNWIND_CFA_NONE)
		return w->is_jit ? UNWIND_PENDING : unwind_by_fp(w);
	if (rule->cfa == UNWIND_CFA_END)
		return w->is_approx ? UNWIND_APPROX : UNWIND_COMPLETE;
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return unwind_signal(w);
	return unwind_by_rule(w, rule);
}

/*
 * A return address that no call has left there was put there by hand: a signal's
 * trampoline (which has its rule), or the first frame of a coroutine.
 */
UNWIND_PART int unwind_is_by_hand(struct unwind_walk *w, __u64 ra)
{
#if UNWIND_ARM64
	(void)w;
	(void)ra;
	return 0;
#else
	__u64 before;

	if (!w)
		return 0;
	return unwind_read(w, &before, sizeof(before), ra - 8) == 0 && !unwind_is_call(before);
#endif
}

/*
 * Adds the frame that the walk is at, and goes on to its caller. `*called` is
 * where the frame before was at, as a return address; 0: there is none.
 */
static __always_inline int unwind_frame(struct unwind_walk *w, __u64 *ip, __u64 *called)
{
	__u64 ra = w->is_exact ? 0 : w->pc, was_called = *called;
	int end;

	*ip = unwind_frame_ip(w);
	end = unwind_step(w);
	*called = ra;
	w->n++;
	if (end == UNWIND_GO_ON) {
		if (w->is_exact && ra) /* a trampoline: nothing is before its first instruction */
			*ip = ra + 1;
		return end;
	}
	if (end <= UNWIND_APPROX || end == UNWIND_PENDING)
		return end;
	/* No mapping: it is the frame before that has no caller, and this one is none. */
	if (end == UNWIND_NOMAP && was_called && unwind_is_by_hand(w, was_called)) {
		w->n--;
		return UNWIND_APPROX;
	}
	if (end != UNWIND_NOMAP && ra && unwind_is_by_hand(w, ra))
		return UNWIND_APPROX;
	return end;
}

#endif
