/* SPDX-License-Identifier: Apache-2.0 */
/* jit_question.c - what comes back from the worker that reads about generated code. */
#include "jit_question.h"

#include <errno.h>
#include <string.h>

#define ALL_FLAGS (JIT_ANSWER_COMPLETE | JIT_ANSWER_TOO_LARGE | JIT_ANSWER_TABLE | JIT_ANSWER_GONE)

static bool head_valid(const struct jit_answer *a, size_t len)
{
	size_t room = len - sizeof(*a);

	if (a->flags > ALL_FLAGS || a->refusal > JITDUMP_BROKEN || a->zero ||
	    a->why[JIT_WHY_MAX - 1] != '\0')
		return false;
	if (a->table_len > room || a->frames_len != room - a->table_len)
		return false;
	return !(a->flags & JIT_ANSWER_TABLE) ? room == 0 : a->table_len > 0;
}

static int check_frames(const uint8_t *p, size_t len, struct jit_frames *ret)
{
	struct jit_frames_head head;
	int r;

	for (size_t at = 0; at < len; at += sizeof(head) + head.len) {
		if (ret->n == JIT_MAX_FRAMES || len - at < sizeof(head))
			return -EBADMSG;
		memcpy(&head, p + at, sizeof(head));
		if (head.len > len - at - sizeof(head) || head.start % UNWIND_PAGE_SIZE ||
		    head.start >= head.end || head.end > JIT_MAX_ADDR)
			return -EBADMSG;
		r = unwind_table_decode(p + at + sizeof(head), (size_t)head.len,
					&ret->all[ret->n].table);
		if (r < 0)
			return r;
		ret->all[ret->n].start = head.start;
		ret->all[ret->n++].end = head.end;
		head.len = (head.len + 7) & ~7ull;
		if (head.len > len - at - sizeof(head))
			return -EBADMSG;
	}
	return 0;
}

int jit_answer_check(const void *data, size_t len, struct jit_answer *ret,
		     struct jit_table *ret_table, struct jit_frames *ret_frames)
{
	const uint8_t *table = (const uint8_t *)data + sizeof(*ret);
	struct jit_frames frames = { 0 };
	struct jit_answer a;
	size_t padding = 0;
	int r = 0;

	if (len < sizeof(a))
		return -EBADMSG;
	memcpy(&a, data, sizeof(a));
	if (!head_valid(&a, len))
		return -EBADMSG;
	if (a.frames_len > 0) {
		padding = -a.table_len & 7;
		if (a.frames_len < padding)
			return -EBADMSG;
		r = check_frames(table + a.table_len + padding, (size_t)a.frames_len - padding,
				 &frames);
	}
	if (r == 0 && a.table_len > 0)
		r = jit_table_check(table, (size_t)a.table_len, ret_table);
	if (r == 0) {
		*ret = a;
		*ret_frames = frames;
	}
	return r;
}
