/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_stacks.c - mappings, frames and callstacks: are they whole, which of
 * them did events use, and do the late symbols meet what was used?
 *
 * Mappings and frames are known by their content here, over all sequences and
 * generations, as the importer keeps them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

#define KIND_KERNEL 2
#define MAX_PATH    4096 /* what is longer is told apart by its first so many bytes */

struct mapping {
	uint64_t path; /* hash of the name as the importer forms it */
	bool sampled;
};

struct frame {
	size_t mapping;
	uint64_t rel_pc;
	bool sampled, has_mapping;
};

struct callstack {
	size_t start, n; /* of `members` */
	bool used;
};

struct path {
	char *text;
	size_t len;
};

/* Symbols that met nothing so far. */
struct pending {
	uint64_t module[2]; /* path, build id */
	uint64_t address;
	bool has_address;
	uint64_t offset;
	char *path;
};

struct check_stacks {
	struct check_list paths;
	struct check_list mappings;
	struct hash *mapping_ids;   /* path, build id -> index + 1 */
	struct hash *mapping_paths; /* path -> 1 */
	struct check_list frames;
	struct hash *frame_ids; /* mapping, rel_pc -> index + 1 */
	struct check_list callstacks;
	struct check_list members; /* indexes of frames */
	struct check_list pending;
};

int check_stacks_new(struct check_stacks **ret)
{
	struct check_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (hash_new(&s->mapping_ids) < 0 || hash_new(&s->mapping_paths) < 0 ||
	    hash_new(&s->frame_ids) < 0) {
		check_stacks_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void check_stacks_free(struct check_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->paths.n; i++)
		free(((struct path *)s->paths.items)[i].text);
	for (size_t i = 0; i < s->pending.n; i++)
		free(((struct pending *)s->pending.items)[i].path);
	check_list_done(&s->paths);
	check_list_done(&s->mappings);
	check_list_done(&s->frames);
	check_list_done(&s->callstacks);
	check_list_done(&s->members);
	check_list_done(&s->pending);
	hash_free(s->mapping_ids);
	hash_free(s->mapping_paths);
	hash_free(s->frame_ids);
	free(s);
}

uint64_t check_stacks_path(struct trace_check *c, const void *path, size_t len)
{
	struct path *p = check_list_add(c, &c->stacks->paths, sizeof(*p));

	if (!p)
		return NO_REF;
	if (len > MAX_PATH)
		len = MAX_PATH;
	p->text = check_alloc(c, len + 1);
	if (p->text && len) {
		memcpy(p->text, path, len);
		p->len = len;
	}
	return c->stacks->paths.n - 1;
}

/* The index of (a, b), new or old, in a list that `ids` knows by content. */
static size_t index_of(struct trace_check *c, struct hash *ids, struct check_list *l,
		       size_t item_size, const uint64_t key[2], bool *ret_new)
{
	size_t i = (uintptr_t)hash_get(ids, key, 2 * sizeof(key[0]));

	*ret_new = i == 0;
	if (i)
		return i - 1;
	if (!check_list_add(c, l, item_size))
		return SIZE_MAX;
	if (hash_set(ids, key, 2 * sizeof(key[0]), (void *)(uintptr_t)l->n) < 0)
		c->error = -ENOMEM;
	return l->n - 1;
}

/* ---- what is interned ---- */

/*
 * The importer joins the components with '/' in front of each; a leading "//"
 * becomes "/". The hash of that.
 */
static uint64_t mapping_name(struct trace_check *c, const Mapping *m)
{
	const struct path *paths = c->stacks->paths.items;
	char name[MAX_PATH];
	size_t len = 0;

	for (size_t i = 0; i < m->n_path_string_ids; i++) {
		const struct check_entry *e = check_ref(c, I_MAPPING_PATH, m->path_string_ids[i]);
		const char *text = e && e->ref != NO_REF ? paths[e->ref].text : NULL;
		size_t n = text ? paths[e->ref].len : 0;

		if (len < sizeof(name) && (i > 0 || !text || text[0] != '/'))
			name[len++] = '/';
		if (n > sizeof(name) - len)
			n = sizeof(name) - len;
		if (text)
			memcpy(name + len, text, n);
		len += n;
	}
	return hash_bytes(name, len, CONTENT_SEED);
}

static void resolve_mapping(struct trace_check *c, const Mapping *m)
{
	struct check_entry *e = check_entry(c->seq, I_MAPPING, m->iid);
	const struct check_entry *build_id = NULL;
	struct check_stacks *s = c->stacks;
	uint64_t key[2];
	bool is_new;
	size_t i;

	if (!e || e->resolved)
		return;
	e->resolved = true;
	if (m->start || m->end)
		check_report(c, CHECK_MAPPING_PER_PROCESS, c->time_ns, "mapping iid %llu",
			     (unsigned long long)m->iid);
	if (m->has_build_id)
		build_id = check_ref(c, I_BUILD_ID, m->build_id);
	key[0] = mapping_name(c, m);
	key[1] = build_id ? build_id->ref : hash_bytes(NULL, 0, CONTENT_SEED);
	i = index_of(c, s->mapping_ids, &s->mappings, sizeof(struct mapping), key, &is_new);
	if (i == SIZE_MAX)
		return;
	if (is_new) {
		((struct mapping *)s->mappings.items)[i].path = key[0];
		if (hash_set_u64(s->mapping_paths, key[0], s) < 0)
			c->error = -ENOMEM;
	}
	e->ref = i;
}

static void resolve_frame(struct trace_check *c, const Frame *f)
{
	struct check_entry *e = check_entry(c->seq, I_FRAME, f->iid);
	const struct check_entry *mapping = NULL;
	struct check_stacks *s = c->stacks;
	uint64_t key[2] = { NO_REF, f->rel_pc };
	struct frame *frame;
	bool is_new;
	size_t i;

	if (!e || e->resolved)
		return;
	e->resolved = true;
	if (f->has_function_name_id)
		check_ref(c, I_FUNCTION, f->function_name_id);
	if (f->has_source_path_iid)
		check_ref(c, I_SOURCE_PATH, f->source_path_iid);
	if (!f->mapping_id)
		check_report(c, CHECK_FRAME_NO_MAPPING, c->time_ns, "frame iid %llu",
			     (unsigned long long)f->iid);
	else
		mapping = check_ref(c, I_MAPPING, f->mapping_id);
	if (f->mapping_id && !f->has_rel_pc)
		check_report(c, CHECK_FRAME_NO_PC, c->time_ns, "frame iid %llu",
			     (unsigned long long)f->iid);
	if (mapping)
		key[0] = mapping->ref;
	i = index_of(c, s->frame_ids, &s->frames, sizeof(*frame), key, &is_new);
	if (i == SIZE_MAX)
		return;
	frame = (struct frame *)s->frames.items + i;
	frame->has_mapping = key[0] != NO_REF;
	frame->mapping = key[0];
	frame->rel_pc = key[1];
	e->ref = i;
	e->unit = f->kind;
}

static void resolve_callstack(struct trace_check *c, const Callstack *m)
{
	struct check_entry *e = check_entry(c->seq, I_CALLSTACK, m->iid);
	struct check_stacks *s = c->stacks;
	bool in_kernel = false, told = false;
	struct callstack *stack;

	if (!e || e->resolved)
		return;
	e->resolved = true;
	stack = check_list_add(c, &s->callstacks, sizeof(*stack));
	if (!stack)
		return;
	e->ref = s->callstacks.n - 1;
	stack->start = s->members.n;
	if (m->n_frame_ids == 0)
		check_report(c, CHECK_EMPTY_CALLSTACK, c->time_ns, "callstack iid %llu",
			     (unsigned long long)m->iid);
	for (size_t i = 0; i < m->n_frame_ids; i++) {
		const struct check_entry *frame = check_ref(c, I_FRAME, m->frame_ids[i]);
		size_t *member;

		if (!frame || frame->ref == NO_REF)
			continue;
		if (in_kernel && frame->unit != KIND_KERNEL && !told) {
			check_report(c, CHECK_FRAME_ORDER, c->time_ns,
				     "callstack iid %llu has a user frame within the kernel's",
				     (unsigned long long)m->iid);
			told = true;
		}
		in_kernel = in_kernel || frame->unit == KIND_KERNEL;
		member = check_list_add(c, &s->members, sizeof(*member));
		if (!member)
			return;
		*member = frame->ref;
		stack->n++;
	}
}

void check_stacks_interned(struct trace_check *c, const InternedData *d)
{
	/* The packet refers to nothing just because it defines. */
	bool refers = c->refers;

	for (size_t i = 0; i < d->n_mappings; i++)
		resolve_mapping(c, d->mappings[i]);
	for (size_t i = 0; i < d->n_frames; i++)
		resolve_frame(c, d->frames[i]);
	for (size_t i = 0; i < d->n_callstacks; i++)
		resolve_callstack(c, d->callstacks[i]);
	c->refers = refers;
}

/* ---- what is used ---- */

void check_stacks_use(struct trace_check *c, uint64_t iid)
{
	struct check_entry *e = check_ref(c, I_CALLSTACK, iid);
	struct check_stacks *s = c->stacks;
	struct mapping *mappings = s->mappings.items;
	struct frame *frames = s->frames.items;
	struct callstack *stack;

	if (!e || e->ref == NO_REF)
		return;
	stack = (struct callstack *)s->callstacks.items + e->ref;
	if (stack->used)
		return;
	stack->used = true;
	for (size_t i = 0; i < stack->n; i++) {
		struct frame *f = &frames[((size_t *)s->members.items)[stack->start + i]];

		f->sampled = true;
		if (f->has_mapping)
			mappings[f->mapping].sampled = true;
	}
}

/* ---- late symbols ---- */

static void module_key(const ModuleSymbols *m, uint64_t key[2])
{
	const char *path = m->path ? m->path : "";

	key[0] = hash_bytes(path, strnlen(path, MAX_PATH), CONTENT_SEED);
	key[1] = hash_bytes(m->build_id.data, m->build_id.len, CONTENT_SEED);
}

static void add_pending(struct trace_check *c, const ModuleSymbols *m, const uint64_t *address)
{
	struct pending *p = check_list_add(c, &c->stacks->pending, sizeof(*p));

	if (!p)
		return;
	module_key(m, p->module);
	p->offset = c->offset;
	p->has_address = address != NULL;
	p->address = address ? *address : 0;
	p->path = check_strdup(c, m->path ? m->path : "");
}

static const struct mapping *find_mapping(const struct check_stacks *s, const uint64_t module[2],
					  size_t *ret)
{
	size_t i = (uintptr_t)hash_get(s->mapping_ids, module, 2 * sizeof(module[0]));

	if (i == 0)
		return NULL;
	*ret = i - 1;
	return (struct mapping *)s->mappings.items + (i - 1);
}

static const struct frame *find_frame(const struct check_stacks *s, size_t mapping, uint64_t rel_pc)
{
	uint64_t key[2] = { mapping, rel_pc };
	size_t i = (uintptr_t)hash_get(s->frame_ids, key, sizeof(key));

	return i ? (struct frame *)s->frames.items + (i - 1) : NULL;
}

void check_stacks_symbols(struct trace_check *c, const ModuleSymbols *m)
{
	const struct mapping *mapping;
	uint64_t module[2];
	size_t index;

	module_key(m, module);
	mapping = find_mapping(c->stacks, module, &index);
	if (!mapping || !mapping->sampled) {
		add_pending(c, m, NULL);
		return;
	}
	for (size_t i = 0; i < m->n_address_symbols; i++) {
		uint64_t address = m->address_symbols[i]->address;
		const struct frame *f = find_frame(c->stacks, index, address);

		if (!f || !f->sampled)
			add_pending(c, m, &address);
	}
}

void check_stacks_finish(struct trace_check *c)
{
	struct check_stacks *s = c->stacks;

	for (size_t i = 0; i < s->pending.n; i++) {
		const struct pending *p = (struct pending *)s->pending.items + i;
		struct check_text path = check_text(p->path ? p->path : "");
		const struct frame *f = NULL;
		size_t index = 0;
		const struct mapping *m = find_mapping(s, p->module, &index);

		if (m && p->has_address)
			f = find_frame(s, index, p->address);
		if (p->has_address ? f && f->sampled : m && m->sampled)
			check_report_at(c, CHECK_SYMBOLS_EARLY, p->offset, 0,
					"symbols of %s come before its samples", path.s);
		else if (p->has_address)
			check_report_at(c, CHECK_SYMBOLS_ADDRESS, p->offset, 0,
					"symbols of %s for 0x%llx, which no sample has", path.s,
					(unsigned long long)p->address);
		else
			check_report_at(c, CHECK_SYMBOLS_MODULE, p->offset, 0, "symbols of %s, %s",
					path.s,
					hash_get_u64(s->mapping_paths, p->module[0])
						? "which samples have with another build id"
						: "which no sample has");
	}
}
