/* SPDX-License-Identifier: Apache-2.0 */
/* probe_files.c - the files that a probe's places are in, and where in them. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "io.h"
#include "log.h"
#include "probe_attach_impl.h"
#include "symbolize/symbolizer.h"
#include "text.h"

/* Of one place of a probe: a library's name may be that of one in each container. */
#define MAX_FILES     256
#define MAX_FUNCTIONS 1024
/* Of a directory, to be offered in place of one that is not there. */
#define MAX_NAMES 10000

bool probe_name_means(const char *wanted, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t len = strlen(wanted);

	if (slash)
		name = slash + 1;
	if (strpbrk(wanted, PROBE_GLOB_CHARS "("))
		return fnmatch(wanted, name, FNM_EXTMATCH) == 0;
	return strncmp(wanted, name, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* ---- what is wrong ---- */

void probe_set_text(char dst[PROBE_WHY_LEN], const char *path, const char *what)
{
	char text[200];

	(void)text_printable(text, sizeof(text), path, strlen(path));
	snprintf(dst, PROBE_WHY_LEN, "%.160s: %.300s", text, what);
}

void probe_set_error(struct probe_attached *a, const char *path, const char *what)
{
	if (path)
		probe_set_text(a->error, path, what);
	else
		snprintf(a->error, sizeof(a->error), "%s", what);
}

/* ---- places ---- */

/* Records of all sites of a point are read by the code of the first one. */
static bool is_alike(const struct probe_code *a, const struct probe_code *b)
{
	return a->n_values == b->n_values && memcmp(a->arg, b->arg, sizeof(a->arg)) == 0 &&
	       memcmp(a->type, b->type, sizeof(a->type)) == 0 &&
	       memcmp(a->size, b->size, sizeof(a->size)) == 0 && a->counter_type == b->counter_type;
}

int probe_take_number(struct probe_target *t, const struct probe_types *types, uint32_t *ret,
		      char why[PROBE_WHY_LEN])
{
	struct probe_attached *a = t->attached;
	struct probe *p = a->probe;
	struct probe_code *known = t->point == PROBES_FINISH ? &p->end : &p->begin, code;
	int r;

	memset(&code, 0, sizeof(code));
	why[0] = '\0';
	r = probe_compile(&p->def, t->point, types, &code, why);
	if (r < 0)
		return r;
	if (known->n == 0)
		*known = code;
	if (!is_alike(known, &code)) {
		snprintf(why, PROBE_WHY_LEN,
			 "its values are of other types than in the file that came first");
		return -EINVAL;
	}
	r = probe_places_take(a->env->places, p, t->point, &code, ret);
	if (r == -ENOSPC && probe_ends_pending(a->env->ends)) {
		probe_ends_wait(a->env->ends); /* of others numbers are about to be free */
		r = probe_places_take(a->env->places, p, t->point, &code, ret);
	}
	if (r == -ENOSPC)
		snprintf(why, PROBE_WHY_LEN,
			 "more than %d places that differ at a time: choose "
			 "fewer functions",
			 PROBES_MAX);
	else if (r < 0)
		snprintf(why, PROBE_WHY_LEN, "%s", strerror(-r));
	return r;
}

/* Which of the probe's functions it is; 0 if its symbol says it. */
static uint32_t function_of(struct probe_target *t, const char *symbol)
{
	struct probe *p = t->attached->probe;
	char **grown;

	if (!symbol || !strpbrk(t->place->symbol, PROBE_GLOB_CHARS))
		return 0;
	for (unsigned i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i], symbol) == 0)
			return i;
	if (p->n_functions >= MAX_FUNCTIONS)
		return 0;
	grown = reallocarray(p->functions, p->n_functions + 1, sizeof(*grown));
	if (!grown)
		return 0;
	p->functions = grown;
	grown[p->n_functions] = strdup(symbol);
	return grown[p->n_functions] ? p->n_functions++ : 0;
}

static void take_sites(struct probe_file *f, const struct probe_sites *sites)
{
	struct probe_target *t = f->target;
	char why[PROBE_WHY_LEN];

	if (sites->is_go && t->place->kind == PROBE_URETPROBE) {
		probe_set_error(t->attached, f->module->path,
				"a program made by Go: a probe at a return would end it; choose "
				"uprobe: instead");
		return;
	}
	f->sites = calloc(sites->n ? sites->n : 1, sizeof(*f->sites));
	for (size_t i = 0; f->sites && i < sites->n; i++) {
		const struct probe_site *s = &sites->list[i];
		uint32_t number;

		if (probe_take_number(t, s->types, &number, why) < 0) {
			probe_set_error(t->attached, f->module->path, why);
			continue;
		}
		f->sites[f->n_sites++] = (struct uprobe_site){
			.offset = s->offset,
			.semaphore = s->semaphore,
			.cookie = number | (uint64_t)function_of(t, s->symbol) << 32,
		};
	}
}

/* The probe_sites_fn. */
static void on_sites(void *ctx, struct probe_sites *sites, const char *why)
{
	struct probe_file *f = ctx;
	struct probe_attached *a = f->target->attached;

	f->is_answered = true;
	f->question = NULL;
	a->n_asked--;
	if (sites)
		take_sites(f, sites);
	else
		probe_set_text(a->lack, f->module->path, why);
	probe_sites_free(sites);
	probe_attached_advance(a);
}

/* ---- files ---- */

static void add_file(struct probe_target *t, struct module *module, bool stays)
{
	struct probe_attached *a = t->attached;
	struct probe_file *f;
	int r;

	if (t->n_files >= MAX_FILES) {
		if (!a->files_told)
			log_warn("probes: %s: more than %d files: those beyond are not probed",
				 a->probe->def.name, MAX_FILES);
		a->files_told = true;
		return;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return;
	*f = (struct probe_file){ .next = t->files, .target = t, .module = module, .stays = stays };
	module_hold(module);
	t->files = f;
	t->n_files++;
	a->n_asked++;
	r = probe_types_ask(a->env->symbolizer, module, &a->probe->def, t->place, on_sites, f,
			    &f->question);
	if (r < 0 && !f->is_answered)
		on_sites(f, NULL, strerror(-r));
}

void probe_target_look(struct probe_target *t, struct module *module, const char *path, bool stays)
{
	if (probe_is_of_kernel(t->place))
		return;
	if (t->path ? strcmp(t->path, path) != 0 : !probe_name_means(t->place->path, path))
		return;
	for (struct probe_file *f = t->files; f; f = f->next) {
		if (f->module != module)
			continue;
		f->stays |= stays;
		return;
	}
	add_file(t, module, stays);
}

/* ---- paths ---- */

/* Which other file of the same directory may have been meant. */
static void append_nearest(const char *path, char why[PROBE_WHY_LEN])
{
	const char *slash = strrchr(path, '/');
	char dir[PROBE_SPEC_LEN];
	struct nearest nearest = { .wanted = slash + 1 };
	struct dirent *entry;
	DIR *d;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
	d = opendir(dir);
	for (int i = 0; d && i < MAX_NAMES && (entry = readdir(d)); i++)
		nearest_offer(&nearest, entry->d_name);
	if (d)
		closedir(d);
	nearest_append(&nearest, why, PROBE_WHY_LEN);
}

/* The file that was named by its path may be mapped by nobody yet. */
int probe_target_open(struct probe_target *t, char why[PROBE_WHY_LEN])
{
	struct probe_attached *a = t->attached;
	struct module *module;
	int fd, r;

	t->path = realpath(t->place->path, NULL);
	fd = t->path ? io_open_regular(t->path) : -errno;
	if (fd < 0) {
		snprintf(why, PROBE_WHY_LEN, "%.200s: %s", t->place->path, strerror(-fd));
		if (fd == -ENOENT)
			append_nearest(t->place->path, why);
		return fd;
	}
	r = symbolizer_module(a->env->symbolizer, fd, t->path, &module);
	if (r < 0) {
		snprintf(why, PROBE_WHY_LEN, "%.300s: %s", t->place->path, strerror(-r));
		return r;
	}
	probe_target_look(t, module, t->path, true);
	return 0;
}
