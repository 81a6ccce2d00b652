/* SPDX-License-Identifier: Apache-2.0 */
/* process_generated.c - the part of the process table about generated code. */
#include <errno.h>
#include <unistd.h>

#include "process/jit_files.h"
#include "process/jvm_files.h"
#include "process/process_jit.h"
#include "process/process_table_impl.h"
#include "symbolize/symbolizer.h"

/* Whoever was found by a scan may have executed since its fork. */
static bool was_forked_only(const struct process_table *pt, const struct proc *p)
{
	const struct thread *leader = process_table_thread(pt, p->pub.tgid);

	return leader && leader->found == 0 && p->pub.exec_ns == 0;
}

static struct jit_place place_of(const struct process_table *pt, const struct proc *p)
{
	const struct proc *parent = p->parent;

	if (parent && (parent->pub.exec_ns > p->pub.start_ns || !was_forked_only(pt, p)))
		parent = NULL;
	return (struct jit_place){ .proc_fd = pt->proc_fd,
				   .pins = pt->pins,
				   .p = &p->pub,
				   .parent = parent ? &parent->pub : NULL };
}

static struct process_jit *jit_of(struct process_table *pt, struct proc *p)
{
	if (!p->jit)
		p->jit = process_jit_new(pt->jits);
	return p->jit;
}

void process_generated_drop(struct proc *p)
{
	process_jit_free(p->jit);
	p->jit = NULL;
}

void process_generated_mapped(struct process_table *pt, struct proc *p,
			      const struct mapping *mapping)
{
	struct jit_place place = place_of(pt, p);
	int fd;

	if (!mapping->module)
		return;
	if (jvm_files_is_named_so(mapping->module->path) && jit_of(pt, p))
		process_jit_add_jvm(p->jit, mapping->module, mapping->start - mapping->pgoff);
	if (!jit_files_is_dump(mapping->module->path))
		return;
	fd = symbolizer_open(pt->sym, mapping->module);
	if (fd < 0)
		return;
	if (jit_of(pt, p))
		process_jit_add_dump(p->jit, &place, fd);
	else
		close(fd);
}

void process_generated_mapped_all(struct process_table *pt, struct proc *p)
{
	const struct mapping *all;
	size_t n;

	if (!p->maps || mappings_all(p->maps, &all, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		process_generated_mapped(pt, p, &all[i]);
}

struct location *process_generated_locate(struct process_table *pt, struct proc *p, uint64_t pc,
					  uint64_t time_ns, bool is_mapped,
					  struct location *fallback)
{
	struct jit_place place = place_of(pt, p);

	/*
	 * Where nothing seems to be mapped most addresses are none: those are
	 * worth a look, but no search for files.
	 */
	if (!p->jit && !(is_mapped && jit_of(pt, p)))
		return NULL;
	return process_jit_locate(p->jit, &place, pc, time_ns, is_mapped, fallback);
}

int process_table_frames(struct process_table *pt, uint32_t tgid, uint64_t time_ns,
			 const struct jit_frames **ret, uint64_t *ret_version, bool *ret_current)
{
	struct proc *p = process_table_proc(pt, tgid);
	struct jit_place place;

	*ret = NULL;
	*ret_version = 0;
	*ret_current = true;
	if (!p || !p->jit)
		return 0;
	place = place_of(pt, p);
	return process_jit_frames(p->jit, &place, time_ns, ret, ret_version, ret_current);
}

int process_table_jvm(struct process_table *pt, uint32_t tgid, uint64_t *ret_symbols)
{
	struct proc *p = process_table_proc(pt, tgid);

	return p && p->jit ? process_jit_jvm(p->jit, ret_symbols) : -ENOENT;
}

uint64_t process_generated_version(struct process_table *pt, struct proc *p, uint64_t maps_version,
				   uint64_t time_ns)
{
	struct jit_place place = place_of(pt, p);
	uint64_t jit_version;

	if (!p->jit)
		return maps_version;
	jit_version = process_jit_version(p->jit, &place, time_ns);
	if (!jit_version)
		return 0;
	if (p->jit_maps_version != maps_version || p->jit_version != jit_version)
		p->joint_version = mappings_new_version();
	p->jit_maps_version = maps_version;
	p->jit_version = jit_version;
	return p->joint_version;
}
