/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of ioctls, against the file that it is made of, which is read here
 * once more by other code.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_ioctl_table.h"

/* From where the tests are run: the root of the sources. */
#define CSV    "daemon/gpu/gpu_ioctls.csv"
#define STATUS "daemon/gpu/gpu_nv_status.csv"

#define MAX_LINE 1024

struct row {
	char driver[64], name[128], type[16], direction[8], class[16], fields[MAX_LINE];
	unsigned nr, size;
	unsigned direction_bits;
};

static FILE *csv;

/* False: there are no more. */
static bool next_row(struct row *ret)
{
	char line[MAX_LINE], *text, *columns[8];
	static const char *const directions[] = { "none", "W", "R", "RW" };

	do {
		if (!fgets(line, sizeof(line), csv))
			return false;
	} while (line[0] == '#');
	line[strcspn(line, "\n")] = '\0';
	text = line;
	for (int i = 0; i < 8; i++) {
		columns[i] = strsep(&text, ",");
		ck_assert_ptr_nonnull(columns[i]);
	}
	ck_assert_ptr_null(text);
	strcpy(ret->driver, columns[0]);
	strcpy(ret->name, columns[1]);
	strcpy(ret->type, columns[2]);
	ret->nr = (unsigned)strtoul(columns[3], NULL, 16);
	strcpy(ret->direction, columns[4]);
	ret->size = (unsigned)strtoul(columns[5], NULL, 10);
	strcpy(ret->class, columns[6]);
	strcpy(ret->fields, columns[7]);
	for (ret->direction_bits = 0; ret->direction_bits < 4; ret->direction_bits++)
		if (strcmp(directions[ret->direction_bits], ret->direction) == 0)
			return true;
	ck_abort_msg("%s: direction %s", ret->name, ret->direction);
	return false;
}

static void set_up(void)
{
	csv = fopen(CSV, "re");
	ck_assert_msg(csv != NULL, "%s: run the tests from the root of the sources", CSV);
}

static void tear_down(void)
{
	fclose(csv);
}

static const struct gpu_ioctl_info *find(const struct row *row)
{
	return gpu_ioctl_find(gpu_ioctl_slot(row->driver), row->nr, row->size, row->direction_bits);
}

static void check_field(const char *text, const struct gpu_ioctl_field *f)
{
	char name[64], letters[8] = "";
	unsigned offset, bytes, flags = 0;

	ck_assert_int_ge(sscanf(text, "%63[^@]@%u:%1u%7s", name, &offset, &bytes, letters), 3);
	flags |= strchr(letters, 'x') ? FIELD_HEX : 0;
	flags |= strchr(letters, 'd') ? FIELD_SIGNED : 0;
	flags |= strchr(letters, '<') ? FIELD_IN : 0;
	flags |= strchr(letters, '>') ? FIELD_OUT : 0;
	flags |= strchr(letters, 's') ? FIELD_STATUS : 0;
	ck_assert_str_eq(f->name, name);
	ck_assert_uint_eq(f->offset, offset);
	ck_assert_uint_eq(f->bytes, bytes);
	ck_assert_uint_eq(f->flags, flags);
}

START_TEST(every_row_is_found)
{
	struct row row;
	size_t n = 0;

	for (; next_row(&row); n++) {
		const struct gpu_ioctl_info *info = find(&row);
		char *text = row.fields, *field;
		size_t n_fields = 0;

		ck_assert_msg(info != NULL, "%s", row.name);
		ck_assert_str_eq(info->name, row.name);
		ck_assert_uint_eq(info->nr, row.nr);
		ck_assert_uint_eq(info->size, row.size);
		ck_assert_uint_eq(info->type, strtoul(row.type, NULL, 16));
		ck_assert_uint_eq(info->direction, row.direction_bits);
		ck_assert_str_eq(gpu_ioctl_class_name(info->ioctl_class), row.class);
		while ((field = strsep(&text, " ")) && *field) {
			ck_assert_uint_lt(n_fields, info->n_fields);
			check_field(field, &info->fields[n_fields++]);
		}
		ck_assert_uint_eq(n_fields, info->n_fields);
	}
	ck_assert_uint_gt(n, 780);
}
END_TEST

START_TEST(fields_lie_within_their_structs)
{
	struct row row;

	while (next_row(&row)) {
		const struct gpu_ioctl_info *info = find(&row);

		ck_assert_uint_le(info->n_fields, GPU_MAX_FIELDS);
		for (size_t i = 0; i < info->n_fields; i++) {
			const struct gpu_ioctl_field *f = &info->fields[i];

			ck_assert_msg(f->offset + f->bytes <= info->size, "%s: %s", info->name,
				      f->name);
			ck_assert_msg(f->offset % f->bytes == 0, "%s: %s", info->name, f->name);
			for (size_t k = 0; k < i; k++)
				ck_assert_msg(strcmp(f->name, info->fields[k].name) != 0,
					      "%s: %s twice", info->name, f->name);
		}
	}
}
END_TEST

START_TEST(there_is_one_result_of_the_driver_at_most)
{
	struct row row;

	while (next_row(&row)) {
		const struct gpu_ioctl_info *info = find(&row);
		unsigned n_statuses = 0;

		for (size_t i = 0; i < info->n_fields; i++)
			n_statuses += (info->fields[i].flags & FIELD_STATUS) != 0;
		ck_assert_uint_le(n_statuses, 1);
		if (strcmp(row.driver, "nvidia-uvm") == 0 && info->size > 0)
			ck_assert_msg(n_statuses == 1, "%s", row.name);
	}
}
END_TEST

START_TEST(fields_have_no_names_that_slices_have_for_something_else)
{
	static const char *const reserved[] = {
		"fd",
		"driver",
		"class",
		"minor",
		"request",
		"ret",
		"error",
		"status",
		"compat",
		"unfinished",
		"retries",
		"queries_before",
		"entered_before",
		"input_unreadable",
	};
	struct row row;

	while (next_row(&row)) {
		const struct gpu_ioctl_info *info = find(&row);

		for (size_t i = 0; i < info->n_fields; i++)
			for (size_t k = 0; k < sizeof(reserved) / sizeof(reserved[0]); k++)
				ck_assert_msg((info->fields[i].flags & FIELD_STATUS) ||
						      strcmp(info->fields[i].name, reserved[k]) !=
							      0,
					      "%s: %s", info->name, reserved[k]);
	}
}
END_TEST

START_TEST(a_number_counts_whatever_the_size)
{
	unsigned slot = gpu_ioctl_slot("virtio_gpu");

	/* Of Linux 5.10, 6.1 and 6.12. */
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x42, 32, 3)->name, "DRM_IOCTL_VIRTGPU_EXECBUFFER");
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x42, 40, 3)->name, "DRM_IOCTL_VIRTGPU_EXECBUFFER");
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x42, 64, 3)->name, "DRM_IOCTL_VIRTGPU_EXECBUFFER");
}
END_TEST

START_TEST(of_several_names_the_size_decides)
{
	unsigned slot = gpu_ioctl_slot("i915");

	ck_assert_str_eq(gpu_ioctl_find(slot, 0x64, 16, 3)->name, "DRM_IOCTL_I915_GEM_MMAP_GTT");
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x64, 32, 3)->name, "DRM_IOCTL_I915_GEM_MMAP_OFFSET");
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x69, 64, 1)->name, "DRM_IOCTL_I915_GEM_EXECBUFFER2");
	ck_assert_str_eq(gpu_ioctl_find(slot, 0x69, 64, 3)->name,
			 "DRM_IOCTL_I915_GEM_EXECBUFFER2_WR");
	slot = gpu_ioctl_slot("nvidia");
	ck_assert_uint_eq(gpu_ioctl_find(slot, 0x2b, 32, 3)->size, 32);
	ck_assert_uint_eq(gpu_ioctl_find(slot, 0x2b, 48, 3)->size, 48);
}
END_TEST

START_TEST(one_number_means_another_thing_with_each_driver)
{
	ck_assert_str_eq(gpu_ioctl_find(gpu_ioctl_slot("qxl"), 0x42, 16, 1)->name,
			 "DRM_IOCTL_QXL_EXECBUFFER");
	ck_assert_str_eq(gpu_ioctl_find(gpu_ioctl_slot("nouveau"), 0x42, 88, 3)->name,
			 "DRM_IOCTL_NOUVEAU_CHANNEL_ALLOC");
	ck_assert_ptr_null(gpu_ioctl_find(gpu_ioctl_slot("xe"), 0x9f, 64, 3));
	ck_assert_ptr_null(gpu_ioctl_find(gpu_ioctl_slot("vgem"), 0x40, 64, 3));
}
END_TEST

START_TEST(unknown_drivers_have_nothing)
{
	size_t n;

	ck_assert_uint_eq(gpu_ioctl_slot("fakegpu"), 0);
	ck_assert_uint_eq(gpu_ioctl_slot(""), 0);
	ck_assert_ptr_null(gpu_ioctl_driver(0));
	ck_assert_ptr_null(gpu_ioctl_driver(GPU_MAX_SLOTS));
	ck_assert_ptr_null(gpu_ioctl_rows(0, &n));
	ck_assert_ptr_null(gpu_ioctl_find(0, 0x42, 64, 3));
	ck_assert_ptr_null(gpu_ioctl_find(GPU_MAX_SLOTS, 0x42, 64, 3));
}
END_TEST

START_TEST(slots_and_drivers_correspond)
{
	static const char *const wanted[] = {
		"drm",
		"i915",
		"xe",
		"amdgpu",
		"radeon",
		"nouveau",
		"msm",
		"virtio_gpu",
		"vmwgfx",
		"v3d",
		"vc4",
		"panfrost",
		"panthor",
		"lima",
		"etnaviv",
		"asahi",
		"powervr",
		"tegra",
		"qxl",
		"vgem",
		"intel_vpu",
		"amdxdna_accel_driver",
		"rocket",
		"ethosu",
		"qaic",
		"habanalabs",
		"kfd",
		"dma-buf",
		"sync_file",
		"udmabuf",
		"dma-heap",
		"nvidia",
		"nvidia-uvm",
		"nvidia-drm",
		"nvidia-modeset",
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		unsigned slot = gpu_ioctl_slot(wanted[i]);

		ck_assert_msg(slot > 0 && slot < GPU_MAX_SLOTS, "%s", wanted[i]);
		ck_assert_str_eq(gpu_ioctl_driver(slot), wanted[i]);
	}
}
END_TEST

START_TEST(rows_are_sorted)
{
	const char *driver;

	for (unsigned slot = 1; (driver = gpu_ioctl_driver(slot)); slot++) {
		size_t n = 0;
		const struct gpu_ioctl_info *rows = gpu_ioctl_rows(slot, &n);

		ck_assert_uint_gt(n, 0);
		ck_assert_uint_lt(strlen(driver), GPU_DRIVER_NAME);
		for (size_t i = 1; i < n; i++)
			ck_assert_msg(rows[i - 1].nr < rows[i].nr ||
					      (rows[i - 1].nr == rows[i].nr &&
					       rows[i - 1].size <= rows[i].size),
				      "%s: %s", driver, rows[i].name);
	}
}
END_TEST

START_TEST(every_status_has_its_name)
{
	FILE *f = fopen(STATUS, "re");
	char line[MAX_LINE], name[128];
	unsigned status;
	size_t n = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		ck_assert_int_eq(sscanf(line, "%x,%127s", &status, name), 2);
		ck_assert_str_eq(gpu_nv_status_name(status), name);
		n++;
	}
	fclose(f);
	ck_assert_uint_gt(n, 100);
	ck_assert_str_eq(gpu_nv_status_name(0), "NV_OK");
	ck_assert_ptr_null(gpu_nv_status_name(0xdeadbeef));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_ioctl_table");
	TCase *tc = tcase_create("table");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, every_row_is_found);
	tcase_add_test(tc, fields_lie_within_their_structs);
	tcase_add_test(tc, there_is_one_result_of_the_driver_at_most);
	tcase_add_test(tc, fields_have_no_names_that_slices_have_for_something_else);
	tcase_add_test(tc, a_number_counts_whatever_the_size);
	tcase_add_test(tc, of_several_names_the_size_decides);
	tcase_add_test(tc, one_number_means_another_thing_with_each_driver);
	tcase_add_test(tc, unknown_drivers_have_nothing);
	tcase_add_test(tc, slots_and_drivers_correspond);
	tcase_add_test(tc, rows_are_sorted);
	tcase_add_test(tc, every_status_has_its_name);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
