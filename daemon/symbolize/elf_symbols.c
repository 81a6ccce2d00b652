/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.c - the functions of one ELF file, and where they lie.
 *
 * libelf does the reading. Opened with ELF_C_READ it reads each table when it
 * is asked for, so the text of a large program is never touched. It believes
 * sizes up to the size of the file, which may be sparse: they are checked here
 * before.
 */
#include "elf_symbols.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "symbolizer.h"

#define MAX_SEGMENTS	 1024
#define MAX_NOTE_BYTES	 (64u << 10)
#define MAX_SYMTAB_BYTES (256u << 20) /* 11 million symbols */
#define MAX_STRTAB_BYTES (512u << 20)
#define MAX_PLT_ENTRIES	 (1u << 20)
#define PLT_STUB_BYTES	 16

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

/* A symbol while it is weighed against its aliases. */
struct candidate {
	uint64_t start, end; /* end == start: has no size */
	uint64_t section_end;
	const char *name; /* in libelf's memory */
	uint8_t binding;
	bool is_plt;
};

struct loader {
	Elf *elf;
	struct elf_symbols *t;
	struct candidate *candidates;
	size_t n, cap;
};

/* ---- what kind of file it is ---- */

/*
 * libelf itself would convert a foreign byte order, and reserve memory for as
 * many sections as section 0 claims where the header says "too many to tell".
 */
static int check_header(int fd)
{
	const unsigned char native = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} h = { 0 };
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	bool uncounted;
	uint16_t type;

	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(h.h32) || memcmp(h.ident, ELFMAG, SELFMAG) != 0 ||
	    h.ident[EI_DATA] != native)
		return -ENOEXEC;
	if (h.ident[EI_CLASS] == ELFCLASS64 && n == (ssize_t)sizeof(h.h64)) {
		type = h.h64.e_type;
		uncounted = h.h64.e_shnum == 0 && h.h64.e_shoff != 0;
	} else if (h.ident[EI_CLASS] == ELFCLASS32) {
		type = h.h32.e_type;
		uncounted = h.h32.e_shnum == 0 && h.h32.e_shoff != 0;
	} else {
		return -ENOEXEC;
	}
	return (type == ET_EXEC || type == ET_DYN) && !uncounted ? 0 : -ENOEXEC;
}

/* ---- segments and notes ---- */

static void read_build_id(struct elf_symbols *t, Elf_Data *data)
{
	size_t next, name_off, desc_off;
	GElf_Nhdr note;

	for (size_t off = 0; (next = gelf_getnote(data, off, &note, &name_off, &desc_off)) > 0;
	     off = next) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name_off, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0)
			continue;
		if (note.n_descsz < BUILD_ID_MIN || note.n_descsz > BUILD_ID_MAX)
			continue;
		memcpy(t->build_id, bytes + desc_off, note.n_descsz);
		t->build_id_len = note.n_descsz;
		return;
	}
}

static void read_notes(struct loader *l, uint64_t offset, uint64_t size, uint64_t align)
{
	Elf_Data *data;

	if (l->t->build_id_len || size > MAX_NOTE_BYTES || offset > INT64_MAX)
		return;
	data = elf_getdata_rawchunk(l->elf, (int64_t)offset, size,
				    align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (data && data->d_buf)
		read_build_id(l->t, data);
}

static int read_segments(struct loader *l)
{
	struct elf_symbols *t = l->t;
	size_t n;

	if (elf_getphdrnum(l->elf, &n) != 0 || n > MAX_SEGMENTS)
		return -ENOEXEC;
	t->segments = calloc(n + 1, sizeof(*t->segments));
	if (!t->segments)
		return -ENOMEM;
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < n; i++) {
			GElf_Phdr ph;

			if (!gelf_getphdr(l->elf, (int)i, &ph))
				return -ENOEXEC;
			if (ph.p_type == PT_LOAD && !!(ph.p_flags & PF_X) == want_exec)
				t->segments[t->n_segments++] = (struct segment){
					.offset = ph.p_offset,
					.size = ph.p_filesz,
					.vaddr = ph.p_vaddr,
				};
			if (ph.p_type == PT_NOTE)
				read_notes(l, ph.p_offset, ph.p_filesz, ph.p_align);
		}
	}
	return 0;
}

/* ---- sections and their tables ---- */

/* The first section of `type` (and `name`, unless NULL). */
static Elf_Scn *find_section(struct loader *l, GElf_Word type, const char *name, GElf_Shdr *ret)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;

	if (name && elf_getshdrstrndx(l->elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(l->elf, scn))) {
		const char *s;

		if (!gelf_getshdr(scn, ret) || ret->sh_type != type)
			continue;
		if (!name)
			return scn;
		s = elf_strptr(l->elf, names, ret->sh_name);
		if (s && strcmp(s, name) == 0)
			return scn;
	}
	return NULL;
}

/* Notes that no segment covers. */
static void read_note_sections(struct loader *l)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (l->t->build_id_len == 0 && (scn = elf_nextscn(l->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE)
			read_notes(l, sh.sh_offset, sh.sh_size, sh.sh_addralign);
}

/* The content of a section of at most `max` bytes. */
static int section_data(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max, Elf_Data **ret)
{
	if (sh->sh_size > max)
		return -EFBIG;
	*ret = elf_getdata(scn, NULL);
	if (!*ret || (!(*ret)->d_buf && (*ret)->d_size > 0))
		return -ENOEXEC;
	return 0;
}

struct symtab {
	Elf_Data *syms;
	const char *strings;
	size_t n, n_terminated; /* symbols; bytes of strings up to their last NUL */
};

static int read_symtab(struct loader *l, Elf_Scn *scn, const GElf_Shdr *sh, struct symtab *ret)
{
	size_t entry = gelf_fsize(l->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *str_scn;
	Elf_Data *strings = NULL;
	GElf_Shdr str_sh;
	const char *end;
	int r;

	str_scn = elf_getscn(l->elf, sh->sh_link);
	if (!str_scn || !gelf_getshdr(str_scn, &str_sh) || str_sh.sh_type != SHT_STRTAB || !entry)
		return -ENOEXEC;
	r = section_data(scn, sh, MAX_SYMTAB_BYTES, &ret->syms);
	if (r == 0)
		r = section_data(str_scn, &str_sh, MAX_STRTAB_BYTES, &strings);
	if (r < 0)
		return r;
	ret->n = ret->syms->d_size / entry;
	ret->strings = strings->d_buf;
	end = strings->d_size ? memrchr(strings->d_buf, 0, strings->d_size) : NULL;
	ret->n_terminated = end ? (size_t)(end - ret->strings) : 0;
	return 0;
}

static const char *symbol_name(const struct symtab *st, const GElf_Sym *sym)
{
	if (sym->st_name >= st->n_terminated || !st->strings[sym->st_name])
		return NULL;
	return st->strings + sym->st_name;
}

static int add_candidate(struct loader *l, const struct candidate *c)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 1024;
		struct candidate *grown = reallocarray(l->candidates, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->candidates = grown;
		l->cap = cap;
	}
	l->candidates[l->n++] = *c;
	return 0;
}

/* Where each section ends, by index, to bound what has no size. */
static int section_ends(struct loader *l, uint64_t **ret, size_t *ret_n)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n;

	if (elf_getshdrnum(l->elf, &n) != 0)
		return -ENOEXEC;
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	*ret_n = n;
	while ((scn = elf_nextscn(l->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_addr <= UINT64_MAX - sh.sh_size)
			(*ret)[elf_ndxscn(scn)] = sh.sh_addr + sh.sh_size;
	return 0;
}

static int add_functions(struct loader *l, const struct symtab *st)
{
	uint64_t *ends;
	size_t n_ends;
	int r;

	r = section_ends(l, &ends, &n_ends);
	if (r < 0)
		return r;
	for (size_t i = 0; i < st->n && r == 0; i++) {
		struct candidate c = { 0 };
		GElf_Sym sym;
		int type;

		if (!gelf_getsym(st->syms, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		c.name = symbol_name(st, &sym);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !c.name ||
		    sym.st_shndx == SHN_UNDEF || sym.st_shndx >= n_ends)
			continue;
		c.start = sym.st_value;
		c.section_end = ends[sym.st_shndx];
		c.binding = GELF_ST_BIND(sym.st_info);
		if (__builtin_add_overflow(sym.st_value, sym.st_size, &c.end))
			continue;
		r = add_candidate(l, &c);
	}
	free(ends);
	return r;
}

/* .symtab has everything, where it is left; .dynsym only what is exported. */
static int read_functions(struct loader *l)
{
	static const GElf_Word types[] = { SHT_SYMTAB, SHT_DYNSYM };
	int r = 0;

	for (size_t i = 0; i < 2 && l->n == 0 && r == 0; i++) {
		struct symtab st;
		GElf_Shdr sh;
		Elf_Scn *scn = find_section(l, types[i], NULL, &sh);

		if (!scn)
			continue;
		r = read_symtab(l, scn, &sh, &st);
		if (r == 0)
			r = add_functions(l, &st);
		if (r == -ENOEXEC)
			r = 0; /* a broken table is no worse than none */
	}
	return r;
}

/* ---- stubs of the PLT ---- */

/* What there is to name them by. */
struct plt {
	uint64_t addr, size, header_size;
	Elf_Data *relocs;
	size_t n;
	unsigned reloc_type;
	struct symtab symtab;
};

/* x86-64 and arm64. False: no PLT, or none that we know the form of. */
static bool find_plt(struct loader *l, struct plt *ret)
{
	GElf_Shdr plt, rel, sh;
	Elf_Scn *rel_scn = find_section(l, SHT_RELA, ".rela.plt", &rel), *scn;
	GElf_Ehdr eh;
	size_t entry;

	if (!rel_scn || !gelf_getehdr(l->elf, &eh))
		return false;
	ret->reloc_type = eh.e_machine == EM_AARCH64 ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT;
	ret->header_size = eh.e_machine == EM_AARCH64 ? 32 : 16;
	if (eh.e_machine != EM_AARCH64 && eh.e_machine != EM_X86_64)
		return false;
	if (find_section(l, SHT_PROGBITS, ".plt.sec", &plt))
		ret->header_size = 0;
	else if (!find_section(l, SHT_PROGBITS, ".plt", &plt))
		return false;
	ret->addr = plt.sh_addr;
	ret->size = plt.sh_size;

	scn = elf_getscn(l->elf, rel.sh_link);
	entry = gelf_fsize(l->elf, ELF_T_RELA, 1, EV_CURRENT);
	if (!scn || !entry || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM ||
	    read_symtab(l, scn, &sh, &ret->symtab) < 0 ||
	    section_data(rel_scn, &rel, MAX_SYMTAB_BYTES, &ret->relocs) < 0)
		return false;
	ret->n = ret->relocs->d_size / entry;
	return ret->n <= MAX_PLT_ENTRIES;
}

/*
 * The linkers put the stubs in the order of their relocations, unless there are
 * other relocations between (IRELATIVE, TLSDESC). A wrong name would be worse
 * than none, so it must all fit.
 */
static bool plt_in_order(const struct plt *plt)
{
	GElf_Rela rela;

	if (plt->size != plt->header_size + plt->n * PLT_STUB_BYTES ||
	    plt->addr > UINT64_MAX - plt->size)
		return false;
	for (size_t i = 0; i < plt->n; i++)
		if (!gelf_getrela(plt->relocs, (int)i, &rela) ||
		    GELF_R_TYPE(rela.r_info) != plt->reloc_type)
			return false;
	return true;
}

static int add_plt(struct loader *l)
{
	struct plt plt = { 0 };
	int r = 0;

	if (!find_plt(l, &plt) || !plt_in_order(&plt))
		return 0;
	for (size_t i = 0; i < plt.n && r == 0; i++) {
		struct candidate c = { .is_plt = true };
		GElf_Rela rela;
		GElf_Sym sym;

		if (!gelf_getrela(plt.relocs, (int)i, &rela) ||
		    GELF_R_SYM(rela.r_info) >= plt.symtab.n ||
		    !gelf_getsym(plt.symtab.syms, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		c.name = symbol_name(&plt.symtab, &sym);
		c.start = plt.addr + plt.header_size + i * PLT_STUB_BYTES;
		c.end = c.start + PLT_STUB_BYTES;
		if (c.name)
			r = add_candidate(l, &c);
	}
	return r;
}

/* ---- the table ---- */

static size_t n_underscores(const char *s)
{
	return strspn(s, "_");
}

/*
 * Of aliases the best comes first: one with a size, then one that is exported,
 * then the name people know ("read", not "__read" nor "__libc_read").
 */
static int by_start_then_rank(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;
	size_t x, y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
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

/* Leaves one candidate per address, and gives an end to those without one. */
static void settle(struct loader *l)
{
	size_t n = 0;

	if (l->n == 0)
		return;
	qsort(l->candidates, l->n, sizeof(*l->candidates), by_start_then_rank);
	for (size_t i = 0; i < l->n; i++) {
		struct candidate *c = &l->candidates[i];
		struct candidate *last = n ? &l->candidates[n - 1] : NULL;

		if (last && last->start == c->start) {
			if (last->end < c->end)
				last->end = c->end;
		} else {
			l->candidates[n++] = *c;
		}
	}
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		struct candidate *c = &l->candidates[i];

		if (c->end != c->start)
			continue;
		if (c->section_end > c->start)
			c->end = c->section_end;
		if (i + 1 < n && (c->end == c->start || c->end > c[1].start))
			c->end = c[1].start;
	}
}

static int keep(struct loader *l)
{
	struct elf_symbols *t = l->t;
	uint64_t reach = 0;
	int r = 0;

	t->symbols = calloc(l->n + 1, sizeof(*t->symbols));
	if (!t->symbols)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		const struct candidate *c = &l->candidates[i];

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
		if (r < 0)
			return r;
	}
	return 0;
}

int elf_symbols_load(int fd, struct elf_symbols **ret)
{
	struct loader l = { 0 };
	int r;

	(void)elf_version(EV_CURRENT); /* fails only for a version it does not have */
	r = check_header(fd);
	if (r < 0)
		return r;
	l.t = calloc(1, sizeof(*l.t));
	if (!l.t)
		return -ENOMEM;
	l.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!l.elf || elf_kind(l.elf) != ELF_K_ELF) {
		r = -ENOEXEC;
		goto out;
	}
	r = read_segments(&l);
	if (r < 0)
		goto out;
	read_note_sections(&l);
	r = read_functions(&l);
	if (r == 0)
		r = add_plt(&l);
	if (r < 0)
		goto out;
	settle(&l);
	r = keep(&l);
out:
	free(l.candidates);
	elf_end(l.elf);
	if (r < 0)
		elf_symbols_free(l.t);
	else
		*ret = l.t;
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
