/* SPDX-License-Identifier: Apache-2.0 */
/* elf_debug.c - what a file itself knows, and where the rest is said to be. */
#include "elf_debug.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "elf_file.h"

#define MAX_LINK_BYTES 4096
#define CHUNK_BYTES    (64u << 10)

/* The bytes of a small section; NULL: there is none. */
static const uint8_t *small_section(Elf *elf, const char *name, size_t *ret_len)
{
	Elf_Data *data;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, SHT_PROGBITS, name, &sh);

	if (!scn || elf_file_data(scn, &sh, MAX_LINK_BYTES, &data) < 0)
		return NULL;
	*ret_len = data->d_size;
	return data->d_buf;
}

/* Bytes of the name at the start of a section, with its NUL; 0: none. */
static size_t read_name(const uint8_t *bytes, size_t len, char dst[DEBUG_LINK_MAX + 1])
{
	size_t n = bytes ? strnlen((const char *)bytes, len) : 0;

	if (n == 0 || n == len || n > DEBUG_LINK_MAX)
		return 0;
	memcpy(dst, bytes, n + 1);
	return n + 1;
}

/* A name, zeroes up to a multiple of four, and a checksum. */
static void read_link(Elf *elf, struct elf_debug *ret)
{
	size_t len = 0, at;
	const uint8_t *bytes = small_section(elf, ".gnu_debuglink", &len);

	at = (read_name(bytes, len, ret->link) + 3) & ~(size_t)3;
	if (at == 0)
		return;
	if (len < at + sizeof(ret->link_crc))
		ret->link[0] = '\0';
	else
		memcpy(&ret->link_crc, bytes + at, sizeof(ret->link_crc));
}

/* A name, and a build id up to the end. */
static void read_alt(Elf *elf, struct elf_debug *ret)
{
	size_t len = 0, at;
	const uint8_t *bytes = small_section(elf, ".gnu_debugaltlink", &len);

	at = read_name(bytes, len, ret->alt);
	if (at == 0)
		return;
	if (len - at < BUILD_ID_MIN || len - at > BUILD_ID_MAX) {
		ret->alt[0] = '\0';
		return;
	}
	ret->alt_build_id_len = (uint8_t)(len - at);
	memcpy(ret->alt_build_id, bytes + at, len - at);
}

int elf_debug_read(int fd, struct elf_debug *ret)
{
	GElf_Shdr sh;
	Elf *elf;
	int r;

	*ret = (struct elf_debug){ 0 };
	r = elf_file_open(fd, &elf);
	if (r < 0)
		return r;
	ret->build_id_len = (uint8_t)elf_file_build_id(elf, ret->build_id);
	ret->has_symbols = elf_file_section(elf, SHT_SYMTAB, NULL, &sh) != NULL;
	ret->has_lines = elf_file_section(elf, SHT_PROGBITS, ".debug_info", &sh) != NULL;
	read_link(elf, ret);
	read_alt(elf, ret);
	elf_end(elf);
	return 0;
}

/* The checksum of .gnu_debuglink is the one of zlib. */
static bool has_crc(int fd, uint32_t wanted)
{
	static uint8_t bytes[CHUNK_BYTES]; /* the worker has one thread */
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		crc = crc32(crc, bytes, (uInt)n);
	return n == 0 && crc == wanted;
}

bool elf_debug_fits(const struct elf_debug *of, int debug_fd, struct elf_debug *ret)
{
	if (elf_debug_read(debug_fd, ret) < 0)
		return false;
	if (of->build_id_len && ret->build_id_len)
		return of->build_id_len == ret->build_id_len &&
		       memcmp(of->build_id, ret->build_id, of->build_id_len) == 0;
	return of->link[0] && has_crc(debug_fd, of->link_crc);
}
