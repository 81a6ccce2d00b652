/* SPDX-License-Identifier: Apache-2.0 */
/* jvm_procs.c - which processes run HotSpot. */
#include "jvm_procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "process/jvm_files.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"

/* Theirs and those of V8 are different ones. */
#define FIRST_ID (1ull << 60)

/*
 * The Method is the third word below the frame pointer, under sp and what the caller's
 * was. By its second word, where its ConstMethod is, it is known again. x86-64.
 */
static const struct frames_rule rule = {
	.subject_at = -24,
	.class_at = FRAMES_NONE,
	.object_at = FRAMES_NONE,
	.mask = { 0, ~0ull },
};

struct jvm_procs {
	jvm_proc_fn *changed;
	void *ctx;
	struct hash *ids; /* tgid -> id, as a pointer that is never followed */
	uint64_t last_id;
};

int jvm_procs_new(jvm_proc_fn *changed, void *ctx, struct jvm_procs **ret)
{
	struct jvm_procs *jp = calloc(1, sizeof(*jp));
	int r;

	if (!jp)
		return -ENOMEM;
	jp->changed = changed;
	jp->ctx = ctx;
	jp->last_id = FIRST_ID;
	r = hash_new(&jp->ids);
	if (r < 0) {
		free(jp);
		return r;
	}
	*ret = jp;
	return 0;
}

void jvm_procs_free(struct jvm_procs *jp)
{
	if (!jp)
		return;
	hash_free(jp->ids);
	free(jp);
}

static void add(struct jvm_procs *jp, uint32_t tgid)
{
	void *id = (void *)(uintptr_t)++jp->last_id;

#if defined(__x86_64__)
	if (!hash_get_u64(jp->ids, tgid) && hash_set_u64(jp->ids, tgid, id) == 0)
		jp->changed(jp->ctx, tgid, &rule);
#else
	(void)tgid;
	(void)id;
#endif
}

void jvm_procs_mapped(struct jvm_procs *jp, uint32_t tgid, const struct mapping *m)
{
	if (m->module && jvm_files_is_named_so(m->module->path))
		add(jp, tgid);
}

void jvm_procs_emptied(struct jvm_procs *jp, uint32_t tgid)
{
	if (hash_remove_u64(jp->ids, tgid))
		jp->changed(jp->ctx, tgid, NULL);
}

void jvm_procs_forked(struct jvm_procs *jp, uint32_t child, uint32_t parent)
{
	jvm_procs_emptied(jp, child);
	if (hash_get_u64(jp->ids, parent))
		add(jp, child);
}

void jvm_procs_tell_all(struct jvm_procs *jp)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	while (hash_next(jp->ids, &pos, &key, &len, &value)) {
		uint64_t tgid;

		memcpy(&tgid, key, sizeof(tgid));
		jp->changed(jp->ctx, (uint32_t)tgid, &rule);
	}
}

uint64_t jvm_procs_id(const struct jvm_procs *jp, uint32_t tgid)
{
	return (uintptr_t)hash_get_u64(jp->ids, tgid);
}
