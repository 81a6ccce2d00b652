/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of code: read, looked up, named, as the worker does it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "symbolize/demangle.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_objects.h"
#include "symbolize/elf_starts.h"
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

static int any(const char *name)
{
	return *name == 'v' || *name == '_';
}

static void on_int(void *ctx, const char *name, int32_t value)
{
	(void)ctx;
	(void)value;
	if (!any(name))
		abort();
}

/* What the worker answers about variables: never more than was asked for. */
static void look_for_objects(int fd)
{
	static const char *const names[] = { "_PyRuntime", "Py_Version", "environ", "" };
	struct elf_text text;
	uint8_t bytes[64];
	uint64_t vaddr;
	Elf *elf;

	if (elf_file_open(fd, &elf) < 0)
		return;
	if (elf_text(elf, &text) == 0 && text.size == 0)
		abort();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_object(elf, fd, names[i], bytes, sizeof(bytes), &vaddr) >
		    (int)sizeof(bytes))
			abort();
	elf_ints(elf, fd, any, on_int, NULL);
	elf_end(elf);
}

/* Where probes would go: in the file, or nowhere. */
static void look_for_functions(int fd, size_t size)
{
	static const char names[][16] = { "malloc", "main", "_start", "" };
	uint64_t offsets[4], starts[4];
	Elf *elf;

	if (elf_file_open(fd, &elf) < 0)
		return;
	elf_functions(elf, names[0], sizeof(names[0]), 4, offsets);
	for (int i = 0; i < 4; i++)
		if (offsets[i] > INT64_MAX)
			abort();
	offsets[3] = size / 2;
	elf_starts(elf, fd, offsets, 4, starts);
	for (int i = 0; i < 4; i++)
		if (starts[i] && starts[i] != offsets[i])
			abort();
	elf_end(elf);
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
	look_for_objects(fd);
	look_for_functions(fd, size);
	close(fd);
	return 0;
}
