/* SPDX-License-Identifier: Apache-2.0 */
/* jit_promises.c - addresses of one process whose names are not read yet. */
#include "process/jit_promises.h"

#include <stdlib.h>

#include "clock.h"
#include "symbolize/symbolizer.h"

struct jit_promise *jit_promise_new(struct jit_promises *list, struct symbolizer *sym, uint64_t pc,
				    uint64_t time_ns, struct location *fallback)
{
	struct jit_promise *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->loc = symbolizer_promise(sym, pc);
	if (!p->loc) {
		free(p);
		return NULL;
	}
	location_hold(fallback);
	p->fallback = fallback;
	p->pc = pc;
	p->time_ns = time_ns;
	p->made_ns = boot_ns();
	TAILQ_INSERT_TAIL(list, p, link);
	return p;
}

/* What it is without a name, ready in any case. NULL: out of memory. */
static struct location *nameless(struct symbolizer *sym, const struct jit_promise *p)
{
	struct module *anon;

	if (p->fallback->ready)
		return p->fallback;
	anon = symbolizer_pseudo_module(sym, "[anon:exec]");
	return anon ? symbolizer_locate(sym, anon, 0) : NULL;
}

bool jit_promise_settle(struct jit_promises *list, struct symbolizer *sym, struct jit_promise *p,
			struct location *loc, bool must)
{
	if (!loc && !p->fallback->ready && !must)
		return false;
	if (!loc)
		loc = nameless(sym, p);
	if (loc)
		symbolizer_keep_promise(p->loc, loc);
	TAILQ_REMOVE(list, p, link);
	location_release(p->loc);
	location_release(p->fallback);
	free(p);
	return true;
}
