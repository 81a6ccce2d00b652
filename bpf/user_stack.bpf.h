/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user_stack.bpf.h - walks the user stack of the running thread into a record.
 *
 * For programs that run in a thread's own context.
 */
#ifndef USER_STACK_BPF_H
#define USER_STACK_BPF_H

#include "common.bpf.h"
#include "interp.bpf.h"
#include "unwind.bpf.h"
#include "user_stack.h"

/* Fixed at load: this kernel can walk them. */
const volatile bool python_frames = true;

/* Behind the others. */
static __always_inline void user_stack_python(struct user_stack *u)
{
	__u32 end = PYTHON_NONE, at = u->n_user, n = 0;
	__u64 ids = bpf_get_current_pid_tgid();

	asm volatile("" : "+r"(at));
	if (python_frames && at <= UNWIND_MAX_FRAMES)
		n = interp_words(ids >> 32, (__u32)ids, u->ips + at, &end);
	u->python = n | (n && end != PYTHON_COMPLETE ? USER_STACK_PYTHON_CUT : 0);
}

/* Returns how many bytes of `u` are to be transferred. */
static __always_inline __u32 user_stack_walk(void *ctx, struct user_stack *u)
{
	struct unwind_result r = {};
	long n;

	u->has_copy = u->pad = 0;
	if (unwind_by_tables) {
		unwind_user(u->ips, &u->copy, &r);
		u->has_copy = u->copy.sp && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <
						    bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4;
	} else {
		n = bpf_get_stack(ctx, u->ips, 127 * sizeof(__u64), BPF_F_USER_STACK);
		r.n = n > 0 ? (__u32)n / sizeof(__u64) : 0;
		r.end = UNWIND_FP_ONLY;
	}
	u->n_user = r.n;
	u->end = r.end;
	user_stack_python(u);
	if (u->has_copy) {
		unwind_copy_stack(&u->copy, u->stack, UNWIND_COPY_BYTES);
		return USER_STACK_COPY_HEAD + u->copy.len;
	}
	return USER_STACK_HEAD + (u->n_user + USER_STACK_N_PYTHON(u)) * sizeof(__u64);
}

#endif
