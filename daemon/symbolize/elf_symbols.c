/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.c - the functions of one ELF file, and where they lie. */
#include "elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf_candidates.h"
#include "elf_file.h"
#include "elf_mini.h"
#include "symbolizer.h"

#define MAX_SEGMENTS 1024

/*
 * Functions may lie inside each other, but seldom many. Beyond this we give up:
 * a file made for it must not turn each lookup into a walk over all its symbols.
 */
#define MAX_NESTING 64

struct segment {
	uint64_t offset, size, vaddr;
};

struct symbol {
	uint64_t start, end;
	uint64_t reach; /* the largest end up to here */
	uint32_t name;	/* offset into names */
};

struct elf_symbols {
	struct segment *segments; /* executable ones first */
	size_t n_segments;
	struct symbol *symbols; /* by start, which is unique */
	size_t n_symbols;
	struct buf names;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
};

/* Open until the names of the candidates have been copied. */
struct loader {
	Elf *elf, *debug, *mini; /* NULL: there is none */
	void *mini_image;
	struct segment *segments;
	size_t n_segments;
	struct elf_candidates found;
};

/* ---- segments ---- */

static int read_segments(struct loader *l)
{
	size_t n;

	if (elf_getphdrnum(l->elf, &n) != 0 || n > MAX_SEGMENTS)
		return -ENOEXEC;
	l->segments = calloc(n + 1, sizeof(*l->segments));
	if (!l->segments)
		return -ENOMEM;
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < n; i++) {
			GElf_Phdr ph;

			if (!gelf_getphdr(l->elf, (int)i, &ph))
				return -ENOEXEC;
			if (ph.p_type == PT_LOAD && !!(ph.p_flags & PF_X) == want_exec)
				l->segments[l->n_segments++] = (struct segment){
					.offset = ph.p_offset,
					.size = ph.p_filesz,
					.vaddr = ph.p_vaddr,
				};
		}
	}
	return 0;
}

/* ---- where names are ---- */

/* Another file is a help only: whatever is wrong with it, we go on without. */
static int add_foreign(Elf *elf, struct elf_candidates *found)
{
	int r = elf ? elf_symtab_candidates(elf, SHT_SYMTAB, found) : 0;

	return r == -ENOMEM ? r : 0;
}

/*
 * .symtab has everything, where it is left. .dynsym has only what is exported:
 * the debug file, or the list inside the file itself, adds the rest, and for a
 * stripped Go program the table by which its own runtime names functions.
 */
static int gather(struct loader *l, int debug_fd)
{
	struct elf_candidates *found = &l->found;
	size_t n;
	int r;

	r = elf_symtab_candidates(l->elf, SHT_SYMTAB, found);
	if (r < 0 || found->n > 0)
		return r;
	r = elf_symtab_candidates(l->elf, SHT_DYNSYM, found);
	n = found->n;
	if (r == 0 && debug_fd >= 0 && elf_file_open(debug_fd, &l->debug) == 0)
		r = add_foreign(l->debug, found);
	if (r == 0 && found->n == n && elf_mini_open(l->elf, &l->mini_image, &l->mini) == 0)
		r = add_foreign(l->mini, found);
	if (r == 0 && found->n == n)
		r = go_pclntab_candidates(l->elf, found);
	return r;
}

/* ---- the table ---- */

static size_t n_underscores(const char *s)
{
	return strspn(s, "_");
}

/*
 * Of aliases the best comes first: a function, with a size, that is exported,
 * then the name people know ("read", not "__read" nor "__libc_read").
 */
static int by_start_then_rank(const void *pa, const void *pb)
{
	const struct elf_candidate *a = pa, *b = pb;
	size_t x, y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->is_label != b->is_label)
		return a->is_label ? 1 : -1;
	if ((a->end == a->start) != (b->end == b->start))
		return a->end == a->start ? 1 : -1;
	if ((a->binding == STB_LOCAL) != (b->binding == STB_LOCAL))
		return a->binding == STB_LOCAL ? 1 : -1;
	x = n_underscores(a->name);
	y = n_underscores(b->name);
	if (x != y)
		return x < y ? -1 : 1;
	if ((a->binding == STB_WEAK) != (b->binding == STB_WEAK))
		return a->binding == STB_WEAK ? 1 : -1;
	x = strlen(a->name);
	y = strlen(b->name);
	if (x != y)
		return x < y ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Leaves one candidate per address, and no label that lies in a function: what
 * assembler marks inside of one is no other function.
 */
static void leave_best(struct elf_candidates *found)
{
	struct elf_candidate *list = found->list;
	uint64_t reach = 0;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++) {
		const struct elf_candidate *c = &list[i];

		if (n > 0 && list[n - 1].start == c->start) {
			if (list[n - 1].end < c->end)
				list[n - 1].end = c->end;
		} else if (!c->is_label || c->start >= reach) {
			list[n++] = *c;
		}
		if (!c->is_label && reach < c->end)
			reach = c->end;
	}
	found->n = n;
}

/* What has no size ends at the next one, or with its section. */
static void give_ends(struct elf_candidates *found)
{
	for (size_t i = 0; i < found->n; i++) {
		struct elf_candidate *c = &found->list[i];

		if (c->end != c->start)
			continue;
		if (c->section_end > c->start)
			c->end = c->section_end;
		if (i + 1 < found->n && (c->end == c->start || c->end > c[1].start))
			c->end = c[1].start;
	}
}

static int keep_symbols(struct elf_symbols *t, const struct elf_candidates *found)
{
	uint64_t reach = 0;
	int r = 0;

	for (size_t i = 0; i < found->n && r == 0; i++) {
		const struct elf_candidate *c = &found->list[i];

		if (reach < c->end)
			reach = c->end;
		if (t->names.len > UINT32_MAX)
			return -EFBIG;
		t->symbols[t->n_symbols++] = (struct symbol){
			.start = c->start,
			.end = c->end,
			.reach = reach,
			.name = (uint32_t)t->names.len,
		};
		r = buf_append(&t->names, c->name, strlen(c->name));
		if (r == 0 && c->is_plt)
			r = buf_append(&t->names, "@plt", 4);
		if (r == 0)
			r = buf_append(&t->names, "", 1);
	}
	return r;
}

/* What is left of the file when it is closed. */
static int keep(struct loader *l, struct elf_symbols **ret)
{
	struct elf_symbols *t = calloc(1, sizeof(*t));
	int r = -ENOMEM;

	if (!t)
		return r;
	t->symbols = calloc(l->found.n + 1, sizeof(*t->symbols));
	if (t->symbols)
		r = keep_symbols(t, &l->found);
	if (r < 0) {
		elf_symbols_free(t);
		return r;
	}
	t->build_id_len = elf_file_build_id(l->elf, t->build_id);
	t->segments = l->segments;
	t->n_segments = l->n_segments;
	l->segments = NULL;
	*ret = t;
	return 0;
}

/* `debug_fd` may be -1. */
static int load(struct loader *l, int fd, int debug_fd)
{
	int r;

	r = elf_file_open(fd, &l->elf);
	if (r == 0)
		r = read_segments(l);
	if (r == 0)
		r = gather(l, debug_fd);
	if (r == 0)
		r = elf_plt_candidates(l->elf, &l->found);
	if (r < 0)
		return r;
	if (l->found.n > 0)
		qsort(l->found.list, l->found.n, sizeof(*l->found.list), by_start_then_rank);
	leave_best(&l->found);
	give_ends(&l->found);
	return 0;
}

int elf_symbols_load(int fd, int debug_fd, struct elf_symbols **ret)
{
	struct loader l = { 0 };
	int r = load(&l, fd, debug_fd);

	if (r == 0)
		r = keep(&l, ret);
	elf_candidates_done(&l.found);
	elf_end(l.mini);
	elf_end(l.debug);
	elf_end(l.elf);
	free(l.mini_image);
	free(l.segments);
	return r;
}

void elf_symbols_free(struct elf_symbols *t)
{
	if (!t)
		return;
	free(t->segments);
	free(t->symbols);
	buf_done(&t->names);
	free(t);
}

size_t elf_symbols_count(const struct elf_symbols *t)
{
	return t->n_symbols;
}

size_t elf_symbols_bytes(const struct elf_symbols *t)
{
	return sizeof(*t) + t->names.cap + t->n_symbols * sizeof(*t->symbols) +
	       t->n_segments * sizeof(*t->segments);
}

const uint8_t *elf_symbols_build_id(const struct elf_symbols *t, size_t *ret_len)
{
	*ret_len = t->build_id_len;
	return t->build_id_len ? t->build_id : NULL;
}

bool elf_symbols_vaddr(const struct elf_symbols *t, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < t->n_segments; i++) {
		const struct segment *s = &t->segments[i];

		if (file_offset < s->offset || file_offset - s->offset >= s->size)
			continue;
		*ret = file_offset - s->offset + s->vaddr;
		return true;
	}
	return false;
}

const char *elf_symbols_find(const struct elf_symbols *t, uint64_t vaddr, uint64_t *ret_start)
{
	size_t lo = 0, hi = t->n_symbols;

	while (lo < hi) { /* the first symbol beyond vaddr */
		size_t mid = lo + (hi - lo) / 2;

		if (t->symbols[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Back from the innermost, as long as something before may still reach here. */
	for (size_t n = 0; lo > 0 && n < MAX_NESTING; n++) {
		const struct symbol *s = &t->symbols[--lo];

		if (s->reach <= vaddr)
			return NULL;
		if (s->end <= vaddr)
			continue;
		*ret_start = s->start;
		return (const char *)t->names.data + s->name;
	}
	return NULL;
}
