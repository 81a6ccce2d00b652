/* SPDX-License-Identifier: Apache-2.0 */
/* markers_files.c - programs and libraries that were built with daemon/marker.h. */
#include "markers_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/uprobes.h"
#include "hash.h"
#include "log.h"
#include "markers_events.h"
#include "symbolize/elf_usdt.h"
#include "symbolize/symbolizer.h"

/* Files that are known, most of them without markers; and those with probes. */
#define MAX_FILES  32768
#define MAX_PROBED 1024

struct file {
	struct markers_files *files; /* NULL: nobody waits for the answer */
	struct module *module;	     /* held while it is asked about or has probes; else NULL */
	struct uprobes *probes;	     /* or NULL */
	bool is_asked;
};

struct markers_files {
	struct symbolizer *symbolizer;
	struct bpf_program *prog;
	struct hash *by_id; /* of the module */
	size_t n_probed;
	unsigned n_asked;
	int error;
	bool failure_told;
};

#define PROBE(name) ELF_USDT_SITE "tracer:" name, ELF_USDT_SEMAPHORE "tracer:" name

/* By phase, the place and then the semaphore. */
static const char *const names[] = {
	PROBE("begin"),	      PROBE("end"),	    PROBE("instant"),	PROBE("counter"),
	PROBE("counter_f64"), PROBE("async_begin"), PROBE("async_end"),
};

#define N_NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(N_NAMES == 2 * N_MARKERS_PHASES, "each phase is a probe");

int markers_files_new(struct symbolizer *sym, struct bpf_program *prog, struct markers_files **ret)
{
	struct markers_files *fs = calloc(1, sizeof(*fs));
	int r = fs ? hash_new(&fs->by_id) : -ENOMEM;

	if (r < 0) {
		free(fs);
		return r;
	}
	fs->symbolizer = sym;
	fs->prog = prog;
	*ret = fs;
	return 0;
}

static void let_go(struct file *file)
{
	if (file->module)
		module_release(file->module);
	file->module = NULL;
}

void markers_files_free(struct markers_files *fs)
{
	size_t pos = 0;
	void *value;

	if (!fs)
		return;
	while (hash_next(fs->by_id, &pos, NULL, NULL, &value)) {
		struct file *file = value;

		uprobes_free(file->probes);
		file->probes = NULL;
		file->files = NULL;
		if (file->is_asked)
			continue; /* freed with the answer */
		let_go(file);
		free(file);
	}
	hash_free(fs->by_id);
	free(fs);
}

static void tell_failure(struct markers_files *fs, const char *path, int error)
{
	fs->error = error;
	if (!fs->failure_told)
		log_warn("markers: no probes in %s: %s", path, strerror(-error));
	fs->failure_told = true;
}

static void attach(struct markers_files *fs, struct file *file, const uint64_t *offsets)
{
	struct uprobe_site sites[N_MARKERS_PHASES];
	struct uprobe_target target = { 0 };
	uint64_t semaphore = 0;
	size_t n = 0, n_ok;
	int r;

	for (uint64_t i = 0; i < N_MARKERS_PHASES; i++) {
		if (!offsets[2 * i] || !offsets[2 * i + 1])
			continue;
		sites[n++] = (struct uprobe_site){ offsets[2 * i], i, 0 };
		semaphore = offsets[2 * i + 1];
	}
	if (n == 0)
		return;
	/* They share it: counted up with the last one, it says that all are there. */
	sites[n - 1].semaphore = semaphore;
	if (fs->n_probed >= MAX_PROBED) {
		tell_failure(fs, file->module->path, -ENOSPC);
		return;
	}
	target.fd = symbolizer_open(fs->symbolizer, file->module);
	if (target.fd < 0)
		return; /* it is gone */
	r = uprobes_attach(fs->prog, &target, sites, n, &file->probes, &n_ok);
	close(target.fd);
	if (r < 0) {
		tell_failure(fs, file->module->path, r);
		return;
	}
	fs->n_probed++;
	log_debug("markers: %zu probes in %s", n_ok, file->module->path);
}

/* The symbolizer_functions_fn. `offsets` are those of `names`. */
static void on_places(void *ctx, const uint64_t *offsets, size_t n)
{
	struct file *file = ctx;
	struct markers_files *fs = file->files;

	file->is_asked = false;
	if (!fs) {
		let_go(file);
		free(file);
		return;
	}
	fs->n_asked--;
	if (offsets && n == N_NAMES)
		attach(fs, file, offsets);
	if (!file->probes)
		let_go(file);
}

/* Those without markers are asked about anew. */
static void forget(struct markers_files *fs)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	while (hash_next(fs->by_id, &pos, &key, &len, &value)) {
		struct file *file = value;

		if (file->is_asked || file->probes)
			continue;
		(void)hash_remove(fs->by_id, key, len);
		free(file);
	}
}

void markers_files_look(struct markers_files *fs, struct module *module)
{
	struct file *file;

	if (!module_is_file(module) || hash_get_u64(fs->by_id, module->id))
		return;
	if (hash_count(fs->by_id) >= MAX_FILES)
		forget(fs);
	if (hash_count(fs->by_id) >= MAX_FILES)
		return; /* all are asked about: another time */
	file = calloc(1, sizeof(*file));
	if (!file || hash_set_u64(fs->by_id, module->id, file) < 0) {
		free(file);
		return;
	}
	*file = (struct file){ .files = fs, .module = module, .is_asked = true };
	module_hold(module);
	fs->n_asked++;
	symbolizer_ask_functions(fs->symbolizer, module, names, N_NAMES, on_places, file);
}

bool markers_files_pending(const struct markers_files *fs)
{
	return fs->n_asked > 0;
}

size_t markers_files_count(const struct markers_files *fs)
{
	return fs->n_probed;
}

int markers_files_error(const struct markers_files *fs)
{
	return fs->error;
}
