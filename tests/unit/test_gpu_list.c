/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a machine, from a sysfs made of files. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_list.h"

#define RDEV(minor) (226u << 20 | (minor))

static char sys[] = "/tmp/gpu-list-XXXXXX";
static struct gpu_list *list;

static void run(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd %s && %s", sys, command);
	ck_assert_int_eq(system(text), 0);
}

/* A device with its nodes; `node` "card0". */
static void add(const char *device, const char *node, unsigned minor)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "mkdir -p devices/%s class/drm/%s dev/char/226:%u && echo 226:%u > "
		 "class/drm/%s/dev "
		 "&& ln -s ../../../devices/%s dev/char/226:%u/device",
		 device, node, minor, minor, node, device, minor);
	run(text);
}

static void set_up(void)
{
	strcpy(sys, "/tmp/gpu-list-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(sys));
	add("0000:03:00.0", "card0", 0);
	add("vkms", "card1", 1);
	add("0000:03:00.0", "renderD128", 128);
	run("mkdir -p class/drm/card0-DP-1 class/drm/version");
	ck_assert_int_eq(gpu_list_new(sys, &list), 0);
}

static void tear_down(void)
{
	gpu_list_free(list);
	gpu_list_free(NULL);
	run("rm -r class dev devices && rmdir $PWD");
}

START_TEST(a_gpu_is_one_however_many_nodes_it_has)
{
	const struct gpu_list_item *gpu;

	ck_assert_uint_eq(gpu_list_count(list), 2);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(0), ""), 1);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(128), ""), 1);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(1), ""), 2);
	ck_assert_uint_eq(gpu_list_of_device(list, "0000:03:00.0"), 1);
	gpu = gpu_list_get(list, 1);
	ck_assert_str_eq(gpu->device, "0000:03:00.0");
	ck_assert(gpu->is_pci);
	ck_assert(!gpu_list_get(list, 2)->is_pci);
	ck_assert_ptr_null(gpu_list_get(list, 0));
	ck_assert_ptr_null(gpu_list_get(list, 3));
}
END_TEST

START_TEST(who_works_with_it_knows_its_driver)
{
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(128), "virtio_gpu"), 1);
	ck_assert_str_eq(gpu_list_get(list, 1)->driver, "virtio_gpu");
	ck_assert_str_eq(gpu_list_get(list, 1)->name, "virtio_gpu 0000:03:00.0");
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(0), ""), 1);
	ck_assert_str_eq(gpu_list_get(list, 1)->driver, "virtio_gpu");
}
END_TEST

START_TEST(one_that_comes_later_is_found)
{
	add("0000:04:00.0", "card2", 2);
	ck_assert_uint_eq(gpu_list_of_device(list, "0000:04:00.0"), 3);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(2), "amdgpu"), 3);
	ck_assert_str_eq(gpu_list_get(list, 3)->name, "amdgpu 0000:04:00.0");
}
END_TEST

START_TEST(a_number_is_used_anew)
{
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(1), "vkms"), 2);
	run("rm -r devices/vkms class/drm/card1 dev/char/226:1");
	add("fakegpu.0", "card1", 1);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(1), "fakegpu"), 3);
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(1), "fakegpu"), 3);
}
END_TEST

START_TEST(one_without_a_place_is_called_after_its_node)
{
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(7), "x"), 3);
	ck_assert_str_eq(gpu_list_get(list, 3)->name, "x card7");
	ck_assert_uint_eq(gpu_list_of_rdev(list, RDEV(130), "x"), 4);
	ck_assert_str_eq(gpu_list_get(list, 4)->device, "renderD130");
	ck_assert_uint_eq(gpu_list_of_rdev(list, 261u << 20 | 3, "ivpu"), 5);
	ck_assert_str_eq(gpu_list_get(list, 5)->device, "261:3");
	ck_assert_uint_eq(gpu_list_of_device(list, ""), 0);
}
END_TEST

START_TEST(more_than_can_be_are_not_listed)
{
	uint32_t n = 0;

	for (unsigned minor = 10; minor < 60; minor++)
		n += gpu_list_of_rdev(list, RDEV(minor), "x") != 0;
	ck_assert_uint_eq(n, GPU_LIST_MAX - 2);
	ck_assert_uint_eq(gpu_list_of_device(list, "0000:99:00.0"), 0);
}
END_TEST

START_TEST(no_sysfs_is_no_gpu)
{
	struct gpu_list *none;

	ck_assert_int_eq(gpu_list_new("/nonexistent", &none), 0);
	ck_assert_uint_eq(gpu_list_count(none), 0);
	gpu_list_free(none);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_list");
	TCase *tc = tcase_create("list");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_gpu_is_one_however_many_nodes_it_has);
	tcase_add_test(tc, who_works_with_it_knows_its_driver);
	tcase_add_test(tc, one_that_comes_later_is_found);
	tcase_add_test(tc, a_number_is_used_anew);
	tcase_add_test(tc, one_without_a_place_is_called_after_its_node);
	tcase_add_test(tc, more_than_can_be_are_not_listed);
	tcase_add_test(tc, no_sysfs_is_no_gpu);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
