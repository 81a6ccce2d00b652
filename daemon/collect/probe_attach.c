/* SPDX-License-Identifier: Apache-2.0 */
/* probe_attach.c - one probe in the kernel. */
#include "probe_attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_load.h"
#include "probe_attach_impl.h"
#include "symbolize/symbolizer.h"

/* ---- what is wrong ---- */

static void set_kernel_error(struct probe_attached *a, const char *path, int r)
{
	char why[256];

	bpf_load_explain(r, "a probe", why, sizeof(why));
	probe_set_error(a, path, why);
}

/* Of a place in the kernel. */
static void explain_kernel(struct probe_target *t, int r)
{
	char what[PROBE_WHY_LEN];
	bool is_kprobe = t->place->kind == PROBE_KPROBE;

	if (t->place->kind == PROBE_TRACEPOINT)
		return set_kernel_error(t->attached, NULL, r);
	snprintf(what, sizeof(what), "%.200s(): %s: this kernel lets no %s be attached to it%s",
		 t->place->symbol, strerror(-r), is_kprobe ? "kprobe" : "fentry or fexit",
		 is_kprobe ? " (CONFIG_KPROBES); a tracepoint may do"
			   : " (CONFIG_FUNCTION_TRACER); try kprobe: or a tracepoint");
	probe_set_error(t->attached, NULL, what);
}

/* ---- state ---- */

static size_t n_attached(const struct probe_target *t)
{
	size_t n = t->link ? 1 : 0;

	for (const struct probe_file *f = t->files; f; f = f->next)
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
	return a->error[0] || a->lack[0] ? PROBE_FAILED : PROBE_WAITS;
}

static void set_waits(const struct probe_attached *a, struct probe *p)
{
	const struct probe_target *t = &a->targets[0];

	for (size_t i = 0; i < a->n_targets; i++)
		if (!a->targets[i].files && !probe_is_of_kernel(a->targets[i].place))
			t = &a->targets[i];
	snprintf(p->why, sizeof(p->why), "no process has mapped '%.200s' yet%.250s", t->place->path,
		 a->near);
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
		snprintf(p->why, sizeof(p->why), "%s",
			 state == PROBE_ON || a->error[0] ? a->error : a->lack);
	else if (state == PROBE_WAITS)
		set_waits(a, p);
}

/* ---- attaching ---- */

/* Ends have no stack: it is their begin's. */
static bool has_stack(const struct probe_target *t)
{
	return t->attached->probe->def.with_stack && t->point != PROBES_FINISH;
}

static void attach_file(struct probe_target *t, struct probe_file *f)
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
		probe_set_error(t->attached, f->module->path, "some places cannot be probed");
}

static void attach_kernel(struct probe_target *t)
{
	int r;

	if (t->link || !t->has_number)
		return;
	r = probe_programs_attach(t->attached->env->programs, t->place, has_stack(t), t->number,
				  &t->link);
	if (r < 0)
		explain_kernel(t, r);
}

static void attach_target(struct probe_target *t)
{
	if (probe_is_of_kernel(t->place))
		attach_kernel(t);
	for (struct probe_file *f = t->files; f; f = f->next)
		attach_file(t, f);
}

/* What cannot be ended later is ended now. */
static void detach_target(struct probe_target *t, struct probe_end *end)
{
	if (!end || !probe_end_link(end, t->link))
		bpf_link__destroy(t->link);
	t->link = NULL;
	for (struct probe_file *f = t->files; f; f = f->next) {
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
		for (struct probe_file *f = a->targets[1].files; f; f = f->next)
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

void probe_attached_advance(struct probe_attached *a)
{
	attach(a);
	update_state(a);
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
	probe_attached_advance(a);
}

void probe_attached_look(struct probe_attached *a, struct module *module, const char *path,
			 bool stays)
{
	/* The way out is asked for first, so that it is there first. */
	for (size_t i = a->n_targets; i-- > 0;)
		probe_target_look(&a->targets[i], module, path, stays);
}

bool probe_attached_wants_name(const struct probe_attached *a, const char *name)
{
	for (size_t i = 0; i < a->n_targets; i++) {
		const struct probe_target *t = &a->targets[i];

		if (!probe_is_of_kernel(t->place) && !t->path &&
		    probe_name_means(t->place->path, name))
			return true;
	}
	return false;
}

bool probe_attached_has_files(const struct probe_attached *a)
{
	for (size_t i = 0; i < a->n_targets; i++)
		if (!a->targets[i].files && !probe_is_of_kernel(a->targets[i].place))
			return false;
	return true;
}

void probe_attached_settle(struct probe_attached *a, const char *near)
{
	a->is_settled = true;
	snprintf(a->near, sizeof(a->near), "%s", near);
	update_state(a);
}

/* ---- places of the kernel ---- */

static int open_kernel(struct probe_target *t, char why[PROBE_WHY_LEN])
{
	struct probe_sites *sites;
	int r = probe_types_kernel(&t->attached->probe->def, t->place, &sites, why);

	if (r < 0)
		return r;
	r = sites->n ? probe_take_number(t, sites->list[0].types, &t->number, why) : -ENOENT;
	t->has_number = r == 0;
	probe_sites_free(sites);
	return r;
}

/* Whether it can be attached there is known at once. */
static int check_kernel(const struct probe_attached *a, char why[PROBE_WHY_LEN])
{
	for (size_t i = a->n_targets; i-- > 0;) {
		const struct probe_target *t = &a->targets[i];

		if (!probe_is_of_kernel(t->place) || t->link || !a->error[0])
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
		(struct probe_target){ .attached = a, .place = place, .point = point };
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
		struct probe_target *t = &a->targets[i];

		if (probe_is_of_kernel(t->place))
			r = open_kernel(t, why);
		else if (t->place->path[0] == '/')
			r = probe_target_open(t, why);
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
		probe_places_drop(a->env->places, number, &a->probe->gone);
}

static void free_file(struct probe_file *f, struct probe_end *end)
{
	struct probe_attached *a = f->target->attached;

	if (!end || !probe_end_uprobes(end, f->probes))
		uprobes_free(f->probes);
	if (!f->is_answered)
		a->n_asked--;
	probe_question_free(f->question);
	for (size_t i = 0; i < f->n_sites; i++)
		drop_number(a, (uint32_t)f->sites[i].cookie, end);
	free(f->sites);
	module_release(f->module);
	free(f);
}

/* Whether `f` may go; marks it, if that is new. */
static bool is_useless(struct probe_file *f, probe_mapped_fn *fn, void *ctx)
{
	bool was_idle = f->is_idle;

	f->is_idle = f->is_answered && !f->stays && !fn(ctx, f->module);
	return f->is_idle && was_idle;
}

void probe_attached_prune(struct probe_attached *a, probe_mapped_fn *fn, void *ctx)
{
	struct probe_end *end = NULL;

	for (size_t i = 0; i < a->n_targets; i++) {
		struct probe_file **at = &a->targets[i].files;

		while (*at) {
			struct probe_file *f = *at;

			if (!is_useless(f, fn, ctx)) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			a->targets[i].n_files--;
			if (!end)
				end = probe_end_new(a->probe);
			free_file(f, end);
		}
	}
	if (end)
		probe_ends_begin(a->env->ends, a->env->places, end);
	update_state(a);
}

static void free_target(struct probe_target *t, struct probe_end *end)
{
	while (t->files) {
		struct probe_file *f = t->files;

		t->files = f->next;
		free_file(f, end);
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
	probe_attached_count(a);
	end = probe_end_new(a->probe);
	detach(a, end);
	for (size_t i = 0; i < a->n_targets; i++)
		free_target(&a->targets[i], end);
	if (end)
		probe_ends_begin(a->env->ends, a->env->places, end);
	free(a);
}

void probe_attached_count(struct probe_attached *a)
{
	struct probe *p = a->probe;
	struct probes_counts sum = p->gone;

	probe_places_count(a->env->places, p->id, false, &sum);
	p->n_hits = sum.n_hits;
	p->n_over = sum.n_over;
	p->n_unwanted = sum.n_unwanted;
	p->n_lost = sum.n_lost;
}
