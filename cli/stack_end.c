/* SPDX-License-Identifier: Apache-2.0 */
/* stack_end.c - the reasons why stacks end, by name. */
#include "stack_end.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum stack_end end;
	const char *text;
} reasons[] = {
	{ "COMPLETE", STACK_WHOLE, "whole" },
	{ "APPROX", STACK_WHOLE,
	  "whole, in part by frame pointers where nothing better was known" },
	{ "DEPTH", STACK_ENDS, "deeper than a walk goes" },
	{ "NOPROC", STACK_ENDS, "the process was not known yet" },
	{ "NOMAP", STACK_ENDS, "no mapping was known at the address" },
	{ "PENDING", STACK_ENDS, "the file's unwind table was being made" },
	{ "NO_CFI", STACK_ENDS, "code without unwind information and frame pointer" },
	{ "BAD_CFA_EXPR", STACK_ENDS, "an unwind rule beyond what tables can hold" },
	{ "BAD_CFA_REG", STACK_ENDS, "a rule by a register whose value was not known" },
	{ "BAD_RA", STACK_ENDS, "a return address at another place than can be followed" },
	{ "READ_STACK", STACK_ENDS, "stack memory that could not be read" },
	{ "READ_FP", STACK_ENDS, "a frame pointer that could not be followed" },
	{ "JIT_NOFP", STACK_ENDS, "generated code that keeps no frame pointer" },
	{ "SP_BACKWARD", STACK_ENDS, "the next frame would lie below: a wrong rule" },
	{ "BAD_PC", STACK_ENDS, "a return address that is none" },
	{ "TABLE_FULL", STACK_ENDS, "no room for the file's unwind table" },
	{ "NO_STATE", STACK_ENDS, "no room for the walk itself" },
	{ "COPY_SHORT", STACK_ENDS, "the copied piece of stack was too short" },
	{ "FP_ONLY", STACK_ENDS, "walked by frame pointers alone, which may be whole" },
	{ "EXITING", STACK_NONE, "no user stack any more: the process was ending" },
	{ "EXECVE", STACK_NONE, "no user stack: it was being replaced by execve" },
	{ "KTHREAD", STACK_NONE, "no user stack: a thread of the kernel" },
	{ "COMPAT32", STACK_NONE, "a 32-bit program, whose stack is not walked" },
	{ "ASLEEP", STACK_NONE, "no user stack: it had gone to sleep before the recording began" },
};

#define N_REASONS (sizeof(reasons) / sizeof(reasons[0]))

const char *stack_end_text(const char *reason)
{
	for (size_t i = 0; i < N_REASONS; i++)
		if (strcmp(reasons[i].name, reason) == 0)
			return reasons[i].text;
	return "";
}

enum stack_end stack_end_of(const char *reason)
{
	if (!reason[0])
		return STACK_WHOLE;
	for (size_t i = 0; i < N_REASONS; i++)
		if (strcmp(reasons[i].name, reason) == 0)
			return reasons[i].end;
	return STACK_ENDS;
}
