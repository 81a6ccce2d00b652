/* SPDX-License-Identifier: Apache-2.0 */
/* v8_procs.c - which processes run V8, and how its functions are found in them. */
#include "v8_procs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "process/mappings.h"
#include "runtime_procs.h"
#include "symbolize/symbolizer.h"

struct file {
	struct v8_layout layout;
	struct frames_rule rule;
};

struct v8_procs {
	struct symbolizer *sym;
	v8_proc_fn *changed;
	void *ctx;
	struct runtime_procs *procs; /* facts: struct file; processes: struct v8_proc */
	uint64_t last_id;
	size_t n_unknown;
	char why[256];
};

/* ---- processes ---- */

/* What it was first it stays, wherever that is. */
static void on_runs(void *ctx, uint32_t tgid, void *proc, const void *fact, uint64_t base)
{
	struct v8_procs *vp = ctx;
	const struct file *f = fact;
	struct v8_proc *now = proc;

	(void)base;
	if (now->id)
		return;
	*now = (struct v8_proc){ ++vp->last_id, &f->layout, &f->rule };
	vp->changed(vp->ctx, tgid, now);
}

static void on_ended(void *ctx, uint32_t tgid)
{
	struct v8_procs *vp = ctx;

	vp->changed(vp->ctx, tgid, NULL);
}

void v8_procs_emptied(struct v8_procs *vp, uint32_t tgid)
{
	runtime_procs_emptied(vp->procs, tgid);
}

void v8_procs_forked(struct v8_procs *vp, uint32_t child, uint32_t parent)
{
	runtime_procs_forked(vp->procs, child, parent);
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
	struct file *f = runtime_procs_told(vp->procs, module);
	const char *why;

	/* A program that has it in a library says nothing, and need not. */
	if (!f || !facts || !(facts->known & 1ull << V8_MAJOR))
		return;
	if (v8_layout(facts, &f->layout, &f->rule, &why) == 0)
		runtime_procs_found(vp->procs, module);
	else
		say_unknown(vp, module, facts, why);
}

static void ask(void *ctx, struct module *module)
{
	struct v8_procs *vp = ctx;

	if (vp->sym)
		symbolizer_ask_v8(vp->sym, module, v8_procs_told, vp);
}

void v8_procs_mapped(struct v8_procs *vp, uint32_t tgid, const struct mapping *m)
{
	if (m->module && v8_procs_may_be(m->module->path))
		runtime_procs_mapped(vp->procs, tgid, m);
}

static const struct runtime_kind kind = {
	.fact_size = sizeof(struct file),
	.proc_size = sizeof(struct v8_proc),
	.max_files = 256,
	.ask = ask,
	.runs = on_runs,
	.ended = on_ended,
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
	r = runtime_procs_new(&kind, vp, &vp->procs);
	if (r < 0) {
		free(vp);
		return r;
	}
	*ret = vp;
	return 0;
}

void v8_procs_free(struct v8_procs *vp)
{
	if (!vp)
		return;
	runtime_procs_free(vp->procs);
	free(vp);
}

/* ---- questions ---- */

void v8_procs_tell_all(struct v8_procs *vp)
{
	const struct v8_proc *p;
	size_t pos = 0;
	uint32_t tgid;

	while ((p = runtime_procs_next(vp->procs, &pos, &tgid)))
		vp->changed(vp->ctx, tgid, p);
}

const struct v8_proc *v8_procs_get(const struct v8_procs *vp, uint32_t tgid)
{
	return runtime_procs_get(vp->procs, tgid);
}

size_t v8_procs_count(const struct v8_procs *vp)
{
	return runtime_procs_count(vp->procs);
}

size_t v8_procs_unknown(const struct v8_procs *vp)
{
	return vp->n_unknown;
}

const char *v8_procs_why(const struct v8_procs *vp)
{
	return vp->why;
}
