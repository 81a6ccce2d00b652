/* SPDX-License-Identifier: Apache-2.0 */
/* files_places_find.c - finds the functions and USDT probes that a probe's place means. */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_boundary.h"
#include "demangle.h"
#include "elf_candidates.h"
#include "elf_debug.h"
#include "elf_file.h"
#include "elf_usdt.h"
#include "files_places.h"
#include "files_protocol.h"
#include "probe/probe_usdt.h"

#define MAX_SEGMENTS	256
#define MAX_FUNCTION	(1u << 20) /* bytes up to a place in one */
#define MAX_INSTRUCTION 16
#define MAX_DEMANGLED	(200u << 10) /* names: each takes a microsecond or some */
#define TYPES_MAX	4096	     /* bytes of a table of arguments */

struct finder {
	const struct files_probe *probe;
	bool is_glob, is_group_glob;
	bool is_demangled; /* what is looked for is a name as in the source */
	int fd;
	Elf *elf, *debug; /* `debug` NULL: none */
	struct elf_candidates candidates;

	struct files_places_head head;
	struct nearest near;
	bool has_ifunc, has_usdt;
	uint8_t *bytes;
	size_t len, size;
};

static bool is_glob(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

/* ---- the answer ---- */

static bool has_place(const struct finder *f, uint64_t offset)
{
	struct files_place place;
	size_t at = sizeof(f->head);

	for (uint32_t i = 0; i < f->head.n_places; i++) {
		memcpy(&place, f->bytes + at, sizeof(place));
		if (place.offset == offset)
			return true;
		at += sizeof(place) + place.name_len + place.types_len;
	}
	return false;
}

static void add_place(struct finder *f, struct files_place *place, const char *name,
		      const uint8_t *types)
{
	size_t name_len = strnlen(name, FILES_PROBE_SYMBOL - 1);

	if (has_place(f, place->offset))
		return;
	place->name_len = (uint16_t)name_len;
	/* Room for the names near it is not needed: there are places. */
	if (f->head.n_places == FILES_PLACES_MAX ||
	    sizeof(*place) + name_len + place->types_len > f->size - f->len) {
		f->head.n_more++;
		return;
	}
	memcpy(f->bytes + f->len, place, sizeof(*place));
	f->len += sizeof(*place);
	memcpy(f->bytes + f->len, name, name_len);
	f->len += name_len;
	if (place->types_len)
		memcpy(f->bytes + f->len, types, place->types_len);
	f->len += place->types_len;
	f->head.n_places++;
}

static void add_names(struct finder *f)
{
	for (size_t i = 0; i < f->near.n; i++) {
		size_t n = strlen(f->near.names[i]) + 1;

		memcpy(f->bytes + f->len, f->near.names[i], n);
		f->len += n;
	}
	f->head.n_near = (uint8_t)f->near.n;
}

/* ---- functions ---- */

static uint64_t code_offset(Elf *elf, uint64_t vaddr)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && i < MAX_SEGMENTS; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
		    vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz &&
		    ph.p_offset <= INT64_MAX - ph.p_filesz)
			return ph.p_offset + (vaddr - ph.p_vaddr);
	return 0;
}

/* Of "memcpy@@GLIBC_2.14" what is before the version. False: it is too long for a name. */
static bool plain_name(const char *name, char dst[FILES_PROBE_SYMBOL])
{
	const char *at = strchr(name, '@');
	size_t len = at && at != name ? (size_t)(at - name) : strlen(name);

	if (len >= FILES_PROBE_SYMBOL)
		return false;
	memcpy(dst, name, len);
	dst[len] = '\0';
	return true;
}

static bool matches(const char *pattern, bool glob, const char *name)
{
	return glob ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0;
}

/* "ns::f(int)": with what is in brackets, or without. */
static bool matches_demangled(struct finder *f, const char *raw, char *name)
{
	const char *pattern = f->probe->symbol;
	char *bracket;

	if (strncmp(raw, "_Z", 2) != 0 && strncmp(raw, "_R", 2) != 0)
		return false;
	(void)demangle(name, raw);
	if (matches(pattern, f->is_glob, name))
		return true;
	bracket = strchr(name, '(');
	if (bracket && bracket != name)
		*bracket = '\0';
	return matches(pattern, f->is_glob, name);
}

static bool check_inside(struct finder *f, const struct elf_candidate *c, uint64_t start)
{
	uint64_t offset = f->probe->offset, last, end = c->end > c->start ? c->end : c->section_end;
	size_t len = (size_t)offset + MAX_INSTRUCTION;
	uint8_t *code;
	ssize_t n;

	if (end > c->start && offset >= end - c->start) {
		f->head.problem = FILES_PLACES_BEYOND;
		f->head.number = end - c->start;
		return false;
	}
	f->head.problem = FILES_PLACES_NO_CODE;
	code = offset <= MAX_FUNCTION ? malloc(len) : NULL;
	if (!code)
		return false;
	n = pread(f->fd, code, len, (off_t)start);
	last = n > 0 ? code_boundary(code, (size_t)n, offset) : UINT64_MAX;
	free(code);
	if (last == UINT64_MAX)
		return false;
	f->head.problem = last == offset ? FILES_PLACES_FOUND : FILES_PLACES_INSIDE;
	f->head.number = last;
	return last == offset;
}

static void take_function(struct finder *f, const struct elf_candidate *c, const char *name)
{
	uint64_t start = code_offset(f->elf, c->start);
	struct files_place place = { .offset = start + f->probe->offset, .vaddr = c->start };

	if (c->is_ifunc) {
		f->has_ifunc = true;
		return;
	}
	if (start && (!f->probe->offset || check_inside(f, c, start)))
		add_place(f, &place, name, NULL);
}

static int by_start(const void *pa, const void *pb)
{
	const struct elf_candidate *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* One with a size says more. */
	return a->end > b->end ? -1 : a->end < b->end;
}

static void match_functions(struct finder *f)
{
	static char demangled[DEMANGLE_MAX + 1]; /* the worker has one thread */
	char name[FILES_PROBE_SYMBOL];
	const struct files_probe *p = f->probe;

	for (size_t i = 0; i < f->candidates.n; i++) {
		const struct elf_candidate *c = &f->candidates.list[i];

		if (!plain_name(c->name, name))
			continue;
		if (matches(p->symbol, f->is_glob, name) ||
		    (f->is_demangled && matches_demangled(f, name, demangled)))
			take_function(f, c, name);
	}
}

static void offer_functions(struct finder *f)
{
	static char demangled[DEMANGLE_MAX + 1];
	char name[FILES_PROBE_SYMBOL], *bracket;

	for (size_t i = 0; i < f->candidates.n; i++) {
		if (!plain_name(f->candidates.list[i].name, name))
			continue;
		if (!f->is_demangled) {
			nearest_offer(&f->near, name);
			continue;
		}
		(void)demangle(demangled, name);
		bracket = strchr(demangled, '(');
		if (bracket && bracket != demangled)
			*bracket = '\0';
		nearest_offer(&f->near, demangled);
	}
}

static int read_functions(struct finder *f)
{
	int r = elf_symtab_candidates(f->elf, SHT_DYNSYM, &f->candidates);

	if (r == 0)
		r = elf_symtab_candidates(f->elf, SHT_SYMTAB, &f->candidates);
	if (r == 0 && f->debug)
		r = elf_symtab_candidates(f->debug, SHT_SYMTAB, &f->candidates);
	if (r == 0 && f->head.is_go)
		r = go_pclntab_candidates(f->elf, &f->candidates);
	if (r == 0 && f->candidates.n > 0)
		qsort(f->candidates.list, f->candidates.n, sizeof(*f->candidates.list), by_start);
	return r;
}

static int find_functions(struct finder *f)
{
	int r = read_functions(f);

	if (r < 0)
		return r;
	f->is_demangled = f->candidates.n <= MAX_DEMANGLED && strpbrk(f->probe->symbol, ":( ");
	match_functions(f);
	/* Beside it there may be one for programs that were built long ago. */
	if (f->has_ifunc && !f->is_glob) {
		f->head.n_places = f->head.n_more = 0;
		f->len = sizeof(f->head);
		f->head.problem = FILES_PLACES_IFUNC;
	} else if (f->head.n_places > 0 || f->head.problem) {
		return 0;
	} else {
		f->head.problem = f->has_ifunc ? FILES_PLACES_IFUNC : FILES_PLACES_NONE;
	}
	offer_functions(f);
	return 0;
}

/* ---- USDT ---- */

/* Where a variable lies that an argument is in. */
struct symbols {
	struct finder *finder;
	uint64_t pc;
};

static bool find_variable(Elf *elf, GElf_Word type, const char *name, uint64_t *ret)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	GElf_Sym sym;

	if (!scn || elf_symtab_read(elf, scn, &sh, &st) < 0)
		return false;
	for (size_t i = 0; i < st.n && gelf_getsym(st.syms, (int)i, &sym); i++) {
		const char *s = elf_symtab_name(&st, &sym);

		if (s && sym.st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym.st_info) == STT_OBJECT &&
		    strcmp(s, name) == 0) {
			*ret = sym.st_value;
			return true;
		}
	}
	return false;
}

/* The probe_usdt_symbol_fn. */
static bool variable_at(void *ctx, const char *name, int64_t *ret)
{
	const struct symbols *s = ctx;
	uint64_t vaddr;

	if (!find_variable(s->finder->elf, SHT_DYNSYM, name, &vaddr) &&
	    !find_variable(s->finder->elf, SHT_SYMTAB, name, &vaddr) &&
	    (!s->finder->debug || !find_variable(s->finder->debug, SHT_SYMTAB, name, &vaddr)))
		return false;
	*ret = (int64_t)(vaddr - s->pc);
	return true;
}

static void take_usdt(struct finder *f, const struct elf_usdt_probe *p)
{
	struct symbols symbols = { f, p->pc };
	struct files_place place = { .offset = p->offset,
				     .semaphore = p->semaphore,
				     .vaddr = p->pc };
	struct probe_types *types;
	uint8_t bytes[TYPES_MAX];
	ssize_t n = 0;

	if (!p->offset || probe_types_new(&types) < 0)
		return;
	if (probe_usdt_args(PROBE_ARCH, p->args, variable_at, &symbols, types) == 0)
		n = probe_types_encode(types, bytes, sizeof(bytes));
	probe_types_free(types);
	place.types_len = n > 0 ? (uint16_t)n : 0;
	add_place(f, &place, p->name, bytes);
}

/* The elf_usdt_fn; first those that are meant. */
static void on_usdt(void *ctx, const struct elf_usdt_probe *p)
{
	struct finder *f = ctx;

	f->has_usdt = true;
	if (matches(f->probe->group, f->is_group_glob, p->provider) &&
	    matches(f->probe->symbol, f->is_glob, p->name))
		take_usdt(f, p);
}

static void offer_usdt(void *ctx, const struct elf_usdt_probe *p)
{
	char text[NEAREST_NAME_MAX];
	struct finder *f = ctx;

	if (snprintf(text, sizeof(text), "%s:%s", p->provider, p->name) < (int)sizeof(text))
		nearest_offer(&f->near, text);
}

static void find_usdt(struct finder *f)
{
	char text[FILES_PROBE_GROUP + FILES_PROBE_SYMBOL];

	elf_usdt_each(f->elf, on_usdt, f);
	if (f->head.n_places > 0)
		return;
	f->head.problem = f->has_usdt ? FILES_PLACES_NONE : FILES_PLACES_NO_USDT;
	snprintf(text, sizeof(text), "%s:%s", f->probe->group, f->probe->symbol);
	f->near.wanted = text;
	elf_usdt_each(f->elf, offer_usdt, f);
}

/* ---- all ---- */

static bool is_go(Elf *elf)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab",
					     ".go.buildinfo" };
	GElf_Shdr sh;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_file_section(elf, SHT_PROGBITS, names[i], &sh))
			return true;
	return elf_file_section(elf, SHT_NOTE, ".note.go.buildid", &sh) != NULL;
}

static void open_debug(struct finder *f, int debug_fd)
{
	struct elf_debug own, debug;

	if (debug_fd < 0 || elf_debug_read(f->fd, &own) < 0 ||
	    !elf_debug_fits(&own, debug_fd, &debug) || elf_file_open(debug_fd, &f->debug) < 0)
		f->debug = NULL;
}

ssize_t files_places_find(int fd, int debug_fd, const struct files_probe *probe, uint8_t *ret,
			  size_t size)
{
	struct finder f = { .probe = probe,
			    .is_glob = is_glob(probe->symbol),
			    .is_group_glob = is_glob(probe->group),
			    .fd = fd,
			    .near = { .wanted = probe->symbol },
			    .bytes = ret,
			    .len = sizeof(f.head),
			    .size = size };
	int r = elf_file_open(fd, &f.elf);

	if (r < 0)
		return r;
	open_debug(&f, debug_fd);
	f.head.is_go = is_go(f.elf);
	if (probe->flags & FILES_PROBE_USDT)
		find_usdt(&f);
	else if (gelf_getclass(f.elf) == ELFCLASS64)
		r = find_functions(&f);
	else
		r = -ENOEXEC;
	if (f.head.n_places > 0)
		f.head.problem = FILES_PLACES_FOUND;
	else
		add_names(&f);
	memcpy(ret, &f.head, sizeof(f.head));
	elf_candidates_done(&f.candidates);
	elf_end(f.debug);
	elf_end(f.elf);
	return r < 0 ? r : (ssize_t)f.len;
}
