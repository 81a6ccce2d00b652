/* SPDX-License-Identifier: Apache-2.0 */
/* location_store.c - the locations that exist, each once, and their names. */
#include "location_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* In the order of memory: these are the keys of the tables. */
struct key {
	uint64_t module, value;
};

struct location_name {
	struct key key;
	bool is_shared; /* in the table of names */
	uint32_t n_refs;
	char text[];
};

struct location_store {
	location_gone_fn *gone;
	void *ctx;
	struct hash *locations, *names;
	struct location_list unused; /* longest first */
	struct location_list promises;
	size_t n_unused;
	uint64_t last_id;
};

int location_store_new(location_gone_fn *gone, void *ctx, struct location_store **ret)
{
	struct location_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->gone = gone;
	s->ctx = ctx;
	TAILQ_INIT(&s->unused);
	TAILQ_INIT(&s->promises);
	r = hash_new(&s->locations);
	if (r == 0)
		r = hash_new(&s->names);
	if (r < 0) {
		location_store_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void drop_name(struct location_store *s, struct location_name *name)
{
	if (!name || --name->n_refs > 0)
		return;
	if (name->is_shared)
		hash_remove(s->names, &name->key, sizeof(name->key));
	free(name);
}

void location_store_free(struct location_store *s)
{
	struct location_entry *promise;
	size_t pos = 0;
	void *value;

	if (!s)
		return;
	while ((promise = TAILQ_FIRST(&s->promises))) {
		TAILQ_REMOVE(&s->promises, promise, link);
		assert(TAILQ_FIRST(&s->promises) != promise); /* for the analyzer */
		free(promise);
	}
	while (s->locations && hash_next(s->locations, &pos, NULL, NULL, &value)) {
		struct location_entry *e = value;

		drop_name(s, e->name);
		drop_name(s, e->file);
		free(e);
	}
	hash_free(s->locations);
	hash_free(s->names);
	free(s);
}

struct location_entry *location_store_get(struct location_store *s, const struct module *module,
					  uint64_t key)
{
	struct key k = { module->id, key };
	struct location_entry *e = hash_get(s->locations, &k, sizeof(k));

	if (e && e->n_refs == 0) {
		TAILQ_REMOVE(&s->unused, e, link);
		TAILQ_INSERT_TAIL(&s->unused, e, link);
	}
	return e;
}

struct location_entry *location_store_add(struct location_store *s, const struct module *module,
					  uint64_t key, enum location_kind kind)
{
	struct key k = { module->id, key };
	struct location_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	if (hash_set(s->locations, &k, sizeof(k), e) < 0) {
		free(e);
		return NULL;
	}
	e->pub = (struct location){
		.id = ++s->last_id,
		.module = module,
		.rel_pc = key,
		.kind = (uint8_t)kind,
	};
	e->store = s;
	e->key = key;
	TAILQ_INSERT_TAIL(&s->unused, e, link);
	s->n_unused++;
	return e;
}

static struct location_name *new_name(const struct key *key, const char *text, size_t len)
{
	/* Of what is not UTF-8 each byte becomes three. */
	size_t size = text_is_utf8(text, len) ? len + 1 : 3 * len + 1;
	struct location_name *name = malloc(sizeof(*name) + size);

	if (!name)
		return NULL;
	*name = (struct location_name){ .key = *key, .n_refs = 1 };
	(void)text_utf8(name->text, size, text, len);
	return name;
}

static void set_name(struct location_entry *e, struct location_name *name, uint64_t rel_pc,
		     bool is_symbol)
{
	e->name = name;
	e->pub.function = name ? name->text : e->pub.module->path;
	e->pub.has_symbol = is_symbol && name;
	e->pub.rel_pc = rel_pc;
	e->pub.ready = true;
}

/* NULL: out of memory. */
static struct location_name *shared_name(struct location_entry *e, uint64_t symbol,
					 const char *name, size_t len)
{
	struct location_store *s = e->store;
	struct key k = { e->pub.module->id, symbol };
	struct location_name *n = hash_get(s->names, &k, sizeof(k));

	if (n) {
		n->n_refs++;
		return n;
	}
	n = new_name(&k, name, len);
	/* Without memory for the table it is this location's alone. */
	if (n)
		n->is_shared = hash_set(s->names, &k, sizeof(k), n) == 0;
	return n;
}

void location_set_symbol(struct location_entry *e, uint64_t rel_pc, uint64_t symbol,
			 const char *name, size_t len)
{
	if (!e->pub.ready)
		set_name(e, shared_name(e, symbol, name, len), rel_pc, true);
}

/* Files have numbers of their own beside those of functions. */
#define FILE_OF(symbol) ((symbol) | 1ull << 63)

void location_set_line(struct location_entry *e, uint64_t symbol, const char *name,
		       const char *file, uint32_t line)
{
	if (e->pub.ready)
		return;
	set_name(e, shared_name(e, symbol, name, strlen(name)), 0, true);
	if (*file)
		e->file = shared_name(e, FILE_OF(symbol), file, strlen(file));
	if (e->file) {
		e->pub.file = e->file->text;
		e->pub.line = line;
	}
}

void location_set_source(struct location_entry *e, const char *file, size_t len, uint32_t line)
{
	struct location_store *s = e->store;
	struct key k = { UINT64_MAX, hash_bytes(file, len, 0) }; /* no module has this id */
	struct location_name *n;

	if (e->pub.ready || e->file || len == 0)
		return;
	n = hash_get(s->names, &k, sizeof(k));
	if (n && strlen(n->text) == len && memcmp(n->text, file, len) == 0) {
		n->n_refs++;
	} else {
		bool is_taken = n != NULL;

		n = new_name(&k, file, len);
		if (n && !is_taken)
			n->is_shared = hash_set(s->names, &k, sizeof(k), n) == 0;
	}
	e->file = n;
	e->pub.file = n ? n->text : NULL;
	e->pub.line = n ? line : 0;
}

struct location *location_promise(struct location_store *s, const struct module *module,
				  uint64_t pc)
{
	struct location_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->pub = (struct location){
		.id = ++s->last_id, .module = module, .rel_pc = pc, .kind = LOCATION_JIT
	};
	e->store = s;
	e->n_refs = 1;
	e->is_promise = true;
	TAILQ_INSERT_TAIL(&s->promises, e, link);
	return &e->pub;
}

void location_keep_promise(struct location *promise, struct location *loc)
{
	struct location_entry *e = (struct location_entry *)promise;

	assert(e->is_promise && !e->pub.ready && loc->ready);
	location_hold(loc);
	e->same_as = (struct location_entry *)loc;
	e->pub = *loc;
}

void location_set_text(struct location_entry *e, uint64_t rel_pc, const char *text)
{
	if (e->pub.ready)
		return;
	set_name(e, new_name(&(struct key){ 0, 0 }, text, strlen(text)), rel_pc, false);
}

void location_hold(struct location *loc)
{
	struct location_entry *e = (struct location_entry *)loc;

	if (e->n_refs++ > 0)
		return;
	TAILQ_REMOVE(&e->store->unused, e, link);
	e->store->n_unused--;
}

void location_release(struct location *loc)
{
	struct location_entry *e = (struct location_entry *)loc;

	assert(e->n_refs > 0);
	if (--e->n_refs > 0)
		return;
	if (e->is_promise) {
		TAILQ_REMOVE(&e->store->promises, e, link);
		if (e->same_as)
			location_release(&e->same_as->pub);
		free(e);
		return;
	}
	TAILQ_INSERT_TAIL(&e->store->unused, e, link);
	e->store->n_unused++;
}

void location_store_trim(struct location_store *s, size_t max_unused)
{
	while (s->n_unused > max_unused) {
		struct location_entry *e = TAILQ_FIRST(&s->unused);
		struct key k = { e->pub.module->id, e->key };
		const struct module *module = e->pub.module;

		TAILQ_REMOVE(&s->unused, e, link);
		assert(TAILQ_FIRST(&s->unused) != e); /* for the analyzer */
		s->n_unused--;
		hash_remove(s->locations, &k, sizeof(k));
		drop_name(s, e->name);
		drop_name(s, e->file);
		free(e);
		s->gone(s->ctx, module);
	}
}

size_t location_store_count(const struct location_store *s)
{
	return hash_count(s->locations);
}
