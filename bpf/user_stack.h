/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * user_stack.h - a thread's user stack, as the last part of a record: written by
 * user_stack.bpf.h, read by daemon/collect/stack_encode.c.
 */
#ifndef USER_STACK_H
#define USER_STACK_H

#include "python.h"
#include "unwind.h"

#define USER_STACK_PYTHON_CUT  0x80 /* there are more Python frames than these */
#define USER_STACK_N_PYTHON(u) ((u)->python & ~USER_STACK_PYTHON_CUT)

/*
 * `ips`, innermost first: the first is where the thread is, the others are return
 * addresses. Behind them are the words of Python frames (python.h). Only as many as
 * there are get transferred, unless the daemon has to finish the walk: then all of
 * it is, up to the end of what was copied of the stack.
 */
struct user_stack {
	__u32 n_user;
	__u8 end; /* enum unwind_end */
	__u8 has_copy;
	__u8 python; /* how many words; USER_STACK_PYTHON_CUT */
	__u8 pad;
	__u64 ips[UNWIND_MAX_FRAMES + PYTHON_WORDS_ROOM];
	struct unwind_copy copy;
	__u8 stack[UNWIND_COPY_BYTES];
};

#define USER_STACK_HEAD 8
#define USER_STACK_COPY_HEAD \
	(USER_STACK_HEAD + 8 * (UNWIND_MAX_FRAMES + PYTHON_WORDS_ROOM) + sizeof(struct unwind_copy))
_Static_assert(sizeof(struct user_stack) == USER_STACK_COPY_HEAD + UNWIND_COPY_BYTES, "no padding");

#endif
