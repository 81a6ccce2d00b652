/* SPDX-License-Identifier: Apache-2.0 */
/* Where tracepoints of GPUs have their fields, from `format` files as kernels have them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_points.h"
#include "tracepoint_format.h"

#define COMMON                                                                         \
	"name: x\nID: 1348\nformat:\n"                                                 \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                     \
	"\n"

/* drm_sched_job and drm_run_job of Linux 6.1 and 6.12. */
static const char sched_6_1[] =
	COMMON "\tfield:struct drm_sched_entity * entity;\toffset:8;\tsize:8;\tsigned:0;\n"
	       "\tfield:struct dma_fence * fence;\toffset:16;\tsize:8;\tsigned:0;\n"
	       "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;\n"
	       "\tfield:uint64_t id;\toffset:32;\tsize:8;\tsigned:0;\n"
	       "\tfield:u32 job_count;\toffset:40;\tsize:4;\tsigned:0;\n"
	       "\tfield:int hw_job_count;\toffset:44;\tsize:4;\tsigned:1;\n"
	       "\nprint fmt: \"entity=%p, id=%llu, fence=%p, ring=%s\", REC->entity\n";

/* Before, the name was a pointer. */
static const char sched_5_15[] =
	COMMON "\tfield:struct drm_sched_entity * entity;\toffset:8;\tsize:8;\tsigned:0;\n"
	       "\tfield:struct dma_fence * fence;\toffset:16;\tsize:8;\tsigned:0;\n"
	       "\tfield:const char * name;\toffset:24;\tsize:8;\tsigned:0;\n"
	       "\tfield:uint64_t id;\toffset:32;\tsize:8;\tsigned:0;\n";

/* drm_sched_job_queue and _run of Linux 6.17. */
static const char sched_6_17[] =
	COMMON "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
	       "\tfield:u32 job_count;\toffset:12;\tsize:4;\tsigned:0;\n"
	       "\tfield:int hw_job_count;\toffset:16;\tsize:4;\tsigned:1;\n"
	       "\tfield:__data_loc char[] dev;\toffset:20;\tsize:4;\tsigned:0;\n"
	       "\tfield:u64 fence_context;\toffset:24;\tsize:8;\tsigned:0;\n"
	       "\tfield:u64 fence_seqno;\toffset:32;\tsize:8;\tsigned:0;\n"
	       "\tfield:u64 client_id;\toffset:40;\tsize:8;\tsigned:0;\n";

static const char fence[] =
	COMMON "\tfield:__data_loc char[] driver;\toffset:8;\tsize:4;\tsigned:1;\n"
	       "\tfield:__data_loc char[] timeline;\toffset:12;\tsize:4;\tsigned:1;\n"
	       "\tfield:unsigned int context;\toffset:16;\tsize:4;\tsigned:0;\n"
	       "\tfield:unsigned int seqno;\toffset:20;\tsize:4;\tsigned:0;\n";

static const char vblank[] = COMMON "\tfield:int crtc;\toffset:8;\tsize:4;\tsigned:1;\n"
				    "\tfield:unsigned int seq;\toffset:12;\tsize:4;\tsigned:0;\n"
				    "\tfield:ktime_t time;\toffset:16;\tsize:8;\tsigned:1;\n"
				    "\tfield:bool high_prec;\toffset:24;\tsize:1;\tsigned:0;\n";

/* gpu_mem_total, and the same with its fields elsewhere. */
static const char memory[] =
	COMMON "\tfield:uint32_t gpu_id;\toffset:8;\tsize:4;\tsigned:0;\n"
	       "\tfield:uint32_t pid;\toffset:12;\tsize:4;\tsigned:0;\n"
	       "\tfield:uint64_t size;\toffset:16;\tsize:8;\tsigned:0;\n"
	       "\nprint fmt: \"gpu_id=%u pid=%u size=%llu\", REC->gpu_id, REC->pid, REC->size\n";

static const char memory_moved[] =
	COMMON "\tfield:uint64_t size;\toffset:8;\tsize:8;\tsigned:0;\n"
	       "\tfield:uint32_t pid;\toffset:16;\tsize:4;\tsigned:0;\n"
	       "\tfield:uint32_t gpu_id;\toffset:20;\tsize:4;\tsigned:0;\n";

static void assert_field(const struct gpu_field *f, unsigned offset, unsigned size, unsigned kind)
{
	ck_assert_uint_eq(f->offset, offset);
	ck_assert_uint_eq(f->size, size);
	ck_assert_uint_eq(f->kind, kind);
}

START_TEST(before_6_17_a_job_is_known_by_the_address_of_its_fence)
{
	struct gpu_layout l;

	ck_assert(gpu_point_layout(GPU_SCHED_QUEUE, sched_6_1, &l));
	assert_field(&l.nums[NUM_CONTEXT], 16, 8, GPU_FIELD_FENCE);
	ck_assert_uint_eq(l.nums[NUM_SEQNO].size, 0); /* comes with it */
	assert_field(&l.nums[NUM_ID], 32, 8, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_HW_JOB_COUNT], 44, 4, GPU_FIELD_INT);
	assert_field(&l.strs[STR_RING], 24, 4, GPU_FIELD_DATA_LOC);
	ck_assert_uint_eq(l.strs[STR_DEV].size, 0);
	ck_assert(l.flags & GPU_LAYOUT_THREAD);
	ck_assert(gpu_point_layout(GPU_SCHED_RUN, sched_6_1, &l));
	ck_assert(!(l.flags & GPU_LAYOUT_THREAD)); /* the scheduler's own */
}
END_TEST

START_TEST(its_ring_may_be_a_pointer)
{
	struct gpu_layout l;

	ck_assert(gpu_point_layout(GPU_SCHED_QUEUE, sched_5_15, &l));
	assert_field(&l.strs[STR_RING], 24, 8, GPU_FIELD_TEXT);
	ck_assert_uint_eq(l.nums[NUM_JOB_COUNT].size, 0); /* does without */
}
END_TEST

START_TEST(since_6_17_by_numbers)
{
	struct gpu_layout l;

	ck_assert(gpu_point_layout(GPU_SCHED_QUEUE_2, sched_6_17, &l));
	assert_field(&l.nums[NUM_CONTEXT], 24, 8, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_SEQNO], 32, 8, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_CLIENT_ID], 40, 8, GPU_FIELD_UINT);
	assert_field(&l.strs[STR_DEV], 20, 4, GPU_FIELD_DATA_LOC);
	ck_assert(!gpu_point_layout(GPU_SCHED_QUEUE_2, sched_6_1, &l));
	ck_assert(!gpu_point_layout(GPU_SCHED_QUEUE, sched_6_17, &l));
}
END_TEST

START_TEST(fences_and_vblanks)
{
	struct gpu_layout l;

	ck_assert(gpu_point_layout(GPU_FENCE_INIT, fence, &l));
	assert_field(&l.nums[NUM_CONTEXT], 16, 4, GPU_FIELD_UINT);
	assert_field(&l.strs[STR_RING], 12, 4, GPU_FIELD_DATA_LOC);
	assert_field(&l.strs[STR_DEV], 8, 4, GPU_FIELD_DATA_LOC);
	ck_assert(gpu_point_layout(GPU_FENCE_WAIT_START, fence, &l));
	ck_assert(l.flags & GPU_LAYOUT_OF_THREAD);
	ck_assert(gpu_point_layout(GPU_VBLANK, vblank, &l));
	assert_field(&l.nums[NUM_CRTC], 8, 4, GPU_FIELD_INT);
	assert_field(&l.nums[NUM_TIME], 16, 8, GPU_FIELD_INT);
	ck_assert(!gpu_point_layout(GPU_VBLANK_DELIVERED, vblank, &l)); /* no file */
}
END_TEST

START_TEST(memory_is_found_by_the_names_of_its_fields)
{
	struct gpu_layout l;

	ck_assert(gpu_point_layout(GPU_MEM_TOTAL, memory, &l));
	assert_field(&l.nums[NUM_GPU_ID], 8, 4, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_PID], 12, 4, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_SIZE], 16, 8, GPU_FIELD_UINT);
	ck_assert_uint_eq(l.flags, 0); /* it happens in any thread */
	ck_assert(gpu_point_layout(GPU_MEM_TOTAL, memory_moved, &l));
	assert_field(&l.nums[NUM_GPU_ID], 20, 4, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_PID], 16, 4, GPU_FIELD_UINT);
	assert_field(&l.nums[NUM_SIZE], 8, 8, GPU_FIELD_UINT);
	ck_assert(!gpu_point_layout(GPU_MEM_TOTAL, vblank, &l));
}
END_TEST

START_TEST(every_point_has_a_name)
{
	for (unsigned i = 0; i < N_GPU_POINTS; i++) {
		ck_assert_ptr_nonnull(gpu_point_system((enum gpu_point)i));
		ck_assert_ptr_nonnull(gpu_point_name((enum gpu_point)i));
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(gpu_point_name((enum gpu_point)i),
					 gpu_point_name((enum gpu_point)k));
	}
}
END_TEST

/* ---- the text ---- */

START_TEST(a_field_is_found_by_its_whole_name)
{
	struct tracepoint_field f;

	ck_assert(!tracepoint_field(sched_6_1, "ame", &f));
	ck_assert(!tracepoint_field(sched_6_1, "fence_context", &f));
	ck_assert(!tracepoint_field(sched_6_1, "", &f));
	ck_assert(!tracepoint_field("", "id", &f));
	ck_assert(tracepoint_field(sched_6_1, "entity", &f));
	ck_assert(f.is_pointer);
	ck_assert_uint_eq(f.offset, 8);
	ck_assert(tracepoint_field("field:u32 frame[3];\toffset:8;\tsize:12;\tsigned:0;", "frame",
				   &f));
	ck_assert_uint_eq(f.size, 12);
	ck_assert(tracepoint_field("field:char *name; offset:8; size:8; signed:0;", "name", &f));
}
END_TEST

START_TEST(what_makes_no_sense_is_no_field)
{
	static const char *const bad[] = {
		"field:u32 id",
		"field:u32 id;",
		"field:u32 id; offset:8;",
		"field:u32 id; offset:; size:4;",
		"field:u32 id; offset:8; size:0;",
		"field:u32 id; offset:99999; size:4;",
		"field:u32 id; offset:8; size:99999999999999999999;",
		"field:u32 id; offset:-8; size:4;",
		"field:id; offset:8; size:4;",
		"field:[]; offset:8; size:4;",
		"; offset:8; size:4;",
	};
	struct tracepoint_field f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!tracepoint_field(bad[i], "id", &f), "%s", bad[i]);
}
END_TEST

START_TEST(numbers_that_are_none_make_no_layout)
{
	struct gpu_layout l;
	char format[sizeof(sched_6_17) + 16], *at;

	strcpy(format, sched_6_17);
	at = strstr(format, "u64 fence_seqno;\toffset:32;\tsize:8");
	ck_assert_ptr_nonnull(at);
	*strstr(at, "size:8") = 'S';
	ck_assert(!gpu_point_layout(GPU_SCHED_QUEUE_2, format, &l));
	/* A fence that is no pointer. */
	ck_assert(!gpu_point_layout(GPU_SCHED_DONE,
				    "field:u64 fence;\toffset:8;\tsize:8;\tsigned:0;\n", &l));
	ck_assert(gpu_point_layout(GPU_SCHED_DONE,
				   "field:struct dma_fence * fence;\toffset:8;\tsize:8;\tsigned:0;",
				   &l));
	/* A text that is a number. */
	ck_assert(!gpu_point_layout(GPU_FENCE_INIT,
				    "field:int context; offset:8; size:4; signed:1;\n"
				    "field:int seqno; offset:12; size:4; signed:1;\n"
				    "field:int driver; offset:16; size:4; signed:1;\n"
				    "field:int timeline; offset:20; size:4; signed:1;\n",
				    &l));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_points");
	TCase *tc = tcase_create("points");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, before_6_17_a_job_is_known_by_the_address_of_its_fence);
	tcase_add_test(tc, its_ring_may_be_a_pointer);
	tcase_add_test(tc, since_6_17_by_numbers);
	tcase_add_test(tc, fences_and_vblanks);
	tcase_add_test(tc, memory_is_found_by_the_names_of_its_fields);
	tcase_add_test(tc, every_point_has_a_name);
	tcase_add_test(tc, a_field_is_found_by_its_whole_name);
	tcase_add_test(tc, what_makes_no_sense_is_no_field);
	tcase_add_test(tc, numbers_that_are_none_make_no_layout);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
