/* SPDX-License-Identifier: Apache-2.0 */
/* elf_mini.c - the compressed symbol table inside a stripped file. */
#include "elf_mini.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include <lzma.h>

#include "base/buf.h"
#include "elf_file.h"

/* The largest known one (of a browser) has 3 MB, and unpacks to 20. */
#define MAX_PACKED_BYTES   (16u << 20)
#define MAX_UNPACKED_BYTES (128u << 20)
#define CHUNK_BYTES	   (256u << 10)
/* Of the decoder itself: xz -9 needs 65 MB. */
#define MAX_DECODER_BYTES (80u << 20)

static int unpack(const Elf_Data *packed, struct buf *dst)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret got = lzma_stream_decoder(&xz, MAX_DECODER_BYTES, 0);
	int r = 0;

	xz.next_in = packed->d_buf;
	xz.avail_in = packed->d_size;
	while (r == 0 && got == LZMA_OK) {
		r = dst->len < MAX_UNPACKED_BYTES ? buf_reserve(dst, CHUNK_BYTES) : -EFBIG;
		if (r < 0)
			break;
		xz.next_out = dst->data + dst->len;
		xz.avail_out = CHUNK_BYTES;
		got = lzma_code(&xz, LZMA_FINISH);
		dst->len += CHUNK_BYTES - xz.avail_out;
	}
	lzma_end(&xz);
	if (r == 0 && got != LZMA_STREAM_END)
		r = got == LZMA_MEM_ERROR ? -ENOMEM : -ENOEXEC;
	return r;
}

int elf_mini_open(Elf *elf, void **ret_image, Elf **ret)
{
	struct buf image = { 0 };
	Elf_Data *packed;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, SHT_PROGBITS, ".gnu_debugdata", &sh);
	int r;

	if (!scn)
		return -ENOENT;
	r = elf_file_data(scn, &sh, MAX_PACKED_BYTES, &packed);
	if (r == 0)
		r = unpack(packed, &image);
	if (r == 0)
		r = elf_file_open_image(image.data, image.len, ret);
	if (r < 0) {
		buf_done(&image);
		return r;
	}
	*ret_image = image.data;
	return 0;
}
