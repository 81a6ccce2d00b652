/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_image.h - ELF files in memory with call frame information made by hand.
 *
 * Entries are written one after the other into a section; then the section
 * becomes part of a file whose code lies at CFI_TEXT_OFFSET and is loaded at
 * CFI_TEXT.
 */
#ifndef CFI_IMAGE_H
#define CFI_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CFI_TEXT	0x401000
#define CFI_TEXT_OFFSET 0x3000
#define CFI_TEXT_SIZE	0x8000
#define CFI_GOT		0x500000 /* what DW_EH_PE_datarel is relative to */

/* Where the sections will lie. */
#define CFI_EH_FRAME 0x600000

struct cfi_image {
	uint16_t machine;
	uint64_t entry;
	struct buf eh_frame, debug_frame;
	bool without_sections; /* only PT_GNU_EH_FRAME leads to .eh_frame */
	bool is_compressed;    /* .debug_frame is: SHF_COMPRESSED */
	bool is_zdebug;	       /* in the older way */
	uint64_t text_size;    /* 0: CFI_TEXT_SIZE */
	struct buf file;       /* the result */
};

void cfi_image_finish(struct cfi_image *image);
void cfi_image_done(struct cfi_image *image);

/* ---- writing a section ---- */

void put_u8(struct buf *b, uint8_t v);
void put_u32(struct buf *b, uint32_t v);
void put_u64(struct buf *b, uint64_t v);
void put_uint(struct buf *b, uint64_t v, unsigned n_bytes);
void put_uleb(struct buf *b, uint64_t v);
void put_sleb(struct buf *b, int64_t v);

struct cfi_bytes {
	const uint8_t *data;
	size_t len;
};

#define CFI_BYTES(...)                                         \
	((struct cfi_bytes){ (const uint8_t[]){ __VA_ARGS__ }, \
			     sizeof((const uint8_t[]){ __VA_ARGS__ }) })
#define CFI_NOTHING ((struct cfi_bytes){ (const uint8_t *)"", 0 })

/* An entry: where it begins, for its end. With a 64-bit length if `is_64`. */
size_t begin_entry(struct buf *b, bool is_64);
void end_entry(struct buf *b, size_t begin, bool is_64);

/* A CIE as compilers write it, "zR" with `encoding`; its offset. */
size_t put_cie(struct buf *b, uint8_t encoding, uint8_t data_align, uint8_t ra,
	       struct cfi_bytes program);
/* An FDE of such a CIE with absolute addresses (encoding 0). */
void put_fde(struct buf *b, size_t cie, uint64_t start, uint64_t size, struct cfi_bytes program);
/* The same for .debug_frame: augmentation "". */
size_t put_debug_cie(struct buf *b, struct cfi_bytes program);
void put_debug_fde(struct buf *b, size_t cie, uint64_t start, uint64_t size,
		   struct cfi_bytes program);

#endif
