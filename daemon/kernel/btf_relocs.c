/* SPDX-License-Identifier: Apache-2.0 */
/* btf_relocs.c - the section .BTF.ext of an object, as far as it is about relocations. */
#include "btf_relocs.h"

#include <bpf/btf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

/* The section's head, and what is before the records of each section of code. */
struct ext_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t head_len;
	uint32_t funcs_off, funcs_len, lines_off, lines_len;
	uint32_t relocs_off, relocs_len;
};

struct ext_section {
	uint32_t name_off, n;
};

/* struct bpf_core_relo, as far as it is needed. */
struct ext_reloc {
	uint32_t insn_off, type;
};

struct relocs {
	const uint8_t *at, *end;
	uint32_t size; /* of a record */
};

static Elf_Data *section_data(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head))
			continue;
		name = elf_strptr(elf, names, head.sh_name);
		if (name && strcmp(name, wanted) == 0)
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

/* False: there are none. */
static bool find_relocs(const Elf_Data *data, struct relocs *ret)
{
	const struct ext_head *head = data ? data->d_buf : NULL;

	if (!head || data->d_size < sizeof(*head) || head->head_len < sizeof(*head) ||
	    head->head_len > data->d_size || head->relocs_off > data->d_size - head->head_len ||
	    head->relocs_len > data->d_size - head->head_len - head->relocs_off ||
	    head->relocs_len < sizeof(ret->size))
		return false;
	ret->at = (const uint8_t *)head + head->head_len + head->relocs_off;
	ret->end = ret->at + head->relocs_len;
	memcpy(&ret->size, ret->at, sizeof(ret->size));
	ret->at += sizeof(ret->size);
	return ret->size >= sizeof(struct ext_reloc);
}

static int tell(const struct btf *btf, uint32_t type, btf_reloc_fn *fn, void *ctx)
{
	const struct btf_type *t = btf__type_by_id(btf, type);
	const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL, *flavor;

	if (!name || !name[0])
		return 0;
	flavor = strstr(name, "___");
	return fn(ctx, name, flavor ? (size_t)(flavor - name) : strlen(name));
}

/* `told`: of each type of the object's. */
static int each(struct relocs *rs, const struct btf *btf, bool *told, btf_reloc_fn *fn, void *ctx)
{
	while ((size_t)(rs->end - rs->at) >= sizeof(struct ext_section)) {
		struct ext_section section;

		memcpy(&section, rs->at, sizeof(section));
		rs->at += sizeof(section);
		if (section.n > (size_t)(rs->end - rs->at) / rs->size)
			return -EBADMSG;
		for (uint32_t i = 0; i < section.n; i++, rs->at += rs->size) {
			struct ext_reloc reloc;
			int r = 0;

			memcpy(&reloc, rs->at, sizeof(reloc));
			if (reloc.type >= btf__type_cnt(btf))
				return -EBADMSG;
			if (!told[reloc.type])
				r = tell(btf, reloc.type, fn, ctx);
			told[reloc.type] = true;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int btf_relocs_each(const struct bpf_object_skeleton *skel, btf_reloc_fn *fn, void *ctx)
{
	const struct btf *btf = bpf_object__btf(*skel->obj);
	bool *told = btf ? calloc(btf__type_cnt(btf), sizeof(*told)) : NULL;
	struct relocs relocs;
	Elf *elf = NULL;
	int r = -ENOMEM;

	if (told && elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory((char *)skel->data, skel->data_sz);
	if (elf)
		r = 0;
	if (elf && find_relocs(section_data(elf, ".BTF.ext"), &relocs))
		r = each(&relocs, btf, told, fn, ctx);
	elf_end(elf);
	free(told);
	return r;
}
