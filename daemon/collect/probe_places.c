/* SPDX-License-Identifier: Apache-2.0 */
/* probe_places.c - code by the numbers that attach cookies have. */
#include "probe_places.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Of a limit of so many a second, so many more may come at once: a tenth of a second's. */
#define AHEAD 10

struct slot {
	unsigned refs; /* 0: the number is free */
	struct probes_place place;
};

struct probe_places {
	int places_fd, counts_fd, opens_fd;
	int n_cpus;
	struct probes_counts *counts; /* by CPU, for one look-up */
	struct slot slots[PROBES_MAX];
};

int probe_places_new(struct bpf_object *obj, struct probe_places **ret)
{
	struct probe_places *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	ps->places_fd = bpf_object__find_map_fd_by_name(obj, "places");
	ps->counts_fd = bpf_object__find_map_fd_by_name(obj, "counts");
	ps->opens_fd = bpf_object__find_map_fd_by_name(obj, "opens");
	ps->n_cpus = libbpf_num_possible_cpus();
	if (ps->n_cpus > 0)
		ps->counts = calloc((size_t)ps->n_cpus, sizeof(*ps->counts));
	if (!ps->counts) {
		free(ps);
		return -ENOMEM;
	}
	*ret = ps;
	return 0;
}

void probe_places_free(struct probe_places *ps)
{
	if (!ps)
		return;
	free(ps->counts);
	free(ps);
}

static bool has_op(const struct probe_code *code, enum probes_op op)
{
	for (uint32_t i = 0; i < code->n; i++)
		if (code->insns[i].op == op)
			return true;
	return false;
}

void probe_place_fill(const struct probe *p, enum probes_point point, const struct probe_code *code,
		      struct probes_place *ret)
{
	bool pairs = p->def.has_end && (p->def.condition[0] || p->def.rate);

	memset(ret, 0, sizeof(*ret));
	ret->probe = p->id;
	ret->point = (uint8_t)point;
	ret->flags = (has_op(code, PROBES_FILTER) ? PROBES_FILTERS : 0) |
		     (pairs ? PROBES_PAIRS : 0) | (p->def.key[0] ? PROBES_KEYED : 0);
	if (p->def.rate && point != PROBES_FINISH) {
		ret->interval_ns = NS_PER_SEC / p->def.rate;
		ret->ahead_ns = ret->interval_ns * (p->def.rate / AHEAD);
	}
	memcpy(ret->insns, code->insns, code->n * sizeof(code->insns[0]));
	memcpy(ret->texts, code->texts, sizeof(ret->texts));
}

static int put(struct probe_places *ps, uint32_t number, const struct probes_place *place)
{
	memset(ps->counts, 0, (size_t)ps->n_cpus * sizeof(*ps->counts));
	if (bpf_map_update_elem(ps->counts_fd, &number, ps->counts, BPF_ANY) < 0 ||
	    bpf_map_update_elem(ps->places_fd, &number, place, BPF_ANY) < 0)
		return -errno;
	ps->slots[number].place = *place;
	return 0;
}

int probe_places_take(struct probe_places *ps, const struct probe *p, enum probes_point point,
		      const struct probe_code *code, uint32_t *ret)
{
	struct probes_place place;
	uint32_t free_one = PROBES_MAX;
	int r;

	probe_place_fill(p, point, code, &place);
	for (uint32_t i = PROBES_MAX; i-- > 0;) {
		struct slot *s = &ps->slots[i];

		if (s->refs == 0) {
			free_one = i;
		} else if (memcmp(&s->place, &place, sizeof(place)) == 0) {
			s->refs++;
			*ret = i;
			return 0;
		}
	}
	if (free_one == PROBES_MAX)
		return -ENOSPC;
	r = put(ps, free_one, &place);
	if (r < 0)
		return r;
	ps->slots[free_one].refs = 1;
	*ret = free_one;
	return 0;
}

static void add(struct probe_places *ps, uint32_t number, struct probes_counts *sum)
{
	if (bpf_map_lookup_elem(ps->counts_fd, &number, ps->counts) < 0)
		return;
	for (int i = 0; i < ps->n_cpus; i++) {
		sum->n_hits += ps->counts[i].n_hits;
		sum->n_over += ps->counts[i].n_over;
		sum->n_unwanted += ps->counts[i].n_unwanted;
		sum->n_lost += ps->counts[i].n_lost;
		sum->n_own += ps->counts[i].n_own;
	}
}

void probe_places_drop(struct probe_places *ps, uint32_t number, struct probes_counts *sum)
{
	if (--ps->slots[number].refs > 0)
		return;
	if (ps->slots[number].place.point != PROBES_FINISH)
		add(ps, number, sum);
}

void probe_places_count(struct probe_places *ps, uint32_t probe, bool of_ends,
			struct probes_counts *sum)
{
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		const struct slot *s = &ps->slots[i];

		if (s->refs && s->place.probe == probe &&
		    (s->place.point == PROBES_FINISH) == of_ends)
			add(ps, i, sum);
	}
}

void probe_places_forget_opens(struct probe_places *ps, uint32_t probe)
{
	struct probes_open_key key, next;
	int r = bpf_map_get_next_key(ps->opens_fd, NULL, &next);

	while (r == 0) {
		key = next;
		r = bpf_map_get_next_key(ps->opens_fd, &key, &next);
		if (key.probe == probe)
			(void)bpf_map_delete_elem(ps->opens_fd, &key);
	}
}
