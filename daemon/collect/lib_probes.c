/* SPDX-License-Identifier: Apache-2.0 */
/* lib_probes.c - probes on functions of libraries, known by their names. */
#include "lib_probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "process/process_table.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"
#include "text.h"
#include "uprobes.h"

/* Libraries, and processes with one of them, that have probes at a time. */
#define MAX_FILES  64
#define MAX_PROBED 128
/* Of one file; functions that share their code share a place. */
#define MAX_SITES 1024

struct site {
	uint64_t offset;
	const struct lib_function *function;
	bool in_all; /* has probes */
};

struct file {
	struct file *next;
	struct module *module; /* held */
	unsigned n_asked;      /* answers of the worker that are missing */
	bool was_asked, wants_all;
	struct uprobes **probes; /* in all processes */
	size_t n_probes, n_sites;
	struct site sites[MAX_SITES];
};

struct probed {	       /* a process that has probes of its own in a file */
	uint32_t tgid; /* 0: the entry is free */
	uint64_t start_ns;
	struct file *file;
	struct uprobes *probes[LIB_PROGRAMS];
};

struct lib_probes {
	struct lib_probes_env env;
	uint32_t groups;
	bool is_over;	  /* and is freed with the last answer */
	unsigned n_asked; /* answers that are missing */
	int error;	  /* of the last one that could not be put */
	size_t n_in_all;  /* places */
	bool failure_told, files_told, processes_told;
	struct file *files;
	size_t n_files;
	struct probed probed[MAX_PROBED];
};

/* A question to the worker, about some of the functions of a file. */
struct question {
	struct lib_probes *ps;
	struct file *file;
	const struct lib_function *functions;
};

/* ---- probes ---- */

static void tell_failure(struct lib_probes *ps, const struct file *file, int error)
{
	const char *path = file->module->path;
	char text[256];

	ps->error = error;
	if (ps->failure_told)
		return;
	ps->failure_told = true;
	(void)text_printable(text, sizeof(text), path, strlen(path));
	log_warn("%s: no probes in %s: %s%s", ps->env.collector, text, strerror(-error),
		 error == -EACCES || error == -EPERM
			 ? " (needs CAP_PERFMON, before Linux 6.6 CAP_SYS_ADMIN)"
			 : "");
}

static bool is_wanted(const struct lib_probes *ps, const struct site *s)
{
	return ps->groups & 1u << s->function->group;
}

/* Those that are wanted and, `in_all`, have no probes yet. Room for n_sites. */
static size_t gather(const struct lib_probes *ps, const struct file *file, bool in_all,
		     struct uprobe_site *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < file->n_sites; i++) {
		const struct site *s = &file->sites[i];

		if (is_wanted(ps, s) && !(in_all && s->in_all))
			ret[n++] = (struct uprobe_site){ s->offset, s->function->cookie, 0 };
	}
	return n;
}

/* What cannot be probed is not tried again. */
static size_t attach(struct lib_probes *ps, const struct file *file, pid_t pid,
		     struct uprobes *ret[LIB_PROGRAMS])
{
	struct uprobe_site *sites = calloc(file->n_sites + 1, sizeof(*sites));
	struct uprobe_target target = { .pid = pid };
	size_t n, n_ok, n_programs = 0;

	n = sites ? gather(ps, file, pid == 0, sites) : 0;
	target.fd = n ? symbolizer_open(ps->env.symbolizer, file->module) : -1;
	for (size_t i = 0; target.fd >= 0 && i < LIB_PROGRAMS && ps->env.programs[i].prog; i++) {
		int r;

		target.at_return = ps->env.programs[i].at_return;
		r = uprobes_attach(ps->env.programs[i].prog, &target, sites, n, &ret[n_programs],
				   &n_ok);
		if (r < 0) {
			tell_failure(ps, file, r);
			break;
		}
		n_programs++;
		if (pid == 0 && (i + 1 == LIB_PROGRAMS || !ps->env.programs[i + 1].prog))
			ps->n_in_all += n_ok;
		if (n_ok < n)
			log_debug("%s: module %llu: %zu of %zu functions cannot be probed",
				  ps->env.collector, (unsigned long long)file->module->id, n - n_ok,
				  n);
	}
	if (target.fd >= 0)
		close(target.fd);
	free(sites);
	return n_programs;
}

static void keep(struct file *file, struct uprobes *probes)
{
	struct uprobes **grown = reallocarray(file->probes, file->n_probes + 1, sizeof(*grown));

	if (!grown) {
		uprobes_free(probes);
		return;
	}
	grown[file->n_probes] = probes;
	file->probes = grown;
	file->n_probes++;
}

static void attach_in_all(struct lib_probes *ps, struct file *file)
{
	struct uprobes *probes[LIB_PROGRAMS];
	size_t n = attach(ps, file, 0, probes);

	for (size_t i = 0; i < n; i++)
		keep(file, probes[i]);
	if (n > 0)
		log_debug("%s: all processes have probes in %s", ps->env.collector,
			  file->module->path);
	for (size_t i = 0; i < file->n_sites; i++)
		file->sites[i].in_all |= is_wanted(ps, &file->sites[i]);
}

static void probed_drop(struct probed *p)
{
	for (size_t i = LIB_PROGRAMS; i-- > 0;)
		uprobes_free(p->probes[i]);
	*p = (struct probed){ 0 };
}

static struct probed *find_probed(struct lib_probes *ps, uint32_t tgid, const struct file *file)
{
	for (size_t i = 0; i < MAX_PROBED; i++)
		if (ps->probed[i].tgid == tgid && (tgid == 0 || ps->probed[i].file == file))
			return &ps->probed[i];
	return NULL;
}

/* ---- files ---- */

static void end_probes(struct file *file)
{
	while (file->n_probes > 0)
		uprobes_free(file->probes[--file->n_probes]);
}

static void free_all(struct lib_probes *ps)
{
	while (ps->files) {
		struct file *file = ps->files;

		ps->files = file->next;
		end_probes(file);
		free(file->probes);
		module_release(file->module);
		free(file);
	}
	free(ps);
}

static void add_site(struct file *file, uint64_t offset, const struct lib_function *function)
{
	for (size_t i = 0; i < file->n_sites; i++)
		if (file->sites[i].offset == offset)
			return;
	if (file->n_sites < MAX_SITES)
		file->sites[file->n_sites++] =
			(struct site){ .offset = offset, .function = function };
}

/* The symbolizer_functions_fn. */
static void on_answer(void *ctx, const uint64_t *offsets, size_t n)
{
	struct question *q = ctx;
	struct lib_probes *ps = q->ps;

	for (size_t i = 0; offsets && i < n; i++)
		if (offsets[i])
			add_site(q->file, offsets[i], &q->functions[i]);
	q->file->n_asked--;
	if (q->file->n_asked == 0 && q->file->wants_all && !ps->is_over)
		attach_in_all(ps, q->file);
	free(q);
	if (--ps->n_asked == 0 && ps->is_over)
		free_all(ps);
}

static void ask(struct lib_probes *ps, struct file *file, const struct lib_function *functions,
		size_t n)
{
	const char *names[FILES_FUNCTIONS_MAX];
	struct question *q = malloc(sizeof(*q));

	if (!q)
		return; /* no probes on these */
	*q = (struct question){ .ps = ps, .file = file, .functions = functions };
	for (size_t i = 0; i < n; i++)
		names[i] = functions[i].name;
	file->n_asked++;
	ps->n_asked++;
	symbolizer_ask_functions(ps->env.symbolizer, file->module, names, n, on_answer, q);
}

/* NULL: there are too many, or there is no memory. */
static struct file *file_of(struct lib_probes *ps, struct module *module)
{
	struct file *file;

	for (file = ps->files; file; file = file->next)
		if (file->module == module)
			return file;
	if (ps->n_files == MAX_FILES) {
		if (!ps->files_told)
			log_warn("%s: more than %d libraries: those beyond have no probes",
				 ps->env.collector, MAX_FILES);
		ps->files_told = true;
		return NULL;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->module = module;
	module_hold(module);
	file->next = ps->files;
	ps->files = file;
	ps->n_files++;
	return file;
}

/* Asks once; the first answers may come while the last questions are asked. */
static void ask_for_all(struct lib_probes *ps, struct file *file,
			const struct lib_function *functions, size_t n)
{
	if (file->was_asked)
		return;
	file->was_asked = true;
	file->n_asked++;
	for (size_t i = 0; i < n; i += FILES_FUNCTIONS_MAX)
		ask(ps, file, functions + i,
		    n - i < FILES_FUNCTIONS_MAX ? n - i : FILES_FUNCTIONS_MAX);
	file->n_asked--;
}

/* ---- all of them ---- */

int lib_probes_new(const struct lib_probes_env *env, struct lib_probes **ret)
{
	struct lib_probes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	ps->env = *env;
	ps->groups = ~0u;
	*ret = ps;
	return 0;
}

void lib_probes_free(struct lib_probes *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < MAX_PROBED; i++)
		probed_drop(&ps->probed[i]);
	for (struct file *file = ps->files; file; file = file->next)
		end_probes(file);
	ps->is_over = true;
	if (ps->n_asked == 0)
		free_all(ps);
}

void lib_probes_want(struct lib_probes *ps, uint32_t groups)
{
	ps->groups = groups;
	for (struct file *file = ps->files; file; file = file->next)
		if (file->wants_all && !file->n_asked)
			attach_in_all(ps, file);
}

void lib_probes_in_all(struct lib_probes *ps, struct module *module,
		       const struct lib_function *functions, size_t n)
{
	struct file *file = file_of(ps, module);

	if (!file || (file->wants_all && file->was_asked))
		return;
	file->wants_all = true;
	ask_for_all(ps, file, functions, n);
	if (file->n_asked == 0)
		attach_in_all(ps, file);
}

void lib_probes_in_process(struct lib_probes *ps, const struct process *process,
			   struct module *module, const struct lib_function *functions, size_t n)
{
	struct file *file = file_of(ps, module);
	struct probed *p;

	if (!file)
		return;
	ask_for_all(ps, file, functions, n);
	if (file->n_asked || file->n_sites == 0 || find_probed(ps, process->tgid, file))
		return;
	p = find_probed(ps, 0, NULL);
	if (!p) {
		if (!ps->processes_told)
			log_warn("%s: more than %d processes: those beyond have no probes",
				 ps->env.collector, MAX_PROBED);
		ps->processes_told = true;
		return;
	}
	*p = (struct probed){ .tgid = process->tgid, .start_ns = process->start_ns, .file = file };
	if (attach(ps, file, (pid_t)process->tgid, p->probes) > 0)
		log_debug("%s: process %u has probes in %s", ps->env.collector, process->tgid,
			  module->path);
}

void lib_probes_at(struct lib_probes *ps, struct module *module, uint64_t offset,
		   const struct lib_function *function)
{
	struct file *file = file_of(ps, module);
	size_t n;

	if (!file)
		return;
	n = file->n_sites;
	add_site(file, offset, function);
	file->wants_all = true;
	if (file->n_sites > n && file->n_asked == 0)
		attach_in_all(ps, file);
}

void lib_probes_keep(struct lib_probes *ps, lib_wanted_fn *wanted, void *ctx)
{
	for (size_t i = 0; i < MAX_PROBED; i++)
		if (ps->probed[i].tgid && !wanted(ctx, ps->probed[i].tgid, ps->probed[i].start_ns))
			probed_drop(&ps->probed[i]);
}

bool lib_probes_pending(const struct lib_probes *ps)
{
	return ps->n_asked > 0;
}

size_t lib_probes_count(const struct lib_probes *ps)
{
	return ps->n_in_all;
}

int lib_probes_error(const struct lib_probes *ps)
{
	return ps->error;
}
