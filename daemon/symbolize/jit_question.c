/* SPDX-License-Identifier: Apache-2.0 */
/* jit_question.c - what comes back from the worker that reads files of generated code. */
#include "jit_question.h"

#include <errno.h>
#include <string.h>

int jit_answer_check(const void *data, size_t len, struct jit_answer *ret,
		     struct jit_table *ret_table)
{
	struct jit_answer a;

	if (len < sizeof(a))
		return -EBADMSG;
	memcpy(&a, data, sizeof(a));
	if (a.flags > (JIT_ANSWER_COMPLETE | JIT_ANSWER_TOO_LARGE | JIT_ANSWER_TABLE) ||
	    a.refusal > JITDUMP_BROKEN || a.table_len != len - sizeof(a) ||
	    !(a.flags & JIT_ANSWER_TABLE) != (a.table_len == 0))
		return -EBADMSG;
	*ret = a;
	if (a.table_len == 0)
		return 0;
	return jit_table_check((const char *)data + sizeof(a), len - sizeof(a), ret_table);
}
