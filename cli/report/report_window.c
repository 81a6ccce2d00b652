/* SPDX-License-Identifier: Apache-2.0 */
/* report_window.c - what of a recording is meant. */
#include "report_window.h"

#include <fnmatch.h>

void report_window_of(const struct report *r, struct report_window *ret)
{
	const struct trace_facts *facts = trace_index_facts(r->ix);
	const struct report_options *o = r->o;

	ret->from_ns = facts->start_ns + (o->has_from ? o->from_ns : 0);
	ret->to_ns = facts->end_ns;
	if (o->has_to && facts->start_ns + o->to_ns < ret->to_ns)
		ret->to_ns = facts->start_ns + o->to_ns;
	if (ret->from_ns > ret->to_ns)
		ret->from_ns = ret->to_ns;
}

bool report_window_has(const struct report_window *w, uint64_t begin_ns, uint64_t end_ns)
{
	return end_ns >= w->from_ns && begin_ns <= w->to_ns;
}

uint64_t report_window_part(const struct report_window *w, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < w->from_ns)
		begin_ns = w->from_ns;
	if (end_ns > w->to_ns)
		end_ns = w->to_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

bool report_window_is_meant(const struct report *r, int32_t pid, uint32_t name)
{
	const struct report_options *o = r->o;
	bool found = o->n_pids == 0;

	for (size_t i = 0; i < o->n_pids && !found; i++)
		found = o->pids[i] == pid;
	if (!found)
		return false;
	found = o->n_comms == 0;
	for (size_t i = 0; i < o->n_comms && !found; i++)
		found = fnmatch(o->comms[i], trace_index_string(r->ix, name), 0) == 0;
	return found;
}
