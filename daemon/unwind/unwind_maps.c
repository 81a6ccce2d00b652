/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_maps.c - the BPF maps that the stack walker finds its way by.
 *
 * One array map of one large value holds pages, rules, mappings and the list of
 * tables; rows lie in shards that are made on demand. A rule is kept once,
 * counted by the tables that use it: all files of a machine share some thousand.
 */
#include "unwind_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "ranges.h"

/* 16 M rows in 64 MiB: what 500 large files have. libLLVM alone has 0.95 M. */
#define MAX_SHARDS 16
/* A table is laid down in pieces, so that large ones fit into what is left of shards. */
#define MAX_PIECE_ROWS (256u << 10)
#define MAX_PIECES     64

/* No program runs as long as that. */
#define REST_NS NS_PER_SEC

#define NO_RULE 0 /* the rule that says nothing; always there */

struct piece { /* rows in one shard */
	uint32_t shard, first, n;
};

struct table {
	uint32_t first, n_pages; /* in `pages`, n_pages > 0 if any are taken */
	struct piece pieces[MAX_PIECES];
	unsigned n_pieces;
	uint16_t *rules; /* in use by it */
	uint32_t n_rules;
};

struct block { /* of mappings, and whose */
	uint32_t first, n;
};

/* Was in use until lately. */
struct resting {
	STAILQ_ENTRY(resting) link;
	uint64_t since_ns;
	struct block block;  /* n > 0 */
	struct table *table; /* or this one, whose number was `id` */
	uint32_t id;
};

struct shard {
	uint32_t *rows;
	struct ranges *ranges;
	int fd;
	bool is_used; /* the kernel's half has it */
};

struct unwind_maps {
	bool in_kernel;
	int data_fd, rows_fd, procs_fd;
	struct unwind_data *data;
	struct shard shards[MAX_SHARDS];
	unsigned n_shards;

	struct ranges *pages, *mappings;
	struct table *tables[UNWIND_TABLES];
	uint32_t next_table, n_tables;

	struct hash *rules; /* its bytes -> number + 1 */
	uint32_t rule_users[UNWIND_MAX_RULES];
	uint32_t next_rule, n_rules;

	struct hash *procs; /* tgid -> struct block */
	STAILQ_HEAD(, resting) resting;
};

/* ---- making them ---- */

static size_t map_bytes(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int array_fd(const char *name, size_t value_size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), (uint32_t)value_size, 1,
				&opts);

	return fd < 0 ? -errno : fd;
}

/* Shared memory: the value of a map, or nobody else's. */
static int map_value(bool in_kernel, const char *name, size_t size, int *ret_fd, void **ret)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	void *at;

	if (in_kernel) {
		fd = array_fd(name, size);
		if (fd < 0)
			return fd;
		flags = MAP_SHARED;
	}
	at = mmap(NULL, map_bytes(size), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret = at;
	return 0;
}

static int add_shard(struct unwind_maps *m)
{
	struct shard *shard = &m->shards[m->n_shards];
	void *rows;
	int r;

	if (m->n_shards == MAX_SHARDS)
		return -ENOSPC;
	r = map_value(m->in_kernel, "unwind_shard", sizeof(uint32_t) * UNWIND_SHARD_ROWS,
		      &shard->fd, &rows);
	if (r < 0)
		return r;
	shard->rows = rows;
	r = ranges_new(UNWIND_SHARD_ROWS, &shard->ranges);
	m->n_shards++; /* freed with the others, whatever it is */
	return r;
}

/* The first shard comes before the map of shards: it shows what that will hold. */
static int make_rows(struct unwind_maps *m)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int r = add_shard(m);

	if (r < 0 || !m->in_kernel)
		return r;
	opts.inner_map_fd = (uint32_t)m->shards[0].fd;
	m->rows_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "unwind_rows", sizeof(uint32_t),
				    sizeof(uint32_t), UNWIND_MAX_SHARDS, &opts);
	return m->rows_fd < 0 ? -errno : 0;
}

static int make_procs(struct unwind_maps *m)
{
	if (!m->in_kernel)
		return 0;
	m->procs_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "unwind_procs", sizeof(uint32_t),
				     sizeof(struct unwind_proc), UNWIND_MAX_PROCS, NULL);
	return m->procs_fd < 0 ? -errno : 0;
}

int unwind_maps_new(bool in_kernel, struct unwind_maps **ret)
{
	struct unwind_maps *m = calloc(1, sizeof(*m));
	void *data;
	int r;

	if (!m)
		return -ENOMEM;
	m->in_kernel = in_kernel;
	m->data_fd = m->rows_fd = m->procs_fd = -1;
	STAILQ_INIT(&m->resting);
	m->n_rules = m->next_rule = 1; /* NO_RULE */
	r = map_value(in_kernel, "unwind_data", sizeof(*m->data), &m->data_fd, &data);
	if (r < 0)
		goto fail;
	m->data = data;
	r = make_rows(m);
	if (r == 0)
		r = make_procs(m);
	if (r == 0)
		r = ranges_new(UNWIND_PAGES, &m->pages);
	if (r == 0)
		r = ranges_new(UNWIND_MAPPINGS, &m->mappings);
	if (r == 0)
		r = hash_new(&m->rules);
	if (r == 0)
		r = hash_new(&m->procs);
	if (r < 0)
		goto fail;
	*ret = m;
	return 0;

fail:
	unwind_maps_free(m);
	return r;
}

static void table_release(struct table *t)
{
	if (!t)
		return;
	free(t->rules);
	free(t);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void unwind_maps_free(struct unwind_maps *m)
{
	struct resting *rest;
	size_t pos = 0;
	void *value;

	if (!m)
		return;
	while ((rest = STAILQ_FIRST(&m->resting))) {
		STAILQ_REMOVE_HEAD(&m->resting, link);
		free(rest); /* its table is among the others still */
	}
	for (size_t i = 0; i < UNWIND_TABLES; i++)
		table_release(m->tables[i]);
	while (m->procs && hash_next(m->procs, &pos, NULL, NULL, &value))
		free(value);
	hash_free(m->procs);
	hash_free(m->rules);
	ranges_free(m->pages);
	ranges_free(m->mappings);
	for (unsigned i = 0; i < m->n_shards; i++) {
		munmap(m->shards[i].rows, map_bytes(sizeof(uint32_t) * UNWIND_SHARD_ROWS));
		ranges_free(m->shards[i].ranges);
		close_fd(m->shards[i].fd);
	}
	if (m->data)
		munmap(m->data, map_bytes(sizeof(*m->data)));
	close_fd(m->data_fd);
	close_fd(m->rows_fd);
	close_fd(m->procs_fd);
	free(m);
}

int unwind_maps_reuse(struct unwind_maps *m, struct bpf_object *obj)
{
	const struct {
		const char *name;
		int fd;
	} maps[] = { { "unwind_data", m->data_fd },
		     { "unwind_rows", m->rows_fd },
		     { "unwind_procs", m->procs_fd } };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, maps[i].name);
		int r = map ? bpf_map__reuse_fd(map, maps[i].fd) : -ENOENT;

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- rules ---- */

static int rule_take(struct unwind_maps *m, const struct unwind_rule *rule, uint16_t *ret)
{
	static const struct unwind_rule none;
	void *known = hash_get(m->rules, rule, sizeof(*rule));
	uint32_t at;
	int r;

	if (memcmp(rule, &none, sizeof(none)) == 0) {
		*ret = NO_RULE;
		return 0;
	}
	if (known) {
		*ret = (uint16_t)((uintptr_t)known - 1);
		m->rule_users[*ret]++;
		return 0;
	}
	if (m->n_rules == UNWIND_MAX_RULES)
		return -ENOSPC;
	for (at = m->next_rule; at == NO_RULE || m->rule_users[at] > 0;)
		at = (at + 1) % UNWIND_MAX_RULES;
	r = hash_set(m->rules, rule, sizeof(*rule), (void *)((uintptr_t)at + 1));
	if (r < 0)
		return r;
	m->data->rules[at] = *rule;
	m->rule_users[at] = 1;
	m->n_rules++;
	m->next_rule = (at + 1) % UNWIND_MAX_RULES;
	*ret = (uint16_t)at;
	return 0;
}

static void rule_give(struct unwind_maps *m, uint16_t at)
{
	if (at == NO_RULE || --m->rule_users[at] > 0)
		return;
	(void)hash_remove(m->rules, &m->data->rules[at], sizeof(m->data->rules[at]));
	m->n_rules--;
}

/* ---- tables ---- */

int unwind_maps_table_new(struct unwind_maps *m, uint32_t *ret_id)
{
	uint32_t id = m->next_table;
	struct table *t;

	if (m->n_tables == UNWIND_TABLES)
		return -ENOSPC;
	while (m->tables[id])
		id = (id + 1) % UNWIND_TABLES;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	m->tables[id] = t;
	m->n_tables++;
	m->next_table = (id + 1) % UNWIND_TABLES;
	m->data->tables[id] = (struct unwind_table_ref){ .state = UNWIND_TABLE_PENDING };
	*ret_id = id;
	return 0;
}

/*
 * When something is laid down in it: the kernel takes 15 ms for this, for which a recording
 * that starts would wait.
 */
static int use_shard(struct unwind_maps *m, uint32_t i)
{
	struct shard *shard = &m->shards[i];

	if (m->rows_fd >= 0 && !shard->is_used &&
	    bpf_map_update_elem(m->rows_fd, &i, &shard->fd, 0) < 0)
		return -errno;
	shard->is_used = true;
	return 0;
}

static int take_rows(struct unwind_maps *m, uint32_t n, struct piece *ret)
{
	int r;

	for (;;) {
		for (unsigned i = 0; i < m->n_shards; i++) {
			if (ranges_take(m->shards[i].ranges, n, &ret->first) == 0) {
				ret->shard = i;
				ret->n = n;
				r = use_shard(m, i);
				if (r < 0)
					ranges_give(m->shards[i].ranges, ret->first, n);
				return r;
			}
		}
		r = add_shard(m);
		if (r < 0)
			return r;
	}
}

/* Whole pages from `*page` on, as many rows as a piece may have. */
static uint32_t rows_of_piece(const struct unwind_table *src, uint32_t *page)
{
	uint32_t from = src->pages[*page], n = 0;

	while (*page < src->head.n_pages && src->pages[*page + 1] - from <= MAX_PIECE_ROWS)
		n = src->pages[++*page] - from;
	return n;
}

static int lay_rows(struct unwind_maps *m, struct table *t, const struct unwind_table *src)
{
	uint32_t page = 0, row = 0;

	while (page < src->head.n_pages) {
		struct piece *piece = &t->pieces[t->n_pieces];
		uint32_t n = rows_of_piece(src, &page), *rows;
		int r;

		if (n == 0)
			continue;
		if (t->n_pieces == MAX_PIECES)
			return -ENOSPC;
		r = take_rows(m, n, piece);
		if (r < 0)
			return r;
		t->n_pieces++;
		rows = m->shards[piece->shard].rows + piece->first;
		for (uint32_t i = 0; i < n; i++, row++)
			rows[i] = UNWIND_ROW(UNWIND_ROW_OFFSET(src->rows[row]),
					     t->rules[UNWIND_ROW_RULE(src->rows[row])]);
	}
	return 0;
}

/* Where each page's rows are, and in the first of them, how many. */
static void lay_pages(struct unwind_maps *m, const struct table *t, const struct unwind_table *src)
{
	const struct piece *piece = t->pieces;
	uint32_t before = 0; /* rows in earlier pieces */

	for (uint32_t i = 0; i < src->head.n_pages; i++) {
		uint32_t n = src->pages[i + 1] - src->pages[i], *first, at;

		if (n == 0) {
			m->data->pages[t->first + i] = UNWIND_NO_ROWS;
			continue;
		}
		while (src->pages[i] - before >= piece->n)
			before += piece++->n;
		at = piece->first + (src->pages[i] - before);
		first = &m->shards[piece->shard].rows[at];
		*first = UNWIND_ROW(n, UNWIND_ROW_RULE(*first));
		m->data->pages[t->first + i] = piece->shard << UNWIND_SHARD_SHIFT | at;
	}
}

static void give_all(struct unwind_maps *m, struct table *t)
{
	for (unsigned i = 0; i < t->n_pieces; i++)
		ranges_give(m->shards[t->pieces[i].shard].ranges, t->pieces[i].first,
			    t->pieces[i].n);
	t->n_pieces = 0;
	if (t->n_pages)
		ranges_give(m->pages, t->first, t->n_pages);
	t->n_pages = 0;
	for (uint32_t i = 0; i < t->n_rules; i++)
		rule_give(m, t->rules[i]);
	free(t->rules);
	t->rules = NULL;
	t->n_rules = 0;
}

static int take_rules(struct unwind_maps *m, struct table *t, const struct unwind_table *src)
{
	t->rules = calloc(src->head.n_rules ? src->head.n_rules : 1, sizeof(*t->rules));
	if (!t->rules)
		return -ENOMEM;
	for (; t->n_rules < src->head.n_rules; t->n_rules++) {
		struct unwind_rule rule;
		int r;

		memcpy(&rule, &src->rules[t->n_rules], sizeof(rule));
		r = rule_take(m, &rule, &t->rules[t->n_rules]);
		if (r < 0)
			return r;
	}
	return 0;
}

int unwind_maps_table_fill(struct unwind_maps *m, uint32_t id, const struct unwind_table *src)
{
	struct unwind_table_ref *ref = &m->data->tables[id];
	struct table *t = m->tables[id];
	int r;

	if (src->head.n_rows == 0 || src->head.n_pages == 0) {
		__atomic_store_n(&ref->state, UNWIND_TABLE_NONE, __ATOMIC_RELEASE);
		return 0;
	}
	r = take_rules(m, t, src);
	if (r == 0)
		r = ranges_take(m->pages, src->head.n_pages, &t->first);
	if (r == 0) {
		t->n_pages = src->head.n_pages;
		r = lay_rows(m, t, src);
	}
	if (r < 0) {
		give_all(m, t);
		return r;
	}
	lay_pages(m, t, src);
	ref->first = t->first;
	ref->n_pages = t->n_pages;
	ref->first_page = (uint32_t)src->head.first_page;
	__atomic_store_n(&ref->state, UNWIND_TABLE_READY, __ATOMIC_RELEASE);
	return 0;
}

void unwind_maps_table_state(struct unwind_maps *m, uint32_t id, enum unwind_table_state state)
{
	__atomic_store_n(&m->data->tables[id].state, state, __ATOMIC_RELEASE);
}

const struct unwind_table_ref *unwind_maps_table(const struct unwind_maps *m, uint32_t id)
{
	return &m->data->tables[id];
}

static void rest(struct unwind_maps *m, struct resting what, uint64_t now_ns)
{
	struct resting *r = malloc(sizeof(*r));

	if (!r)
		return; /* it stays taken: a leak of map space, not of order */
	*r = what;
	r->since_ns = now_ns;
	STAILQ_INSERT_TAIL(&m->resting, r, link);
}

void unwind_maps_table_free(struct unwind_maps *m, uint32_t id, uint64_t now_ns)
{
	unwind_maps_table_state(m, id, UNWIND_TABLE_FREE);
	rest(m, (struct resting){ .table = m->tables[id], .id = id }, now_ns);
}

const struct unwind_rule *unwind_maps_rule(const struct unwind_maps *m, uint32_t first,
					   uint32_t n_pages, uint64_t offset)
{
	uint64_t page = offset >> UNWIND_PAGE_SHIFT;
	uint32_t low = offset & (UNWIND_PAGE_SIZE - 1), at, n;
	const uint32_t *rows;

	if (page >= n_pages)
		return NULL;
	at = m->data->pages[first + page];
	if (at == UNWIND_NO_ROWS)
		return NULL;
	/* In a child of fork() the maps go on to change, and have shards that it has not. */
	rows = m->shards[at >> UNWIND_SHARD_SHIFT].rows;
	if (!rows)
		return NULL;
	rows += at & (UNWIND_SHARD_ROWS - 1);
	n = UNWIND_ROW_OFFSET(rows[0]);
	at = 0;
	while (n > 1) {
		uint32_t half = n / 2;

		if (UNWIND_ROW_OFFSET(rows[at + half]) <= low)
			at += half;
		n -= half;
	}
	return &m->data->rules[UNWIND_ROW_RULE(rows[at])];
}

/* ---- processes ---- */

/* Takes over the block: it is the process's from here on, or given back. */
static int switch_block(struct unwind_maps *m, uint32_t tgid, const struct unwind_proc *proc,
			uint64_t now_ns)
{
	struct block *b = hash_get_u64(m->procs, tgid);
	int r;

	if (!b) {
		b = calloc(1, sizeof(*b));
		r = b ? hash_set_u64(m->procs, tgid, b) : -ENOMEM;
		if (r < 0) {
			free(b);
			return r;
		}
	}
	if (m->in_kernel && bpf_map_update_elem(m->procs_fd, &tgid, proc, BPF_ANY) < 0)
		return errno == E2BIG ? -ENOSPC : -errno;
	if (b->n)
		rest(m, (struct resting){ .block = *b }, now_ns);
	*b = (struct block){ .first = proc->first, .n = proc->n };
	return 0;
}

int unwind_maps_proc_set(struct unwind_maps *m, uint32_t tgid, uint64_t start_ns, uint64_t exec_id,
			 const struct unwind_mapping *maps, uint32_t n, uint64_t now_ns)
{
	struct unwind_proc proc = { .n = n, .start_ns = start_ns, .exec_id = exec_id };
	int r;

	if (n > 0) {
		r = ranges_take(m->mappings, n, &proc.first);
		if (r < 0)
			return r;
		memcpy(&m->data->mappings[proc.first], maps, n * sizeof(*maps));
	}
	r = switch_block(m, tgid, &proc, now_ns);
	if (r < 0 && n > 0)
		ranges_give(m->mappings, proc.first, n);
	return r;
}

void unwind_maps_proc_remove(struct unwind_maps *m, uint32_t tgid, uint64_t now_ns)
{
	struct block *b = hash_remove_u64(m->procs, tgid);

	if (!b)
		return;
	if (m->in_kernel)
		(void)bpf_map_delete_elem(m->procs_fd, &tgid);
	if (b->n)
		rest(m, (struct resting){ .block = *b }, now_ns);
	free(b);
}

void unwind_maps_collect(struct unwind_maps *m, uint64_t now_ns)
{
	struct resting *r;

	while ((r = STAILQ_FIRST(&m->resting)) && now_ns > r->since_ns + REST_NS) {
		STAILQ_REMOVE_HEAD(&m->resting, link);
		if (r->table) {
			give_all(m, r->table);
			table_release(r->table);
			m->tables[r->id] = NULL;
			m->n_tables--;
		} else {
			ranges_give(m->mappings, r->block.first, r->block.n);
		}
		free(r);
	}
}

void unwind_maps_stats(const struct unwind_maps *m, struct unwind_maps_stats *ret)
{
	*ret = (struct unwind_maps_stats){
		.n_tables = m->n_tables,
		.n_pages = ranges_used(m->pages),
		.n_rules = m->n_rules,
		.n_procs = hash_count(m->procs),
		.n_mappings = ranges_used(m->mappings),
		.bytes = sizeof(*m->data) +
			 (uint64_t)m->n_shards * UNWIND_SHARD_ROWS * sizeof(uint32_t),
	};
	for (unsigned i = 0; i < m->n_shards; i++)
		ret->n_rows += ranges_used(m->shards[i].ranges);
}
