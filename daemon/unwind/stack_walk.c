/* SPDX-License-Identifier: Apache-2.0 */
/* stack_walk.c - the walk up a copied piece of a stack. */
#include "stack_walk.h"

#include <string.h>

#include "unwind_maps.h"

struct unwind_env {
	const struct stack_walk_env *env;
	const struct unwind_copy *copy;
	const uint8_t *stack;
	bool is_short; /* something was looked for behind the end of the copy */
};

#include "unwind_step.h"

/* Is the byte on a page that could not be read? */
static bool is_missing(const struct unwind_copy *copy, uint64_t at)
{
	return copy->missing >> (((copy->from & 4095) + at) >> 12) & 1;
}

static __always_inline int unwind_read(struct unwind_walk *w, void *dst, __u32 size, __u64 addr)
{
	const struct unwind_copy *copy = w->env.copy;
	uint64_t at = addr - copy->from;

	if (at < copy->len && size <= copy->len - at) {
		if (is_missing(copy, at) || is_missing(copy, at + size - 1))
			return UNWIND_READ_STACK;
		memcpy(dst, w->env.stack + at, size);
		return 0;
	}
	/* Code and heap are elsewhere, and were not to be had from the beginning. */
	if (addr >= copy->from && at < (8u << 20))
		w->env.is_short = true;
	return UNWIND_READ_STACK;
}

static __always_inline int unwind_register(struct unwind_walk *w, __u32 reg, __u64 *ret)
{
	const struct unwind_copy *copy = w->env.copy;

	if (w->regs_at)
		return unwind_read(w, ret, sizeof(*ret), w->regs_at + unwind_signal_index(reg) * 8);
	/* Those of a caller are gone, but for rbx, which lives until it is saved. */
	if (reg == UNWIND_REG_BX && copy->has_bx) {
		*ret = copy->bx;
		return 0;
	}
	if (!copy->is_exact || reg >= UNWIND_REGS)
		return UNWIND_BAD_CFA_REG;
	*ret = copy->regs[reg];
	return 0;
}

/* What such frames keep lies beside the stack, where it was not copied. */
static __always_inline void unwind_on_fp(struct unwind_walk *w, __u64 fp)
{
	(void)w;
	(void)fp;
}

static int unwind_locate(struct unwind_walk *w, __u64 pc)
{
	const struct stack_walk_env *env = w->env.env;
	struct stack_place place = { 0 };
	int end = env->locate(env->ctx, pc, &place);

	if (end)
		return end;
	w->start = place.start;
	w->end = place.end;
	w->delta = place.delta;
	w->first = place.first;
	w->n_pages = place.n_pages;
	w->has_table = place.has_table;
	w->is_jit = place.is_jit;
	return 0;
}

static __always_inline const struct unwind_rule *unwind_rule_at(struct unwind_walk *w, __u64 offset)
{
	return unwind_maps_rule(w->env.env->maps, w->first, w->n_pages, offset);
}

enum unwind_end stack_walk(const struct stack_walk_env *env, const struct unwind_copy *copy,
			   const uint8_t *stack, uint64_t ips[UNWIND_MAX_FRAMES], uint32_t *n)
{
	struct unwind_walk w = {
		.pc = copy->pc,
		.sp = copy->sp,
		.fp = copy->fp,
		.is_exact = copy->is_exact,
		.is_approx = copy->is_approx,
		.n = *n,
		.env = { .env = env, .copy = copy, .stack = stack },
	};
	__u64 ip, called = 0;
	uint32_t at;
	int end;

	w.n--; /* the first one is there already, and comes again */
	do {
		if (w.n == UNWIND_MAX_FRAMES) {
			end = UNWIND_DEPTH;
			break;
		}
		at = w.n;
		end = unwind_frame(&w, &ip, &called);
		ips[at] = ip;
	} while (end == UNWIND_GO_ON);
	*n = w.n;
	if ((end == UNWIND_READ_STACK || end == UNWIND_READ_FP) && w.env.is_short)
		end = UNWIND_COPY_SHORT;
	return (enum unwind_end)end;
}

static const struct {
	const char *name;
	bool has_no_stack;
} ends[UNWIND_ENDS] = {
	[UNWIND_COMPLETE] = { "COMPLETE", false },
	[UNWIND_APPROX] = { "APPROX", false },
	[UNWIND_DEPTH] = { "DEPTH", false },
	[UNWIND_NOPROC] = { "NOPROC", false },
	[UNWIND_NOMAP] = { "NOMAP", false },
	[UNWIND_PENDING] = { "PENDING", false },
	[UNWIND_NO_CFI] = { "NO_CFI", false },
	[UNWIND_BAD_CFA_EXPR] = { "BAD_CFA_EXPR", false },
	[UNWIND_BAD_CFA_REG] = { "BAD_CFA_REG", false },
	[UNWIND_BAD_RA] = { "BAD_RA", false },
	[UNWIND_READ_STACK] = { "READ_STACK", false },
	[UNWIND_READ_FP] = { "READ_FP", false },
	[UNWIND_JIT_NOFP] = { "JIT_NOFP", false },
	[UNWIND_SP_BACKWARD] = { "SP_BACKWARD", false },
	[UNWIND_BAD_PC] = { "BAD_PC", false },
	[UNWIND_TABLE_FULL] = { "TABLE_FULL", false },
	[UNWIND_NO_STATE] = { "NO_STATE", false },
	[UNWIND_COPY_SHORT] = { "COPY_SHORT", false },
	[UNWIND_FP_ONLY] = { "FP_ONLY", false },
	[UNWIND_EXITING] = { "EXITING", true },
	[UNWIND_EXECVE] = { "EXECVE", true },
	[UNWIND_KTHREAD] = { "KTHREAD", true },
	[UNWIND_COMPAT32] = { "COMPAT32", true },
	[UNWIND_ASLEEP] = { "ASLEEP", true },
};

const char *unwind_end_name(enum unwind_end end)
{
	return end < UNWIND_ENDS ? ends[end].name : "?";
}

bool unwind_end_is_whole(enum unwind_end end)
{
	return end == UNWIND_COMPLETE || end == UNWIND_APPROX;
}

bool unwind_end_has_stack(enum unwind_end end)
{
	return end < UNWIND_ENDS && !ends[end].has_no_stack;
}
