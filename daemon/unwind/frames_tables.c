/* SPDX-License-Identifier: Apache-2.0 */
/* frames_tables.c - the unwind tables of code that processes have generated themselves. */
#include "frames_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "log.h"
#include "symbolize/jit_question.h"
#include "unwind_maps.h"

/* Tables of one process, by address. */
struct set {
	uint32_t n;
	struct {
		uint64_t start, end;
		uint32_t id;
	} all[JIT_MAX_FRAMES];
};

struct frames {
	uint32_t tgid;
	uint64_t version; /* what process_table_frames() said of `now`; 0: not known yet */
	uint64_t number;  /* ours */
	struct set now, before;
	bool was_full; /* it was said */
};

struct frames_tables {
	struct unwind_maps *maps;
	frames_source_fn *source;
	void *ctx;
	struct hash *by_tgid;
	uint64_t last_number;
};

int frames_tables_new(struct unwind_maps *maps, frames_source_fn *source, void *ctx,
		      struct frames_tables **ret)
{
	struct frames_tables *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->maps = maps;
	f->source = source;
	f->ctx = ctx;
	r = hash_new(&f->by_tgid);
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

static void drop_set(struct frames_tables *f, struct set *set, uint64_t now_ns)
{
	for (uint32_t i = 0; i < set->n; i++)
		unwind_maps_table_free(f->maps, set->all[i].id, now_ns);
	set->n = 0;
}

void frames_tables_drop(struct frames_tables *f, uint32_t tgid, uint64_t now_ns)
{
	struct frames *p = hash_remove_u64(f->by_tgid, tgid);

	if (!p)
		return;
	drop_set(f, &p->now, now_ns);
	drop_set(f, &p->before, now_ns);
	free(p);
}

void frames_tables_free(struct frames_tables *f)
{
	size_t pos = 0;
	void *value;

	if (!f)
		return;
	while (hash_next(f->by_tgid, &pos, NULL, NULL, &value)) {
		drop_set(f, &((struct frames *)value)->now, 0);
		drop_set(f, &((struct frames *)value)->before, 0);
		free(value);
	}
	hash_free(f->by_tgid);
	free(f);
}

static struct frames *frames_of(struct frames_tables *f, uint32_t tgid)
{
	struct frames *p = hash_get_u64(f->by_tgid, tgid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	if (hash_set_u64(f->by_tgid, tgid, p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static void no_room(struct frames_tables *f, struct frames *p, uint32_t id)
{
	unwind_maps_table_state(f->maps, id, UNWIND_TABLE_NO_ROOM);
	if (!p->was_full)
		log_warn("unwind: process %u: no room for the unwind tables of its generated code; "
			 "stacks end there",
			 p->tgid);
	p->was_full = true;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x)); /* the first member */
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* Room that those before take is theirs until they have rested. */
static void lay_down(struct frames_tables *f, struct frames *p, const struct jit_frames *frames)
{
	struct set *set = &p->now;

	for (uint32_t i = 0; i < frames->n; i++) {
		uint32_t id;

		if (unwind_maps_table_new(f->maps, &id) < 0)
			break;
		set->all[set->n].start = frames->all[i].start;
		set->all[set->n].end = frames->all[i].end;
		set->all[set->n++].id = id;
		if (unwind_maps_table_fill(f->maps, id, &frames->all[i].table) < 0)
			no_room(f, p, id);
		else if (frames->all[i].table.head.n_rows == 0) /* it has no code yet */
			unwind_maps_table_state(f->maps, id, UNWIND_TABLE_PENDING);
	}
	qsort(set->all, set->n, sizeof(set->all[0]), by_start);
}

/* All that it generates will have one. */
static void wait_for_tables(struct frames_tables *f, struct frames *p)
{
	if (unwind_maps_table_new(f->maps, &p->now.all[0].id) < 0)
		return;
	p->now.all[0].start = 0;
	p->now.all[0].end = UINT64_MAX;
	p->now.n = 1;
}

uint64_t frames_tables_update(struct frames_tables *f, uint32_t tgid, uint64_t time_ns)
{
	struct frames *p = hash_get_u64(f->by_tgid, tgid);
	const struct jit_frames *frames;
	uint64_t version;
	bool current;
	int r;

	r = f->source(f->ctx, tgid, time_ns, &frames, &version, &current);
	if (r == 0 && !frames && !p)
		return 0;
	p = p ? p : frames_of(f, tgid);
	if (!p)
		return 0;
	/* What is there stays until something better comes. */
	if (p->number && (frames ? version == p->version : r == -EAGAIN || p->now.n == 0))
		return p->number;
	if (p->before.n) /* what came after those was never used */
		drop_set(f, &p->now, 0);
	else
		p->before = p->now;
	p->now.n = 0;
	p->version = version;
	p->number = ++f->last_number;
	if (frames)
		lay_down(f, p, frames);
	else if (r == -EAGAIN)
		wait_for_tables(f, p);
	return p->number;
}

void frames_tables_settle(struct frames_tables *f, uint32_t tgid, uint64_t now_ns)
{
	struct frames *p = hash_get_u64(f->by_tgid, tgid);

	if (p)
		drop_set(f, &p->before, now_ns);
}

void frames_tables_piece(const struct frames_tables *f, uint32_t tgid, uint64_t start, uint64_t end,
			 struct unwind_mapping *ret)
{
	const struct frames *p = hash_get_u64(f->by_tgid, tgid);

	*ret = (struct unwind_mapping){ .start = start, .end = end, .kind = UNWIND_MAPPING_JIT };
	for (uint32_t i = 0; p && i < p->now.n; i++) {
		uint64_t from = p->now.all[i].start, to = p->now.all[i].end;

		if (to <= start || from >= ret->end)
			continue;
		if (from > start) { /* a piece without comes first */
			ret->end = from;
			return;
		}
		ret->end = to < end ? to : end;
		ret->delta = -from;
		ret->table = p->now.all[i].id;
		ret->kind = UNWIND_MAPPING_JIT_TABLE;
		return;
	}
}

bool frames_tables_is_current(struct frames_tables *f, uint32_t tgid, uint64_t time_ns)
{
	const struct jit_frames *frames;
	uint64_t version;
	bool current;

	(void)f->source(f->ctx, tgid, time_ns, &frames, &version, &current);
	return current;
}
