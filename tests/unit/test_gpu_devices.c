/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices are GPUs, and what their ioctls are called. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "collect/gpu_devices.h"

static uint8_t class[SYSCALLS_MAX_MAJOR];

static const char *name_of(enum gpu_class c, uint32_t request, const char *driver)
{
	static char name[GPU_IOCTL_NAME_LEN];

	gpu_ioctl_name(c, request, driver, name);
	return name;
}

static const char *driver_of(enum gpu_class c, uint32_t major, uint32_t minor)
{
	static char name[GPU_DRIVER_LEN];

	gpu_driver_name(c, major, minor, name);
	return name;
}

START_TEST(fixed_majors_are_known_without_a_driver)
{
	gpu_majors_parse("", class);
	ck_assert_uint_eq(class[226], GPU_DRM);
	ck_assert_uint_eq(class[195], GPU_NVIDIA);
	ck_assert_uint_eq(class[261], GPU_ACCEL);
	for (unsigned i = 0; i < SYSCALLS_MAX_MAJOR; i++)
		ck_assert(class[i] == GPU_NONE || i == 226 || i == 195 || i == 261);
}
END_TEST

START_TEST(dynamic_majors_are_found_by_name)
{
	gpu_majors_parse("Character devices:\n"
			 "  1 mem\n"
			 "  5 /dev/tty\n"
			 "195 nvidia\n"
			 "195 nvidia-modeset\n"
			 "195 nvidiactl\n"
			 "226 drm\n"
			 "234 nvidia-nvswitch\n"
			 "235 nvidia-caps\n"
			 "238 kfd\n"
			 "508 nvidia-uvm\n"
			 "\n"
			 "Block devices:\n"
			 "  7 loop\n",
			 class);
	ck_assert_uint_eq(class[508], GPU_NVIDIA_UVM);
	ck_assert_uint_eq(class[235], GPU_NVIDIA_CAPS);
	ck_assert_uint_eq(class[234], GPU_NVIDIA_OTHER);
	ck_assert_uint_eq(class[238], GPU_KFD);
	ck_assert_uint_eq(class[195], GPU_NVIDIA);
	ck_assert_uint_eq(class[1], GPU_NONE);
	ck_assert_uint_eq(class[5], GPU_NONE);
}
END_TEST

START_TEST(block_devices_are_none_of_ours)
{
	gpu_majors_parse("Character devices:\n  1 mem\n\nBlock devices:\n240 nvidia-uvm\n", class);
	ck_assert_uint_eq(class[240], GPU_NONE);
}
END_TEST

START_TEST(a_name_that_only_contains_ours_is_another)
{
	gpu_majors_parse("Character devices:\n240 drmx\n241 xkfd\n242 accel2\n243 my nvidia\n",
			 class);
	for (unsigned i = 240; i < 244; i++)
		ck_assert_uint_eq(class[i], GPU_NONE);
}
END_TEST

START_TEST(a_driver_that_went_away_is_forgotten)
{
	gpu_majors_parse("Character devices:\n508 nvidia-uvm\n", class);
	gpu_majors_parse("Character devices:\n508 other\n", class);
	ck_assert_uint_eq(class[508], GPU_NONE);
}
END_TEST

START_TEST(strange_lines_are_passed_over)
{
	gpu_majors_parse("99999999999999999999 kfd\n-1 kfd\n512 kfd\n4294967295 kfd\nkfd\n\n\n"
			 "240\n241 kfd-with-a-name-that-is-longer-than-any\n242  kfd\nno newline",
			 class);
	ck_assert_uint_eq(class[511], GPU_NONE);
	ck_assert_uint_eq(class[240], GPU_NONE);
	ck_assert_uint_eq(class[241], GPU_NONE);
	ck_assert_uint_eq(class[242], GPU_KFD);
}
END_TEST

START_TEST(this_machines_file_can_be_read)
{
	ck_assert_int_eq(gpu_majors_read(class), 0);
	ck_assert_uint_eq(class[226], GPU_DRM);
	ck_assert_uint_eq(class[1], GPU_NONE);
}
END_TEST

START_TEST(every_device_has_some_driver)
{
	/* Minors that no machine has. */
	ck_assert_str_eq(driver_of(GPU_DRM, 226, 999999), "drm");
	ck_assert_str_eq(driver_of(GPU_ACCEL, 261, 999999), "accel");
	ck_assert_str_eq(driver_of(GPU_KFD, 238, 0), "kfd");
	ck_assert_str_eq(driver_of(GPU_NVIDIA, 195, 0), "nvidia");
	ck_assert_str_eq(driver_of(GPU_NVIDIA, 195, 254), "nvidia-modeset");
	ck_assert_str_eq(driver_of(GPU_NVIDIA_UVM, 508, 0), "nvidia-uvm");
	ck_assert_str_eq(driver_of((enum gpu_class)99, 0, 0), "unknown");
}
END_TEST

START_TEST(ioctls_of_the_drm_core_have_names)
{
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0x00, char[64]), "i915"),
			 "ioctl DRM_IOCTL_VERSION");
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0xbc, char[56]), "i915"),
			 "ioctl DRM_IOCTL_MODE_ATOMIC");
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0x2e, char[12]), "amdgpu"),
			 "ioctl DRM_IOCTL_PRIME_FD_TO_HANDLE");
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0xca, char[48]), "xe"),
			 "ioctl DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT");
	ck_assert_str_eq(name_of(GPU_ACCEL, _IOW('d', 0x09, char[8]), "intel_vpu"),
			 "ioctl DRM_IOCTL_GEM_CLOSE");
}
END_TEST

START_TEST(the_size_of_the_argument_does_not_change_the_name)
{
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0xc3, char[32]), "i915"),
			 name_of(GPU_DRM, _IOWR('d', 0xc3, char[40]), "i915"));
}
END_TEST

START_TEST(a_drivers_own_ioctl_is_a_number_not_a_guess)
{
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0x4b, int), "i915"),
			 "ioctl DRM_IOCTL nr 0x4b (i915)");
	ck_assert_str_eq(name_of(GPU_DRM, _IOWR('d', 0x9f, int), "xe"),
			 "ioctl DRM_IOCTL nr 0x9f (xe)");
	ck_assert_str_eq(name_of(GPU_KFD, _IOWR('K', 0x0c, int), "kfd"), "ioctl nr 0x0c (kfd)");
	ck_assert_str_eq(name_of(GPU_NVIDIA, _IOWR('F', 0x2a, int), "nvidia"),
			 "ioctl nr 0x2a (nvidia)");
}
END_TEST

START_TEST(a_core_number_without_a_name_stays_a_number)
{
	ck_assert_str_eq(name_of(GPU_DRM, _IO('d', 0x3e), "i915"), "ioctl DRM_IOCTL nr 0x3e");
	ck_assert_str_eq(name_of(GPU_DRM, _IO('d', 0xff), "i915"), "ioctl DRM_IOCTL nr 0xff");
}
END_TEST

START_TEST(requests_of_another_kind_share_one_name)
{
	ck_assert_str_eq(name_of(GPU_DRM, 0x5401, "i915"), "ioctl (i915)");
	ck_assert_str_eq(name_of(GPU_DRM, 0xdeadbeef, "i915"), "ioctl (i915)");
	ck_assert_str_eq(name_of(GPU_NVIDIA_UVM, 0x30000001, "nvidia-uvm"), "ioctl (nvidia-uvm)");
}
END_TEST

START_TEST(a_program_cannot_make_up_many_names)
{
	static char names[2048][GPU_IOCTL_NAME_LEN];
	size_t n = 0;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		enum gpu_class c = 1 + (enum gpu_class)rand() % (N_GPU_CLASSES - 1);
		const char *name = name_of(c, (uint32_t)rand() * 2 + (uint32_t)rand() % 2, "x");
		size_t k = 0;

		while (k < n && strcmp(names[k], name) != 0)
			k++;
		if (k < n)
			continue;
		ck_assert_uint_lt(n, 2048);
		strcpy(names[n++], name);
	}
	ck_assert_uint_le(n, 3 * 256);
}
END_TEST

START_TEST(the_longest_name_is_not_cut)
{
	char driver[GPU_DRIVER_LEN];
	const char *name;

	memset(driver, 'd', sizeof(driver) - 1);
	driver[sizeof(driver) - 1] = '\0';
	name = name_of(GPU_DRM, _IO('d', 0x40), driver);
	ck_assert_int_eq(name[strlen(name) - 1], ')');
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_devices");
	TCase *tc = tcase_create("devices");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, fixed_majors_are_known_without_a_driver);
	tcase_add_test(tc, dynamic_majors_are_found_by_name);
	tcase_add_test(tc, block_devices_are_none_of_ours);
	tcase_add_test(tc, a_name_that_only_contains_ours_is_another);
	tcase_add_test(tc, a_driver_that_went_away_is_forgotten);
	tcase_add_test(tc, strange_lines_are_passed_over);
	tcase_add_test(tc, this_machines_file_can_be_read);
	tcase_add_test(tc, every_device_has_some_driver);
	tcase_add_test(tc, ioctls_of_the_drm_core_have_names);
	tcase_add_test(tc, the_size_of_the_argument_does_not_change_the_name);
	tcase_add_test(tc, a_drivers_own_ioctl_is_a_number_not_a_guess);
	tcase_add_test(tc, a_core_number_without_a_name_stays_a_number);
	tcase_add_test(tc, requests_of_another_kind_share_one_name);
	tcase_add_test(tc, a_program_cannot_make_up_many_names);
	tcase_add_test(tc, the_longest_name_is_not_cut);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
