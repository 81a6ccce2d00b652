/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of ELF files: of this program and of libc, with the linker's own tools
 * as witnesses; and of files written here, whole and broken.
 */
#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbolize/elf_symbols.h"

void a_function_of_this_test(void);

__attribute__((noinline)) void a_function_of_this_test(void)
{
	__asm__ volatile("");
}

__attribute__((noinline, used)) static int a_static_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
	return fd;
}

static struct elf_symbols *load_path(const char *path)
{
	struct elf_symbols *t;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	ck_assert_int_eq(elf_symbols_load(fd, -1, &t), 0);
	close(fd);
	return t;
}

static int first_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static uint64_t own_base(void)
{
	uint64_t base = 0;

	dl_iterate_phdr(first_base, &base);
	return base;
}

/* By a function that no sanitizer puts its own in place of. */
static const char *libc_path(void)
{
	Dl_info info;

	ck_assert_int_ne(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	return info.dli_fname;
}

/* ---- real files ---- */

START_TEST(own_functions_have_their_names)
{
	struct elf_symbols *t = load_path("/proc/self/exe");
	uint64_t start, addr = (uintptr_t)a_function_of_this_test - own_base();
	const char *name = elf_symbols_find(t, addr, &start);

	ck_assert_ptr_nonnull(name);
	ck_assert_str_eq(name, "a_function_of_this_test");
	ck_assert_uint_eq(start, addr);
	addr = (uintptr_t)a_static_function - own_base();
	name = elf_symbols_find(t, addr, &start);
	ck_assert_ptr_nonnull(name);
	ck_assert_str_eq(name, "a_static_function");
	elf_symbols_free(t);
}
END_TEST

/* What the kernel says is mapped where, against the segments of the file. */
START_TEST(an_offset_of_a_mapping_becomes_the_address_in_the_file)
{
	struct elf_symbols *t = load_path(libc_path());
	uintptr_t lo, hi, pc = (uintptr_t)gnu_get_libc_version;
	unsigned long long off;
	uint64_t vaddr = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	Dl_info info;

	ck_assert_ptr_nonnull(maps);
	ck_assert_int_ne(dladdr((void *)pc, &info), 0);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %llx", &lo, &hi, &off) != 3 || pc < lo || pc >= hi)
			continue;
		ck_assert(elf_symbols_vaddr(t, pc - lo + off, &vaddr));
	}
	fclose(maps);
	ck_assert_uint_eq(vaddr, pc - (uintptr_t)info.dli_fbase);
	ck_assert(!elf_symbols_vaddr(t, UINT64_MAX, &vaddr));
	ck_assert(!elf_symbols_vaddr(t, 1ull << 40, &vaddr));
	elf_symbols_free(t);
}
END_TEST

/* nm -D: all names at each address, as ";a;b;". */
static struct hash *names_by_address(const char *path)
{
	char command[512], line[1024];
	struct hash *h;
	FILE *nm;

	ck_assert_int_eq(hash_new(&h), 0);
	snprintf(command, sizeof(command), "nm -D --defined-only '%s'", path);
	nm = popen(command, "r");
	ck_assert_ptr_nonnull(nm);
	while (fgets(line, sizeof(line), nm)) {
		char name[512], type, *old, *all;
		unsigned long long addr;

		if (sscanf(line, "%llx %c %511s", &addr, &type, name) != 3 || !strchr("TtWi", type))
			continue;
		name[strcspn(name, "@")] = '\0';
		old = hash_get_u64(h, addr);
		ck_assert_int_gt(asprintf(&all, "%s%s;", old ? old : ";", name), 0);
		free(old);
		ck_assert_int_eq(hash_set_u64(h, addr, all), 0);
	}
	ck_assert_int_eq(pclose(nm), 0);
	return h;
}

static void free_names(struct hash *h)
{
	size_t pos = 0;
	void *all;

	while (hash_next(h, &pos, NULL, NULL, &all))
		free(all);
	hash_free(h);
}

START_TEST(every_function_of_libc_is_found_by_one_of_its_names)
{
	struct elf_symbols *t = load_path(libc_path());
	struct hash *expected = names_by_address(libc_path());
	size_t pos = 0;
	const void *key;
	void *all;

	ck_assert_uint_gt(hash_count(expected), 1000);
	while (hash_next(expected, &pos, &key, NULL, &all)) {
		char quoted[1024];
		uint64_t addr, start = 0;
		const char *name;

		memcpy(&addr, key, sizeof(addr));
		name = elf_symbols_find(t, addr, &start);
		ck_assert_msg(name != NULL, "nothing at %#llx, where nm has %s",
			      (unsigned long long)addr, (char *)all);
		snprintf(quoted, sizeof(quoted), ";%s;", name);
		ck_assert_msg(strstr(all, quoted) != NULL, "%s at %#llx, where nm has %s", name,
			      (unsigned long long)addr, (char *)all);
		ck_assert_uint_eq(start, addr);
	}
	free_names(expected);
	elf_symbols_free(t);
}
END_TEST

START_TEST(well_known_functions_have_their_well_known_names)
{
	static const char *const names[] = { "malloc", "read", "write", "fopen", "puts", "qsort" };
	struct elf_symbols *t = load_path(libc_path());
	void *libc = dlopen(libc_path(), RTLD_NOW | RTLD_NOLOAD);
	Dl_info info;
	uint64_t start;

	ck_assert_ptr_nonnull(libc);
	ck_assert_int_ne(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uintptr_t addr = (uintptr_t)dlsym(libc, names[i]);
		const char *name;

		name = elf_symbols_find(t, addr - (uintptr_t)info.dli_fbase, &start);
		ck_assert_ptr_nonnull(name);
		ck_assert_str_eq(name, names[i]);
	}
	elf_symbols_free(t);
}
END_TEST

START_TEST(stubs_are_named_after_what_they_lead_to)
{
	struct elf_symbols *t = load_path("/proc/self/exe");
	char command[256], line[1024];
	unsigned n = 0;
	FILE *objdump;

	snprintf(command, sizeof(command),
		 "objdump -d -j .plt -j .plt.sec /proc/%d/exe 2>/dev/null", (int)getpid());
	objdump = popen(command, "r");
	ck_assert_ptr_nonnull(objdump);
	while (fgets(line, sizeof(line), objdump)) {
		unsigned long long addr;
		char name[512];
		uint64_t start;
		const char *got;

		if (sscanf(line, "%llx <%511[^>]>:", &addr, name) != 2 || !strstr(name, "@plt") ||
		    strstr(name, "@plt-")) /* the header, to objdump */
			continue;
		got = elf_symbols_find(t, addr, &start);
		ck_assert_msg(got != NULL, "no %s", name);
		ck_assert_str_eq(got, name);
		n++;
	}
	pclose(objdump);
	ck_assert_uint_gt(n, 0);
	elf_symbols_free(t);
}
END_TEST

static void check_build_id(const struct elf_symbols *t, const char *path)
{
	char command[512], line[512], hex[2 * 40 + 1] = "";
	const uint8_t *id;
	bool found = false;
	size_t len;
	FILE *readelf;

	id = elf_symbols_build_id(t, &len);
	for (size_t i = 0; id && i < len; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	ck_assert_uint_gt(len, 0);
	snprintf(command, sizeof(command), "readelf -nW '%s'", path);
	readelf = popen(command, "r");
	ck_assert_ptr_nonnull(readelf);
	while (fgets(line, sizeof(line), readelf))
		found |= strstr(line, "Build ID: ") && strstr(line, hex);
	ck_assert_int_eq(pclose(readelf), 0);
	ck_assert_msg(found, "readelf does not know build id %s", hex);
}

START_TEST(the_build_id_is_the_one_in_the_note)
{
	struct elf_symbols *t = load_path(libc_path());

	check_build_id(t, libc_path());
	elf_symbols_free(t);
}
END_TEST

START_TEST(a_stripped_program_keeps_its_build_id_and_loses_its_names)
{
	char path[] = "/tmp/elf-XXXXXX", command[256];
	struct elf_symbols *whole = load_path("/proc/self/exe"), *t;
	uint64_t start, addr = (uintptr_t)a_static_function - own_base();
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command), "strip -o %s /proc/%d/exe", path, (int)getpid());
	ck_assert_int_eq(system(command), 0);
	t = load_path(path);
	ck_assert_ptr_nonnull(elf_symbols_find(whole, addr, &start));
	ck_assert_ptr_null(elf_symbols_find(t, addr, &start));
	ck_assert_uint_lt(elf_symbols_count(t), elf_symbols_count(whole));
	check_build_id(t, path);
	unlink(path);
	elf_symbols_free(t);
	elf_symbols_free(whole);
}
END_TEST

/* ---- files written here ---- */

#define MAX_SYMS 16

/* One segment of text with a section, a symbol table and its strings. */
struct sym {
	const char *name;
	uint64_t value, size;
	int type, binding;
};

struct image {
	uint8_t bytes[8192];
	size_t len;
	struct sym syms[MAX_SYMS];
	size_t n_syms;
	char strings[1024];
	size_t strings_len;
};

#define TEXT_ADDR 0x401000
#define TEXT_OFF  0x1000
#define TEXT_SIZE 0x1000

static size_t put(struct image *im, const void *data, size_t len)
{
	size_t at = im->len;

	memcpy(im->bytes + at, data, len);
	im->len += (len + 7) & ~7ul;
	return at;
}

static void add(struct image *im, const char *name, uint64_t value, uint64_t size, int type,
		int binding)
{
	im->syms[im->n_syms++] = (struct sym){ name, value, size, type, binding };
}

static const uint8_t note[] = { 4, 0, 0, 0, 16, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,
				1, 2, 3, 4, 5,	6, 7, 8, 9, 0, 1, 2, 3,	  4,   5,   6 };

static size_t add_string(struct image *im, const char *s)
{
	size_t at = im->strings_len;

	im->strings_len += (size_t)(stpcpy(im->strings + at, s) - (im->strings + at)) + 1;
	return at;
}

/* The same for both classes, whose structs have the same members. */
#define WRITE(BITS)                                                                         \
	static void write##BITS(struct image *im)                                           \
	{                                                                                   \
		Elf##BITS##_Ehdr eh = {                                                     \
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS##BITS, ELFDATA2LSB, 1 }, \
			.e_type = ET_EXEC,                                                  \
			.e_machine = EM_X86_64,                                             \
			.e_version = 1,                                                     \
			.e_phoff = sizeof(eh),                                              \
			.e_ehsize = sizeof(eh),                                             \
			.e_phentsize = sizeof(Elf##BITS##_Phdr),                            \
			.e_phnum = 2,                                                       \
			.e_shentsize = sizeof(Elf##BITS##_Shdr),                            \
			.e_shnum = 4,                                                       \
		};                                                                          \
		Elf##BITS##_Phdr ph[2] = {                                                  \
			{ .p_type = PT_LOAD,                                                \
			  .p_flags = PF_X | PF_R,                                           \
			  .p_offset = TEXT_OFF,                                             \
			  .p_vaddr = TEXT_ADDR,                                             \
			  .p_filesz = TEXT_SIZE,                                            \
			  .p_memsz = TEXT_SIZE },                                           \
			{ .p_type = PT_NOTE, .p_filesz = sizeof(note), .p_align = 4 },      \
		};                                                                          \
		Elf##BITS##_Shdr sh[4] = { 0 };                                             \
		Elf##BITS##_Sym sym[MAX_SYMS + 1] = { 0 };                                  \
                                                                                            \
		im->strings_len = 1;                                                        \
		for (size_t i = 0; i < im->n_syms; i++) {                                   \
			const struct sym *s = &im->syms[i];                                 \
                                                                                            \
			sym[i + 1].st_name = (Elf##BITS##_Word)add_string(im, s->name);     \
			sym[i + 1].st_value = (Elf##BITS##_Addr)s->value;                   \
			sym[i + 1].st_size = s->size;                                       \
			sym[i + 1].st_info = ELF##BITS##_ST_INFO(s->binding, s->type);      \
			sym[i + 1].st_shndx = 1;                                            \
		}                                                                           \
		im->len = sizeof(eh) + sizeof(ph);                                          \
		ph[1].p_offset = (Elf##BITS##_Off)put(im, note, sizeof(note));              \
		sh[1].sh_type = SHT_PROGBITS;                                               \
		sh[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;                                 \
		sh[1].sh_addr = TEXT_ADDR;                                                  \
		sh[1].sh_offset = TEXT_OFF;                                                 \
		sh[1].sh_size = TEXT_SIZE;                                                  \
		sh[2].sh_type = SHT_SYMTAB;                                                 \
		sh[2].sh_link = 3;                                                          \
		sh[2].sh_entsize = sizeof(sym[0]);                                          \
		sh[2].sh_addralign = 8;                                                     \
		sh[2].sh_size = (Elf##BITS##_Word)((im->n_syms + 1) * sizeof(sym[0]));      \
		sh[2].sh_offset = (Elf##BITS##_Off)put(im, sym, sh[2].sh_size);             \
		sh[3].sh_type = SHT_STRTAB;                                                 \
		sh[3].sh_size = (Elf##BITS##_Word)im->strings_len;                          \
		sh[3].sh_offset = (Elf##BITS##_Off)put(im, im->strings, im->strings_len);   \
		eh.e_shoff = (Elf##BITS##_Off)put(im, sh, sizeof(sh));                      \
		memcpy(im->bytes, &eh, sizeof(eh));                                         \
		memcpy(im->bytes + sizeof(eh), ph, sizeof(ph));                             \
		im->len = TEXT_OFF + TEXT_SIZE;                                             \
	}

WRITE(64)
WRITE(32)

static Elf64_Ehdr *header(struct image *im)
{
	return (Elf64_Ehdr *)im->bytes;
}

static Elf64_Shdr *section(struct image *im, unsigned i)
{
	return (Elf64_Shdr *)(im->bytes + header(im)->e_shoff) + i;
}

static int try_load(const struct image *im, struct elf_symbols **ret)
{
	int fd = memory_file(im->bytes, im->len), r;

	r = elf_symbols_load(fd, -1, ret);
	close(fd);
	return r;
}

static struct elf_symbols *load(const struct image *im)
{
	struct elf_symbols *t;

	ck_assert_int_eq(try_load(im, &t), 0);
	return t;
}

static const char *at(const struct elf_symbols *t, uint64_t addr)
{
	uint64_t start;
	const char *name = elf_symbols_find(t, addr, &start);

	return name ? name : "(none)";
}

START_TEST(both_classes_are_read)
{
	struct image im = { 0 };
	struct elf_symbols *t;
	uint64_t vaddr;
	size_t len;

	add(&im, "first", TEXT_ADDR, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "second", TEXT_ADDR + 0x20, 0x10, STT_GNU_IFUNC, STB_LOCAL);
	add(&im, "variable", TEXT_ADDR + 0x40, 0x10, STT_OBJECT, STB_GLOBAL);
	if (_i)
		write64(&im);
	else
		write32(&im);
	t = load(&im);
	ck_assert_uint_eq(elf_symbols_count(t), 2);
	ck_assert_str_eq(at(t, TEXT_ADDR - 1), "(none)");
	ck_assert_str_eq(at(t, TEXT_ADDR), "first");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0xf), "first");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x10), "(none)");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x2f), "second");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x44), "(none)");
	ck_assert(elf_symbols_vaddr(t, TEXT_OFF + 0x123, &vaddr));
	ck_assert_uint_eq(vaddr, TEXT_ADDR + 0x123);
	ck_assert(!elf_symbols_vaddr(t, TEXT_OFF - 1, &vaddr));
	ck_assert(!elf_symbols_vaddr(t, TEXT_OFF + TEXT_SIZE, &vaddr));
	ck_assert_ptr_nonnull(elf_symbols_build_id(t, &len));
	ck_assert_uint_eq(len, 16);
	ck_assert_int_eq(memcmp(elf_symbols_build_id(t, &len), note + 16, 16), 0);
	elf_symbols_free(t);
}
END_TEST

START_TEST(a_symbol_without_size_ends_at_the_next_one_or_with_its_section)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	add(&im, "last", TEXT_ADDR + 0x800, 0, STT_FUNC, STB_GLOBAL);
	add(&im, "sizeless", TEXT_ADDR, 0, STT_FUNC, STB_GLOBAL);
	add(&im, "next", TEXT_ADDR + 0x100, 0x10, STT_FUNC, STB_GLOBAL);
	write64(&im);
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR + 0xff), "sizeless");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x100), "next");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x110), "(none)");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x800), "last");
	ck_assert_str_eq(at(t, TEXT_ADDR + TEXT_SIZE - 1), "last");
	ck_assert_str_eq(at(t, TEXT_ADDR + TEXT_SIZE), "(none)");
	elf_symbols_free(t);
}
END_TEST

/* Assembler that says nothing about its symbols. */
START_TEST(a_global_label_is_a_function_unless_it_lies_in_one)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	add(&im, "by_hand", TEXT_ADDR, 0, STT_NOTYPE, STB_GLOBAL);
	add(&im, "loop", TEXT_ADDR + 0x20, 0, STT_NOTYPE, STB_LOCAL);
	add(&im, "function", TEXT_ADDR + 0x100, 0x100, STT_FUNC, STB_LOCAL);
	add(&im, "same_place", TEXT_ADDR + 0x100, 0, STT_NOTYPE, STB_GLOBAL);
	add(&im, "inside", TEXT_ADDR + 0x180, 0, STT_NOTYPE, STB_GLOBAL);
	add(&im, "_etext", TEXT_ADDR + TEXT_SIZE, 0, STT_NOTYPE, STB_GLOBAL);
	write64(&im);
	section(&im, 1)->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x40), "by_hand");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x100), "function");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x190), "function");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x200), "(none)");
	ck_assert_uint_eq(elf_symbols_count(t), 2);
	elf_symbols_free(t);
	/* In data a label is a variable. */
	section(&im, 1)->sh_flags = SHF_ALLOC;
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x40), "(none)");
	elf_symbols_free(t);
}
END_TEST

START_TEST(within_another_function_the_inner_one_counts)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	add(&im, "outer", TEXT_ADDR, 0x100, STT_FUNC, STB_GLOBAL);
	add(&im, "inner", TEXT_ADDR + 0x40, 0x10, STT_FUNC, STB_LOCAL);
	add(&im, "innermost", TEXT_ADDR + 0x48, 0x4, STT_FUNC, STB_LOCAL);
	write64(&im);
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x3f), "outer");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x40), "inner");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x48), "innermost");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x4c), "inner");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x50), "outer");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x100), "(none)");
	elf_symbols_free(t);
}
END_TEST

START_TEST(of_aliases_the_one_that_people_know_counts)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	add(&im, "local", TEXT_ADDR, 0x10, STT_FUNC, STB_LOCAL);
	add(&im, "__libc_thing", TEXT_ADDR, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "thing", TEXT_ADDR, 0x10, STT_FUNC, STB_WEAK);
	add(&im, "sizeless", TEXT_ADDR + 0x20, 0, STT_FUNC, STB_GLOBAL);
	add(&im, "sized", TEXT_ADDR + 0x20, 0x10, STT_FUNC, STB_LOCAL);
	add(&im, "weak_a", TEXT_ADDR + 0x40, 0x10, STT_FUNC, STB_WEAK);
	add(&im, "global", TEXT_ADDR + 0x40, 0x20, STT_FUNC, STB_GLOBAL);
	add(&im, "bb", TEXT_ADDR + 0x80, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "aa", TEXT_ADDR + 0x80, 0x10, STT_FUNC, STB_GLOBAL);
	write64(&im);
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR), "thing");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x20), "sized");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x40), "global");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x80), "aa");
	ck_assert_uint_eq(elf_symbols_count(t), 4);
	elf_symbols_free(t);
}
END_TEST

START_TEST(symbols_that_cannot_be_are_left_out)
{
	struct image im = { 0 };
	struct elf_symbols *t;
	Elf64_Sym *sym;

	add(&im, "wraps", TEXT_ADDR, UINT64_MAX, STT_FUNC, STB_GLOBAL);
	add(&im, "undefined", TEXT_ADDR + 0x10, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "absolute", TEXT_ADDR + 0x20, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "nowhere", TEXT_ADDR + 0x30, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "", TEXT_ADDR + 0x40, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "beyond_strings", TEXT_ADDR + 0x50, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "good", TEXT_ADDR + 0x60, 0x10, STT_FUNC, STB_GLOBAL);
	write64(&im);
	sym = (Elf64_Sym *)(im.bytes + section(&im, 2)->sh_offset);
	sym[2].st_shndx = SHN_UNDEF;
	sym[3].st_shndx = SHN_ABS;
	sym[4].st_shndx = 77;
	sym[6].st_name = 1000000;
	t = load(&im);
	ck_assert_uint_eq(elf_symbols_count(t), 1);
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x60), "good");
	elf_symbols_free(t);
}
END_TEST

START_TEST(strings_without_an_end_are_not_read_beyond)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	add(&im, "whole", TEXT_ADDR, 0x10, STT_FUNC, STB_GLOBAL);
	add(&im, "cut_off", TEXT_ADDR + 0x10, 0x10, STT_FUNC, STB_GLOBAL);
	write64(&im);
	section(&im, 3)->sh_size -= 2;
	t = load(&im);
	ck_assert_str_eq(at(t, TEXT_ADDR), "whole");
	ck_assert_str_eq(at(t, TEXT_ADDR + 0x10), "(none)");
	elf_symbols_free(t);
}
END_TEST

static void good_image(struct image *im)
{
	add(im, "first", TEXT_ADDR, 0x10, STT_FUNC, STB_GLOBAL);
	add(im, "second", TEXT_ADDR + 0x20, 0, STT_FUNC, STB_LOCAL);
	write64(im);
}

/* Bad tables cost the symbols, not the build id. */
static void sections_beyond_the_file(struct image *im)
{
	header(im)->e_shoff = im->len;
}

static void sections_far_beyond(struct image *im)
{
	header(im)->e_shoff = UINT64_MAX - 63;
}

static void table_beyond_the_file(struct image *im)
{
	section(im, 2)->sh_offset = im->len - 8;
}

static void huge_table(struct image *im)
{
	section(im, 2)->sh_size = UINT64_MAX;
}

static void table_of_odd_size(struct image *im)
{
	section(im, 2)->sh_size = 23;
}

static void strings_elsewhere(struct image *im)
{
	section(im, 2)->sh_link = 4000;
}

static void strings_are_no_strings(struct image *im)
{
	section(im, 2)->sh_link = 1;
}

static void strings_beyond_the_file(struct image *im)
{
	section(im, 3)->sh_offset = UINT64_MAX - 4;
}

static void empty_strings(struct image *im)
{
	section(im, 3)->sh_size = 0;
}

static void no_sections(struct image *im)
{
	header(im)->e_shoff = 0;
	header(im)->e_shnum = 0;
}

typedef void break_fn(struct image *im);

static break_fn *const without_symbols[] = {
	sections_beyond_the_file,
	sections_far_beyond,
	table_beyond_the_file,
	huge_table,
	table_of_odd_size,
	strings_elsewhere,
	strings_are_no_strings,
	strings_beyond_the_file,
	empty_strings,
	no_sections,
};

START_TEST(broken_tables_cost_only_the_symbols)
{
	struct image im = { 0 };
	struct elf_symbols *t = NULL;
	size_t len;
	int r;

	good_image(&im);
	without_symbols[_i](&im);
	r = try_load(&im, &t);
	/* Section headers that cannot be reached may make libelf refuse it all. */
	if (r == -ENOEXEC && _i < 2)
		return;
	ck_assert(r == 0 || r == -EFBIG);
	if (r < 0)
		return;
	ck_assert_uint_eq(elf_symbols_count(t), 0);
	ck_assert_ptr_nonnull(elf_symbols_build_id(t, &len));
	elf_symbols_free(t);
}
END_TEST

static void foreign_byte_order(struct image *im)
{
	im->bytes[EI_DATA] = ELFDATA2MSB;
}

static void no_class(struct image *im)
{
	im->bytes[EI_CLASS] = 3;
}

static void an_object_file(struct image *im)
{
	header(im)->e_type = ET_REL;
}

static void a_core(struct image *im)
{
	header(im)->e_type = ET_CORE;
}

static void too_many_sections_to_tell(struct image *im)
{
	header(im)->e_shnum = 0;
}

static void too_many_segments(struct image *im)
{
	header(im)->e_phnum = 0xfffe;
}

static void segments_beyond_the_file(struct image *im)
{
	header(im)->e_phoff = UINT64_MAX - 8;
}

static void other_magic(struct image *im)
{
	im->bytes[0] = '#';
}

static void nothing(struct image *im)
{
	im->len = 0;
}

static void only_an_ident(struct image *im)
{
	im->len = EI_NIDENT;
}

static void half_a_header(struct image *im)
{
	im->len = 60;
}

static break_fn *const refused[] = {
	foreign_byte_order,
	no_class,
	an_object_file,
	a_core,
	too_many_sections_to_tell,
	too_many_segments,
	segments_beyond_the_file,
	other_magic,
	nothing,
	only_an_ident,
	half_a_header,
};

START_TEST(what_is_no_program_for_this_machine_is_refused)
{
	struct image im = { 0 };
	struct elf_symbols *t;

	good_image(&im);
	refused[_i](&im);
	ck_assert_int_eq(try_load(&im, &t), -ENOEXEC);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_read_or_refused)
{
	struct image im = { 0 };

	good_image(&im);
	for (size_t len = im.len; len-- > 0;) {
		struct elf_symbols *t = NULL;
		int r;

		im.len = len;
		r = try_load(&im, &t);
		ck_assert_int_le(r, 0);
		ck_assert((r == 0) == (t != NULL));
		elf_symbols_free(t);
	}
}
END_TEST

START_TEST(random_bytes_are_read_or_refused)
{
	struct image im;
	unsigned n_read = 0;

	srandom(1);
	for (unsigned round = 0; round < 3000; round++) {
		struct elf_symbols *t = NULL;
		size_t n_changes = (size_t)random() % 16;

		memset(&im, 0, sizeof(im));
		good_image(&im);
		for (size_t i = 0; i < n_changes; i++) /* in front of the text, where all is */
			im.bytes[random() % 0x300] = (uint8_t)random();
		if (try_load(&im, &t) == 0)
			n_read++;
		elf_symbols_free(t);
	}
	ck_assert_uint_gt(n_read, 0);
	for (size_t i = 0; i < sizeof(im.bytes); i++)
		im.bytes[i] = (uint8_t)random();
	im.len = sizeof(im.bytes);
	ck_assert_int_eq(try_load(&im, &(struct elf_symbols *){ NULL }), -ENOEXEC);
}
END_TEST

START_TEST(build_ids_of_odd_lengths_are_none)
{
	static const uint8_t lengths[] = { 0, 3, 7, 41, 255 };
	struct image im = { 0 };
	struct elf_symbols *t;
	Elf64_Phdr *ph;
	size_t len;

	good_image(&im);
	ph = (Elf64_Phdr *)(im.bytes + header(&im)->e_phoff) + 1;
	ph->p_filesz = 512;
	im.bytes[ph->p_offset + 4] = lengths[_i];
	t = load(&im);
	ck_assert_ptr_null(elf_symbols_build_id(t, &len));
	ck_assert_uint_eq(len, 0);
	elf_symbols_free(t);
}
END_TEST

/* Ten thousand functions around one address, so that a walk back would meet them all. */
START_TEST(a_lookup_gives_up_among_too_many_nested_functions)
{
	enum { N = 10000 };
	struct image *im = calloc(1, sizeof(*im));
	size_t table = (N + 1) * sizeof(Elf64_Sym);
	Elf64_Sym *syms = calloc(N + 1, sizeof(*syms));
	struct elf_symbols *t;
	int fd;

	ck_assert(im && syms);
	good_image(im);
	/* One that reaches far, and many short ones behind it. */
	for (size_t i = 1; i <= N; i++)
		syms[i] = (Elf64_Sym){
			.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = TEXT_ADDR + i,
			.st_size = i == 1 ? 10 * N : 1,
		};
	section(im, 2)->sh_offset = im->len;
	section(im, 2)->sh_size = table;
	fd = memory_file(im->bytes, im->len);
	ck_assert_int_eq(pwrite(fd, syms, table, (off_t)im->len), (ssize_t)table);
	ck_assert_int_eq(elf_symbols_load(fd, -1, &t), 0);
	ck_assert_uint_eq(elf_symbols_count(t), N);
	ck_assert_str_eq(at(t, TEXT_ADDR + 3 * N), "(none)");
	ck_assert_str_eq(at(t, TEXT_ADDR + N), "first");
	elf_symbols_free(t);
	close(fd);
	free(syms);
	free(im);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("elf_symbols");
	TCase *tc = tcase_create("elf_symbols");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, own_functions_have_their_names);
	tcase_add_test(tc, an_offset_of_a_mapping_becomes_the_address_in_the_file);
	tcase_add_test(tc, every_function_of_libc_is_found_by_one_of_its_names);
	tcase_add_test(tc, well_known_functions_have_their_well_known_names);
	tcase_add_test(tc, stubs_are_named_after_what_they_lead_to);
	tcase_add_test(tc, the_build_id_is_the_one_in_the_note);
	tcase_add_test(tc, a_stripped_program_keeps_its_build_id_and_loses_its_names);
	tcase_add_loop_test(tc, both_classes_are_read, 0, 2);
	tcase_add_test(tc, a_symbol_without_size_ends_at_the_next_one_or_with_its_section);
	tcase_add_test(tc, a_global_label_is_a_function_unless_it_lies_in_one);
	tcase_add_test(tc, within_another_function_the_inner_one_counts);
	tcase_add_test(tc, of_aliases_the_one_that_people_know_counts);
	tcase_add_test(tc, symbols_that_cannot_be_are_left_out);
	tcase_add_test(tc, strings_without_an_end_are_not_read_beyond);
	tcase_add_loop_test(tc, broken_tables_cost_only_the_symbols, 0,
			    sizeof(without_symbols) / sizeof(without_symbols[0]));
	tcase_add_loop_test(tc, what_is_no_program_for_this_machine_is_refused, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, a_file_cut_anywhere_is_read_or_refused);
	tcase_add_test(tc, random_bytes_are_read_or_refused);
	tcase_add_loop_test(tc, build_ids_of_odd_lengths_are_none, 0, 5);
	tcase_add_test(tc, a_lookup_gives_up_among_too_many_nested_functions);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
