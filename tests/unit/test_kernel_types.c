/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the kernel's types a BPF object needs, and those as a BTF of their own. */
#include <bpf/btf.h>
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "btf_copy.h"
#include "btf_relocs.h"
#include "kernel_types.h"
#include "proc.skel.h"

/* ---- a copy ---- */

static struct btf *src;
static int u32, inner, outer, other;

/* struct outer { struct inner in; const void *p; struct inner *q; u32 array[3]; } */
static void set_up(void)
{
	int word, pointer, constant, q, array;

	src = btf__new_empty();
	ck_assert_ptr_nonnull(src);
	word = btf__add_int(src, "unsigned int", 4, 0);
	other = btf__add_struct(src, "other", 4);
	ck_assert_int_eq(btf__add_field(src, "x", word, 0, 0), 0);
	u32 = btf__add_typedef(src, "u32", word);
	inner = btf__add_struct(src, "inner", 4);
	ck_assert_int_eq(btf__add_field(src, "a", u32, 0, 0), 0);
	constant = btf__add_const(src, other);
	pointer = btf__add_ptr(src, constant);
	q = btf__add_ptr(src, inner);
	array = btf__add_array(src, word, u32, 3);
	outer = btf__add_struct(src, "outer", 32);
	ck_assert_int_eq(btf__add_field(src, "in", inner, 0, 0), 0);
	ck_assert_int_eq(btf__add_field(src, "p", pointer, 64, 0), 0);
	ck_assert_int_eq(btf__add_field(src, "q", q, 128, 0), 0);
	ck_assert_int_eq(btf__add_field(src, "array", array, 192, 0), 0);
}

static void tear_down(void)
{
	btf__free(src);
}

static struct btf *copied(struct btf_copy *c)
{
	const void *data;
	struct btf *btf;
	uint32_t size;

	ck_assert_int_eq(btf_copy_data(c, &data, &size), 0);
	btf = btf__new(data, size); /* which looks whether it is one */
	ck_assert_ptr_nonnull(btf);
	return btf;
}

START_TEST(a_type_comes_with_its_parts)
{
	const struct btf_type *t;
	struct btf_copy *c;
	struct btf *btf;
	int id;

	ck_assert_int_eq(btf_copy_new(src, &c), 0);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)outer), 0);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)outer), 0);
	btf = copied(c);
	id = btf__find_by_name_kind(btf, "outer", BTF_KIND_STRUCT);
	ck_assert_int_gt(id, 0);
	t = btf__type_by_id(btf, (uint32_t)id);
	ck_assert_uint_eq(btf_vlen(t), 4);
	ck_assert_uint_eq(t->size, 32);
	ck_assert_str_eq(btf__name_by_offset(btf, btf_members(t)[3].name_off), "array");
	ck_assert_int_eq(btf_members(t)[0].type,
			 btf__find_by_name_kind(btf, "inner", BTF_KIND_STRUCT));
	ck_assert_int_eq(btf__resolve_size(btf, btf_members(t)[0].type), 4);
	ck_assert_int_eq(btf__resolve_size(btf, btf_members(t)[3].type), 12);
	/* The same name is there once. */
	for (uint32_t i = (uint32_t)id + 1; i < btf__type_cnt(btf); i++)
		ck_assert_str_ne(btf__name_by_offset(btf, btf__type_by_id(btf, i)->name_off),
				 "outer");
	btf__free(btf);
	btf_copy_free(c);
}
END_TEST

START_TEST(what_a_pointer_leads_to_is_left_out)
{
	const struct btf_type *t;
	struct btf_copy *c;
	struct btf *btf;
	uint32_t p, q;

	ck_assert_int_eq(btf_copy_new(src, &c), 0);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)outer), 0);
	btf = copied(c);
	ck_assert_int_eq(btf__find_by_name(btf, "other"), -ENOENT);
	t = btf__type_by_id(btf, (uint32_t)btf__find_by_name(btf, "outer"));
	p = btf_members(t)[1].type;
	q = btf_members(t)[2].type;
	ck_assert(btf_is_ptr(btf__type_by_id(btf, p)));
	ck_assert_uint_eq(btf__type_by_id(btf, p)->type, 0);
	ck_assert_uint_eq(p, q);
	btf__free(btf);
	btf_copy_free(c);
}
END_TEST

START_TEST(types_of_two_are_in_one)
{
	struct btf *second = btf__new_empty(), *btf;
	struct btf_copy *c;
	int word, id;

	word = btf__add_int(second, "unsigned int", 4, 0);
	id = btf__add_struct(second, "of_a_module", 4);
	ck_assert_int_eq(btf__add_field(second, "y", word, 0, 0), 0);
	ck_assert_int_eq(btf_copy_new(src, &c), 0);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)outer), 0);
	ck_assert_int_eq(btf_copy_from(c, second), 0);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)id), 0);
	ck_assert_int_eq(btf_copy_from(c, src), 0);
	btf__free(second);
	ck_assert_int_eq(btf_copy_add(c, (uint32_t)other), 0);
	btf = copied(c);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "inner", "of_a_module", "other" };
		const struct btf_type *t;

		id = btf__find_by_name_kind(btf, names[i], BTF_KIND_STRUCT);
		ck_assert_int_gt(id, 0);
		t = btf__type_by_id(btf, (uint32_t)id);
		ck_assert_int_eq(btf__resolve_size(btf, btf_members(t)[0].type), 4);
	}
	btf__free(btf);
	btf_copy_free(c);
}
END_TEST

/* ---- an object ---- */

struct seen {
	bool task, upid;
	unsigned n;
};

static int note(void *ctx, const char *name, size_t len)
{
	struct seen *seen = ctx;

	ck_assert_ptr_null(memmem(name, len, "___", 3));
	seen->n++;
	seen->task |= len == 11 && memcmp(name, "task_struct", 11) == 0;
	seen->upid |= len == 4 && memcmp(name, "upid", 4) == 0;
	return 0;
}

static int refuse(void *ctx, const char *name, size_t len)
{
	(void)ctx;
	(void)name;
	(void)len;
	return -EXFULL;
}

START_TEST(an_object_says_what_it_looks_into)
{
	struct proc_bpf *skel = proc_bpf__open();
	struct seen seen = { 0 };

	ck_assert_ptr_nonnull(skel);
	ck_assert_int_eq(btf_relocs_each(skel->skeleton, note, &seen), 0);
	ck_assert(seen.task && seen.upid);
	/* Its own types are none of these. */
	ck_assert_uint_lt(seen.n, btf__type_cnt(bpf_object__btf(skel->obj)) / 2);
	ck_assert_int_eq(btf_relocs_each(skel->skeleton, refuse, NULL), -EXFULL);
	proc_bpf__destroy(skel);
}
END_TEST

/* ---- this kernel ---- */

START_TEST(types_of_this_kernel_are_found_by_name)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();

	if (!vmlinux) {
		ck_assert_ptr_null(kernel_types());
		ck_assert_int_eq(kernel_types_find("task_struct", BTF_KIND_STRUCT), -ENOTSUP);
		return;
	}
	ck_assert_int_eq(kernel_types_find("task_struct", BTF_KIND_STRUCT),
			 btf__find_by_name_kind(vmlinux, "task_struct", BTF_KIND_STRUCT));
	ck_assert_int_eq(
		kernel_types_find("btf_trace_sched_switch", BTF_KIND_TYPEDEF),
		btf__find_by_name_kind(vmlinux, "btf_trace_sched_switch", BTF_KIND_TYPEDEF));
	ck_assert_int_eq(kernel_types_find("schedule", BTF_KIND_FUNC),
			 btf__find_by_name_kind(vmlinux, "schedule", BTF_KIND_FUNC));
	ck_assert_int_eq(kernel_types_find("schedule", BTF_KIND_STRUCT), -ENOENT);
	ck_assert_int_eq(kernel_types_find("task_struc", BTF_KIND_STRUCT), -ENOENT);
	btf__free(vmlinux);
}
END_TEST

START_TEST(what_an_object_needs_has_the_offsets_of_this_kernel)
{
	struct proc_bpf *skel = proc_bpf__open();
	struct btf *all = btf__load_vmlinux_btf(), *few;
	const struct btf_type *a, *b;
	int fd = memfd_create("types", 0);
	char path[32];

	ck_assert_int_ge(fd, 0);
	if (!all) {
		ck_assert_int_eq(kernel_types_write(skel->skeleton, fd), -ENOTSUP);
		return;
	}
	ck_assert_int_eq(kernel_types_write(skel->skeleton, fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	few = btf__parse(path, NULL);
	ck_assert_ptr_nonnull(few);
	ck_assert_uint_lt(btf__type_cnt(few), btf__type_cnt(all) / 10);
	a = btf__type_by_id(all, (uint32_t)kernel_types_find("task_struct", BTF_KIND_STRUCT));
	b = btf__type_by_id(few, (uint32_t)btf__find_by_name(few, "task_struct"));
	ck_assert_uint_eq(btf_vlen(a), btf_vlen(b));
	for (uint32_t i = 0; i < btf_vlen(a); i++) {
		ck_assert_str_eq(btf__name_by_offset(all, btf_members(a)[i].name_off),
				 btf__name_by_offset(few, btf_members(b)[i].name_off));
		ck_assert_uint_eq(btf_members(a)[i].offset, btf_members(b)[i].offset);
		ck_assert_int_eq(btf__resolve_size(all, btf_members(a)[i].type),
				 btf__resolve_size(few, btf_members(b)[i].type));
	}
	btf__free(few);
	btf__free(all);
	close(fd);
	proc_bpf__destroy(skel);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel_types");
	TCase *tc = tcase_create("copy");
	SRunner *sr;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_type_comes_with_its_parts);
	tcase_add_test(tc, what_a_pointer_leads_to_is_left_out);
	tcase_add_test(tc, types_of_two_are_in_one);
	suite_add_tcase(s, tc);
	tc = tcase_create("object");
	tcase_add_test(tc, an_object_says_what_it_looks_into);
	tcase_add_test(tc, types_of_this_kernel_are_found_by_name);
	tcase_add_test(tc, what_an_object_needs_has_the_offsets_of_this_kernel);
	suite_add_tcase(s, tc);

	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n_failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n_failed ? 1 : 0;
}
