/* SPDX-License-Identifier: Apache-2.0 */
/* user_stack.c - the stack at the end of a record, as part of a sample. */
#include "stack_encode.h"

static size_t len_of(const struct user_stack *u, size_t len)
{
	if (!u->has_copy)
		return USER_STACK_HEAD + (u->n_user + USER_STACK_N_PYTHON(u)) * sizeof(uint64_t);
	if (len < USER_STACK_COPY_HEAD || u->copy.len > UNWIND_COPY_BYTES)
		return 0;
	return USER_STACK_COPY_HEAD + (size_t)u->copy.len;
}

bool user_stack_valid(const struct user_stack *u, size_t len)
{
	return u->n_user > 0 && u->n_user <= UNWIND_MAX_FRAMES && u->end < UNWIND_ENDS &&
	       u->has_copy <= 1 && len_of(u, len) == len;
}

void stack_sample_user(struct stack_sample *s, const struct user_stack *u)
{
	s->user = (const uint64_t *)u->ips;
	s->n_user = u->n_user;
	s->end = u->end;
	s->words = s->user + s->n_user;
	s->n_words = USER_STACK_N_PYTHON(u);
	s->words_whole = !(u->python & USER_STACK_PYTHON_CUT);
	s->copy = u->has_copy ? &u->copy : NULL;
	s->stack = u->has_copy ? u->stack : NULL;
}
