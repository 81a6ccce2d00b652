/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_probes.c - probes on the functions of a process by which memory is asked for. */
#include "alloc_probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_events.h"
#include "log.h"
#include "process/process_table.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

/* Libraries, and processes with one of them, that have probes at a time. */
#define MAX_FILES  32
#define MAX_PROBED 128

static const struct {
	const char *name;
	enum alloc_function function;
} functions[] = {
	{ "malloc", ALLOC_MALLOC },	    { "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },	    { "posix_memalign", ALLOC_POSIX_MEMALIGN },
	{ "aligned_alloc", ALLOC_ALIGNED }, { "memalign", ALLOC_ALIGNED },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

struct file {			       /* with allocation functions in it */
	struct module *module;	       /* held; NULL: the entry is free */
	unsigned n_asked;	       /* answers of the worker that are missing */
	uint64_t offsets[N_FUNCTIONS]; /* in the file; 0: it has none such */
};

struct probed {	       /* a process that has probes in a file */
	uint32_t tgid; /* 0: the entry is free */
	uint64_t start_ns;
	struct file *file;
	struct bpf_link *links[N_FUNCTIONS];
};

struct alloc_probes {
	struct symbolizer *sym;
	struct bpf_program *prog;
	bool is_over;	  /* and is freed with the last answer */
	unsigned n_asked; /* answers that are missing */
	bool failure_told, limit_told;
	struct file files[MAX_FILES];
	struct probed probed[MAX_PROBED];
};

/* A question to the worker, about some of the functions of a file. */
struct question {
	struct alloc_probes *p;
	struct file *file;
	size_t first, n;
};

/* ---- probes ---- */

static void probed_drop(struct probed *p)
{
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		bpf_link__destroy(p->links[i]);
	*p = (struct probed){ 0 };
}

static void tell_failure(struct alloc_probes *ps, uint32_t tgid, int error)
{
	if (ps->failure_told)
		return;
	ps->failure_told = true;
	log_warn("alloc: no probes in process %u: %s%s", tgid, strerror(-error),
		 error == -EACCES || error == -EPERM ? " (needs CAP_PERFMON)" : "");
}

/* What cannot be probed is not tried again. */
static void attach(struct alloc_probes *ps, struct probed *p)
{
	int fd = symbolizer_open(ps->sym, p->file->module);
	char path[64];

	if (fd < 0)
		return;
	/* The file itself: its path may be another's by now, or of another namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = functions[i].function);

		if (!p->file->offsets[i])
			continue;
		p->links[i] = bpf_program__attach_uprobe_opts(ps->prog, (pid_t)p->tgid, path,
							      p->file->offsets[i], &opts);
		if (!p->links[i])
			tell_failure(ps, p->tgid, -errno);
	}
	close(fd);
}

static bool has_probes(const struct alloc_probes *ps, uint32_t tgid, const struct file *file)
{
	for (size_t i = 0; i < MAX_PROBED; i++)
		if (ps->probed[i].tgid == tgid && ps->probed[i].file == file)
			return true;
	return false;
}

static void put(struct alloc_probes *ps, const struct process *process, struct file *file)
{
	if (file->n_asked || has_probes(ps, process->tgid, file))
		return;
	for (size_t i = 0; i < MAX_PROBED; i++) {
		struct probed *p = &ps->probed[i];

		if (p->tgid)
			continue;
		p->tgid = process->tgid;
		p->start_ns = process->start_ns;
		p->file = file;
		attach(ps, p);
		return;
	}
	if (!ps->limit_told)
		log_warn("alloc: more than %d processes: those beyond have no probes", MAX_PROBED);
	ps->limit_told = true;
}

/* ---- files ---- */

/* By the names that C libraries and allocators have. */
bool alloc_probes_may_be(const char *path)
{
	static const char *const names[] = { "libc.so",	     "libc-2.",	    "ld-musl-",
					     "libjemalloc.", "libtcmalloc", "libmimalloc" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void free_all(struct alloc_probes *ps)
{
	for (size_t i = 0; i < MAX_FILES; i++)
		if (ps->files[i].module)
			module_release(ps->files[i].module);
	free(ps);
}

/* The symbolizer_objects_fn. */
static void on_answer(void *ctx, const struct module *module, const struct files_objects *objects)
{
	struct question *q = ctx;
	struct alloc_probes *ps = q->p;

	(void)module;
	for (size_t i = 0; objects && i < q->n; i++) {
		uint64_t at = objects->objects[i].vaddr - objects->text_vaddr;

		if (objects->objects[i].vaddr && at < objects->text_size)
			q->file->offsets[q->first + i] = objects->text_offset + at;
	}
	q->file->n_asked--;
	free(q);
	if (--ps->n_asked == 0 && ps->is_over)
		free_all(ps);
}

static void ask(struct alloc_probes *ps, struct file *file, size_t first)
{
	const char *names[FILES_OBJECTS_MAX];
	struct question *q = malloc(sizeof(*q));

	if (!q)
		return; /* no probes on these */
	*q = (struct question){ .p = ps, .file = file, .first = first };
	for (; q->n < FILES_OBJECTS_MAX && first + q->n < N_FUNCTIONS; q->n++)
		names[q->n] = functions[first + q->n].name;
	file->n_asked++;
	ps->n_asked++;
	symbolizer_ask_objects(ps->sym, file->module, names, q->n, on_answer, q);
}

/* NULL: there are too many. */
static struct file *file_of(struct alloc_probes *ps, struct module *module)
{
	struct file *file = NULL;

	for (size_t i = 0; i < MAX_FILES; i++) {
		if (ps->files[i].module == module)
			return &ps->files[i];
		if (!ps->files[i].module && !file)
			file = &ps->files[i];
	}
	if (!file)
		return NULL;
	*file = (struct file){ .module = module };
	module_hold(module);
	for (size_t i = 0; i < N_FUNCTIONS; i += FILES_OBJECTS_MAX)
		ask(ps, file, i);
	return file;
}

/* ---- all of them ---- */

int alloc_probes_new(struct symbolizer *sym, struct bpf_program *prog, struct alloc_probes **ret)
{
	struct alloc_probes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	ps->sym = sym;
	ps->prog = prog;
	*ret = ps;
	return 0;
}

void alloc_probes_free(struct alloc_probes *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < MAX_PROBED; i++)
		probed_drop(&ps->probed[i]);
	ps->is_over = true;
	if (ps->n_asked == 0)
		free_all(ps);
}

void alloc_probes_put(struct alloc_probes *ps, const struct process *process, struct module *module)
{
	struct file *file = file_of(ps, module);

	if (file)
		put(ps, process, file);
}

void alloc_probes_keep(struct alloc_probes *ps, alloc_wanted_fn *wanted, void *ctx)
{
	for (size_t i = 0; i < MAX_PROBED; i++)
		if (ps->probed[i].tgid && !wanted(ctx, ps->probed[i].tgid, ps->probed[i].start_ns))
			probed_drop(&ps->probed[i]);
}
