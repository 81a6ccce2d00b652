/* SPDX-License-Identifier: Apache-2.0 */
/* kallsyms.c - the kernel's own symbols: its text, its modules, BPF programs. */
#include "kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"

/* Ten times what a distribution's kernel with every module loaded has. */
#define MAX_FILE_BYTES (256u << 20)
#define READ_BYTES     (256u << 10)

/*
 * Modules and BPF programs lie apart from each other, and the last symbol of
 * one must not reach into the next. Nothing in them is known to be larger.
 */
#define MAX_SYMBOL_BYTES (256u << 10)

/* The daemon's own BPF programs come right after its start: names for them too. */
#define FIRST_RELOAD_NS NS_PER_SEC
#define MIN_RELOAD_NS	(5 * NS_PER_SEC)
#define MAX_RELOAD_NS	(600 * NS_PER_SEC)

/* The list of modules takes less than a millisecond to read. */
#define CHECK_NS	  (200 * NS_PER_MS)
#define MAX_MODULES_BYTES (1u << 20)

struct symbol {
	uint64_t start;
	uint32_t name, module; /* offsets into the text */
};

struct table {
	struct buf text; /* the file, cut into strings; starts with an empty one */
	struct symbol *symbols;
	size_t n, cap;
	uint64_t stext, etext;
	bool hidden;
};

struct kallsyms {
	char *path, *modules_path; /* the second may be NULL */
	uint64_t modules;	   /* which there were before the table was read; 0: not known */
	uint64_t next_check_ns;
	struct table table;
	uint64_t read_ns, next_reload_ns, reload_interval_ns;
	bool is_distrusted;
};

static void table_done(struct table *t)
{
	buf_done(&t->text);
	free(t->symbols);
	memset(t, 0, sizeof(*t));
}

static int read_file(const char *path, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	do {
		r = buf_reserve(b, READ_BYTES);
		if (r < 0)
			break;
		n = read(fd, b->data + b->len, READ_BYTES);
		if (n < 0) {
			r = -errno;
			break;
		}
		b->len += (size_t)n;
		if (b->len > MAX_FILE_BYTES)
			r = -EFBIG;
	} while (n > 0 && r == 0);
	close(fd);
	return r;
}

static int add_symbol(struct table *t, uint64_t start, const char *name, const char *module)
{
	const char *text = (const char *)t->text.data;

	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64 * 1024;
		struct symbol *grown = reallocarray(t->symbols, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->symbols = grown;
		t->cap = cap;
	}
	t->symbols[t->n++] = (struct symbol){
		.start = start,
		.name = (uint32_t)(name - text),
		.module = (uint32_t)(module - text),
	};
	return 0;
}

static bool parse_hex(char **p, uint64_t *ret)
{
	char *s = *p;
	uint64_t v = 0;
	int digit;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if (*s >= 'a' && *s <= 'f')
			digit = *s - 'a' + 10;
		else
			break;
		v = v << 4 | (unsigned)digit;
	}
	if (s == *p || s - *p > 16)
		return false;
	*p = s;
	*ret = v;
	return true;
}

/* "ffffffff81000000 T name" or "ffffffffc0201000 t name\t[module]"; the line ends with NUL. */
static int parse_line(struct table *t, char *line, size_t *n_text)
{
	char *module = (char *)t->text.data;
	uint64_t start;
	char *name, *tab;

	if (!parse_hex(&line, &start) || line[0] != ' ' || !line[1] || line[2] != ' ')
		return 0;
	if (!strchr("tTwW", line[1]))
		return 0;
	name = line + 3;
	tab = strchr(name, '\t');
	if (tab) {
		*tab = '\0';
		module = tab + 1;
	}
	if (!*name)
		return 0;
	(*n_text)++;
	if (!start)
		return 0; /* hidden */
	if (strcmp(name, "_stext") == 0 && !*module)
		t->stext = start;
	if (strcmp(name, "_etext") == 0 && !*module)
		t->etext = start;
	return add_symbol(t, start, name, module);
}

static int by_start(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Of several names for one address the first one stays, as in the kernel's own %pS. */
static void sort_symbols(struct table *t)
{
	size_t n = 0;

	if (t->n == 0)
		return;
	qsort(t->symbols, t->n, sizeof(*t->symbols), by_start);
	for (size_t i = 0; i < t->n; i++)
		if (n == 0 || t->symbols[i].start != t->symbols[n - 1].start)
			t->symbols[n++] = t->symbols[i];
	t->n = n;
}

static int table_load(struct table *t, const char *path)
{
	size_t n_text = 0;
	char *line, *end;
	int r;

	r = buf_append(&t->text, "", 1);
	if (r == 0)
		r = read_file(path, &t->text);
	if (r == 0)
		r = buf_append(&t->text, "", 1);
	if (r < 0)
		goto fail;

	end = (char *)t->text.data + t->text.len - 1;
	for (line = (char *)t->text.data + 1; line < end;) {
		char *eol = memchr(line, '\n', (size_t)(end - line));

		if (!eol)
			eol = end;
		*eol = '\0';
		r = parse_line(t, line, &n_text);
		if (r < 0)
			goto fail;
		line = eol + 1;
	}
	sort_symbols(t);
	t->hidden = n_text > 0 && t->n == 0;
	return 0;

fail:
	table_done(t);
	return r;
}

/* ---- modules ---- */

/* Of a line of the list, "name size users dependencies state address": what does not change. */
static uint64_t hash_module(char *line, uint64_t seed)
{
	char *field, *at = line;

	for (int i = 0; (field = strsep(&at, " ")); i++)
		if (i < 2 || i == 5)
			seed = hash_bytes(field, strlen(field), seed);
	return seed;
}

static uint64_t read_modules(const struct kallsyms *k)
{
	struct buf text = { 0 };
	uint64_t all = 0;
	char *line, *at;

	if (k->modules_path && io_read_all(k->modules_path, MAX_MODULES_BYTES, &text) == 0 &&
	    buf_append(&text, "", 1) == 0) {
		at = (char *)text.data;
		while ((line = strsep(&at, "\n")))
			all = hash_module(line, all);
	}
	buf_done(&text);
	return all;
}

void kallsyms_check_modules(struct kallsyms *k, uint64_t now_ns)
{
	if (!k->modules || now_ns < k->next_check_ns)
		return;
	k->next_check_ns = now_ns + CHECK_NS;
	if (read_modules(k) != k->modules)
		k->is_distrusted = true;
}

int kallsyms_set_modules(struct kallsyms *k, const char *path)
{
	free(k->modules_path);
	k->modules_path = strdup(path);
	if (!k->modules_path)
		return -ENOMEM;
	k->modules = read_modules(k);
	return 0;
}

/* ---- the whole ---- */

int kallsyms_new(const char *path, uint64_t now_ns, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	int r = -ENOMEM;

	if (!k)
		return r;
	k->reload_interval_ns = MIN_RELOAD_NS;
	k->next_reload_ns = now_ns + FIRST_RELOAD_NS;
	k->read_ns = now_ns;
	k->path = strdup(path);
	if (!k->path)
		goto fail;
	r = table_load(&k->table, path);
	if (r < 0)
		goto fail;
	*ret = k;
	return 0;

fail:
	kallsyms_free(k);
	return r;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	table_done(&k->table);
	free(k->path);
	free(k->modules_path);
	free(k);
}

static const char *text_at(const struct kallsyms *k, uint32_t off)
{
	return (const char *)k->table.text.data + off;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kallsyms_symbol *ret)
{
	const struct table *t = &k->table;
	size_t lo = 0, hi = t->n;
	const struct symbol *s;

	while (lo < hi) { /* the first symbol beyond addr */
		size_t mid = lo + (hi - lo) / 2;

		if (t->symbols[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	s = &t->symbols[lo - 1];
	ret->module = text_at(k, s->module);
	if ((*ret->module || lo == t->n) && addr - s->start >= MAX_SYMBOL_BYTES)
		return false;
	/* Between the end of the kernel's text and its modules there is nothing. */
	if (lo < t->n && !*ret->module && *text_at(k, t->symbols[lo].module) &&
	    addr - s->start >= MAX_SYMBOL_BYTES)
		return false;
	ret->start = s->start;
	ret->name = text_at(k, s->name);
	return true;
}

/* Do both say the same about every address? */
static bool same_symbols(const struct table *a, const struct table *b)
{
	if (a->n != b->n || a->hidden != b->hidden)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct symbol *x = &a->symbols[i], *y = &b->symbols[i];

		if (x->start != y->start ||
		    strcmp((char *)a->text.data + x->name, (char *)b->text.data + y->name) != 0)
			return false;
	}
	return true;
}

bool kallsyms_reload(struct kallsyms *k, uint64_t now_ns)
{
	struct table fresh = { 0 };
	bool changed = false;

	if (now_ns < k->next_reload_ns)
		kallsyms_check_modules(k, now_ns);
	if (now_ns < k->next_reload_ns && !k->is_distrusted)
		return false;
	/* Before the table: what comes meanwhile is noticed the next time. */
	k->modules = read_modules(k);
	k->is_distrusted = false;
	k->read_ns = now_ns;
	if (table_load(&fresh, k->path) == 0)
		changed = !same_symbols(&fresh, &k->table);
	if (changed) {
		table_done(&k->table);
		k->table = fresh;
		k->reload_interval_ns = MIN_RELOAD_NS;
	} else {
		/* Some addresses have no symbol; reading takes tens of milliseconds. */
		table_done(&fresh);
		k->reload_interval_ns *= 2;
		if (k->reload_interval_ns > MAX_RELOAD_NS)
			k->reload_interval_ns = MAX_RELOAD_NS;
	}
	k->next_reload_ns = now_ns + k->reload_interval_ns;
	return changed;
}

void kallsyms_distrust(struct kallsyms *k, uint64_t time_ns)
{
	if (time_ns >= k->read_ns)
		k->is_distrusted = true;
}

bool kallsyms_is_distrusted(const struct kallsyms *k)
{
	return k->is_distrusted;
}

bool kallsyms_is_core(const struct kallsyms *k, uint64_t addr)
{
	return k->table.stext <= addr && addr < k->table.etext;
}

uint64_t kallsyms_stext(const struct kallsyms *k)
{
	return k->table.stext;
}

bool kallsyms_hidden(const struct kallsyms *k)
{
	return k->table.hidden;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->table.n;
}
