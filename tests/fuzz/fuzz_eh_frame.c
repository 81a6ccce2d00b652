/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file with call frame information, or as its sections: a table
 * comes of it that can be believed, or an error.
 *
 * The first byte chooses. 0: the rest is the file. Else a file is made around
 * the rest: .eh_frame, or .debug_frame, or the first half each; of x86-64 or
 * arm64; with an entry point or without.
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_cfi.h"
#include "unwind/unwind_table.h"

#define TEXT	    0x1000
#define TEXT_SIZE   0x10000
#define WITH_DEBUG  1
#define ONLY_DEBUG  2
#define ARM64	    4
#define WITH_ENTRY  8
#define NO_SECTIONS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	Elf64_Shdr sh[4];
	uint8_t hdr[16]; /* .eh_frame_hdr */
	char names[40];
	uint8_t sections[];
};

static struct image *make_image(uint8_t choice, const uint8_t *data, size_t size)
{
	struct image *image = calloc(1, sizeof(*image) + size);
	size_t n_eh = choice & ONLY_DEBUG ? 0 : choice & WITH_DEBUG ? size / 2 : size;
	const uint64_t vaddr = offsetof(struct image, sections); /* as in the file */

	if (!image)
		abort();
	image->eh = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = choice & ARM64 ? EM_AARCH64 : EM_X86_64,
		.e_entry = choice & WITH_ENTRY ? TEXT + 0x100 : 0,
		.e_phoff = offsetof(struct image, ph),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shoff = choice & NO_SECTIONS ? 0 : offsetof(struct image, sh),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	image->ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				     .p_flags = PF_X,
				     .p_offset = 2 * TEXT,
				     .p_vaddr = TEXT,
				     .p_filesz = TEXT_SIZE };
	image->ph[1] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_offset = vaddr, .p_vaddr = vaddr, .p_filesz = n_eh
	};
	image->ph[2] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
				     .p_offset = offsetof(struct image, hdr),
				     .p_filesz = sizeof(image->hdr) };
	memcpy(image->hdr, "\1\4\xff\xff", 4);
	memcpy(image->hdr + 4, &vaddr, sizeof(vaddr));
	memcpy(image->names, "\0.eh_frame\0.debug_frame", 24);
	image->sh[1] = (Elf64_Shdr){ .sh_name = n_eh ? 1 : 0,
				     .sh_type = SHT_PROGBITS,
				     .sh_addr = vaddr,
				     .sh_offset = vaddr,
				     .sh_size = n_eh };
	image->sh[2] = (Elf64_Shdr){ .sh_name = n_eh < size ? 11 : 0,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = vaddr + n_eh,
				     .sh_size = size - n_eh };
	image->sh[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct image, names),
				     .sh_size = sizeof(image->names) };
	memcpy(image->sections, data, size);
	return image;
}

/* What the sections describe lies in their code. */
static void check(const struct unwind_table *t, bool is_own)
{
	struct unwind_rule rule;

	if (!is_own)
		return;
	unwind_table_find(t, 2 * TEXT - 1, &rule);
	if (rule.cfa != UNWIND_CFA_NONE)
		abort();
	unwind_table_find(t, 2 * TEXT + TEXT_SIZE, &rule);
	if (rule.cfa != UNWIND_CFA_NONE)
		abort();
	if (t->head.n_pages > TEXT_SIZE / UNWIND_PAGE_SIZE + 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_source src = { .fd = -1 };
	struct image *image = NULL;
	struct unwind_table t;
	uint16_t machine = EM_X86_64;
	void *bytes;
	size_t len;
	int r;

	if (size == 0)
		return 0;
	src.image = data + 1;
	src.len = size - 1;
	if (data[0]) {
		image = make_image(data[0], data + 1, size - 1);
		src.image = (const uint8_t *)image;
		src.len = sizeof(*image) + size - 1;
		machine = image->eh.e_machine;
	}
	r = eh_frame_table_of(cfi_machine_find(machine), &src, &bytes, &len);
	if (r == 0) {
		if (unwind_table_decode(bytes, len, &t) < 0)
			abort();
		check(&t, image != NULL);
		free(bytes);
	} else if (image || (r != -ENOEXEC && r != -ENOMEM)) {
		abort();
	}
	free(image);
	return 0;
}
