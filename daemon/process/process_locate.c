/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_locate.c - from the addresses of a stack to locations.
 *
 * Most addresses of a stack, its callers', were in another one a moment ago: what
 * they were is remembered for as long as the mappings are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/process_table_impl.h"
#include "symbolize/symbolizer.h"

/* x86-64: mapped at this address in every process, but in no list of mappings. */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_END   0xffffffffff601000ull

/* A power of two: 200 KB. What is not looked for any more goes after this. */
#define RECENT_BITS 13
#define RECENT_NS   (60 * NS_PER_SEC)

struct recent_place {
	uint64_t version, pc; /* of mappings; 0: free */
	struct location *loc; /* held */
};

struct recent_places {
	struct recent_place at[1u << RECENT_BITS];
	uint64_t since_ns;
};

static struct recent_place *recent_slot(struct recent_places *recent, uint64_t version, uint64_t pc)
{
	uint64_t hash = (pc ^ version << 40) * 0x9e3779b97f4a7c15ull;

	return &recent->at[hash >> (64 - RECENT_BITS)];
}

static struct location *recall(struct process_table *pt, uint64_t version, uint64_t pc)
{
	const struct recent_place *r;

	if (!version || !pt->recent)
		return NULL;
	r = recent_slot(pt->recent, version, pc);
	return r->version == version && r->pc == pc ? r->loc : NULL;
}

static void remember(struct process_table *pt, uint64_t version, uint64_t pc, struct location *loc)
{
	struct recent_place *r;

	if (!pt->recent)
		pt->recent = calloc(1, sizeof(*pt->recent));
	if (!pt->recent)
		return;
	r = recent_slot(pt->recent, version, pc);
	location_hold(loc);
	if (r->version)
		location_release(r->loc);
	*r = (struct recent_place){ version, pc, loc };
}

void process_locate_forget(struct process_table *pt)
{
	if (!pt->recent)
		return;
	for (size_t i = 0; i < 1u << RECENT_BITS; i++)
		if (pt->recent->at[i].version)
			location_release(pt->recent->at[i].loc);
	free(pt->recent);
	pt->recent = NULL;
}

void process_locate_collect(struct process_table *pt, uint64_t now_ns)
{
	if (!pt->recent)
		return;
	if (!pt->recent->since_ns)
		pt->recent->since_ns = now_ns;
	else if (now_ns > pt->recent->since_ns + RECENT_NS)
		process_locate_forget(pt);
}

struct location *process_table_locate(struct process_table *pt, uint32_t tgid, uint64_t pc,
				      uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, tgid);
	struct location *loc, *generated = NULL;
	struct module *module = NULL;
	uint64_t offset = 0;
	bool is_mapped;

	if (pc >= VSYSCALL_START && pc < VSYSCALL_END)
		module = symbolizer_pseudo_module(pt->sym, "[vsyscall]");
	else
		(void)process_table_resolve(pt, tgid, pc, time_ns, &module, &offset);
	is_mapped = module != NULL;
	if (!module) {
		module = symbolizer_pseudo_module(pt->sym, "[unknown]");
		offset = 0;
	}
	loc = module ? symbolizer_locate(pt->sym, module, offset) : NULL;
	if (loc && p && (!is_mapped || module_may_be_generated(module)))
		generated = process_generated_locate(pt, p, pc, time_ns, is_mapped, loc);
	return generated ? generated : loc;
}

/* What locations depend on: mappings, and of generated code what its files have told. */
struct versions {
	uint64_t maps, generated; /* 0: not for sure */
};

static struct versions versions_at(struct process_table *pt, struct proc *p, uint64_t time_ns)
{
	struct versions v = { .maps = p ? process_maps_version(p, time_ns) : 0 };

	if (v.maps && p->jit)
		v.generated = process_generated_version(pt, p, v.maps, time_ns);
	return v;
}

/* For as long as which version does `loc` stay right? 0: who knows. */
static uint64_t version_of(struct process_table *pt, struct proc *p, const struct versions *before,
			   uint64_t pc, uint64_t time_ns, const struct location *loc)
{
	struct versions v;

	/* Found only among what was mapped before an exec? */
	if (!before->maps || !process_maps_find(p, pc, time_ns))
		return 0;
	v = versions_at(pt, p, time_ns); /* to look may have changed it */
	if (module_is_file(loc->module) && !module_may_be_generated(loc->module))
		return v.maps == before->maps ? v.maps : 0;
	return loc->ready && v.generated == before->generated ? v.generated : 0;
}

bool process_table_locate_all(struct process_table *pt, uint32_t tgid, const uint64_t *pcs,
			      size_t n, uint64_t time_ns, struct location **ret)
{
	struct proc *p = process_table_proc(pt, tgid);
	const struct versions v = versions_at(pt, p, time_ns);

	for (size_t i = 0; i < n; i++) {
		uint64_t version;

		ret[i] = recall(pt, v.maps, pcs[i]);
		if (!ret[i])
			ret[i] = recall(pt, v.generated, pcs[i]);
		if (ret[i])
			continue;
		ret[i] = process_table_locate(pt, tgid, pcs[i], time_ns);
		if (!ret[i])
			return false;
		version = version_of(pt, p, &v, pcs[i], time_ns, ret[i]);
		if (version)
			remember(pt, version, pcs[i], ret[i]);
	}
	return true;
}
