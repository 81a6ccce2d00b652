/* SPDX-License-Identifier: Apache-2.0 */
/* tls_files.c - which files have functions that are to be probed. */
#include "tls_files.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "log.h"
#include "symbolize/symbolizer.h"

#define MAX_FILES 4096

struct file {
	struct tls_files *files; /* NULL: nobody waits for the answer */
	struct module *module;	 /* held */
	bool is_asked, may_probe;
};

struct tls_files {
	struct symbolizer *symbolizer;
	struct hash *by_id; /* of the module */
	uint64_t n_answers;
	unsigned n_asked;
	bool go_told;
};

int tls_files_new(struct symbolizer *sym, struct tls_files **ret)
{
	struct tls_files *fs = calloc(1, sizeof(*fs));
	int r = fs ? hash_new(&fs->by_id) : -ENOMEM;

	if (r < 0) {
		free(fs);
		return r;
	}
	fs->symbolizer = sym;
	*ret = fs;
	return 0;
}

static void file_free(struct file *file)
{
	module_release(file->module);
	free(file);
}

void tls_files_free(struct tls_files *fs)
{
	size_t pos = 0;
	void *value;

	if (!fs)
		return;
	while (hash_next(fs->by_id, &pos, NULL, NULL, &value)) {
		struct file *file = value;

		file->files = NULL;
		if (!file->is_asked)
			file_free(file);
	}
	hash_free(fs->by_id);
	free(fs);
}

/* The symbolizer_functions_fn. `offsets` are those of tls_file_marks(). */
static void on_marks(void *ctx, const uint64_t *offsets, size_t n)
{
	struct file *file = ctx;
	struct tls_files *fs = file->files;
	bool is_go = false;
	size_t n_marks, n_go;

	file->is_asked = false;
	if (!fs) {
		file_free(file);
		return;
	}
	(void)tls_file_marks(&n_marks, &n_go);
	for (size_t i = 0; offsets && i < n; i++) {
		if (!offsets[i])
			continue;
		is_go |= i < n_go;
		file->may_probe |= i >= n_go;
	}
	if (is_go && file->may_probe) {
		file->may_probe = false;
		if (!fs->go_told)
			log_warn("net: a program made by Go is not probed: that would end it");
		fs->go_told = true;
	}
	fs->n_asked--;
	fs->n_answers++;
}

bool tls_files_may_probe(struct tls_files *fs, struct module *module)
{
	struct file *file = hash_get_u64(fs->by_id, module->id);
	const char *const *marks;
	size_t n_marks, n_go;

	if (file || !module_is_file(module) || hash_count(fs->by_id) >= MAX_FILES)
		return file && file->may_probe;
	file = calloc(1, sizeof(*file));
	if (!file)
		return false;
	*file = (struct file){ .files = fs, .module = module, .is_asked = true };
	if (hash_set_u64(fs->by_id, module->id, file) < 0) {
		free(file);
		return false;
	}
	module_hold(module);
	fs->n_asked++;
	marks = tls_file_marks(&n_marks, &n_go);
	symbolizer_ask_functions(fs->symbolizer, module, marks, n_marks, on_marks, file);
	return file->may_probe; /* it may have been answered already */
}

uint64_t tls_files_answers(const struct tls_files *fs)
{
	return fs->n_answers;
}

bool tls_files_pending(const struct tls_files *fs)
{
	return fs->n_asked > 0;
}
