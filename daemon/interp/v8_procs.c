/* SPDX-License-Identifier: Apache-2.0 */
/* v8_procs.c - which processes run V8, and how its functions are found in them. */
#include "v8_procs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"

/* A program and its library. */
#define MAX_FILES_OF_PROC 2

/* Beyond that those of no process go. Hostile users have as many files as they like. */
#define MAX_FILES 256

struct file {
	bool is_told, is_v8;
	struct v8_layout layout;
	struct frames_rule rule;
};

struct proc {
	uint32_t tgid;
	struct v8_proc pub; /* id 0: it does not run V8 */
	size_t n;
	uint64_t files[MAX_FILES_OF_PROC]; /* ids of modules */
};

struct v8_procs {
	struct symbolizer *sym;
	v8_proc_fn *changed;
	void *ctx;
	struct hash *files; /* module id -> struct file */
	struct hash *procs; /* tgid -> struct proc */
	uint64_t last_id;
	size_t n_v8, n_unknown;
	char why[256];
};

int v8_procs_new(struct symbolizer *sym, v8_proc_fn *changed, void *ctx, struct v8_procs **ret)
{
	struct v8_procs *vp = calloc(1, sizeof(*vp));
	int r;

	if (!vp)
		return -ENOMEM;
	vp->sym = sym;
	vp->changed = changed;
	vp->ctx = ctx;
	r = hash_new(&vp->files);
	if (r == 0)
		r = hash_new(&vp->procs);
	if (r < 0) {
		v8_procs_free(vp);
		return r;
	}
	*ret = vp;
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

void v8_procs_free(struct v8_procs *vp)
{
	if (!vp)
		return;
	free_values(vp->files);
	free_values(vp->procs);
	free(vp);
}

/* ---- processes ---- */

static void update(struct v8_procs *vp, struct proc *p)
{
	for (size_t i = 0; i < p->n && !p->pub.id; i++) {
		const struct file *f = hash_get_u64(vp->files, p->files[i]);

		if (!f || !f->is_v8)
			continue;
		p->pub = (struct v8_proc){ ++vp->last_id, &f->layout, &f->rule };
		vp->n_v8++;
		vp->changed(vp->ctx, p->tgid, &p->pub);
	}
}

/* NULL: out of memory. */
static struct proc *proc_of(struct v8_procs *vp, uint32_t tgid)
{
	struct proc *p = hash_get_u64(vp->procs, tgid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	if (hash_set_u64(vp->procs, tgid, p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

void v8_procs_emptied(struct v8_procs *vp, uint32_t tgid)
{
	struct proc *p = hash_remove_u64(vp->procs, tgid);

	if (!p)
		return;
	if (p->pub.id) {
		vp->n_v8--;
		vp->changed(vp->ctx, tgid, NULL);
	}
	free(p);
}

void v8_procs_forked(struct v8_procs *vp, uint32_t child, uint32_t parent)
{
	const struct proc *from = hash_get_u64(vp->procs, parent);
	struct proc *p;

	v8_procs_emptied(vp, child);
	p = from ? proc_of(vp, child) : NULL;
	if (!p)
		return;
	p->n = from->n;
	memcpy(p->files, from->files, sizeof(p->files));
	update(vp, p);
}

/* ---- files ---- */

bool v8_procs_may_be(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return strncmp(base, "node", 4) == 0 || strncmp(base, "libnode", 7) == 0;
}

static void say_unknown(struct v8_procs *vp, const struct module *module,
			const struct v8_facts *facts, const char *why)
{
	char path[128];

	vp->n_unknown++;
	(void)text_printable(path, sizeof(path), module->path, strlen(module->path));
	snprintf(vp->why, sizeof(vp->why), "%s has V8 %d.%d: %s", path, facts->values[V8_MAJOR],
		 facts->values[V8_MINOR], why);
	log_info("v8: %s; its functions are not in stacks", vp->why);
}

void v8_procs_told(void *ctx, const struct module *module, const struct v8_facts *facts)
{
	struct v8_procs *vp = ctx;
	struct file *f = hash_get_u64(vp->files, module->id);
	const char *why;
	size_t pos = 0;
	void *value;

	if (!f || f->is_told)
		return;
	f->is_told = true;
	/* A program that has it in a library says nothing, and need not. */
	if (!facts || !(facts->known & 1ull << V8_MAJOR))
		return;
	f->is_v8 = v8_layout(facts, &f->layout, &f->rule, &why) == 0;
	if (!f->is_v8)
		say_unknown(vp, module, facts, why);
	while (f->is_v8 && hash_next(vp->procs, &pos, NULL, NULL, &value))
		update(vp, value);
}

static bool is_used(const struct v8_procs *vp, uint64_t module_id)
{
	size_t pos = 0;
	void *value;

	while (hash_next(vp->procs, &pos, NULL, NULL, &value)) {
		const struct proc *p = value;

		for (size_t i = 0; i < p->n; i++)
			if (p->files[i] == module_id)
				return true;
	}
	return false;
}

/* The worker may still have one to tell of: it comes too late then. */
static bool make_room(struct v8_procs *vp)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	if (hash_count(vp->files) < MAX_FILES)
		return true;
	while (hash_next(vp->files, &pos, &key, &len, &value)) {
		uint64_t id;

		memcpy(&id, key, sizeof(id));
		if (is_used(vp, id))
			continue;
		(void)hash_remove_u64(vp->files, id);
		free(value);
	}
	return hash_count(vp->files) < MAX_FILES;
}

/* False: out of memory, or of room. */
static bool know_file(struct v8_procs *vp, struct module *module)
{
	struct file *f;

	if (hash_get_u64(vp->files, module->id))
		return true;
	if (!make_room(vp))
		return false;
	f = calloc(1, sizeof(*f));
	if (!f || hash_set_u64(vp->files, module->id, f) < 0) {
		free(f);
		return false;
	}
	if (vp->sym)
		symbolizer_ask_v8(vp->sym, module, v8_procs_told, vp);
	return true;
}

void v8_procs_mapped(struct v8_procs *vp, uint32_t tgid, const struct mapping *m)
{
	struct proc *p;
	size_t i;

	if (!m->module || !v8_procs_may_be(m->module->path) || !know_file(vp, m->module))
		return;
	p = proc_of(vp, tgid);
	if (!p)
		return;
	for (i = 0; i < p->n && p->files[i] != m->module->id; i++)
		;
	if (i == MAX_FILES_OF_PROC)
		return;
	p->n += i == p->n;
	p->files[i] = m->module->id;
	update(vp, p);
}

/* ---- questions ---- */

void v8_procs_tell_all(struct v8_procs *vp)
{
	size_t pos = 0;
	void *value;

	while (hash_next(vp->procs, &pos, NULL, NULL, &value)) {
		const struct proc *p = value;

		if (p->pub.id)
			vp->changed(vp->ctx, p->tgid, &p->pub);
	}
}

const struct v8_proc *v8_procs_get(const struct v8_procs *vp, uint32_t tgid)
{
	const struct proc *p = hash_get_u64(vp->procs, tgid);

	return p && p->pub.id ? &p->pub : NULL;
}

size_t v8_procs_count(const struct v8_procs *vp)
{
	return vp->n_v8;
}

size_t v8_procs_unknown(const struct v8_procs *vp)
{
	return vp->n_unknown;
}

const char *v8_procs_why(const struct v8_procs *vp)
{
	return vp->why;
}
