/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of code: read, looked up, named, as the worker does it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "symbolize/demangle.h"
#include "symbolize/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct elf_symbols *t, uint64_t vaddr)
{
	char readable[DEMANGLE_MAX + 1];
	const char *name;
	uint64_t start;
	size_t len;

	name = elf_symbols_find(t, vaddr, &start);
	if (!name)
		return;
	if (start > vaddr || !*name)
		abort();
	len = demangle(readable, name);
	if (len != strlen(readable) || len > DEMANGLE_MAX || !text_is_utf8(readable, len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_symbols *t = NULL;
	uint64_t vaddr;
	size_t len;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_symbols_load(fd, -1, &t) == 0) {
		if (elf_symbols_build_id(t, &len) && (len < 8 || len > 40))
			abort();
		for (uint64_t off = 0; off < size; off += 16)
			if (elf_symbols_vaddr(t, off, &vaddr))
				look_up(t, vaddr);
		look_up(t, 0);
		look_up(t, 0x401000);
		look_up(t, UINT64_MAX);
		elf_symbols_free(t);
	} else if (t) {
		abort();
	}
	close(fd);
	return 0;
}
