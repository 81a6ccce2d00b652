/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_end.h - the reasons why stacks end, as the recorder names them: with each
 * sample whose user stack is not known to be whole, and in the summary of a
 * recording. The names are those of enum unwind_end in bpf/unwind.h.
 */
#ifndef STACK_END_H
#define STACK_END_H

enum stack_end {
	STACK_WHOLE,
	STACK_ENDS, /* there is more of it, but it could not be followed */
	STACK_NONE, /* there was no user stack to follow */
};

/* "" is whole; so is "APPROX". What has another name ends. */
enum stack_end stack_end_of(const char *reason);
/* What it means, for people; "" for one that is not known. */
const char *stack_end_text(const char *reason);

#endif
