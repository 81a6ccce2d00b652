/* SPDX-License-Identifier: Apache-2.0 */
/* The table of GPU API functions: every row, and the words that it is written in. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_api_lookups.h"
#include "gpu/gpu_api_symbols.h"
#include "gpu/gpu_api_table.h"
#include "symbolize/files_protocol.h"
#include "symbolize/system_libraries.h"
#include "trace_writer.h"

START_TEST(every_row_can_be_read)
{
	for (size_t i = 0; i < gpu_api_n_functions; i++) {
		const struct gpu_api_function *f = &gpu_api_functions[i];
		struct gpu_api_arg args[GPU_API_MAX_ARGS];
		struct gpu_api_reads reads;
		int n = gpu_api_args_parse(f->args, args, &reads);

		ck_assert_msg(n >= 0, "%s: %s", f->name, f->args);
		/* api, and two that say how it has ended and begun. */
		ck_assert_msg(n + 3 <= TRACE_MAX_ARGS, "%s", f->name);
		ck_assert_int_lt(f->api, N_APIS);
		ck_assert_int_le(f->class, GPU_LOOKUP);
		ck_assert_int_eq(f->class == GPU_LOOKUP,
				 f->names == FINDS_BY_RESULT || f->names == FINDS_BY_OUT);
		if (f->names != NAMES_NO_KERNEL)
			ck_assert_msg(reads.text_arg != GPU_API_NO_ARG, "%s", f->name);
		if (f->names == NAMES_BY_OUT || f->names == FINDS_BY_OUT)
			ck_assert_msg(reads.out_arg != GPU_API_NO_ARG, "%s", f->name);
	}
}
END_TEST

START_TEST(every_symbol_is_there_once)
{
	size_t n, sum = 0;

	for (int api = 0; api < N_APIS; api++) {
		const struct lib_function *s = gpu_api_symbols(api, &n);

		ck_assert_uint_gt(n, 0);
		sum += n;
		for (size_t i = 0; i < n; i++) {
			const struct gpu_api_function *f = &gpu_api_functions[s[i].cookie];

			ck_assert_uint_lt(strlen(s[i].name), FILES_FUNCTION_NAME_MAX);
			ck_assert_int_eq(f->api, api);
			ck_assert_int_eq(f->class, s[i].group);
			ck_assert_msg(strncmp(s[i].name, f->name, strlen(f->name)) == 0 ||
					      f->symbols,
				      "%s", s[i].name);
			ck_assert_int_eq(gpu_api_by_symbol(s[i].name), s[i].cookie);
			for (size_t k = 0; k < i; k++)
				ck_assert_str_ne(s[k].name, s[i].name);
		}
	}
	/* Each row has one at least, so none was left out for want of room. */
	for (size_t i = 0; i < gpu_api_n_functions; i++)
		ck_assert_msg(gpu_api_symbol(i) != NULL, "%s", gpu_api_functions[i].name);
	ck_assert_uint_ge(sum, gpu_api_n_functions);
}
END_TEST

START_TEST(a_function_is_known_by_its_name_and_by_its_symbols)
{
	int i = gpu_api_by_symbol("cuMemAlloc");

	ck_assert_int_ge(i, 0);
	ck_assert_int_eq(gpu_api_by_symbol("cuMemAlloc_v2"), i);
	ck_assert_int_eq(gpu_api_by_symbol("vkQueueSubmit2KHR"),
			 gpu_api_by_symbol("vkQueueSubmit2"));
	ck_assert_int_eq(gpu_api_by_symbol("malloc"), -1);
	ck_assert_int_eq(gpu_api_by_symbol(""), -1);
}
END_TEST

START_TEST(arguments_are_where_the_words_say)
{
	struct gpu_api_arg a[GPU_API_MAX_ARGS];
	struct gpu_api_reads r;

	ck_assert_int_eq(
		gpu_api_args_parse("grid=3u1 bytes=q8 name=s2 out=o0 n=u@3.40 m=q@3.24", a, &r), 6);
	ck_assert_str_eq(a[0].name, "grid");
	ck_assert_int_eq(a[0].type, ARG_TYPE_U32);
	ck_assert_int_eq(a[0].n, 3);
	ck_assert_int_eq(a[0].arg, 1);
	ck_assert_int_eq(a[0].window, -1);
	ck_assert_int_eq(r.n_args, 9);
	ck_assert_int_eq(r.text_arg, 2);
	ck_assert_int_eq(r.out_arg, 0);
	ck_assert_int_eq(a[4].window, 0);
	ck_assert_int_eq(r.windows[0].arg, 3);
	ck_assert_int_eq(r.windows[0].offset, 24);
	ck_assert_int_eq(r.windows[0].len, 20);
	ck_assert_int_eq(r.windows[1].arg, GPU_API_NO_ARG);
	/* Two registers; the count of dimensions is argument 2. */
	ck_assert_int_eq(gpu_api_args_parse("grid=d1 size=g@4.0", a, &r), 2);
	ck_assert_int_eq(r.n_args, 5);
	ck_assert_int_eq(r.windows[0].len, 24);
	ck_assert_int_eq(gpu_api_args_parse("", a, &r), 0);
	ck_assert_int_eq(r.n_args, 0);
}
END_TEST

START_TEST(what_is_no_argument_is_refused)
{
	static const char *const bad[] = {
		"x",
		"x=",
		"x=z1",
		"x=u",
		"x=u10",
		"x=3u8",
		"x=d9",
		"=u1 y",
		"x=u1,y=u2",
		"x=u@1",
		"x=u@1.",
		"x=u@1.x",
		"x=9q@1.0",
		"x=u1  y=u2",
		"a_name_of_more_than_19=u1",
		/* Three pieces of memory, or one that is too long. */
		"a=u@0.0 b=u@1.0 c=u@2.0",
		"a=u@0.0 b=u@0.40",
		"a=u0 b=u0 c=u0 d=u0 e=u0 f=u0 g=u0 h=u0 i=u0",
	};
	struct gpu_api_arg a[GPU_API_MAX_ARGS];
	struct gpu_api_reads r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(gpu_api_args_parse(bad[i], a, &r) == -EINVAL, "'%s'", bad[i]);
}
END_TEST

START_TEST(classes_are_named)
{
	uint32_t c = 0;

	ck_assert_int_eq(gpu_api_classes_parse("launch,copy", &c), 0);
	ck_assert_uint_eq(c, 1u << GPU_LAUNCH | 1u << GPU_COPY);
	ck_assert_int_eq(gpu_api_classes_parse("default", &c), 0);
	ck_assert_uint_eq(c, GPU_API_DEFAULT_CLASSES);
	ck_assert(!(c & 1u << GPU_DRAW));
	ck_assert_int_eq(gpu_api_classes_parse("default,draw", &c), 0);
	ck_assert_uint_eq(c, (1u << N_GPU_API_CLASSES) - 1);
	ck_assert_int_eq(gpu_api_classes_parse("all", &c), 0);
	ck_assert_uint_eq(c, (1u << N_GPU_API_CLASSES) - 1);
	for (int i = 0; i < N_GPU_API_CLASSES; i++) {
		ck_assert_int_eq(gpu_api_classes_parse(gpu_api_class_name(i), &c), 0);
		ck_assert_uint_eq(c, 1u << i);
	}
	ck_assert_int_eq(gpu_api_classes_parse("", &c), -EINVAL);
	ck_assert_int_eq(gpu_api_classes_parse("launches", &c), -EINVAL);
	ck_assert_int_eq(gpu_api_classes_parse("launch,,copy", &c), -EINVAL);
	ck_assert_int_eq(gpu_api_classes_parse(",", &c), -EINVAL);
}
END_TEST

START_TEST(results_have_their_names)
{
	char scratch[GPU_API_RESULT_LEN];

	ck_assert_ptr_null(gpu_api_result_name(RESULT_CU, 0, scratch));
	ck_assert_str_eq(gpu_api_result_name(RESULT_CU, 700, scratch),
			 "CUDA_ERROR_ILLEGAL_ADDRESS");
	/* What is above the 32 bits of an int is nobody's. */
	ck_assert_str_eq(gpu_api_result_name(RESULT_CUDART, 0xdead00000002, scratch),
			 "cudaErrorMemoryAllocation");
	ck_assert_ptr_null(gpu_api_result_name(RESULT_VK, 0xdead00000000, scratch));
	ck_assert_str_eq(gpu_api_result_name(RESULT_VK, (uint32_t)-4, scratch),
			 "VK_ERROR_DEVICE_LOST");
	ck_assert_str_eq(gpu_api_result_name(RESULT_VK, 2, scratch), "VK_TIMEOUT");
	ck_assert_str_eq(gpu_api_result_name(RESULT_CL, (uint32_t)-54, scratch),
			 "CL_INVALID_WORK_GROUP_SIZE");
	ck_assert_str_eq(gpu_api_result_name(RESULT_HIP, 12345, scratch), "12345");
	ck_assert_str_eq(gpu_api_result_name(RESULT_CL, (uint32_t)-2000, scratch), "-2000");
	ck_assert_str_eq(gpu_api_result_name(RESULT_TRUE, 0, scratch), "FALSE");
	ck_assert_ptr_null(gpu_api_result_name(RESULT_TRUE, 1, scratch));
	ck_assert_str_eq(gpu_api_result_name(RESULT_POINTER, 0, scratch), "NULL");
	ck_assert_ptr_null(gpu_api_result_name(RESULT_POINTER, 1ull << 40, scratch));
	ck_assert_ptr_null(gpu_api_result_name(RESULT_NOTHING, 7, scratch));
}
END_TEST

START_TEST(libraries_are_known_by_their_names)
{
	ck_assert_int_eq(gpu_api_of_library("/usr/lib/x86_64-linux-gnu/libcuda.so.1"), API_CUDA);
	ck_assert_int_eq(gpu_api_of_library("libcuda.so.550.54.14"), API_CUDA);
	ck_assert_int_eq(gpu_api_of_library("/x/nvidia/cuda_runtime/lib/libcudart.so.12"),
			 API_CUDART);
	ck_assert_int_eq(gpu_api_of_library("/x/torch/lib/libcudart-9335f6a2.so.12"), API_CUDART);
	ck_assert_int_eq(gpu_api_of_library("libvulkan.so.1.3.239"), API_VULKAN);
	ck_assert_int_eq(gpu_api_of_library("libGLX.so.0"), API_GL);
	ck_assert_int_eq(gpu_api_of_library("libcudadebugger.so.1"), -1);
	ck_assert_int_eq(gpu_api_of_library("libvulkan_lvp.so"), -1);
	ck_assert_int_eq(gpu_api_of_library("libGLU.so.1"), -1);
	ck_assert_int_eq(gpu_api_of_library("/libcuda.so/libc.so.6"), -1);
	ck_assert(gpu_api_is_driver("/usr/lib/libvulkan_lvp.so"));
	ck_assert(gpu_api_is_driver("libnvidia-glcore.so.550.54.14"));
	ck_assert(!gpu_api_is_driver("/usr/lib/libc.so.6"));
	ck_assert(!gpu_api_is_driver("/libvulkan/libc.so.6"));
}
END_TEST

/* ---- the system's libraries ---- */

static char root[64], found[4096];

static void take(void *ctx, int fd, const char *path)
{
	ck_assert_ptr_null(ctx);
	ck_assert_int_eq(close(fd), 0);
	strcat(strcat(found, path), " ");
}

static void make(const char *path, const char *content, mode_t mode)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s%s", root, path);
	if (!content) {
		ck_assert_int_eq(mkdir(full, 0755), 0);
	} else {
		fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
		close(fd);
	}
	ck_assert_int_eq(chmod(full, mode), 0);
}

static bool is_gpu_library(void *ctx, const char *name)
{
	(void)ctx;
	return gpu_api_of_library(name) >= 0;
}

START_TEST(the_systems_libraries_are_found)
{
	char command[128];

	if (geteuid() != 0)
		return; /* directories must be root's */
	strcpy(root, "/tmp/gpu-libraries-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	make("/usr", NULL, 0755);
	make("/usr/lib", NULL, 0755);
	make("/usr/lib/libcuda.so.1", "x", 0644);
	make("/usr/lib/libc.so.6", "x", 0644);
	make("/usr/lib/libEGL.so.1", NULL, 0755); /* no file */
	make("/usr/lib/libGL.so.1", "x", 0666);	  /* anybody's */
	make("/opt", NULL, 0755);
	make("/opt/gpu", NULL, 0755);
	make("/opt/gpu/libvulkan.so.1", "x", 0644);
	make("/opt/open", NULL, 0777);
	make("/opt/open/libOpenCL.so.1", "x", 0644);
	make("/etc", NULL, 0755);
	make("/etc/ld.so.conf.d", NULL, 0755);
	make("/etc/ld.so.conf.d/gpu.conf",
	     "# comment\n/opt/gpu # and another\ninclude x\n/opt/open\n/none\n", 0644);
	found[0] = '\0';
	system_libraries_find(root, is_gpu_library, take, NULL);
	ck_assert_str_eq(found, "/usr/lib/libcuda.so.1 /opt/gpu/libvulkan.so.1 ");
	make("/usr/bin", NULL, 0755);
	make("/usr/bin/libcuda.so.1", "x", 0755);
	found[0] = '\0';
	system_programs_find(root, is_gpu_library, take, NULL);
	ck_assert_str_eq(found, "/usr/bin/libcuda.so.1 ");
	found[0] = '\0';
	system_libraries_find("/nowhere", is_gpu_library, take, NULL);
	ck_assert_str_eq(found, "");
	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_api_table");
	TCase *tc = tcase_create("gpu_api_table");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, every_row_can_be_read);
	tcase_add_test(tc, every_symbol_is_there_once);
	tcase_add_test(tc, a_function_is_known_by_its_name_and_by_its_symbols);
	tcase_add_test(tc, arguments_are_where_the_words_say);
	tcase_add_test(tc, what_is_no_argument_is_refused);
	tcase_add_test(tc, classes_are_named);
	tcase_add_test(tc, results_have_their_names);
	tcase_add_test(tc, libraries_are_known_by_their_names);
	tcase_add_test(tc, the_systems_libraries_are_found);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
