/* SPDX-License-Identifier: Apache-2.0 */
/* python_procs.c - which processes run CPython, and where its state is in them. */
#include "python_procs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "process/mappings.h"
#include "python_layout.h"
#include "runtime_procs.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

enum { OBJECT_RUNTIME, OBJECT_VERSION, N_OBJECTS };
static const char *const object_names[N_OBJECTS] = { "_PyRuntime", "Py_Version" };

_Static_assert(N_OBJECTS <= FILES_OBJECTS_MAX, "asked for in one go");
_Static_assert(PYTHON_RUNTIME_BYTES <= FILES_OBJECT_BYTES, "told in one go");

struct file {
	uint64_t runtime; /* from where an offset of 0 in the file would be in memory */
	uint32_t layout;
	bool has_key;
	struct python_program_key key;
	uint64_t from_text; /* the state, from the beginning of the code */
};

struct python_procs {
	struct symbolizer *sym;
	const struct python_listener *listener;
	void *ctx;
	struct runtime_procs *procs; /* facts: struct file; processes: struct python_proc */
	size_t n_unknown;
	struct python_layout layouts[PYTHON_MAX_LAYOUTS];
	size_t n_layouts;
};

/* ---- processes ---- */

static void on_runs(void *ctx, uint32_t tgid, void *proc, const void *fact, uint64_t base)
{
	struct python_procs *ps = ctx;
	const struct file *f = fact;
	struct python_proc *now = proc;

	now->runtime = base + f->runtime;
	now->layout = f->layout;
	ps->listener->proc(ps->ctx, tgid, now);
}

static void on_ended(void *ctx, uint32_t tgid)
{
	struct python_procs *ps = ctx;

	ps->listener->proc(ps->ctx, tgid, NULL);
}

void python_procs_emptied(struct python_procs *ps, uint32_t tgid)
{
	runtime_procs_emptied(ps->procs, tgid);
}

void python_procs_forked(struct python_procs *ps, uint32_t child, uint32_t parent)
{
	runtime_procs_forked(ps->procs, child, parent);
}

/* ---- files ---- */

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool may_be_python(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return has_prefix(base, "python") || has_prefix(base, "libpython");
}

/* -ENOSPC: more layouts than there is room for; hostile files have as many as they like. */
static int layout_index(struct python_procs *ps, const struct python_layout *layout)
{
	for (size_t i = 0; i < ps->n_layouts; i++)
		if (memcmp(&ps->layouts[i], layout, sizeof(*layout)) == 0)
			return (int)i;
	if (ps->n_layouts == PYTHON_MAX_LAYOUTS)
		return -ENOSPC;
	ps->layouts[ps->n_layouts] = *layout;
	return (int)ps->n_layouts++;
}

static void say_unknown(struct python_procs *ps, const struct module *module, uint32_t version,
			const char *why)
{
	char path[256];

	ps->n_unknown++;
	(void)text_printable(path, sizeof(path), module->path, strlen(module->path));
	log_info("python: %s is Python %u.%u.%u: %s; its functions are not in stacks", path,
		 version >> 24, version >> 16 & 255, version >> 8 & 255, why);
}

static void tell_program(struct python_procs *ps, const struct file *f)
{
	struct python_program program = { .runtime = f->from_text, .layout = f->layout };

	if (f->has_key)
		ps->listener->program(ps->ctx, &f->key, &program);
}

/*
 * How the kernel knows the file. Where stat(2) tells of another device or inode
 * (overlayfs, btrfs), processes are known by their mappings alone.
 */
static void identify(struct python_procs *ps, const struct module *module, struct file *f)
{
	int fd = ps->sym ? symbolizer_open(ps->sym, module) : -EBADF;
	struct stat st;

	if (fd < 0)
		return;
	f->has_key = fstat(fd, &st) == 0;
	close(fd);
	if (f->has_key)
		f->key = (struct python_program_key){
			.inode = st.st_ino,
			.major = major(st.st_dev),
			.minor = minor(st.st_dev),
		};
}

/* What the file's variables say; false: it is not Python, or of no use. */
static bool look_into(struct python_procs *ps, const struct module *module, struct file *f,
		      const struct files_objects *o)
{
	const struct files_object *runtime = &o->objects[OBJECT_RUNTIME];
	const struct files_object *number = &o->objects[OBJECT_VERSION];
	const char *why = "more versions at once than there is room for";
	struct python_layout layout;
	uint32_t version;
	int r;

	/* Before 3.11 it did not say its version; a program may have its state in a library. */
	if (!runtime->vaddr || number->len < sizeof(version) || !o->text_size)
		return false;
	memcpy(&version, number->bytes, sizeof(version));
	memset(&layout, 0, sizeof(layout));
	r = python_layout(version, runtime->bytes, runtime->len, &layout, &why);
	if (r == 0)
		r = layout_index(ps, &layout);
	if (r < 0) {
		say_unknown(ps, module, version, why);
		return false;
	}
	f->layout = (uint32_t)r;
	f->from_text = runtime->vaddr - o->text_vaddr;
	f->runtime = f->from_text + o->text_offset;
	identify(ps, module, f);
	tell_program(ps, f);
	return true;
}

void python_procs_told(void *ctx, const struct module *module, const struct files_objects *objects)
{
	struct python_procs *ps = ctx;
	struct file *f = runtime_procs_told(ps->procs, module);

	if (f && objects && look_into(ps, module, f, objects))
		runtime_procs_found(ps->procs, module);
}

static void ask(void *ctx, struct module *module)
{
	struct python_procs *ps = ctx;

	if (ps->sym)
		symbolizer_ask_objects(ps->sym, module, object_names, N_OBJECTS, python_procs_told,
				       ps);
}

static void on_forgotten(void *ctx, const void *fact)
{
	struct python_procs *ps = ctx;
	const struct file *f = fact;

	if (f->has_key)
		ps->listener->program(ps->ctx, &f->key, NULL);
}

void python_procs_mapped(struct python_procs *ps, uint32_t tgid, const struct mapping *m)
{
	if (m->module && may_be_python(m->module->path))
		runtime_procs_mapped(ps->procs, tgid, m);
}

static const struct runtime_kind kind = {
	.fact_size = sizeof(struct file),
	.proc_size = sizeof(struct python_proc),
	.max_files = 1024,
	.ask = ask,
	.forget = on_forgotten,
	.runs = on_runs,
	.ended = on_ended,
};

int python_procs_new(struct symbolizer *sym, const struct python_listener *listener, void *ctx,
		     struct python_procs **ret)
{
	struct python_procs *ps = calloc(1, sizeof(*ps));
	int r;

	if (!ps)
		return -ENOMEM;
	ps->sym = sym;
	ps->listener = listener;
	ps->ctx = ctx;
	r = runtime_procs_new(&kind, ps, &ps->procs);
	if (r < 0) {
		free(ps);
		return r;
	}
	*ret = ps;
	return 0;
}

void python_procs_free(struct python_procs *ps)
{
	if (!ps)
		return;
	runtime_procs_free(ps->procs);
	free(ps);
}

/* ---- questions ---- */

void python_procs_tell_all(struct python_procs *ps)
{
	const struct python_proc *p;
	const struct file *f;
	size_t pos = 0;
	uint32_t tgid;

	while ((f = runtime_procs_next_fact(ps->procs, &pos)))
		tell_program(ps, f);
	pos = 0;
	while ((p = runtime_procs_next(ps->procs, &pos, &tgid)))
		ps->listener->proc(ps->ctx, tgid, p);
}

const struct python_layout *python_procs_layouts(const struct python_procs *ps, size_t *ret_n)
{
	*ret_n = ps->n_layouts;
	return ps->layouts;
}

size_t python_procs_count(const struct python_procs *ps)
{
	return runtime_procs_count(ps->procs);
}

size_t python_procs_unknown(const struct python_procs *ps)
{
	return ps->n_unknown;
}
