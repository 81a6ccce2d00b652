/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_cfi.c - where an ELF file has its code, and the sections that describe its
 * call frames.
 *
 * Sections are found by name. A file whose section headers were stripped still
 * has PT_GNU_EH_FRAME, which leads to .eh_frame but does not say where it ends.
 */
#include "elf_cfi.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_PHDRS	  1024
#define MAX_NAMES_BYTES	  (1u << 20)
#define MAX_HDR_BYTES	  64 /* of .eh_frame_hdr: what comes before its search table */
#define ZDEBUG_HEAD_BYTES 12 /* "ZLIB" and the size, big endian */

/* The headers, while they are needed. */
struct headers {
	const struct elf_source *src;
	Elf64_Ehdr eh;
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs;
	size_t n_shdrs;
	char *names;
	size_t names_len; /* terminated */
};

/* ---- reading ---- */

/* How many bytes there were, at most `len`; less only at the end of the file. */
static ssize_t read_at(const struct elf_source *src, void *dst, size_t len, uint64_t offset)
{
	size_t n = 0;

	if (offset > INT64_MAX - len)
		return 0;
	if (src->image) {
		if (offset >= src->len)
			return 0;
		n = src->len - offset < len ? src->len - offset : len;
		memcpy(dst, src->image + offset, n);
		return (ssize_t)n;
	}
	while (n < len) {
		ssize_t r = pread(src->fd, (uint8_t *)dst + n, len - n, (off_t)(offset + n));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

/* `n` things of `size` bytes. -ENOEXEC: the file does not have them. */
static int read_array(const struct elf_source *src, uint64_t offset, size_t n, size_t size,
		      void **ret)
{
	void *array = calloc(n + 1, size);
	ssize_t r;

	if (!array)
		return -ENOMEM;
	r = read_at(src, array, n * size, offset);
	if (r != (ssize_t)(n * size)) {
		free(array);
		return r < 0 ? (int)r : -ENOEXEC;
	}
	*ret = array;
	return 0;
}

static int read_header(struct headers *h)
{
	const unsigned char native = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	Elf64_Ehdr *eh = &h->eh;
	ssize_t r = read_at(h->src, eh, sizeof(*eh), 0);

	if (r < 0)
		return (int)r;
	if (r != sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != native ||
	    (eh->e_type != ET_EXEC && eh->e_type != ET_DYN) ||
	    eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum > MAX_PHDRS)
		return -ENOEXEC;
	return read_array(h->src, eh->e_phoff, eh->e_phnum, sizeof(*h->phdrs), (void **)&h->phdrs);
}

/* Whatever is wrong with them, there are the program headers. */
static int read_sections(struct headers *h)
{
	const Elf64_Ehdr *eh = &h->eh;
	const Elf64_Shdr *names;
	int r;

	if (eh->e_shoff == 0 || eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    eh->e_shstrndx >= eh->e_shnum)
		return 0;
	r = read_array(h->src, eh->e_shoff, eh->e_shnum, sizeof(*h->shdrs), (void **)&h->shdrs);
	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	names = &h->shdrs[eh->e_shstrndx];
	if (names->sh_type != SHT_STRTAB || names->sh_size > MAX_NAMES_BYTES)
		return 0;
	r = read_array(h->src, names->sh_offset, names->sh_size, 1, (void **)&h->names);
	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	h->names_len = names->sh_size;
	h->n_shdrs = eh->e_shnum;
	return 0;
}

static void headers_done(struct headers *h)
{
	free(h->phdrs);
	free(h->shdrs);
	free(h->names);
}

/* NULL: not there, or (in a file of debug information) not in this file. */
static const Elf64_Shdr *find_section(const struct headers *h, const char *name)
{
	for (size_t i = 0; i < h->n_shdrs; i++) {
		const Elf64_Shdr *sh = &h->shdrs[i];

		if (sh->sh_type != SHT_NOBITS && sh->sh_name < h->names_len &&
		    strcmp(h->names + sh->sh_name, name) == 0)
			return sh;
	}
	return NULL;
}

static uint64_t section_vaddr(const struct headers *h, const char *name)
{
	const Elf64_Shdr *sh = find_section(h, name);

	return sh ? sh->sh_addr : 0;
}

/* ---- segments ---- */

static void add_segment(struct elf_cfi *e, const Elf64_Phdr *ph)
{
	uint64_t end;

	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || ph->p_filesz == 0)
		return;
	if (e->n_segments == ELF_CFI_MAX_SEGMENTS || ph->p_offset > INT64_MAX ||
	    ph->p_filesz > INT64_MAX - ph->p_offset ||
	    __builtin_add_overflow(ph->p_vaddr, ph->p_filesz, &end)) {
		e->is_damaged = true;
		return;
	}
	e->segments[e->n_segments++] = (struct elf_segment){
		.vaddr = ph->p_vaddr,
		.offset = ph->p_offset,
		.size = ph->p_filesz,
	};
}

bool elf_cfi_offset(const struct elf_cfi *e, uint64_t vaddr, uint64_t *ret_offset,
		    uint64_t *ret_size)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		*ret_offset = s->offset + (vaddr - s->vaddr);
		*ret_size = s->size - (vaddr - s->vaddr);
		return true;
	}
	return false;
}

/* ---- contents ---- */

/* As much of it as the file has and we read. */
static int read_bytes(struct elf_cfi *e, const struct elf_source *src, uint64_t offset,
		      uint64_t size, uint8_t **ret, size_t *ret_len)
{
	uint8_t *bytes;
	ssize_t n;

	if (size > ELF_CFI_MAX_BYTES) {
		size = ELF_CFI_MAX_BYTES;
		e->is_cut = true;
	}
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	n = read_at(src, bytes, size, offset);
	if (n < 0) {
		free(bytes);
		return (int)n;
	}
	e->is_damaged |= (size_t)n < size;
	*ret = bytes;
	*ret_len = (size_t)n;
	return 0;
}

/* As much of it as can be had; its size is only claimed. */
static int decompress(struct elf_cfi *e, const uint8_t *in, size_t in_len, uint64_t size,
		      uint8_t **ret, size_t *ret_len)
{
	z_stream z = { .next_in = (uint8_t *)in, .avail_in = (uInt)in_len };
	uint8_t *out;
	int r;

	if (size > ELF_CFI_MAX_BYTES) {
		size = ELF_CFI_MAX_BYTES;
		e->is_cut = true;
	}
	out = malloc(size + 1);
	if (!out)
		return -ENOMEM;
	z.next_out = out;
	z.avail_out = (uInt)size;
	if (inflateInit(&z) != Z_OK) {
		free(out);
		return -ENOMEM;
	}
	do {
		r = inflate(&z, Z_NO_FLUSH);
	} while (r == Z_OK && z.avail_out > 0);
	*ret = out;
	*ret_len = size - z.avail_out;
	e->is_damaged |= z.avail_out > 0;
	(void)inflateEnd(&z);
	return 0;
}

/* Where the compressed bytes begin, and how many they will be; false: nothing that we can read. */
static bool compression(const Elf64_Shdr *sh, bool is_zdebug, const uint8_t *bytes, size_t len,
			size_t *ret_skip, uint64_t *ret_size)
{
	if (is_zdebug) {
		uint64_t size;

		if (len < ZDEBUG_HEAD_BYTES || memcmp(bytes, "ZLIB", 4) != 0)
			return false;
		memcpy(&size, bytes + 4, sizeof(size));
		*ret_size = be64toh(size);
		*ret_skip = ZDEBUG_HEAD_BYTES;
	} else {
		Elf64_Chdr ch;

		if (!(sh->sh_flags & SHF_COMPRESSED) || len < sizeof(ch))
			return false;
		memcpy(&ch, bytes, sizeof(ch));
		if (ch.ch_type != ELFCOMPRESS_ZLIB)
			return false;
		*ret_size = ch.ch_size;
		*ret_skip = sizeof(ch);
	}
	return true;
}

static int read_section(struct elf_cfi *e, const struct headers *h, const Elf64_Shdr *sh,
			bool is_zdebug, struct cfi_section *ret)
{
	uint8_t *bytes, *plain;
	size_t len, skip;
	uint64_t size;
	int r;

	r = read_bytes(e, h->src, sh->sh_offset, sh->sh_size, &bytes, &len);
	if (r < 0)
		return r;
	if (is_zdebug || (sh->sh_flags & SHF_COMPRESSED)) {
		bool can = compression(sh, is_zdebug, bytes, len, &skip, &size);

		if (can)
			r = decompress(e, bytes + skip, len - skip, size, &plain, &len);
		else
			e->is_damaged = true;
		free(bytes);
		if (r < 0 || !can)
			return r;
		bytes = plain;
	}
	ret->bytes = bytes;
	ret->len = len;
	ret->vaddr = sh->sh_addr;
	return 0;
}

/* ---- without section headers ---- */

static const Elf64_Phdr *find_segment(const struct headers *h, uint32_t type, uint64_t vaddr)
{
	for (size_t i = 0; i < h->eh.e_phnum; i++) {
		const Elf64_Phdr *ph = &h->phdrs[i];

		if (ph->p_type == type && (type != PT_LOAD || (vaddr >= ph->p_vaddr &&
							       vaddr - ph->p_vaddr < ph->p_filesz)))
			return ph;
	}
	return NULL;
}

/* .eh_frame_hdr: a version, three encodings, and the first of the pointers they are of. */
static int read_by_segment(struct elf_cfi *e, const struct headers *h, struct cfi_section *ret)
{
	const Elf64_Phdr *ph = find_segment(h, PT_GNU_EH_FRAME, 0), *load;
	uint8_t bytes[MAX_HDR_BYTES];
	struct cfi_section hdr = { .bytes = bytes };
	struct cfi_reader r;
	uint64_t vaddr, skip;
	uint8_t *frames;
	ssize_t n;
	int err;

	if (!ph)
		return 0;
	n = read_at(h->src, bytes, ph->p_filesz < sizeof(bytes) ? ph->p_filesz : sizeof(bytes),
		    ph->p_offset);
	if (n < 0)
		return (int)n;
	hdr.len = (size_t)n;
	hdr.vaddr = hdr.got_vaddr = ph->p_vaddr;
	r = (struct cfi_reader){ .p = bytes, .end = bytes + n };
	if (cfi_uint(&r, 1) != 1)
		cfi_fail(&r);
	skip = cfi_uint(&r, 1);
	(void)cfi_skip(&r, 2);
	vaddr = cfi_read_pointer(&hdr, &r, (uint8_t)skip);
	load = r.bad ? NULL : find_segment(h, PT_LOAD, vaddr);
	if (!load) {
		e->is_damaged = true;
		return 0;
	}
	skip = vaddr - load->p_vaddr;
	err = read_bytes(e, h->src, load->p_offset + skip, load->p_filesz - skip, &frames,
			 &ret->len);
	if (err < 0)
		return err;
	ret->bytes = frames;
	ret->vaddr = vaddr;
	ret->is_open = true;
	return 0;
}

/* ---- */

static int read_cfi(struct elf_cfi *e, const struct headers *h)
{
	const Elf64_Shdr *eh = find_section(h, ".eh_frame");
	const Elf64_Shdr *debug = find_section(h, ".debug_frame");
	const Elf64_Shdr *zdebug = find_section(h, ".zdebug_frame");
	int r;

	e->eh_frame.is_eh = true;
	e->eh_frame.text_vaddr = e->debug_frame.text_vaddr = section_vaddr(h, ".text");
	e->eh_frame.got_vaddr = e->debug_frame.got_vaddr = section_vaddr(h, ".got");
	if (eh)
		r = read_section(e, h, eh, false, &e->eh_frame);
	else
		r = read_by_segment(e, h, &e->eh_frame);
	if (r == 0 && (debug || zdebug))
		r = read_section(e, h, debug ? debug : zdebug, !debug, &e->debug_frame);
	return r;
}

int elf_cfi_read(const struct elf_source *src, struct elf_cfi *ret)
{
	struct headers h = { .src = src };
	struct elf_cfi e = { 0 };
	int r;

	r = read_header(&h);
	if (r == 0)
		r = read_sections(&h);
	if (r < 0)
		goto out;
	e.machine = h.eh.e_machine;
	e.entry = h.eh.e_entry;
	for (size_t i = 0; i < h.eh.e_phnum; i++)
		add_segment(&e, &h.phdrs[i]);
	r = read_cfi(&e, &h);
out:
	headers_done(&h);
	if (r < 0)
		elf_cfi_done(&e);
	else
		*ret = e;
	return r;
}

void elf_cfi_done(struct elf_cfi *e)
{
	free((void *)e->eh_frame.bytes);
	free((void *)e->debug_frame.bytes);
	*e = (struct elf_cfi){ 0 };
}
