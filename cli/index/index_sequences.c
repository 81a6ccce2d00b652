/* SPDX-License-Identifier: Apache-2.0 */
/* index_sequences.c - packet sequences: their generations, and what iids mean in them. */
#include <errno.h>
#include <stdlib.h>

#include "index_impl.h"

#define FLAG_CLEARED 1
#define FLAG_NEEDS   2

static void sequence_free(struct index_sequence *seq)
{
	for (int i = 0; i < N_TABLES; i++) {
		free(seq->tables[i].dense.items);
		hash_free(seq->tables[i].others);
	}
	free(seq);
}

void index_sequences_free(struct hash *sequences)
{
	size_t pos = 0;
	void *seq;

	while (sequences && hash_next(sequences, &pos, NULL, NULL, &seq))
		sequence_free(seq);
	hash_free(sequences);
}

/* ---- ids ---- */

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

/* An iid this far beyond those before it is not counted up. */
#define DENSE_GAP 64

static int define_other(struct trace_index *ix, struct index_ids *ids, uint64_t iid,
			uint32_t number)
{
	int r = ids->others ? 0 : hash_new(&ids->others);

	if (r < 0 || hash_get_u64(ids->others, iid))
		return r;
	r = pool_budget_take(&ix->budget, ENTRY_BYTES);
	return r < 0 ? r : hash_set_u64(ids->others, iid, (void *)((uintptr_t)number + 1));
}

void index_define(struct trace_index *ix, struct index_sequence *seq, enum index_table table,
		  uint64_t iid, uint32_t number)
{
	struct index_ids *ids = &seq->tables[table];
	uint32_t *entry;
	int r;

	if (number == TRACE_NONE || iid == 0)
		return;
	if (iid >= ids->dense.n + DENSE_GAP) {
		r = define_other(ix, ids, iid, number);
		if (r < 0)
			ix->error = r;
		return;
	}
	while (iid >= ids->dense.n)
		if (!index_add(ix, &ids->dense, sizeof(uint32_t)))
			return;
	entry = (uint32_t *)ids->dense.items + iid;
	if (*entry == 0 && !(ids->others && hash_get_u64(ids->others, iid)))
		*entry = number + 1;
}

uint32_t index_lookup(const struct index_sequence *seq, enum index_table table, uint64_t iid)
{
	const struct index_ids *ids = &seq->tables[table];
	uintptr_t v = 0;

	if (iid < ids->dense.n)
		v = ((const uint32_t *)ids->dense.items)[iid];
	if (v == 0 && ids->others)
		v = (uintptr_t)hash_get_u64(ids->others, iid);
	return v ? (uint32_t)(v - 1) : TRACE_NONE;
}

static void forget_ids(struct index_ids *ids)
{
	ids->dense.n = 0;
	if (ids->others)
		hash_clear(ids->others);
}

/* ---- sequences ---- */

struct index_sequence *index_sequence_of(struct trace_index *ix, uint32_t id)
{
	struct index_sequence *seq;
	int r;

	if (id == 0)
		return NULL;
	seq = hash_get_u64(ix->sequences, id);
	if (seq)
		return seq;
	r = pool_budget_take(&ix->budget, sizeof(*seq) + ENTRY_BYTES);
	seq = r == 0 ? calloc(1, sizeof(*seq)) : NULL;
	if (!seq || hash_set_u64(ix->sequences, id, seq) < 0) {
		ix->error = r < 0 ? r : -ENOMEM;
		free(seq);
		return NULL;
	}
	seq->id = id;
	seq->source = seq->counter = TRACE_NONE;
	return seq;
}

bool index_sequence_follow(struct index_sequence *seq, uint32_t flags, bool dropped)
{
	if (flags & FLAG_CLEARED) {
		for (int i = 0; i < N_TABLES; i++)
			forget_ids(&seq->tables[i]);
		seq->source = seq->counter = TRACE_NONE;
		seq->has_clock = false;
		seq->track = 0;
		seq->last_source = 0;
		seq->valid = true;
	} else if (dropped) {
		seq->valid = false;
	}
	return seq->valid || !(flags & FLAG_NEEDS);
}
