/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_procs.c - which processes run a language's runtime. */
#include "runtime_procs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"

/* The program and its library; a plugin may bring another one along. */
#define MAX_FILES_OF_PROC 4

struct file {
	bool is_told, is_found;
	size_t n_procs; /* that have it; it stays as long */
	_Alignas(max_align_t) char fact[];
};

struct proc {
	uint32_t tgid;
	size_t n;
	struct mapped {
		struct file *file;
		uint64_t base;		  /* where offset 0 of the file would be */
	} files[MAX_FILES_OF_PROC], runs; /* runs.file NULL: none */
	_Alignas(max_align_t) char own[];
};

struct runtime_procs {
	const struct runtime_kind *kind;
	void *ctx;
	struct hash *files; /* module id -> struct file */
	struct hash *procs; /* tgid -> struct proc */
	size_t n_running;
};

int runtime_procs_new(const struct runtime_kind *kind, void *ctx, struct runtime_procs **ret)
{
	struct runtime_procs *rp = calloc(1, sizeof(*rp));
	int r;

	if (!rp)
		return -ENOMEM;
	rp->kind = kind;
	rp->ctx = ctx;
	r = hash_new(&rp->files);
	if (r == 0)
		r = hash_new(&rp->procs);
	if (r < 0) {
		runtime_procs_free(rp);
		return r;
	}
	*ret = rp;
	return 0;
}

static void free_values(struct hash *h)
{
	size_t pos = 0;
	void *value;

	while (h && hash_next(h, &pos, NULL, NULL, &value))
		free(value);
	hash_free(h);
}

void runtime_procs_free(struct runtime_procs *rp)
{
	if (!rp)
		return;
	free_values(rp->files);
	free_values(rp->procs);
	free(rp);
}

/* The one under this number, or a new one of so many bytes. NULL: out of memory. */
static void *get_or_add(struct hash *h, uint64_t number, size_t size)
{
	void *value = hash_get_u64(h, number);

	if (value)
		return value;
	value = calloc(1, size);
	if (!value || hash_set_u64(h, number, value) < 0) {
		free(value);
		return NULL;
	}
	return value;
}

/* ---- processes ---- */

/* The first of its files that has the runtime counts. */
static void update(struct runtime_procs *rp, struct proc *p)
{
	const struct mapped *m = p->files, *end = m + p->n;

	while (m < end && !m->file->is_found)
		m++;
	if (m == end || (m->file == p->runs.file && m->base == p->runs.base))
		return;
	rp->n_running += !p->runs.file;
	p->runs = *m;
	rp->kind->runs(rp->ctx, p->tgid, p->own, m->file->fact, m->base);
}

/* NULL: out of memory. */
static struct proc *proc_of(struct runtime_procs *rp, uint32_t tgid)
{
	struct proc *p = get_or_add(rp->procs, tgid, sizeof(*p) + rp->kind->proc_size);

	if (p)
		p->tgid = tgid;
	return p;
}

void runtime_procs_emptied(struct runtime_procs *rp, uint32_t tgid)
{
	struct proc *p = hash_remove_u64(rp->procs, tgid);

	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		p->files[i].file->n_procs--;
	if (p->runs.file) {
		rp->n_running--;
		rp->kind->ended(rp->ctx, tgid);
	}
	free(p);
}

void runtime_procs_forked(struct runtime_procs *rp, uint32_t child, uint32_t parent)
{
	const struct proc *from;
	struct proc *p;

	runtime_procs_emptied(rp, child);
	from = hash_get_u64(rp->procs, parent);
	p = from ? proc_of(rp, child) : NULL;
	if (!p)
		return;
	for (; p->n < from->n; p->n++) {
		p->files[p->n] = from->files[p->n];
		p->files[p->n].file->n_procs++;
	}
	update(rp, p);
}

/* ---- files ---- */

/* The worker may still have one to tell of: it comes too late then. */
static bool make_room(struct runtime_procs *rp)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	if (hash_count(rp->files) < rp->kind->max_files)
		return true;
	while (hash_next(rp->files, &pos, &key, &len, &value)) {
		struct file *f = value;

		if (f->n_procs > 0)
			continue;
		if (rp->kind->forget)
			rp->kind->forget(rp->ctx, f->fact);
		(void)hash_remove(rp->files, key, len);
		free(f);
	}
	return hash_count(rp->files) < rp->kind->max_files;
}

/* NULL: out of memory, or of room. */
static struct file *file_of(struct runtime_procs *rp, struct module *module)
{
	struct file *f = hash_get_u64(rp->files, module->id);

	if (f || !make_room(rp))
		return f;
	f = get_or_add(rp->files, module->id, sizeof(*f) + rp->kind->fact_size);
	if (f)
		rp->kind->ask(rp->ctx, module);
	return f;
}

void runtime_procs_mapped(struct runtime_procs *rp, uint32_t tgid, const struct mapping *m)
{
	struct file *f = file_of(rp, m->module);
	struct proc *p = f ? proc_of(rp, tgid) : NULL;
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->n && p->files[i].file != f; i++)
		;
	if (i == MAX_FILES_OF_PROC)
		return;
	if (i == p->n) {
		p->n++;
		f->n_procs++;
	}
	p->files[i] = (struct mapped){ .file = f, .base = m->start - m->pgoff };
	update(rp, p);
}

void *runtime_procs_told(struct runtime_procs *rp, const struct module *module)
{
	struct file *f = hash_get_u64(rp->files, module->id);

	if (!f || f->is_told)
		return NULL;
	f->is_told = true;
	return f->fact;
}

void runtime_procs_found(struct runtime_procs *rp, const struct module *module)
{
	struct file *f = hash_get_u64(rp->files, module->id);
	size_t pos = 0;
	void *value;

	if (!f)
		return;
	f->is_found = true;
	while (hash_next(rp->procs, &pos, NULL, NULL, &value))
		update(rp, value);
}

/* ---- questions ---- */

const void *runtime_procs_get(const struct runtime_procs *rp, uint32_t tgid)
{
	const struct proc *p = hash_get_u64(rp->procs, tgid);

	return p && p->runs.file ? p->own : NULL;
}

size_t runtime_procs_count(const struct runtime_procs *rp)
{
	return rp->n_running;
}

const void *runtime_procs_next(const struct runtime_procs *rp, size_t *pos, uint32_t *ret_tgid)
{
	void *value;

	while (hash_next(rp->procs, pos, NULL, NULL, &value)) {
		const struct proc *p = value;

		if (!p->runs.file)
			continue;
		*ret_tgid = p->tgid;
		return p->own;
	}
	return NULL;
}

const void *runtime_procs_next_fact(const struct runtime_procs *rp, size_t *pos)
{
	void *value;

	while (hash_next(rp->files, pos, NULL, NULL, &value)) {
		const struct file *f = value;

		if (f->is_found)
			return f->fact;
	}
	return NULL;
}
