/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices are GPUs, and what drives them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_devices.h"

static uint8_t class[GPU_MAX_MAJOR];

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
	for (unsigned i = 0; i < GPU_MAX_MAJOR; i++)
		ck_assert(class[i] == GPU_NONE || i == 226 || i == 195 || i == 261 || i == 10);
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
			 "246 dma_heap\n"
			 "508 nvidia-uvm\n"
			 "\n"
			 "Block devices:\n"
			 "  7 loop\n",
			 class);
	ck_assert_uint_eq(class[508], GPU_NVIDIA_UVM);
	ck_assert_uint_eq(class[235], GPU_NVIDIA_CAPS);
	ck_assert_uint_eq(class[234], GPU_NVIDIA_OTHER);
	ck_assert_uint_eq(class[238], GPU_KFD);
	ck_assert_uint_eq(class[246], GPU_DMA_HEAP);
	ck_assert_uint_eq(class[10], GPU_MISC);
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
	ck_assert_str_eq(driver_of(GPU_UDMABUF, 10, 126), "udmabuf");
	ck_assert_str_eq(driver_of(GPU_DMA_HEAP, 246, 0), "dma-heap");
	ck_assert_str_eq(driver_of(GPU_DMA_BUF, 0, 0), "dma-buf");
	ck_assert_str_eq(driver_of(GPU_SYNC_FILE, 0, 0), "sync_file");
	ck_assert_str_eq(driver_of((enum gpu_class)99, 0, 0), "unknown");
}
END_TEST

START_TEST(drivers_have_the_name_that_they_tell_the_drm_core)
{
	char name[GPU_DRIVER_LEN];

	gpu_drm_name("virtio-pci", name);
	ck_assert_str_eq(name, "virtio_gpu");
	gpu_drm_name("nvidia", name);
	ck_assert_str_eq(name, "nvidia-drm");
	gpu_drm_name("amdgpu", name);
	ck_assert_str_eq(name, "amdgpu");
	gpu_drm_name("a-name-that-is-longer-than-any-driver-has", name);
	ck_assert_str_eq(name, "a-name-that-is-longer-t");
}
END_TEST

START_TEST(miscellaneous_devices_have_a_minor)
{
	static const char text[] = "125 udmabuf2\n126 udmabuf\n232 kvm\n 10 network_latency\n";

	ck_assert_uint_eq(gpu_misc_minor(text, "udmabuf"), 126);
	ck_assert_uint_eq(gpu_misc_minor(text, "kvm"), 232);
	ck_assert_uint_eq(gpu_misc_minor(text, "network_latency"), 10);
	ck_assert_uint_eq(gpu_misc_minor(text, "udma"), GPU_NO_MINOR);
	ck_assert_uint_eq(gpu_misc_minor("", "udmabuf"), GPU_NO_MINOR);
	ck_assert_uint_eq(gpu_misc_minor("x\n\n-1\n7", "udmabuf"), GPU_NO_MINOR);
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
	tcase_add_test(tc, drivers_have_the_name_that_they_tell_the_drm_core);
	tcase_add_test(tc, miscellaneous_devices_have_a_minor);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
