/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers say in fdinfo of an open DRM file, as they say it. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_fdinfo.h"

static const char amdgpu[] = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t630\n"
			     "drm-driver:\tamdgpu\ndrm-client-id:\t8\ndrm-pdev:\t0000:03:00.0\n"
			     "pasid:\t32770\n"
			     "drm-total-gtt:\t2748 KiB\ndrm-shared-gtt:\t0\ndrm-active-gtt:\t0\n"
			     "drm-resident-gtt:\t2748 KiB\ndrm-purgeable-gtt:\t0\n"
			     "drm-total-vram:\t14144 KiB\ndrm-resident-vram:\t13 MiB\n"
			     "drm-memory-vram:\t13 MiB\ndrm-memory-gtt: \t2748 KiB\n"
			     "amd-memory-visible-vram:\t14144 KiB\namd-evicted-vram:\t0 KiB\n"
			     "drm-engine-gfx:\t45289843 ns\ndrm-engine-compute:\t0 ns\n";

static const char i915[] = "drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 7\n"
			   "drm-engine-render: 9288864723 ns\ndrm-engine-copy: 2035071108 ns\n"
			   "drm-engine-video: 0 ns\ndrm-engine-capacity-video: 2\n"
			   "drm-engine-video-enhance: 0 ns\n";

static const char xe[] = "drm-driver:\txe\ndrm-client-id:\t41\ndrm-pdev:\t0000:00:02.0\n"
			 "drm-total-system:\t0\ndrm-total-gtt:\t192 KiB\n"
			 "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
			 "drm-cycles-vcs:\t0\ndrm-total-cycles-vcs:\t7655183225\n"
			 "drm-engine-capacity-vcs:\t2\n";

static const char panfrost[] = "drm-driver:\tpanfrost\ndrm-client-id:\t3\n"
			       "drm-engine-fragment:\t1846584880 ns\n"
			       "drm-cycles-fragment:\t1424359409\n"
			       "drm-maxfreq-fragment:\t799999987 Hz\n"
			       "drm-curfreq-fragment:\t799999987 Hz\n"
			       "drm-total-memory:\t290 MiB\ndrm-resident-memory:\t290 MiB\n";

static struct gpu_fdinfo parsed(const char *text)
{
	struct gpu_fdinfo info;

	ck_assert_int_eq(gpu_fdinfo_parse(text, strlen(text), &info), 0);
	return info;
}

static const struct gpu_engine *engine(const struct gpu_fdinfo *info, const char *name)
{
	for (size_t i = 0; i < info->n_engines; i++)
		if (!strcmp(info->engines[i].name, name))
			return &info->engines[i];
	ck_abort_msg("no engine %s", name);
	return NULL;
}

static const struct gpu_region *region(const struct gpu_fdinfo *info, const char *name)
{
	for (size_t i = 0; i < info->n_regions; i++)
		if (!strcmp(info->regions[i].name, name))
			return &info->regions[i];
	ck_abort_msg("no region %s", name);
	return NULL;
}

START_TEST(amdgpu_says_time_and_memory)
{
	struct gpu_fdinfo info = parsed(amdgpu);

	ck_assert_str_eq(info.driver, "amdgpu");
	ck_assert_str_eq(info.pdev, "0000:03:00.0");
	ck_assert_uint_eq(info.client_id, 8);
	ck_assert_uint_eq(info.n_engines, 2);
	ck_assert_uint_eq(engine(&info, "gfx")->ns, 45289843);
	ck_assert(engine(&info, "compute")->has_ns);
	ck_assert_uint_eq(info.n_regions, 2);
	ck_assert_uint_eq(region(&info, "vram")->resident, 13ull << 20);
	ck_assert_uint_eq(region(&info, "vram")->total, 14144ull << 10);
	ck_assert_uint_eq(region(&info, "gtt")->resident, 2748ull << 10);
}
END_TEST

START_TEST(i915_has_several_units_of_a_kind)
{
	struct gpu_fdinfo info = parsed(i915);

	ck_assert_uint_eq(info.n_engines, 4);
	ck_assert_uint_eq(engine(&info, "render")->ns, 9288864723ull);
	ck_assert_uint_eq(engine(&info, "video")->capacity, 2);
	ck_assert_uint_eq(engine(&info, "video-enhance")->capacity, 1);
	ck_assert_uint_eq(info.n_regions, 0);
}
END_TEST

START_TEST(xe_counts_cycles)
{
	struct gpu_fdinfo info = parsed(xe);

	ck_assert_uint_eq(info.n_engines, 2);
	ck_assert(!engine(&info, "rcs")->has_ns);
	ck_assert_uint_eq(engine(&info, "rcs")->cycles, 28257900);
	ck_assert_uint_eq(engine(&info, "rcs")->total, 7655183225ull);
	ck_assert_uint_eq(engine(&info, "vcs")->capacity, 2);
	/* "drm-total-cycles-" is no region called "cycles-rcs". */
	ck_assert_uint_eq(info.n_regions, 2);
	ck_assert_uint_eq(region(&info, "gtt")->total, 192ull << 10);
	ck_assert(!region(&info, "gtt")->has_resident);
}
END_TEST

START_TEST(panfrost_is_no_pci_device)
{
	struct gpu_fdinfo info = parsed(panfrost);

	ck_assert_str_eq(info.pdev, "");
	ck_assert_uint_eq(info.n_engines, 1);
	ck_assert_uint_eq(info.engines[0].ns, 1846584880);
	ck_assert(!info.engines[0].has_total);
	ck_assert_uint_eq(region(&info, "memory")->resident, 290ull << 20);
}
END_TEST

START_TEST(other_files_are_none_of_drm)
{
	static const char *const texts[] = {
		"",
		"pos:\t0\nflags:\t02\n",
		"drm-driver:\tvkms\n", /* it keeps no account */
		"drm-client-id:\t5\n",
		"drm-driver:\t\ndrm-client-id:\t5\n",
		"drm-driver:\ti915\ndrm-client-id:\tfive\n",
		"drm-driver:\ti915\ndrm-client-id:\t18446744073709551616\n",
	};
	struct gpu_fdinfo info;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(gpu_fdinfo_parse(texts[i], strlen(texts[i]), &info), -ENODATA);
}
END_TEST

START_TEST(what_makes_no_sense_is_left_out)
{
	struct gpu_fdinfo info = parsed(
		"drm-driver:\tx\ndrm-client-id:\t1\n"
		"drm-engine-a:\t5\ndrm-engine-b:\t-5 ns\ndrm-engine-c:\t5 ms\ndrm-engine-:\t5 ns\n"
		"drm-engine-with blank:\t5 ns\ndrm-engine-capacity-d:\t0\n"
		"drm-engine-0123456789012345678901234567890123:\t5 ns\n"
		"drm-memory-e:\t1 KB\ndrm-memory-f:\t18446744073709551615 KiB\ndrm-memory-g:\t\n"
		"drm-memory-h:\t7\n");

	ck_assert_uint_eq(info.n_engines, 0);
	ck_assert_uint_eq(info.n_regions, 1);
	ck_assert_uint_eq(region(&info, "h")->resident, 7);
}
END_TEST

START_TEST(there_is_an_end_to_engines_and_regions)
{
	char text[4096] = "drm-driver:\tx\ndrm-client-id:\t1\n";
	struct gpu_fdinfo info;
	size_t len = strlen(text);

	for (int i = 0; i < 2 * GPU_MAX_ENGINES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"drm-engine-e%d:\t%d ns\ndrm-memory-m%d:\t1\n", i, i, i);
	info = parsed(text);
	ck_assert_uint_eq(info.n_engines, GPU_MAX_ENGINES);
	ck_assert_uint_eq(info.n_regions, GPU_MAX_REGIONS);
}
END_TEST

/* A text that was cut off anywhere: no read beyond it (with ASan), and what is whole counts. */
START_TEST(a_text_may_end_anywhere)
{
	for (size_t len = 0; len <= sizeof(amdgpu) - 1; len++) {
		char *copy = malloc(len ? len : 1);
		struct gpu_fdinfo info;

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, amdgpu, len);
		if (gpu_fdinfo_parse(copy, len, &info) == 0)
			ck_assert(info.driver[0]);
		free(copy);
	}
}
END_TEST

static int64_t busy(const struct gpu_engine *then, const struct gpu_engine *now, uint64_t dur_ns)
{
	int64_t value = -1;

	ck_assert_int_eq(gpu_engine_busy(then, now, dur_ns, &value), 0);
	return value;
}

START_TEST(time_at_work_is_a_share_of_the_time_between)
{
	struct gpu_engine then = { .has_ns = true, .ns = 1000, .capacity = 1 }, now = then;

	ck_assert_int_eq(busy(&then, &now, 1000), 0);
	now.ns = 1250;
	ck_assert_int_eq(busy(&then, &now, 1000), 25000);
	now.capacity = 2;
	ck_assert_int_eq(busy(&then, &now, 1000), 12500);
	now.ns = 9000; /* a job that began long before */
	ck_assert_int_eq(busy(&then, &now, 1000), 100000);
	now.ns = 900; /* went back */
	ck_assert_int_eq(busy(&then, &now, 1000), 0);
}
END_TEST

START_TEST(cycles_are_a_share_of_all_cycles)
{
	struct gpu_engine then = {
		.has_cycles = true, .has_total = true, .cycles = 10, .total = 100, .capacity = 1
	};
	struct gpu_engine now = then;
	int64_t value;

	now.cycles = 60;
	ck_assert_int_eq(busy(&then, &now, 1000), 0); /* the clock stands still */
	now.total = 200;
	ck_assert_int_eq(busy(&then, &now, 1), 50000);
	now.total = 50; /* the device began anew */
	ck_assert_int_eq(gpu_engine_busy(&then, &now, 1000, &value), -ENODATA);
	now.has_total = false;
	ck_assert_int_eq(gpu_engine_busy(&then, &now, 1000, &value), -ENODATA);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_fdinfo");
	TCase *tc = tcase_create("fdinfo");
	SRunner *sr;
	int n;

	tcase_add_test(tc, amdgpu_says_time_and_memory);
	tcase_add_test(tc, i915_has_several_units_of_a_kind);
	tcase_add_test(tc, xe_counts_cycles);
	tcase_add_test(tc, panfrost_is_no_pci_device);
	tcase_add_test(tc, other_files_are_none_of_drm);
	tcase_add_test(tc, what_makes_no_sense_is_left_out);
	tcase_add_test(tc, there_is_an_end_to_engines_and_regions);
	tcase_add_test(tc, a_text_may_end_anywhere);
	tcase_add_test(tc, time_at_work_is_a_share_of_the_time_between);
	tcase_add_test(tc, cycles_are_a_share_of_all_cycles);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n == 0 ? 0 : 1;
}
