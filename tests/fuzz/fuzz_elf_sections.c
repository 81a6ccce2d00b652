/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as one of the sections that lead to more symbols, or to probes, in an
 * otherwise good file: the first byte says which.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/elf_debug.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/elf_usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_ADDR	0x401000
#define N_SECTION_NAMES 5
#define WITH_PROBES	4

static const char names[] = "\0.shstrtab\0.text\0.gopclntab\0.gnu_debugdata\0.gnu_debuglink\0"
			    ".gnu_debugaltlink\0.note.stapsdt";
static const uint8_t name_at[N_SECTION_NAMES] = { 17, 28, 43, 58, 76 };

static void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		abort();
}

/* Header, names, content, sections: none, names, text, the one in question. */
static int wrap(unsigned which, const uint8_t *content, size_t size)
{
	const size_t names_at = sizeof(Elf64_Ehdr), content_at = 256;
	const size_t sections_at = (content_at + size + 7) & ~7ul;
	static const uint8_t zeroes[256];
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = 1,
			  .e_shoff = sections_at,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 4,
			  .e_shstrndx = 1 };
	Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = names_at,
		  .sh_size = sizeof(names) },
		{ .sh_name = 11,
		  .sh_type = SHT_PROGBITS,
		  .sh_addr = TEXT_ADDR,
		  .sh_size = 1 << 20,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR },
		{ .sh_name = name_at[which],
		  .sh_type = which == WITH_PROBES ? SHT_NOTE : SHT_PROGBITS,
		  .sh_addralign = 4,
		  .sh_offset = content_at,
		  .sh_size = size },
	};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	sh[2].sh_type = SHT_NOBITS;
	put(fd, &eh, sizeof(eh));
	put(fd, names, sizeof(names));
	put(fd, zeroes, content_at - sizeof(eh) - sizeof(names));
	put(fd, content, size);
	put(fd, zeroes, sections_at - content_at - size);
	put(fd, sh, sizeof(sh));
	return fd;
}

static void check_names(const struct elf_symbols *t)
{
	uint64_t start;

	for (uint64_t vaddr = TEXT_ADDR - 64; vaddr < TEXT_ADDR + 4096; vaddr += 16) {
		const char *name = elf_symbols_find(t, vaddr, &start);

		if (name && (start > vaddr || !*name))
			abort();
	}
}

static void check_links(const struct elf_debug *d)
{
	if (strlen(d->link) > DEBUG_LINK_MAX || strlen(d->alt) > DEBUG_LINK_MAX ||
	    d->alt_build_id_len > BUILD_ID_MAX || d->has_symbols || d->has_lines)
		abort();
}

/* The file has no segments: whatever is in the notes leads nowhere. */
static void check_probes(int fd)
{
	char wanted[3][48] = { ELF_USDT_SITE "tracer:begin", ELF_USDT_SEMAPHORE "tracer:begin",
			       "main" };
	uint64_t offsets[3] = { 0 };
	Elf *elf;

	if (elf_file_open(fd, &elf) < 0)
		abort();
	if (elf_usdt(elf, wanted[0], sizeof(wanted[0]), 3, offsets) != 2 || offsets[0] ||
	    offsets[1] || offsets[2])
		abort();
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_symbols *t = NULL;
	struct elf_debug debug;
	int fd;

	if (size == 0)
		return 0;
	fd = wrap(data[0] % N_SECTION_NAMES, data + 1, size - 1);
	/* Too much memory may be refused, but what surrounds the section is good. */
	if (elf_symbols_load(fd, -1, &t) == 0) {
		check_names(t);
		elf_symbols_free(t);
	}
	if (elf_debug_read(fd, &debug) < 0)
		abort();
	check_links(&debug);
	check_probes(fd);
	close(fd);
	return 0;
}
