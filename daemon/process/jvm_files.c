/* SPDX-License-Identifier: Apache-2.0 */
/* jvm_files.c - which files are a HotSpot, and where its variables are. */
#include "process/jvm_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hotspot/hotspot_layout.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

/* Different ones since the start; hostile users have as many as they like. */
#define MAX_FILES 256

_Static_assert((int)HOTSPOT_N_SYMBOLS <= FILES_OBJECTS_MAX, "asked for in one go");

struct file {
	bool is_told, is_jvm;
	uint64_t symbols[HOTSPOT_N_SYMBOLS]; /* from where an offset of 0 would be */
};

struct jvm_files {
	struct symbolizer *sym;
	struct hash *files; /* module id -> struct file */
	unsigned n_asked;
	bool is_over; /* to be freed when the last answer is there */
};

int jvm_files_new(struct symbolizer *sym, struct jvm_files **ret)
{
	struct jvm_files *jvms = calloc(1, sizeof(*jvms));
	int r;

	if (!jvms)
		return -ENOMEM;
	jvms->sym = sym;
	r = hash_new(&jvms->files);
	if (r < 0) {
		free(jvms);
		return r;
	}
	*ret = jvms;
	return 0;
}

static void free_all(struct jvm_files *jvms)
{
	size_t pos = 0;
	void *value;

	while (hash_next(jvms->files, &pos, NULL, NULL, &value))
		free(value);
	hash_free(jvms->files);
	free(jvms);
}

void jvm_files_free(struct jvm_files *jvms)
{
	if (!jvms)
		return;
	jvms->is_over = true;
	if (jvms->n_asked == 0)
		free_all(jvms);
}

bool jvm_files_is_named_so(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strcmp(slash, "/libjvm.so") == 0;
}

static void take(struct file *f, const struct files_objects *o)
{
	f->is_jvm = true;
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++) {
		f->symbols[i] = o->objects[i].vaddr - o->text_vaddr + o->text_offset;
		f->is_jvm &= o->objects[i].vaddr != 0;
	}
}

static void on_told(void *ctx, const struct module *module, const struct files_objects *objects)
{
	struct jvm_files *jvms = ctx;
	struct file *f = hash_get_u64(jvms->files, module->id);

	if (f) {
		f->is_told = true;
		if (objects)
			take(f, objects);
	}
	if (--jvms->n_asked == 0 && jvms->is_over)
		free_all(jvms);
}

static struct file *add(struct jvm_files *jvms, struct module *module)
{
	struct file *f;

	if (hash_count(jvms->files) == MAX_FILES)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f || hash_set_u64(jvms->files, module->id, f) < 0) {
		free(f);
		return NULL;
	}
	jvms->n_asked++;
	symbolizer_ask_objects(jvms->sym, module, hotspot_symbol_names, HOTSPOT_N_SYMBOLS, on_told,
			       jvms);
	return f;
}

int jvm_files_symbols(struct jvm_files *jvms, struct module *module, uint64_t base, uint64_t *ret)
{
	struct file *f = hash_get_u64(jvms->files, module->id);

	if (!f)
		f = add(jvms, module);
	if (!f)
		return -ENOENT;
	if (!f->is_told)
		return -EAGAIN;
	if (!f->is_jvm)
		return -ENOENT;
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++)
		ret[i] = base + f->symbols[i];
	return 0;
}
