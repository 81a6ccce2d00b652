/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_family.c - who forked whom. Links between entries, since a pid does
 * not say which of its owners is meant.
 */
#include "process/process_table_impl.h"

/* Long enough for any real chain of shells; a bound for those that are not. */
#define MAX_GENERATIONS 128

static void link_sibling(struct proc **first, struct proc *p)
{
	p->prev_sibling = NULL;
	p->next_sibling = *first;
	if (*first)
		(*first)->prev_sibling = p;
	*first = p;
}

static void unlink_sibling(struct proc **first, struct proc *p)
{
	if (p->prev_sibling)
		p->prev_sibling->next_sibling = p->next_sibling;
	else
		*first = p->next_sibling;
	if (p->next_sibling)
		p->next_sibling->prev_sibling = p->prev_sibling;
}

void process_family_join(struct process_table *pt, struct proc *p, uint32_t ppid)
{
	struct proc *parent = process_table_proc(pt, ppid);

	p->pub.ppid = ppid;
	if (ppid == 0 || parent == p)
		return;
	p->parent = parent;
	p->is_stray = !parent;
	if (parent)
		p->pub.parent_free_ns = parent->pub.free_ns;
	link_sibling(parent ? &parent->children : &pt->strays, p);
}

void process_family_leave(struct process_table *pt, struct proc *p)
{
	if (p->is_stray)
		unlink_sibling(&pt->strays, p);
	else if (p->parent)
		unlink_sibling(&p->parent->children, p);
	p->parent = NULL;
	p->is_stray = false;
}

/* Its children that were known before it. */
void process_family_adopt(struct process_table *pt, struct proc *p)
{
	struct proc *next;

	for (struct proc *stray = pt->strays; stray; stray = next) {
		next = stray->next_sibling;
		if (stray->pub.ppid != p->pub.tgid || stray->pub.start_ns < p->pub.start_ns)
			continue;
		process_family_leave(pt, stray);
		process_family_join(pt, stray, p->pub.tgid);
	}
}

void process_family_tell(struct proc *p, uint64_t free_ns)
{
	for (struct proc *child = p->children; child; child = child->next_sibling)
		if (!child->pub.parent_free_ns)
			child->pub.parent_free_ns = free_ns;
}

static bool is_one_of(uint32_t tgid, const uint32_t *roots, size_t n_roots)
{
	for (size_t i = 0; i < n_roots; i++)
		if (roots[i] == tgid)
			return true;
	return false;
}

bool process_table_descends(const struct process_table *pt, uint32_t tgid, const uint32_t *roots,
			    size_t n_roots)
{
	const struct proc *p = process_table_proc(pt, tgid);

	if (is_one_of(tgid, roots, n_roots))
		return true;
	for (unsigned i = 0; p && i < MAX_GENERATIONS; i++, p = p->parent)
		if (is_one_of(p->pub.ppid, roots, n_roots))
			return p->parent || p->is_stray;
	return false;
}
