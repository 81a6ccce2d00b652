/* SPDX-License-Identifier: Apache-2.0 */
/* jit_promises.h - addresses of one process whose names are not read yet. */
#ifndef JIT_PROMISES_H
#define JIT_PROMISES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct location;
struct symbolizer;

struct jit_promise {
	TAILQ_ENTRY(jit_promise) link;
	struct location *loc, *fallback; /* both held */
	uint64_t pc, time_ns, made_ns;
	uint64_t reading; /* the owner's */
};

TAILQ_HEAD(jit_promises, jit_promise);

/* Its location is given out until it is settled; NULL: out of memory. */
struct jit_promise *jit_promise_new(struct jit_promises *list, struct symbolizer *sym, uint64_t pc,
				    uint64_t time_ns, struct location *fallback);

/*
 * Makes it the same as `loc`, or, if that is NULL, as its fallback, and frees
 * it. False: the fallback is not ready either, and it goes on; not if it `must`.
 */
bool jit_promise_settle(struct jit_promises *list, struct symbolizer *sym, struct jit_promise *p,
			struct location *loc, bool must);

#endif
