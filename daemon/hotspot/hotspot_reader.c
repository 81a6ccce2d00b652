/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_reader.c - reads where the code of a HotSpot is, its names, and how to unwind. */
#include "hotspot_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "hotspot_memory.h"
#include "hotspot_names.h"
#include "hotspot_rows.h"
#include "jit/jit_map.h"
#include "unwind/table_builder.h"

/* A large server has some 30,000 methods compiled, with ten rows each. */
#define MAX_BLOBS (256u << 10)
#define MAX_ROWS  (1u << 20)
/* All tables of the machine share 65536 of them; frames have some hundred sizes. */
#define MAX_RULES 4096

/* hotspot_rows.c knows the instructions of this one. */
#if defined(__x86_64__)
#define HAS_ROWS 1
#else
#define HAS_ROWS 0
#endif

/* Of one blob; a method with more returns loses the rows of the last ones. */
#define MAX_BLOB_ROWS 4096
/* Of its code that many bytes are looked at. */
#define MAX_CODE (256u << 10)

/* In one slice; each takes a dozen readings. */
#define MAX_NEW	     4096
#define MAX_READINGS (2u << 20)

/* As for perf maps: samples are some seconds old when they are asked about. */
#define KEEP_PAST_NS (30 * NS_PER_SEC)

#define NAMELESS "[unnamed method]"

struct known {
	uint64_t code, end;
	uint64_t key;  /* of all that makes it this one */
	uint64_t name; /* hash of it */
	uint32_t heap;
	uint32_t first, n; /* rows */
	bool is_young;	   /* it may have been read while it was being written */
};

struct set {
	struct known *blobs; /* by address within a heap, heap by heap */
	size_t n, cap;
	struct hotspot_row *rows;
	size_t n_rows, rows_cap;
};

struct hotspot_reader {
	bool has_layout;
	struct hotspot_layout layout;
	struct hotspot_names *names;
	struct jit_map *map;
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	uint32_t n_heaps;
	struct set set;
	uint64_t n_changes; /* of rows */
	char why[HOTSPOT_WHY_MAX];
	uint8_t code[MAX_CODE];
	struct hotspot_row rows[MAX_BLOB_ROWS];
};

static void set_done(struct set *set)
{
	free(set->blobs);
	free(set->rows);
	*set = (struct set){ 0 };
}

int hotspot_reader_new(struct hotspot_reader **ret)
{
	struct hotspot_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = hotspot_names_new(&r->names);
	if (err == 0)
		err = jit_map_new(&r->map);
	if (err < 0) {
		hotspot_reader_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void hotspot_reader_free(struct hotspot_reader *r)
{
	if (!r)
		return;
	hotspot_names_free(r->names);
	jit_map_free(r->map);
	set_done(&r->set);
	free(r);
}

struct jit_map *hotspot_reader_map(const struct hotspot_reader *r)
{
	return r->map;
}

uint64_t hotspot_reader_version(const struct hotspot_reader *r)
{
	/* Neither goes back. */
	return jit_map_version(r->map) + r->n_changes;
}

size_t hotspot_reader_bytes(const struct hotspot_reader *r)
{
	return sizeof(*r) + jit_map_bytes(r->map) + r->set.cap * sizeof(*r->set.blobs) +
	       r->set.rows_cap * sizeof(*r->set.rows);
}

/* ---- one slice ---- */

struct slice {
	struct hotspot_reader *r;
	struct hotspot_memory *m;
	const struct hotspot_read *read;
	struct set now;
	size_t old; /* the next one of the last reading's */
	unsigned n_new;
	bool has_changed, is_over_cap;
	int error;
};

static int push_blob(struct set *set, const struct known *k)
{
	if (set->n == set->cap) {
		size_t cap = set->cap ? 2 * set->cap : 1024;
		struct known *blobs = reallocarray(set->blobs, cap, sizeof(*blobs));

		if (!blobs)
			return -ENOMEM;
		set->blobs = blobs;
		set->cap = cap;
	}
	set->blobs[set->n++] = *k;
	return 0;
}

static int push_rows(struct set *set, const struct hotspot_row *rows, size_t n, struct known *k)
{
	if (set->n_rows + n > set->rows_cap) {
		size_t cap = 2 * set->rows_cap + n + 4096;
		struct hotspot_row *more = reallocarray(set->rows, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		set->rows = more;
		set->rows_cap = cap;
	}
	k->first = (uint32_t)set->n_rows;
	k->n = (uint32_t)n;
	if (n)
		memcpy(set->rows + set->n_rows, rows, n * sizeof(*rows));
	set->n_rows += n;
	return 0;
}

/* Blobs come in the same order each time. NULL: it was not there. */
static const struct known *find_old(struct slice *s, const struct hotspot_blob *b)
{
	const struct set *old = &s->r->set;

	while (s->old < old->n &&
	       (old->blobs[s->old].heap < b->heap ||
		(old->blobs[s->old].heap == b->heap && old->blobs[s->old].code < b->code))) {
		s->has_changed = true; /* that one is gone, or the next slice finds it again */
		s->old++;
	}
	if (s->old == old->n || old->blobs[s->old].heap != b->heap ||
	    old->blobs[s->old].code != b->code)
		return NULL;
	return &old->blobs[s->old++];
}

static size_t name_of(struct slice *s, const struct hotspot_blob *b, const char *blob_name,
		      char name[HOTSPOT_NAME_MAX])
{
	if (hotspot_is_method(blob_name))
		return hotspot_method_name(&s->r->layout, s->m, b->method, name);
	if (strcmp(blob_name, "Interpreter") == 0)
		blob_name = HOTSPOT_INTERPRETED;
	return (size_t)(stpncpy(name, blob_name, HOTSPOT_NAME_MAX - 1) - name);
}

/* It is called so from now on, if it was not before; what was there before is not, anyway. */
static int set_name(struct slice *s, const struct hotspot_blob *b, const char *name, size_t len,
		    const struct known *old, struct known *k)
{
	struct jit_code code = { .start = b->code,
				 .size = b->end - b->code,
				 .time_ns = s->read->since_ns,
				 .is_late = true,
				 .name = len ? name : NAMELESS,
				 .name_len = len ? len : strlen(NAMELESS) };
	int r;

	k->name = hash_bytes(code.name, code.name_len, 1);
	if (old && old->key == k->key && old->name == k->name)
		return 0;
	r = jit_map_add(s->r->map, &code);
	s->is_over_cap |= r == -ENOSPC;
	return r == -ENOMEM ? r : 0;
}

static bool same_rows(const struct slice *s, const struct known *old, size_t n)
{
	return old->n == n && (n == 0 || memcmp(s->r->set.rows + old->first, s->r->rows,
						n * sizeof(*s->r->rows)) == 0);
}

/* Reads what it is called, and its code. */
static int look_into(struct slice *s, const struct hotspot_blob *b, const struct known *old,
		     struct known *k)
{
	const char *blob_name = hotspot_names_blob(s->r->names, s->m, b->name);
	struct hotspot_code code = { .kind = hotspot_kind_of(blob_name, b->frame_size),
				     .is_method = hotspot_is_method(blob_name),
				     .frame_size = b->frame_size,
				     .frame_complete = b->frame_complete,
				     .size = b->end - b->code,
				     .bytes = s->r->code };
	char name[HOTSPOT_NAME_MAX];
	size_t len = name_of(s, b, blob_name, name), n;
	bool is_other = !old || old->key != k->key;
	int r;

	r = set_name(s, b, name, len, old, k);
	if (r < 0)
		return r;
	code.n_bytes = hotspot_memory_some(s->m, b->code, s->r->code,
					   code.size < MAX_CODE ? code.size : MAX_CODE);
	n = code.n_bytes ? hotspot_rows(&code, s->r->rows, MAX_BLOB_ROWS) : 0;
	if (s->now.n_rows + n > MAX_ROWS) {
		s->is_over_cap = true;
		n = 0;
	}
	/* What is being made is looked at once more. */
	k->is_young = is_other || len == 0;
	s->has_changed |= is_other || !same_rows(s, old, n);
	return push_rows(&s->now, s->r->rows, n, k);
}

static int on_blob(void *ctx, const struct hotspot_blob *b)
{
	struct slice *s = ctx;
	const struct known *old = find_old(s, b);
	struct known k = {
		.code = b->code, .end = b->end, .key = hash_bytes(b, sizeof(*b), 1), .heap = b->heap
	};
	int r;

	if (s->now.n == MAX_BLOBS) {
		s->is_over_cap = true;
		return 0;
	}
	if (old && old->key == k.key && !old->is_young) {
		k.name = old->name;
		r = push_rows(&s->now, s->r->set.rows + old->first, old->n, &k);
	} else if (s->n_new++ < MAX_NEW) {
		r = look_into(s, b, old, &k);
	} else {
		return 0; /* the next slice finds it */
	}
	return r < 0 ? r : push_blob(&s->now, &k);
}

static int read_layout(struct slice *s)
{
	struct hotspot_reader *r = s->r;
	int err;

	if (r->has_layout)
		return 0;
	if (r->why[0])
		return -ENODATA;
	err = hotspot_layout_read(s->m, s->read->symbols, &r->layout, r->why);
	r->has_layout = err == 0;
	return err;
}

int hotspot_reader_read(struct hotspot_reader *r, struct hotspot_memory *m,
			const struct hotspot_read *read, struct hotspot_result *ret)
{
	struct slice s = { .r = r, .m = m, .read = read };
	int err;

	*ret = (struct hotspot_result){ .is_complete = true };
	m->n_left = MAX_READINGS;
	err = read_layout(&s);
	if (err == -ENODATA) {
		memcpy(ret->why, r->why, sizeof(ret->why));
		return 0;
	}
	if (err == 0)
		err = hotspot_heaps_each(&r->layout, m, r->heaps, &r->n_heaps, on_blob, &s);
	if (err < 0) {
		set_done(&s.now);
		return err;
	}
	if (s.has_changed || s.old < r->set.n)
		r->n_changes++;
	set_done(&r->set);
	r->set = s.now;
	if (read->now_ns > KEEP_PAST_NS)
		jit_map_forget(r->map, read->now_ns - KEEP_PAST_NS);
	ret->is_complete = s.n_new <= MAX_NEW;
	ret->is_over_cap = s.is_over_cap;
	return 0;
}

/* ---- tables ---- */

/* Blobs of one heap follow each other; between them nothing is known. */
static int add_blob(const struct hotspot_reader *r, const struct known *k, uint64_t start,
		    struct table_builder *b)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct hotspot_row *rows = r->set.rows + k->first;
	int err = 0;

	for (uint32_t i = 0; i < k->n && err == 0 && b->n_rules < MAX_RULES; i++)
		err = table_builder_set(b, k->code - start + rows[i].at, &rows[i].rule);
	return err < 0 ? err : table_builder_set(b, k->end - start, &none);
}

static int make_table(const struct hotspot_reader *r, uint32_t heap, size_t *next,
		      struct hotspot_table *ret)
{
	struct table_builder b = { 0 };
	uint64_t start = r->heaps[heap].start;
	int err = 0;

	ret->heap = r->heaps[heap];
	for (; *next < r->set.n && r->set.blobs[*next].heap == heap && err == 0; (*next)++)
		err = add_blob(r, &r->set.blobs[*next], start, &b);
	if (err == 0)
		err = table_builder_finish(&b, 0, 0, &ret->bytes, &ret->len);
	table_builder_done(&b);
	return err;
}

int hotspot_reader_tables(const struct hotspot_reader *r, struct hotspot_table *ret)
{
	size_t next = 0;
	uint32_t n = 0;
	int err = 0;

	if (!HAS_ROWS)
		return 0;
	for (; n < r->n_heaps && err == 0; n += err == 0)
		err = make_table(r, n, &next, &ret[n]);
	if (err == 0)
		return (int)n;
	while (n > 0)
		free(ret[--n].bytes);
	return err;
}
