/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_encode.h - stacks on their way into a trace, for every source of samples.
 *
 * A sample's addresses become locations as soon as it arrives, while the process
 * table still knows the mappings. Two things may come later: a table that its
 * walk needs (unwinder.h), and names from the symbolizer's worker. Until then
 * samples wait, in order, within bounds of time, number and memory; then they go
 * out as they are: ended for want of a table, with "[module+0x...]" frames.
 *
 * Most samples of a busy thread have a stack that was written before: those are
 * known by a hash of their addresses, and cost neither of the two.
 */
#ifndef STACK_ENCODE_H
#define STACK_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector.h"
#include "trace_writer.h"
#include "unwind.h"
#include "user_stack.h"

struct stack_encoder;

/* Writes `what` with its stack, on the sequence; `what` is freed by the caller. */
typedef int stack_done_fn(void *done_ctx, void *what, uint64_t callstack_iid);

/* What the samples of one sequence are, as the trace says it once. Strings are not kept. */
struct stack_source {
	enum trace_sequence seq; /* its own: sources never mix */
	const char *source;	 /* "linux.perf" */
	const char *counter;	 /* "cpu-clock 999 Hz" */
	int unit;		 /* StackSample.Unit, or 0 and: */
	const char *unit_str;
	/* For stacks of something else than samples, which goes out when they do; or NULL. */
	stack_done_fn *done;
	void *done_ctx;
};

/* Nothing is kept of what it points to. */
struct stack_sample {
	uint64_t time_ns;
	uint64_t since_ns; /* it has been waiting only from then on; 0: from time_ns */
	uint32_t tgid, tid;
	uint16_t cpu;
	bool in_kernel;
	uint64_t weight;
	/* Each innermost first. The first is where it runs, the others are return addresses. */
	const uint64_t *kernel, *user;
	uint32_t n_kernel, n_user;
	const uint64_t *words; /* of Python frames (python.h), innermost first */
	uint32_t n_words;
	bool words_whole;
	enum unwind_end end;
	const struct unwind_copy *copy; /* NULL: the walk is over */
	const uint8_t *stack;		/* copy->len bytes */
	bool is_extra;			/* no event of the ledger: goes with another one */
	void *what;			/* for the source's done(); of malloc(), taken over */
};

/* Is it one, of as many bytes? At least USER_STACK_HEAD are there. */
bool user_stack_valid(const struct user_stack *u, size_t len);
/* Sets all that is of the user's stack. */
void stack_sample_user(struct stack_sample *s, const struct user_stack *u);

int stack_encoder_new(const struct encoder_env *env, const struct stack_source *source,
		      struct stack_encoder **ret);
void stack_encoder_free(struct stack_encoder *e); /* takes NULL */

/* One event of the current source, unless it is an extra one; written now or later. */
int stack_encoder_add(struct stack_encoder *e, const struct stack_sample *sample);
/* As the collector's. */
int stack_encoder_flush(struct stack_encoder *e, uint64_t now_ns, bool final);
bool stack_encoder_pending(const struct stack_encoder *e);

/* Samples written so far, by how their walk ended. */
const uint64_t *stack_encoder_ends(const struct stack_encoder *e); /* [UNWIND_ENDS] */

#endif
