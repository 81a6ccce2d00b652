/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - all probes of the daemon, by their ids. */
#include "probe/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beside those that are there: removed ones that somebody holds. */
#define MAX_ALL (4 * PROBES_MAX_DEFS)

struct probes {
	struct probe *all[MAX_ALL]; /* by id */
	size_t n, n_there;
	uint32_t last_id;
	struct probes_backend backend; /* `attach` is NULL: nobody records */
};

/* As they are in memory: who holds one has no registry at hand. */
struct owned_probe {
	struct probe probe;
	struct probes *probes; /* NULL: the registry is gone */
};

int probes_new(struct probes **ret)
{
	struct probes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	*ret = ps;
	return 0;
}

static void forget(struct probes *ps, struct probe *p)
{
	size_t i = 0;

	while (i < ps->n && ps->all[i] != p)
		i++;
	if (i == ps->n)
		return;
	memmove(&ps->all[i], &ps->all[i + 1], (ps->n - i - 1) * sizeof(ps->all[0]));
	ps->n--;
}

void probe_hold(struct probe *p)
{
	p->refs++;
}

void probe_release(struct probe *p)
{
	struct owned_probe *owned = (struct owned_probe *)p;

	if (--p->refs > 0)
		return;
	if (owned->probes)
		forget(owned->probes, p);
	for (unsigned i = 0; i < p->n_functions; i++)
		free(p->functions[i]);
	free(p->functions);
	free(owned);
}

/* It is no longer one of those that are there. */
static void take_out(struct probes *ps, struct probe *p)
{
	if (ps->backend.detach)
		ps->backend.detach(ps->backend.ctx, p);
	p->is_removed = true;
	ps->n_there--;
	probe_release(p);
}

void probes_free(struct probes *ps)
{
	if (!ps)
		return;
	for (size_t i = ps->n; i-- > 0;) {
		struct probe *p = ps->all[i];

		((struct owned_probe *)p)->probes = NULL;
		if (!p->is_removed)
			take_out(ps, p);
	}
	free(ps);
}

/* ---- the kernel half ---- */

/* Later than it was added: what is wrong with it then is its state. */
static void attach_again(struct probes *ps, struct probe *p)
{
	char why[PROBE_WHY_LEN] = "";
	int r;

	p->state = PROBE_ATTACHES;
	p->why[0] = '\0';
	r = ps->backend.attach(ps->backend.ctx, p, why);
	if (r == 0)
		return;
	p->state = PROBE_FAILED;
	snprintf(p->why, sizeof(p->why), "%s", why[0] ? why : strerror(-r));
}

static void let_go(struct probes *ps, struct probe *p)
{
	ps->backend.detach(ps->backend.ctx, p);
	p->n_sites = 0;
	p->state = PROBE_WAITS;
	snprintf(p->why, sizeof(p->why), "nobody records");
}

void probes_set_backend(struct probes *ps, const struct probes_backend *backend)
{
	for (size_t i = ps->n; ps->backend.attach && i-- > 0;)
		if (!ps->all[i]->is_removed)
			let_go(ps, ps->all[i]);
	ps->backend = backend ? *backend : (struct probes_backend){ 0 };
	for (size_t i = 0; backend && i < ps->n; i++)
		if (!ps->all[i]->is_removed)
			attach_again(ps, ps->all[i]);
}

/* ---- adding and removing ---- */

/* Two recordings may call their own ones alike. */
static bool is_there(const struct probes *ps, const char *name, int slot)
{
	for (size_t i = 0; i < ps->n; i++) {
		const struct probe *p = ps->all[i];

		if (!p->is_removed && p->slot == slot && strcmp(p->def.name, name) == 0)
			return true;
	}
	return false;
}

static int check_room(const struct probes *ps, const struct probe_def *def, int slot,
		      char why[PROBE_WHY_LEN])
{
	if (is_there(ps, def->name, slot)) {
		snprintf(why, PROBE_WHY_LEN,
			 "there is a probe '%s' already: remove it first, or choose another name",
			 def->name);
		return -EEXIST;
	}
	if (ps->n_there >= PROBES_MAX_DEFS || ps->n >= MAX_ALL) {
		snprintf(why, PROBE_WHY_LEN,
			 "there are %zu probes, and no more at a time: remove some", ps->n_there);
		return -ENOSPC;
	}
	return 0;
}

int probes_add(struct probes *ps, const struct probe_def *def, int slot, uid_t uid,
	       char why[PROBE_WHY_LEN], uint32_t *ret_id)
{
	struct owned_probe *owned;
	struct probe *p;
	int r;

	why[0] = '\0';
	r = check_room(ps, def, slot, why);
	if (r < 0)
		return r;
	owned = calloc(1, sizeof(*owned));
	if (!owned) {
		snprintf(why, PROBE_WHY_LEN, "out of memory");
		return -ENOMEM;
	}
	owned->probes = ps;
	p = &owned->probe;
	*p = (struct probe){
		.id = ++ps->last_id, .slot = slot, .uid = uid, .def = *def, .refs = 1
	};
	ps->all[ps->n++] = p;
	ps->n_there++;
	snprintf(p->why, sizeof(p->why), "nobody records");
	if (ps->backend.attach) {
		p->state = PROBE_ATTACHES;
		p->why[0] = '\0';
		r = ps->backend.attach(ps->backend.ctx, p, why);
	}
	if (r < 0) {
		p->is_removed = true;
		ps->n_there--;
		probe_release(p);
		return r;
	}
	*ret_id = p->id;
	return 0;
}

int probes_remove(struct probes *ps, uint32_t id)
{
	struct probe *p = probes_find(ps, id);

	if (!p || p->is_removed)
		return -ENOENT;
	take_out(ps, p);
	return 0;
}

void probes_remove_of(struct probes *ps, int slot)
{
	for (size_t i = ps->n; i-- > 0;)
		if (!ps->all[i]->is_removed && ps->all[i]->slot == slot)
			take_out(ps, ps->all[i]);
}

struct probe *probes_find(struct probes *ps, uint32_t id)
{
	size_t low = 0, high = ps->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ps->all[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ps->n && ps->all[low]->id == id ? ps->all[low] : NULL;
}

/* ---- looking at them ---- */

void probes_each(struct probes *ps, probe_fn *fn, void *ctx)
{
	for (size_t i = 0; i < ps->n; i++) {
		struct probe *p = ps->all[i];

		if (p->is_removed)
			continue;
		if (ps->backend.count)
			ps->backend.count(ps->backend.ctx, p);
		fn(ctx, p);
	}
}
