/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_types.c - the kernel's types by their names, and the few that an object needs. */
#include "kernel_types.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "btf_copy.h"
#include "btf_relocs.h"
#include "hash.h"
#include "io.h"

/* Of one object; more are looked for in the kernel itself alone. */
#define MAX_MISSING 64

/* ---- the kernel's own ---- */

static struct btf *all;
/* Numbers of types by the hash of their names, as many as a power of two; 0: none. */
static uint32_t *by_name, mask;

static bool is_findable(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t) || btf_is_func(t);
}

static uint32_t place_of(const char *name, size_t len)
{
	return (uint32_t)hash_bytes(name, len, 0) & mask;
}

static int index_all(void)
{
	uint32_t n = btf__type_cnt(all), n_places = 1;

	while (n_places < 2 * n)
		n_places *= 2;
	by_name = calloc(n_places, sizeof(*by_name));
	if (!by_name)
		return -ENOMEM;
	mask = n_places - 1;
	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(all, id);
		const char *name = btf__name_by_offset(all, t->name_off);
		uint32_t i;

		if (!is_findable(t) || !name || !name[0])
			continue;
		for (i = place_of(name, strlen(name)); by_name[i]; i = (i + 1) & mask)
			;
		by_name[i] = id;
	}
	return 0;
}

static void read_all(void)
{
	all = btf__load_vmlinux_btf();
	if (all && index_all() < 0) {
		btf__free(all);
		all = NULL;
	}
}

const struct btf *kernel_types(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	return all;
}

static bool is_named(const struct btf *btf, uint32_t id, const char *name, size_t len)
{
	const char *other = btf__name_by_offset(btf, btf__type_by_id(btf, id)->name_off);

	return other && strncmp(other, name, len) == 0 && !other[len];
}

/* From `*place` on, which begins as place_of(). 0: no more. */
static uint32_t next_of_name(uint32_t *place, const char *name, size_t len)
{
	uint32_t id;

	while ((id = by_name[*place]) != 0) {
		*place = (*place + 1) & mask;
		if (is_named(all, id, name, len))
			return id;
	}
	return 0;
}

int kernel_types_find(const char *name, uint32_t kind)
{
	size_t len = strlen(name);
	uint32_t place, id;

	if (!kernel_types())
		return -ENOTSUP;
	place = place_of(name, len);
	while ((id = next_of_name(&place, name, len)) != 0)
		if (btf_kind(btf__type_by_id(all, id)) == kind)
			return (int)id;
	return -ENOENT;
}

/* ---- what an object needs ---- */

struct needed {
	struct btf_copy *copy;
	size_t n_missing;
	struct {
		const char *name;
		size_t len;
	} missing[MAX_MISSING];
};

/* The btf_reloc_fn. */
static int add_of_kernel(void *ctx, const char *name, size_t len)
{
	struct needed *needed = ctx;
	uint32_t place = place_of(name, len), id;
	bool is_there = false;
	int r = 0;

	while (r == 0 && (id = next_of_name(&place, name, len)) != 0) {
		r = btf_copy_add(needed->copy, id);
		is_there = true;
	}
	if (!is_there && needed->n_missing < MAX_MISSING) {
		needed->missing[needed->n_missing].name = name;
		needed->missing[needed->n_missing++].len = len;
	}
	return r;
}

static int add_of_module(struct needed *needed, const struct btf *module)
{
	int r = btf_copy_from(needed->copy, module);

	for (uint32_t id = btf__type_cnt(all); r == 0 && id < btf__type_cnt(module); id++) {
		if (!is_findable(btf__type_by_id(module, id)))
			continue;
		for (size_t i = 0; r == 0 && i < needed->n_missing; i++)
			if (is_named(module, id, needed->missing[i].name, needed->missing[i].len))
				r = btf_copy_add(needed->copy, id);
	}
	return r;
}

static bool is_module(int fd)
{
	struct bpf_btf_info info = { 0 };
	char name[64] = "";
	__u32 len = sizeof(info);

	info.name = (uintptr_t)name;
	info.name_len = sizeof(name);
	return bpf_obj_get_info_by_fd(fd, &info, &len) == 0 && info.kernel_btf &&
	       strcmp(name, "vmlinux") != 0;
}

/* Most drivers are modules, with types of their own. As far as they may be read. */
static int add_of_modules(struct needed *needed)
{
	__u32 id = 0;
	int r = 0;

	while (r == 0 && bpf_btf_get_next_id(id, &id) == 0) {
		int fd = bpf_btf_get_fd_by_id(id);
		struct btf *module = NULL;

		if (fd < 0 && errno != ENOENT) /* it may have gone meanwhile */
			return 0;
		if (fd >= 0 && is_module(fd))
			module = btf__load_from_kernel_by_id_split(id, all);
		if (fd >= 0)
			close(fd);
		if (module)
			r = add_of_module(needed, module);
		/* What was copied of it has its own bytes. */
		if (module && r == 0)
			r = btf_copy_from(needed->copy, all);
		btf__free(module);
	}
	return r;
}

int kernel_types_write(const struct bpf_object_skeleton *skel, int fd)
{
	struct needed needed = { 0 };
	const void *data;
	uint32_t size;
	int r;

	if (!kernel_types())
		return -ENOTSUP;
	r = btf_copy_new(all, &needed.copy);
	if (r == 0)
		r = btf_relocs_each(skel, add_of_kernel, &needed);
	if (r == 0 && needed.n_missing)
		r = add_of_modules(&needed);
	if (r == 0)
		r = btf_copy_data(needed.copy, &data, &size);
	if (r == 0)
		r = io_write_all(fd, data, size);
	btf_copy_free(needed.copy);
	return r;
}
