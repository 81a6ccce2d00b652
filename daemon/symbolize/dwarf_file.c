/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_file.c - opens a file's DWARF, but for what would be too much. */
#include "dwarf_file.h"

#include <errno.h>
#include <string.h>

#include "elf_debug.h"
#include "elf_file.h"

/* All .debug_* of a file, unpacked: what libdw takes into memory. A browser has 2 GB. */
#define MAX_DEBUG_BYTES (512u << 20)

#define N_LOCATIONS 3

/*
 * What neither functions nor lines need, and can be a third of all; the first N_LOCATIONS are
 * about where variables are.
 */
static bool is_needed(const char *name, bool with_locations)
{
	static const char *const others[] = { "loc",	 "loclists", "frame",	 "macro",
					      "macinfo", "pubnames", "pubtypes", "names" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name + strlen(".debug_"), others[i]) == 0)
			return with_locations && i < N_LOCATIONS;
	return true;
}

/* libdw takes all of them into memory, unpacked, when it begins: those that it can see. */
static int check_sections(Elf *elf, bool with_locations)
{
	uint64_t total = 0;
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return -ENOEXEC;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;
		GElf_Chdr ch;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug", 7) != 0))
			continue;
		if (!is_needed(name, with_locations)) {
			sh.sh_type = SHT_NOBITS; /* for us; the file stays as it is */
			(void)gelf_update_shdr(scn, &sh);
			continue;
		}
		if (sh.sh_size > MAX_DEBUG_BYTES)
			return -EFBIG;
		total += sh.sh_size;
		if ((sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch)) {
			if (ch.ch_size > MAX_DEBUG_BYTES)
				return -EFBIG;
			total += ch.ch_size;
		}
		if (total > MAX_DEBUG_BYTES)
			return -EFBIG;
	}
	return 0;
}

int dwarf_file_open(int fd, bool with_locations, Elf **ret_elf, Dwarf **ret)
{
	int r = elf_file_open(fd, ret_elf);

	if (r == 0)
		r = check_sections(*ret_elf, with_locations);
	if (r < 0)
		return r;
	*ret = dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL);
	return *ret ? 0 : -ENOEXEC;
}

bool dwarf_file_is_alt(int fd, int alt_fd)
{
	struct elf_debug of, alt;

	return elf_debug_read(fd, &of) == 0 && elf_debug_read(alt_fd, &alt) == 0 &&
	       of.alt_build_id_len && of.alt_build_id_len == alt.build_id_len &&
	       memcmp(of.alt_build_id, alt.build_id, alt.build_id_len) == 0;
}
