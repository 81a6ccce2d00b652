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

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "process/mappings.h"
#include "python_layout.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

/* The program and its library; a plugin may bring another one along. */
#define MAX_FILES_OF_PROC 4

/* Beyond that those of no process go. Hostile users have as many files as they like. */
#define MAX_FILES 1024

enum { OBJECT_RUNTIME, OBJECT_VERSION, N_OBJECTS };
static const char *const object_names[N_OBJECTS] = { "_PyRuntime", "Py_Version" };

_Static_assert(N_OBJECTS <= FILES_OBJECTS_MAX, "asked for in one go");
_Static_assert(PYTHON_RUNTIME_BYTES <= FILES_OBJECT_BYTES, "told in one go");

struct file {
	bool is_told, is_python;
	uint64_t runtime; /* from where an offset of 0 in the file would be in memory */
	uint32_t layout;
	bool has_key;
	struct python_program_key key;
	uint64_t from_text; /* the state, from the beginning of the code */
};

struct proc {
	uint32_t tgid;
	bool is_python;
	struct python_proc pub;
	size_t n;
	struct {
		uint64_t module_id;
		uint64_t base; /* where offset 0 of the file would be */
	} files[MAX_FILES_OF_PROC];
};

struct python_procs {
	struct symbolizer *sym;
	const struct python_listener *listener;
	void *ctx;
	struct hash *files; /* module id -> struct file */
	struct hash *procs; /* tgid -> struct proc */
	size_t n_python, n_unknown;
	struct python_layout layouts[PYTHON_MAX_LAYOUTS];
	size_t n_layouts;
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
	r = hash_new(&ps->files);
	if (r == 0)
		r = hash_new(&ps->procs);
	if (r < 0) {
		python_procs_free(ps);
		return r;
	}
	*ret = ps;
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

void python_procs_free(struct python_procs *ps)
{
	if (!ps)
		return;
	free_values(ps->files);
	free_values(ps->procs);
	free(ps);
}

/* ---- processes ---- */

static void update(struct python_procs *ps, struct proc *p)
{
	struct python_proc now = { 0 };
	bool is_python = false;

	for (size_t i = 0; i < p->n && !is_python; i++) {
		const struct file *f = hash_get_u64(ps->files, p->files[i].module_id);

		if (!f || !f->is_python)
			continue;
		now.runtime = p->files[i].base + f->runtime;
		now.layout = f->layout;
		is_python = true;
	}
	if (is_python == p->is_python && memcmp(&now, &p->pub, sizeof(now)) == 0)
		return;
	ps->n_python += is_python;
	ps->n_python -= p->is_python;
	p->is_python = is_python;
	p->pub = now;
	ps->listener->proc(ps->ctx, p->tgid, is_python ? &p->pub : NULL);
}

/* NULL: out of memory. */
static struct proc *proc_of(struct python_procs *ps, uint32_t tgid)
{
	struct proc *p = hash_get_u64(ps->procs, tgid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	if (hash_set_u64(ps->procs, tgid, p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

void python_procs_emptied(struct python_procs *ps, uint32_t tgid)
{
	struct proc *p = hash_remove_u64(ps->procs, tgid);

	if (!p)
		return;
	if (p->is_python) {
		ps->n_python--;
		ps->listener->proc(ps->ctx, tgid, NULL);
	}
	free(p);
}

void python_procs_forked(struct python_procs *ps, uint32_t child, uint32_t parent)
{
	const struct proc *from = hash_get_u64(ps->procs, parent);
	struct proc *p;

	python_procs_emptied(ps, child);
	if (!from)
		return;
	p = proc_of(ps, child);
	if (!p)
		return;
	p->n = from->n;
	memcpy(p->files, from->files, sizeof(p->files));
	update(ps, p);
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

	if (f->is_python && f->has_key)
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

/* What the file's variables say. */
static void look_into(struct python_procs *ps, const struct module *module, struct file *f,
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
		return;
	memcpy(&version, number->bytes, sizeof(version));
	memset(&layout, 0, sizeof(layout));
	r = python_layout(version, runtime->bytes, runtime->len, &layout, &why);
	if (r == 0)
		r = layout_index(ps, &layout);
	if (r < 0) {
		say_unknown(ps, module, version, why);
		return;
	}
	f->layout = (uint32_t)r;
	f->from_text = runtime->vaddr - o->text_vaddr;
	f->runtime = f->from_text + o->text_offset;
	f->is_python = true;
	identify(ps, module, f);
	tell_program(ps, f);
}

void python_procs_told(void *ctx, const struct module *module, const struct files_objects *objects)
{
	struct python_procs *ps = ctx;
	struct file *f = hash_get_u64(ps->files, module->id);
	size_t pos = 0;
	void *value;

	if (!f || f->is_told)
		return;
	f->is_told = true;
	if (objects)
		look_into(ps, module, f, objects);
	while (f->is_python && hash_next(ps->procs, &pos, NULL, NULL, &value))
		update(ps, value);
}

static bool is_used(const struct python_procs *ps, uint64_t module_id)
{
	size_t pos = 0;
	void *value;

	while (hash_next(ps->procs, &pos, NULL, NULL, &value)) {
		const struct proc *p = value;

		for (size_t i = 0; i < p->n; i++)
			if (p->files[i].module_id == module_id)
				return true;
	}
	return false;
}

/* The worker may still have one to tell of: it comes too late then. */
static bool make_room(struct python_procs *ps)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	if (hash_count(ps->files) < MAX_FILES)
		return true;
	while (hash_next(ps->files, &pos, &key, &len, &value)) {
		uint64_t id;

		memcpy(&id, key, sizeof(id));
		if (is_used(ps, id))
			continue;
		if (((struct file *)value)->has_key)
			ps->listener->program(ps->ctx, &((struct file *)value)->key, NULL);
		(void)hash_remove_u64(ps->files, id);
		free(value);
	}
	return hash_count(ps->files) < MAX_FILES;
}

/* False: out of memory, or of room. */
static bool know_file(struct python_procs *ps, struct module *module)
{
	struct file *f;

	if (hash_get_u64(ps->files, module->id))
		return true;
	if (!make_room(ps))
		return false;
	f = calloc(1, sizeof(*f));
	if (!f || hash_set_u64(ps->files, module->id, f) < 0) {
		free(f);
		return false;
	}
	if (ps->sym)
		symbolizer_ask_objects(ps->sym, module, object_names, N_OBJECTS, python_procs_told,
				       ps);
	return true;
}

void python_procs_mapped(struct python_procs *ps, uint32_t tgid, const struct mapping *m)
{
	struct proc *p;
	size_t i;

	if (!m->module || !may_be_python(m->module->path) || !know_file(ps, m->module))
		return;
	p = proc_of(ps, tgid);
	if (!p)
		return;
	for (i = 0; i < p->n && p->files[i].module_id != m->module->id; i++)
		;
	if (i == MAX_FILES_OF_PROC)
		return;
	p->n += i == p->n;
	p->files[i].module_id = m->module->id;
	p->files[i].base = m->start - m->pgoff;
	update(ps, p);
}

/* ---- questions ---- */

void python_procs_tell_all(struct python_procs *ps)
{
	size_t pos = 0;
	void *value;

	while (hash_next(ps->files, &pos, NULL, NULL, &value))
		tell_program(ps, value);
	pos = 0;
	while (hash_next(ps->procs, &pos, NULL, NULL, &value)) {
		const struct proc *p = value;

		if (p->is_python)
			ps->listener->proc(ps->ctx, p->tgid, &p->pub);
	}
}

const struct python_layout *python_procs_layouts(const struct python_procs *ps, size_t *ret_n)
{
	*ret_n = ps->n_layouts;
	return ps->layouts;
}

size_t python_procs_count(const struct python_procs *ps)
{
	return ps->n_python;
}

size_t python_procs_unknown(const struct python_procs *ps)
{
	return ps->n_unknown;
}
