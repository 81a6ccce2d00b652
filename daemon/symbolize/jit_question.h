/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_question.h - what tells of generated code (a perf map, a jitdump file, the
 * memory of a JVM) for the worker that reads it, and what comes back.
 *
 * The worker reads on where it was with this file, and writes to the memfd that
 * comes with the question: a struct jit_answer, and behind it the table of
 * jit_table.h if it is another one than is known already. Then, if there are
 * any, filled up to 8 bytes each: struct jit_frames_head, and the unwind table of
 * that piece of memory, by offset from its start.
 */
#ifndef JIT_QUESTION_H
#define JIT_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "files_client.h"
#include "jit/jit_reader.h"
#include "jit/jit_table.h"
#include "unwind/unwind_table.h"

struct symbolizer;

#define JIT_ANSWER_COMPLETE  1 /* else ask again, with the same times; a table is of a part */
#define JIT_ANSWER_TOO_LARGE 2 /* the rest of the file is left out */
#define JIT_ANSWER_TABLE     4
#define JIT_ANSWER_GONE	     8 /* the process has ended, or has not begun */

#define JIT_MAX_FRAMES	     8
#define JIT_MAX_FRAMES_BYTES (64u << 20)
#define JIT_WHY_MAX	     64

struct jit_answer {
	uint32_t flags, refusal; /* enum jitdump_refusal */
	uint64_t version;	 /* of the table: what is `known` next time */
	uint64_t n_bad, n_over_cap;
	uint64_t table_len;
	uint64_t cpu_ns; /* that this answer has cost */
	uint64_t frames_len;
	uint64_t zero;
	char why[JIT_WHY_MAX]; /* not "": what this JVM lacks; it will never be read */
};

struct jit_frames_head {
	uint64_t start, end; /* of the memory */
	uint64_t len;	     /* of the table */
};

_Static_assert(sizeof(struct jit_answer) == 128, "no holes");
_Static_assert(sizeof(struct jit_frames_head) == 24, "no holes");

/* How to unwind from generated code. */
struct jit_frames {
	uint32_t n;
	struct {
		uint64_t start, end;
		struct unwind_table table;
	} all[JIT_MAX_FRAMES];
};

#define JIT_ANSWER_MAX                                                            \
	(sizeof(struct jit_answer) + sizeof(struct jit_table_head) +              \
	 ((uint64_t)JIT_MAX_SYMBOLS + JIT_MAX_PAST) * sizeof(struct jit_symbol) + \
	 (uint64_t)JIT_MAX_LINES * sizeof(struct jit_line) + JIT_MAX_TEXT_BYTES + \
	 JIT_MAX_FRAMES_BYTES + 8)

/* -EBADMSG: what lies in the first `len` bytes of `data` is no answer. */
int jit_answer_check(const void *data, size_t len, struct jit_answer *ret,
		     struct jit_table *ret_table, struct jit_frames *ret_frames);

struct jit_question;
typedef void jit_done_fn(struct jit_question *q, enum files_result result);

struct jit_question {
	struct files_batch
		batch; /* first; the caller fills file_id, fd, second_fd (a memfd) and generated */
	jit_done_fn *done;
};

/*
 * Asks, and calls `done` when the answer is there, perhaps before it returns.
 * The worker is started at the first call.
 */
void symbolizer_ask_generated(struct symbolizer *sym, struct jit_question *q);
/* Functions of V8's, asked of the same worker. */
struct v8_question;
typedef void v8_done_fn(struct v8_question *q, enum files_result result, struct files_reply *reply);

struct v8_question {
	/* First; the caller fills kind, file_id, fd (/proc/PID/mem), n, and v8 or jvm. */
	struct files_batch batch;
	v8_done_fn *done;
};

/* As symbolizer_ask_generated(); `reply` is NULL but for FILES_RESULT_OK. */
void symbolizer_ask_v8_names(struct symbolizer *sym, struct v8_question *q);
/* What the worker wrote was nonsense. */
void symbolizer_distrust_generated(struct symbolizer *sym);

#endif
