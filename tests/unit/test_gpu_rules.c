/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's half is told of ioctls. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_rules.h"

static struct gpu_ioctl_rule rule;

static void make(const char *driver, uint32_t nr)
{
	ck_assert(gpu_rule_make(gpu_ioctl_slot(driver), nr, &rule));
}

START_TEST(as_much_is_read_as_is_shown)
{
	make("drm", 0xbc); /* flags, count_objs, user_data@48, of which nothing comes back */
	ck_assert_uint_eq(rule.ioctl_class, GPU_CLASS_KMS);
	ck_assert_uint_eq(rule.n_in, 56);
	ck_assert_uint_eq(rule.n_out, 0);
	make("amdgpu", 0x44); /* ... num_chunks@8, flags@12; handle@0 comes back */
	ck_assert_uint_eq(rule.ioctl_class, GPU_CLASS_SUBMIT);
	ck_assert_uint_eq(rule.n_in, 16);
	ck_assert_uint_eq(rule.n_out, 8);
}
END_TEST

START_TEST(several_structs_of_one_number_have_one_rule)
{
	make("nvidia", 0x2b); /* NVOS21 with its status at 28, NVOS64 at 40 */
	ck_assert_uint_eq(rule.n_in, 16);
	ck_assert_uint_eq(rule.n_out, 44);
	ck_assert_uint_eq(rule.status_at, 0);
}
END_TEST

START_TEST(a_status_too_far_behind_is_read_by_itself)
{
	make("nvidia-uvm", 33); /* UVM_MAP_EXTERNAL_ALLOCATION */
	ck_assert_uint_eq(rule.status_at, 9260);
	ck_assert_uint_eq(rule.size, 9264);
	make("nvidia-uvm", 1);
	ck_assert_uint_eq(rule.status_at, 0);
	ck_assert_uint_eq(rule.size, 24);
	make("amdgpu", 0x44); /* its number says its size */
	ck_assert_uint_eq(rule.size, 0);
}
END_TEST

START_TEST(each_number_has_its_place)
{
	uint32_t uvm = gpu_ioctl_slot("nvidia-uvm") * GPU_IOCTLS_OF_SLOT;

	ck_assert_uint_eq(gpu_rule_key(3, 0x42), 3 * 256 + 0x42);
	ck_assert_uint_eq(gpu_rule_key(uvm / 256, 0x30000001), uvm + 254);
	ck_assert_uint_eq(gpu_rule_key(uvm / 256, 0x30000002), uvm + 255);
	ck_assert_uint_eq(gpu_rule_key(3, 256), 0);
	ck_assert_uint_eq(gpu_rule_key(3, 0x7ff), 0);
	ck_assert(!gpu_rule_make(gpu_ioctl_slot("xe"), 0x9f, &rule));
	ck_assert(!gpu_rule_make(0, 0x42, &rule));
}
END_TEST

START_TEST(all_rows_have_a_rule_that_holds_for_them)
{
	const char *driver;

	for (unsigned slot = 1; (driver = gpu_ioctl_driver(slot)); slot++) {
		size_t n = 0;
		const struct gpu_ioctl_info *rows = gpu_ioctl_rows(slot, &n);

		for (size_t i = 0; i < n; i++) {
			ck_assert(gpu_rule_make(slot, rows[i].nr, &rule));
			ck_assert_msg(rule.ioctl_class == rows[i].ioctl_class, "%s", rows[i].name);
			ck_assert_uint_le(rule.n_in, GPU_IOCTL_MAX_DATA);
			ck_assert_uint_le(rule.n_out, GPU_IOCTL_MAX_DATA);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_rules");
	TCase *tc = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, as_much_is_read_as_is_shown);
	tcase_add_test(tc, several_structs_of_one_number_have_one_rule);
	tcase_add_test(tc, a_status_too_far_behind_is_read_by_itself);
	tcase_add_test(tc, each_number_has_its_place);
	tcase_add_test(tc, all_rows_have_a_rule_that_holds_for_them);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
