/* SPDX-License-Identifier: Apache-2.0 */
/* probe_attach.c - one probe in the kernel. */
#include "probe_attach.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "bpf_load.h"
#include "io.h"
#include "log.h"
#include "probe/probe_types.h"
#include "symbolize/symbolizer.h"
#include "text.h"
#include "uprobes.h"

/* Of one place of a probe: a library's name may be that of one in each container. */
#define MAX_FILES     256
#define MAX_FUNCTIONS 1024

#define GLOB_CHARS "*?["

struct file {
	struct file *next;
	struct target *target;
	struct module *module; /* held */
	bool is_answered;
	struct probe_question *question; /* NULL: answered, or not asked yet */
	struct uprobe_site *sites;	 /* that may be attached */
	size_t n_sites;
	struct uprobes *probes; /* NULL: not attached */
	size_t n_attached;
};

/* One of the probe's two places. */
struct target {
	struct probe_attached *attached;
	const struct probe_place *place;
	enum probes_point point;
	char *path; /* canonical; NULL: a name, or it is the kernel's */
	struct file *files;
	size_t n_files;
	/* In the kernel: */
	struct bpf_link *link;
	uint32_t number;
	bool has_number;
};

struct probe_attached {
	const struct probe_attach_env *env;
	struct probe *probe;
	struct target targets[2];
	size_t n_targets;
	unsigned n_asked;
	bool is_settled; /* files that are known have been looked at */
	bool is_paused, files_told;
	char error[PROBE_WHY_LEN]; /* the last one; "" none */
	struct probes_counts gone; /* hits at places that are no more */
};

static bool is_of_kernel(const struct probe_place *place)
{
	return place->kind > PROBE_USDT;
}

bool probe_name_means(const char *wanted, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t len = strlen(wanted);

	if (slash)
		name = slash + 1;
	if (strpbrk(wanted, GLOB_CHARS "("))
		return fnmatch(wanted, name, FNM_EXTMATCH) == 0;
	return strncmp(wanted, name, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* ---- what is wrong ---- */

/* Of a file, or of none. */
static void set_error(struct probe_attached *a, const char *path, const char *what)
{
	char text[200];

	if (!path) {
		snprintf(a->error, sizeof(a->error), "%s", what);
		return;
	}
	(void)text_printable(text, sizeof(text), path, strlen(path));
	snprintf(a->error, sizeof(a->error), "%.160s: %.300s", text, what);
}

static void set_kernel_error(struct probe_attached *a, const char *path, int r)
{
	char why[256];

	bpf_load_explain(r, "a probe", why, sizeof(why));
	set_error(a, path, why);
}

/* Of a place in the kernel. */
static void explain_kernel(struct target *t, int r)
{
	char what[PROBE_WHY_LEN];
	bool is_kprobe = t->place->kind == PROBE_KPROBE;

	if (t->place->kind == PROBE_TRACEPOINT)
		return set_kernel_error(t->attached, NULL, r);
	snprintf(what, sizeof(what), "%.200s(): %s: this kernel lets no %s be attached to it%s",
		 t->place->symbol, strerror(-r), is_kprobe ? "kprobe" : "fentry or fexit",
		 is_kprobe ? " (CONFIG_KPROBES); a tracepoint may do"
			   : " (CONFIG_FUNCTION_TRACER); try kprobe: or a tracepoint");
	set_error(t->attached, NULL, what);
}

/* ---- state ---- */

static size_t n_attached(const struct target *t)
{
	size_t n = t->link ? 1 : 0;

	for (const struct file *f = t->files; f; f = f->next)
		n += f->n_attached;
	return n;
}

static enum probe_state state_of(const struct probe_attached *a)
{
	size_t n_on = 0;

	for (size_t i = 0; i < a->n_targets; i++)
		n_on += n_attached(&a->targets[i]) > 0;
	if (n_on == a->n_targets)
		return PROBE_ON;
	if (a->n_asked > 0 || !a->is_settled)
		return PROBE_ATTACHES;
	return a->error[0] ? PROBE_FAILED : PROBE_WAITS;
}

static void set_waits(const struct probe_attached *a, struct probe *p)
{
	const struct target *t = &a->targets[0];

	for (size_t i = 0; i < a->n_targets; i++)
		if (!a->targets[i].files && !is_of_kernel(a->targets[i].place))
			t = &a->targets[i];
	snprintf(p->why, sizeof(p->why), "no process has mapped '%.200s' yet", t->place->path);
}

static void update_state(struct probe_attached *a)
{
	struct probe *p = a->probe;
	enum probe_state state;
	unsigned n = 0;

	if (a->is_paused)
		return;
	state = state_of(a);
	for (size_t i = 0; i < a->n_targets; i++)
		n += (unsigned)n_attached(&a->targets[i]);
	if (state == p->state && n == p->n_sites)
		return;
	p->state = state;
	p->n_sites = n;
	p->why[0] = '\0';
	if (state == PROBE_FAILED || state == PROBE_ON)
		snprintf(p->why, sizeof(p->why), "%s", a->error);
	else if (state == PROBE_WAITS)
		set_waits(a, p);
	probes_changed(a->env->probes, p);
}

/* ---- attaching ---- */

/* Ends have no stack: it is their begin's. */
static bool has_stack(const struct target *t)
{
	return t->attached->probe->def.with_stack && t->point != PROBES_FINISH;
}

static void attach_file(struct target *t, struct file *f)
{
	struct uprobe_target target = { .at_return = t->place->kind == PROBE_URETPROBE };
	int r;

	if (f->probes || f->n_sites == 0)
		return;
	target.fd = symbolizer_open(t->attached->env->symbolizer, f->module);
	if (target.fd < 0)
		return; /* it is gone */
	r = uprobes_attach(probe_programs_uprobe(t->attached->env->programs, has_stack(t)), &target,
			   f->sites, f->n_sites, &f->probes, &f->n_attached);
	close(target.fd);
	if (r < 0)
		set_kernel_error(t->attached, f->module->path, r);
	else if (f->n_attached < f->n_sites)
		set_error(t->attached, f->module->path, "some places cannot be probed");
}

static void attach_kernel(struct target *t)
{
	int r;

	if (t->link || !t->has_number)
		return;
	r = probe_programs_attach(t->attached->env->programs, t->place, has_stack(t), t->number,
				  &t->link);
	if (r < 0)
		explain_kernel(t, r);
}

static void attach_target(struct target *t)
{
	if (is_of_kernel(t->place))
		attach_kernel(t);
	for (struct file *f = t->files; f; f = f->next)
		attach_file(t, f);
}

/* What cannot be ended later is ended now. */
static void detach_target(struct target *t, struct probe_end *end)
{
	if (!end || !probe_end_link(end, t->link))
		bpf_link__destroy(t->link);
	t->link = NULL;
	for (struct file *f = t->files; f; f = f->next) {
		if (!end || !probe_end_uprobes(end, f->probes))
			uprobes_free(f->probes);
		f->probes = NULL;
		f->n_attached = 0;
	}
}

/* The way out first: a call whose way in was seen must not miss it. */
static void attach(struct probe_attached *a)
{
	bool has_end = a->n_targets == 2;

	if (a->is_paused)
		return;
	if (has_end) {
		for (struct file *f = a->targets[1].files; f; f = f->next)
			if (!f->is_answered)
				return;
		attach_target(&a->targets[1]);
	}
	if (!has_end || n_attached(&a->targets[1]) > 0)
		attach_target(&a->targets[0]);
}

/* The way in first: what is seen to begin is seen to end. */
static void detach(struct probe_attached *a, struct probe_end *end)
{
	for (size_t i = 0; i < a->n_targets; i++)
		detach_target(&a->targets[i], end);
}

void probe_attached_pause(struct probe_attached *a)
{
	struct probe_end *end = probe_end_new(a->probe);

	detach(a, end);
	if (end)
		probe_ends_begin(a->env->ends, a->env->places, end);
	a->is_paused = true;
}

void probe_attached_resume(struct probe_attached *a)
{
	a->is_paused = false;
	attach(a);
	update_state(a);
}

/* ---- places ---- */

/* Records of all sites of a point are read by the code of the first one. */
static bool is_alike(const struct probe_code *a, const struct probe_code *b)
{
	return a->n_values == b->n_values && memcmp(a->arg, b->arg, sizeof(a->arg)) == 0 &&
	       memcmp(a->type, b->type, sizeof(a->type)) == 0 &&
	       memcmp(a->size, b->size, sizeof(a->size)) == 0 && a->counter_type == b->counter_type;
}

static int take_number(struct target *t, const struct probe_types *types, uint32_t *ret,
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
static uint32_t function_of(struct target *t, const char *symbol)
{
	struct probe *p = t->attached->probe;
	char **grown;

	if (!symbol || !strpbrk(t->place->symbol, GLOB_CHARS))
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

static void take_sites(struct file *f, const struct probe_sites *sites)
{
	struct target *t = f->target;
	char why[PROBE_WHY_LEN];

	if (sites->is_go && t->place->kind == PROBE_URETPROBE) {
		set_error(t->attached, f->module->path,
			  "a program made by Go: a probe at a return would end it; choose "
			  "uprobe: instead");
		return;
	}
	f->sites = calloc(sites->n ? sites->n : 1, sizeof(*f->sites));
	for (size_t i = 0; f->sites && i < sites->n; i++) {
		const struct probe_site *s = &sites->list[i];
		uint32_t number;

		if (take_number(t, s->types, &number, why) < 0) {
			set_error(t->attached, f->module->path, why);
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
	struct file *f = ctx;
	struct probe_attached *a = f->target->attached;

	f->is_answered = true;
	f->question = NULL;
	a->n_asked--;
	if (sites)
		take_sites(f, sites);
	else
		set_error(a, f->module->path, why);
	probe_sites_free(sites);
	attach(a);
	update_state(a);
}

/* ---- files ---- */

static void add_file(struct target *t, struct module *module)
{
	struct probe_attached *a = t->attached;
	struct file *f;
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
	*f = (struct file){ .next = t->files, .target = t, .module = module };
	module_hold(module);
	t->files = f;
	t->n_files++;
	a->n_asked++;
	r = probe_types_ask(a->env->symbolizer, module, &a->probe->def, t->place, on_sites, f,
			    &f->question);
	if (r < 0 && !f->is_answered)
		on_sites(f, NULL, strerror(-r));
}

static void look(struct target *t, struct module *module, const char *path)
{
	if (is_of_kernel(t->place))
		return;
	if (t->path ? strcmp(t->path, path) != 0 : !probe_name_means(t->place->path, path))
		return;
	for (const struct file *f = t->files; f; f = f->next)
		if (f->module == module)
			return;
	add_file(t, module);
}

void probe_attached_look(struct probe_attached *a, struct module *module, const char *path)
{
	/* The way out is asked for first, so that it is there first. */
	for (size_t i = a->n_targets; i-- > 0;)
		look(&a->targets[i], module, path);
}

bool probe_attached_wants_name(const struct probe_attached *a, const char *name)
{
	for (size_t i = 0; i < a->n_targets; i++) {
		const struct target *t = &a->targets[i];

		if (!is_of_kernel(t->place) && !t->path && probe_name_means(t->place->path, name))
			return true;
	}
	return false;
}

void probe_attached_settle(struct probe_attached *a)
{
	a->is_settled = true;
	update_state(a);
}

/* The file that was named by its path may be mapped by nobody yet. */
static int open_path(struct target *t, char why[PROBE_WHY_LEN])
{
	struct probe_attached *a = t->attached;
	struct module *module;
	int fd, r;

	t->path = realpath(t->place->path, NULL);
	fd = t->path ? io_open_regular(t->path) : -errno;
	if (fd < 0) {
		snprintf(why, PROBE_WHY_LEN, "%.300s: %s", t->place->path, strerror(-fd));
		return fd;
	}
	r = symbolizer_module(a->env->symbolizer, fd, t->path, &module);
	if (r < 0) {
		snprintf(why, PROBE_WHY_LEN, "%.300s: %s", t->place->path, strerror(-r));
		return r;
	}
	look(t, module, t->path);
	return 0;
}

/* ---- places of the kernel ---- */

static int open_kernel(struct target *t, char why[PROBE_WHY_LEN])
{
	struct probe_sites *sites;
	int r = probe_types_kernel(&t->attached->probe->def, t->place, &sites, why);

	if (r < 0)
		return r;
	r = sites->n ? take_number(t, sites->list[0].types, &t->number, why) : -ENOENT;
	t->has_number = r == 0;
	probe_sites_free(sites);
	return r;
}

/* Whether it can be attached there is known at once. */
static int check_kernel(const struct probe_attached *a, char why[PROBE_WHY_LEN])
{
	for (size_t i = a->n_targets; i-- > 0;) {
		const struct target *t = &a->targets[i];

		if (!is_of_kernel(t->place) || t->link || !a->error[0])
			continue;
		snprintf(why, PROBE_WHY_LEN, "%s", a->error);
		return -ENOTSUP;
	}
	return 0;
}

/* ---- all of it ---- */

static void add_target(struct probe_attached *a, const struct probe_place *place,
		       enum probes_point point)
{
	a->targets[a->n_targets++] =
		(struct target){ .attached = a, .place = place, .point = point };
}

int probe_attached_new(const struct probe_attach_env *env, struct probe *p, char why[PROBE_WHY_LEN],
		       struct probe_attached **ret)
{
	struct probe_attached *a = calloc(1, sizeof(*a));
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->env = env;
	a->probe = p;
	add_target(a, &p->def.at, p->def.has_end ? PROBES_BEGIN : PROBES_SINGLE);
	if (p->def.has_end)
		add_target(a, &p->def.end, PROBES_FINISH);
	for (size_t i = a->n_targets; i-- > 0 && r == 0;) {
		struct target *t = &a->targets[i];

		if (is_of_kernel(t->place))
			r = open_kernel(t, why);
		else if (t->place->path[0] == '/')
			r = open_path(t, why);
	}
	if (r < 0) {
		probe_attached_free(a);
		return r;
	}
	attach(a);
	r = check_kernel(a, why);
	if (r < 0) {
		probe_attached_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

/* Its number is another's, once nobody runs into it any more. */
static void drop_number(struct probe_attached *a, uint32_t number, struct probe_end *end)
{
	if (!end || !probe_end_number(end, number))
		probe_places_drop(a->env->places, number, &a->gone);
}

static void free_target(struct target *t, struct probe_end *end)
{
	while (t->files) {
		struct file *f = t->files;

		t->files = f->next;
		probe_question_free(f->question);
		for (size_t i = 0; i < f->n_sites; i++)
			drop_number(t->attached, (uint32_t)f->sites[i].cookie, end);
		free(f->sites);
		module_release(f->module);
		free(f);
	}
	if (t->has_number)
		drop_number(t->attached, t->number, end);
	free(t->path);
}

void probe_attached_free(struct probe_attached *a)
{
	struct probe_end *end;

	if (!a)
		return;
	end = probe_end_new(a->probe);
	detach(a, end);
	for (size_t i = 0; i < a->n_targets; i++)
		free_target(&a->targets[i], end);
	probe_attached_count(a);
	if (end) {
		probe_end_counts(end, &a->gone);
		probe_ends_begin(a->env->ends, a->env->places, end);
	}
	free(a);
}

bool probe_attached_pending(const struct probe_attached *a)
{
	return a->n_asked > 0;
}

void probe_attached_count(struct probe_attached *a)
{
	struct probes_counts sum = a->gone;
	struct probe *p = a->probe;

	probe_places_count(a->env->places, p->id, false, &sum);
	p->n_hits = sum.n_hits;
	p->n_over = sum.n_over;
	p->n_unwanted = sum.n_unwanted;
	p->n_lost = sum.n_lost;
}
