/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_image.c - ELF files in memory with call frame information made by hand. */
#include "cfi_image.h"

#include <check.h>
#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NONE, TEXT, GOT, EH_FRAME, DEBUG_FRAME, NAMES, N_SECTIONS };

static const char names[] = "\0.text\0.got\0.eh_frame\0.debug_frame\0.zdebug_frame\0.shstrtab";

/* Without Check's macros, each of which writes to a file: there may be millions of these. */
static void append(struct buf *b, const void *data, size_t len)
{
	if (buf_append(b, data, len) < 0)
		abort();
}

void put_uint(struct buf *b, uint64_t v, unsigned n_bytes)
{
	append(b, &v, n_bytes);
}

void put_u8(struct buf *b, uint8_t v)
{
	put_uint(b, v, 1);
}

void put_u32(struct buf *b, uint32_t v)
{
	put_uint(b, v, 4);
}

void put_u64(struct buf *b, uint64_t v)
{
	put_uint(b, v, 8);
}

void put_uleb(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_u8(b, (uint8_t)(v | 0x80));
	put_u8(b, (uint8_t)v);
}

void put_sleb(struct buf *b, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		put_u8(b, (uint8_t)(v | 0x80));
	put_u8(b, v & 0x7f);
}

/* ---- entries ---- */

size_t begin_entry(struct buf *b, bool is_64)
{
	size_t begin = b->len;

	put_u32(b, is_64 ? 0xffffffff : 0);
	if (is_64)
		put_u64(b, 0);
	return begin;
}

void end_entry(struct buf *b, size_t begin, bool is_64)
{
	uint64_t len;

	while (b->len % 8)
		put_u8(b, 0); /* DW_CFA_nop */
	len = b->len - begin - (is_64 ? 12 : 4);
	memcpy(b->data + begin + (is_64 ? 4 : 0), &len, is_64 ? 8 : 4);
}

static void put_bytes(struct buf *b, struct cfi_bytes bytes)
{
	append(b, bytes.data, bytes.len);
}

size_t put_cie(struct buf *b, uint8_t encoding, uint8_t data_align, uint8_t ra,
	       struct cfi_bytes program)
{
	size_t begin = begin_entry(b, false);

	put_u32(b, 0);
	put_u8(b, 1);
	put_bytes(b, CFI_BYTES('z', 'R', 0));
	put_uleb(b, 1);
	put_u8(b, data_align);
	put_u8(b, ra);
	put_bytes(b, CFI_BYTES(1, encoding));
	put_bytes(b, program);
	end_entry(b, begin, false);
	return begin;
}

void put_fde(struct buf *b, size_t cie, uint64_t start, uint64_t size, struct cfi_bytes program)
{
	size_t begin = begin_entry(b, false);

	put_u32(b, (uint32_t)(b->len - cie));
	put_u64(b, start);
	put_u64(b, size);
	put_uleb(b, 0);
	put_bytes(b, program);
	end_entry(b, begin, false);
}

size_t put_debug_cie(struct buf *b, struct cfi_bytes program)
{
	size_t begin = begin_entry(b, false);

	put_u32(b, 0xffffffff);
	put_bytes(b, CFI_BYTES(3, 0, 1, 0x78, 16));
	put_bytes(b, program);
	end_entry(b, begin, false);
	return begin;
}

void put_debug_fde(struct buf *b, size_t cie, uint64_t start, uint64_t size,
		   struct cfi_bytes program)
{
	size_t begin = begin_entry(b, false);

	put_u32(b, (uint32_t)cie);
	put_u64(b, start);
	put_u64(b, size);
	put_bytes(b, program);
	end_entry(b, begin, false);
}

/* ---- the file ---- */

/* Where `data` comes to lie, 8-aligned. */
static uint64_t place(struct buf *file, const void *data, size_t len)
{
	uint64_t offset;

	while (file->len % 8)
		put_u8(file, 0);
	offset = file->len;
	append(file, data, len);
	return offset;
}

static void compress_section(const struct cfi_image *image, struct buf *ret)
{
	uLongf len = compressBound(image->debug_frame.len);
	Elf64_Chdr ch = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = image->debug_frame.len };
	uint64_t size = htobe64(image->debug_frame.len);

	if (image->is_zdebug) {
		append(ret, "ZLIB", 4);
		append(ret, &size, sizeof(size));
	} else {
		append(ret, &ch, sizeof(ch));
	}
	ck_assert_int_eq(buf_reserve(ret, len), 0);
	ck_assert_int_eq(compress(ret->data + ret->len, &len, image->debug_frame.data,
				  image->debug_frame.len),
			 Z_OK);
	ret->len += len;
}

static void place_sections(struct cfi_image *image, Elf64_Shdr *sh)
{
	struct buf packed = { 0 };
	const struct buf *debug = &image->debug_frame;

	if (image->is_compressed || image->is_zdebug) {
		compress_section(image, &packed);
		debug = &packed;
		sh[DEBUG_FRAME].sh_flags = image->is_compressed ? SHF_COMPRESSED : 0;
	}
	sh[TEXT] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = CFI_TEXT };
	sh[GOT] = (Elf64_Shdr){ .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_addr = CFI_GOT };
	sh[EH_FRAME].sh_name = image->eh_frame.len ? 12 : 0;
	sh[EH_FRAME].sh_type = SHT_PROGBITS;
	sh[EH_FRAME].sh_addr = CFI_EH_FRAME;
	sh[EH_FRAME].sh_size = image->eh_frame.len;
	sh[EH_FRAME].sh_offset = place(&image->file, image->eh_frame.data, image->eh_frame.len);
	sh[DEBUG_FRAME].sh_name = !debug->len ? 0 : image->is_zdebug ? 35 : 22;
	sh[DEBUG_FRAME].sh_type = SHT_PROGBITS;
	sh[DEBUG_FRAME].sh_size = debug->len;
	sh[DEBUG_FRAME].sh_offset = place(&image->file, debug->data, debug->len);
	sh[NAMES] = (Elf64_Shdr){ .sh_name = 49,
				  .sh_type = SHT_STRTAB,
				  .sh_size = sizeof(names),
				  .sh_offset = place(&image->file, names, sizeof(names)) };
	buf_done(&packed);
}

void cfi_image_finish(struct cfi_image *image)
{
	Elf64_Shdr sh[N_SECTIONS] = { 0 };
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = image->machine,
		.e_version = EV_CURRENT,
		.e_entry = image->entry,
		.e_ehsize = sizeof(eh),
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = CFI_TEXT_OFFSET,
		  .p_vaddr = CFI_TEXT,
		  .p_filesz = image->text_size ? image->text_size : CFI_TEXT_SIZE },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = CFI_EH_FRAME },
		{ .p_type = image->eh_frame.len ? PT_GNU_EH_FRAME : PT_NULL },
	};
	/* Version 1, the address absolute in 8 bytes, no table. */
	uint8_t hdr[16] = { 1, 0x04, 0xff, 0xff };
	uint64_t vaddr = CFI_EH_FRAME;

	(void)place(&image->file, &eh, sizeof(eh));
	(void)place(&image->file, ph, sizeof(ph));
	memcpy(hdr + 4, &vaddr, sizeof(vaddr));
	ph[2].p_offset = place(&image->file, hdr, sizeof(hdr));
	ph[2].p_filesz = sizeof(hdr);
	place_sections(image, sh);
	ph[1].p_offset = sh[EH_FRAME].sh_offset;
	ph[1].p_filesz = sh[EH_FRAME].sh_size;
	if (!image->without_sections) {
		eh.e_shnum = N_SECTIONS;
		eh.e_shstrndx = NAMES;
		eh.e_shoff = place(&image->file, sh, sizeof(sh));
	}
	memcpy(image->file.data, &eh, sizeof(eh));
	memcpy(image->file.data + sizeof(eh), ph, sizeof(ph));
}

void cfi_image_done(struct cfi_image *image)
{
	buf_done(&image->eh_frame);
	buf_done(&image->debug_frame);
	buf_done(&image->file);
}
