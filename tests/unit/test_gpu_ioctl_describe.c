/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records of ioctls say. There is no such hardware where this runs: structs are
 * written down here as the drivers' public headers have them, and filled as drivers do.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "gpu/gpu_ioctl_describe.h"

#define DRM_CARD       (226u << 20)
#define NVIDIA_GPU     (195u << 20)
#define NVIDIA_MODESET (195u << 20 | 254)

static struct gpu_ioctl_event ev;
static char text[2048];

static void set_up(void)
{
	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = GPU_IOCTL;
	ev.gpu_class = GPU_DRM;
	ev.rdev = DRM_CARD;
	ev.fd = 5;
}

/* As the kernel's half does it: from the request's own form. */
static void ask(unsigned direction, unsigned type, unsigned nr, size_t size)
{
	ev.request = _IOC(direction, type, nr, size);
	ev.nr = nr;
	ev.size = (uint32_t)size;
}

static void give(const void *in, size_t n)
{
	ev.n_in = (uint8_t)(n < GPU_IOCTL_MAX_DATA ? n : GPU_IOCTL_MAX_DATA);
	memcpy(ev.data, in, ev.n_in);
}

/* After give(). */
static void take(const void *out, size_t n)
{
	ev.n_out = (uint8_t)(n < GPU_IOCTL_MAX_DATA ? n : GPU_IOCTL_MAX_DATA);
	memcpy(ev.data + GPU_ROUND(ev.n_in), out, ev.n_out);
}

/* "NAME: name=value ...", without what all have. */
static const char *say(const char *driver)
{
	struct gpu_description d;
	size_t len;

	gpu_ioctl_describe(&ev, driver, &d);
	len = (size_t)snprintf(text, sizeof(text), "%s:", d.name);
	for (size_t i = 0; i < d.n_args; i++) {
		const struct trace_arg *a = &d.args[i];

		if (strcmp(a->name, "driver") == 0 || strcmp(a->name, "minor") == 0 ||
		    strcmp(a->name, "fd") == 0)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s=", a->name);
		if (a->type == ARG_STRING)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", a->s);
		else if (a->type == ARG_POINTER)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "0x%" PRIx64, a->u);
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%" PRId64, a->i);
		ck_assert_uint_lt(len, sizeof(text));
	}
	return text;
}

/* ---- DRM ---- */

START_TEST(a_submit_shows_what_went_in_and_what_came_out)
{
	/* union drm_amdgpu_cs */
	uint32_t in[6] = { 7, 9, 3, 0, 0x1000, 0 }, out[6] = { 0x11, 0x1, 3, 0, 0x1000, 0 };

	ask(_IOC_READ | _IOC_WRITE, 'd', 0x44, sizeof(in));
	give(in, sizeof(in));
	take(out, sizeof(out));
	ck_assert_str_eq(say("amdgpu"), "DRM_IOCTL_AMDGPU_CS: class=submit ctx_id=7 "
					"bo_list_handle=9 num_chunks=3 flags=0x0 "
					"handle=4294967313");
}
END_TEST

START_TEST(what_has_changed_is_shown_twice)
{
	/* struct drm_mode_create_dumb */
	uint32_t in[8] = { 480, 640, 32 }, out[8] = { 480, 640, 32, 0, 1, 2560, 1228800, 0 };

	ask(_IOC_READ | _IOC_WRITE, 'd', 0xb2, sizeof(in));
	give(in, sizeof(in));
	take(out, sizeof(out));
	ck_assert_str_eq(say("vgem"), "DRM_IOCTL_MODE_CREATE_DUMB: class=mem height=480 width=640 "
				      "bpp=32 flags=0x0 handle=0 handle_out=1 pitch=0 "
				      "pitch_out=2560 size=0 size_out=1228800");
}
END_TEST

START_TEST(an_older_struct_is_shown_as_far_as_it_goes)
{
	/* struct drm_virtgpu_execbuffer: 32 bytes in Linux 5.10, 64 since 6.4. */
	uint32_t in[16] = { 4, 512, 0, 0, 0, 0, 2, (uint32_t)-1, 3, 0, 1, 1 };

	ask(_IOC_READ | _IOC_WRITE, 'd', 0x42, 32);
	give(in, 32);
	ck_assert_str_eq(say("virtio_gpu"), "DRM_IOCTL_VIRTGPU_EXECBUFFER: class=submit flags=0x4 "
					    "size=512 num_bo_handles=2 fence_fd=-1");
	ask(_IOC_READ | _IOC_WRITE, 'd', 0x42, 64);
	give(in, 64);
	ck_assert_str_eq(say("virtio_gpu"), "DRM_IOCTL_VIRTGPU_EXECBUFFER: class=submit flags=0x4 "
					    "size=512 num_bo_handles=2 fence_fd=-1 ring_idx=3 "
					    "num_in_syncobjs=1 num_out_syncobjs=1");
}
END_TEST

START_TEST(what_a_driver_only_tells_is_what_came_out)
{
	/* struct drm_nouveau_get_zcull_info, which goes one way */
	uint32_t out[12] = { 16, 32 };

	ask(_IOC_READ, 'd', 0x53, sizeof(out));
	take(out, sizeof(out));
	ck_assert_ptr_nonnull(
		strstr(say("nouveau"), "width_align_pixels=16 height_align_pixels=32"));
}
END_TEST

START_TEST(an_unknown_number_stays_one)
{
	ask(_IOC_READ | _IOC_WRITE, 'd', 0x42, 64);
	ck_assert_str_eq(say("fakegpu"), "DRM driver ioctl 0x42: class=unknown request=0xc0406442");
	ck_assert_str_eq(say("drm"), "DRM driver ioctl 0x42: class=unknown request=0xc0406442");
	ask(_IOC_READ | _IOC_WRITE, 'd', 0x90, 16);
	ck_assert_str_eq(say("xe"), "DRM driver ioctl 0x90: class=unknown request=0xc0106490");
	ask(_IOC_READ, 'd', 0x3e, 4);
	ck_assert_str_eq(say("xe"), "DRM core ioctl 0x3e: class=unknown request=0x8004643e");
}
END_TEST

START_TEST(the_core_is_the_same_with_every_driver)
{
	uint32_t in[14] = { 0x200 | 0x1, 4 };

	ask(_IOC_READ | _IOC_WRITE, 'd', 0xbc, sizeof(in));
	give(in, sizeof(in));
	ck_assert_str_eq(say("vkms"), "DRM_IOCTL_MODE_ATOMIC: class=kms flags=0x201 count_objs=4 "
				      "user_data=0x0");
	ev.gpu_class = GPU_ACCEL;
	ev.rdev = 261u << 20;
	ck_assert_ptr_nonnull(strstr(say("rocket"), "DRM_IOCTL_MODE_ATOMIC"));
}
END_TEST

START_TEST(accelerators_have_drivers_of_their_own)
{
	/* struct drm_rocket_submit */
	uint32_t in[6] = { 0, 0, 2, 32 };

	ev.gpu_class = GPU_ACCEL;
	ask(_IOC_WRITE, 'd', 0x41, sizeof(in));
	give(in, sizeof(in));
	ck_assert_str_eq(say("rocket"), "DRM_IOCTL_ROCKET_SUBMIT: class=submit job_count=2 "
					"job_struct_size=32");
}
END_TEST

START_TEST(a_timeout_may_be_below_zero)
{
	/* struct drm_syncobj_wait */
	struct {
		uint64_t handles;
		int64_t timeout_nsec;
		uint32_t count_handles, flags, first_signaled, pad;
	} in = { 0x7000, -1, 2, 3, 0, 0 }, out = in;

	out.first_signaled = 1;
	ask(_IOC_READ | _IOC_WRITE, 'd', 0xc3, sizeof(in));
	give(&in, sizeof(in));
	take(&out, sizeof(out));
	ev.ret = -62; /* ETIME */
	ck_assert_str_eq(say("i915"), "DRM_IOCTL_SYNCOBJ_WAIT: class=wait count_handles=2 "
				      "timeout_nsec=-1 flags=0x3 first_signaled=1 error=ETIME");
}
END_TEST

/* ---- KFD, files ---- */

START_TEST(a_queue_of_kfd_is_made)
{
	/* struct kfd_ioctl_create_queue_args, of which 88 bytes were before 96 are */
	struct {
		uint64_t ring_base_address, write_pointer_address, read_pointer_address,
			doorbell_offset;
		uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority, queue_id;
		uint64_t eop_buffer_address, eop_buffer_size, ctx_save_restore_address;
		uint32_t ctx_save_restore_size, ctl_stack_size;
	} in = { .ring_base_address = 0x10000, .ring_size = 4096, .gpu_id = 7, .queue_type = 2 };

	ck_assert_uint_eq(sizeof(in), 88);
	ev.gpu_class = GPU_KFD;
	ev.rdev = 238u << 20;
	ask(_IOC_READ | _IOC_WRITE, 'K', 0x02, sizeof(in));
	give(&in, sizeof(in));
	ck_assert_str_eq(say("kfd"), "AMDKFD_IOC_CREATE_QUEUE: class=ctx ring_base_address=0x10000 "
				     "write_pointer_address=0x0 read_pointer_address=0x0 "
				     "doorbell_offset=0x0 ring_size=4096 gpu_id=7 queue_type=2 "
				     "queue_percentage=0");
	ask(_IOC_READ, 'K', 0x7f, 8);
	ck_assert_str_eq(say("kfd"), "kfd ioctl 0x7f: class=unknown request=0x80084b7f");
}
END_TEST

START_TEST(files_that_are_shared_have_no_device)
{
	uint64_t flags = 5; /* struct dma_buf_sync */
	/* struct sync_merge_data */
	struct {
		char name[32];
		int32_t fd2, fence;
		uint32_t flags, pad;
	} in = { "x", 8, 0, 0, 0 }, out = { "x", 8, 9, 0, 0 };

	ev.rdev = 0;
	ev.gpu_class = GPU_DMA_BUF;
	ask(_IOC_WRITE, 'b', 0, 8);
	give(&flags, 8);
	ck_assert_str_eq(say("dma-buf"), "DMA_BUF_IOCTL_SYNC: class=fence flags=0x5");

	ev.gpu_class = GPU_SYNC_FILE;
	ask(_IOC_READ | _IOC_WRITE, '>', 3, sizeof(in));
	give(&in, sizeof(in));
	take(&out, sizeof(out));
	ck_assert_str_eq(say("sync_file"), "SYNC_IOC_MERGE: class=fence fd2=8 fence=9 flags=0x0");
}
END_TEST

START_TEST(memory_that_becomes_a_buffer)
{
	/* struct dma_heap_allocation_data, struct udmabuf_create */
	uint32_t heap[6] = { 4096, 0, 0, 2 }, heap_out[6] = { 4096, 0, 11, 2 };
	struct {
		uint32_t memfd, flags;
		uint64_t offset, size;
	} udmabuf = { 6, 1, 0, 8192 };

	ev.gpu_class = GPU_DMA_HEAP;
	ask(_IOC_READ | _IOC_WRITE, 'H', 0, sizeof(heap));
	give(heap, sizeof(heap));
	take(heap_out, sizeof(heap_out));
	ck_assert_str_eq(say("dma-heap"), "DMA_HEAP_IOCTL_ALLOC: class=mem len=4096 fd_arg=0 "
					  "fd_arg_out=11 fd_flags=0x2 heap_flags=0x0");

	set_up();
	ev.gpu_class = GPU_UDMABUF;
	ask(_IOC_WRITE, 'u', 0x42, sizeof(udmabuf));
	give(&udmabuf, sizeof(udmabuf));
	ev.ret = 12;
	ck_assert_str_eq(say("udmabuf"), "UDMABUF_CREATE: class=mem memfd=6 flags=0x1 offset=0x0 "
					 "size=8192 ret=12");
}
END_TEST

/* ---- NVIDIA ---- */

/* nvos.h */
struct nvos54 {
	uint32_t hClient, hObject, cmd, flags;
	uint64_t params;
	uint32_t paramsSize, status;
};

struct nvos21 {
	uint32_t hRoot, hObjectParent, hObjectNew, hClass;
	uint64_t pAllocParms;
	uint32_t paramsSize, status;
};

struct nvos64 {
	uint32_t hRoot, hObjectParent, hObjectNew, hClass;
	uint64_t pAllocParms, pRightsRequested;
	uint32_t paramsSize, flags, status, pad;
};

struct nvos33_with_fd {
	uint32_t hClient, hDevice, hMemory, pad;
	uint64_t offset, length, pLinearAddress;
	uint32_t status, flags;
	int32_t fd;
	uint32_t pad2;
};

static void nvidia(unsigned escape, size_t size)
{
	ev.gpu_class = GPU_NVIDIA;
	ev.rdev = NVIDIA_GPU;
	ask(_IOC_READ | _IOC_WRITE, 'F', escape, size);
}

START_TEST(a_control_that_fails_inside_says_so)
{
	struct nvos54 in = { 0xc1d00001, 0xcaf00002, 0x20800110, 0, 0x7ff0, 8, 0 }, out = in;

	ck_assert_uint_eq(sizeof(in), 32);
	out.status = 0x56;
	nvidia(0x2a, sizeof(in));
	give(&in, sizeof(in));
	take(&out, sizeof(out));
	ev.ret = 0; /* the call itself has succeeded */
	ck_assert_str_eq(say("nvidia"), "NV_ESC_RM_CONTROL: class=other hClient=0xc1d00001 "
					"hObject=0xcaf00002 cmd=0x20800110 flags=0x0 paramsSize=8 "
					"status=NV_ERR_NOT_SUPPORTED");
}
END_TEST

START_TEST(two_structs_of_one_escape_are_told_apart_by_size)
{
	struct nvos21 small = { 1, 2, 3, 0x80, 0, 0, 0 };
	struct nvos64 large = { .hRoot = 1, .hObjectParent = 2, .hObjectNew = 3, .hClass = 0x2080 };

	ck_assert_uint_eq(sizeof(small), 32);
	ck_assert_uint_eq(sizeof(large), 48);
	nvidia(0x2b, sizeof(small));
	give(&small, sizeof(small));
	small.status = 0x1f;
	take(&small, sizeof(small));
	ck_assert_str_eq(say("nvidia"),
			 "NV_ESC_RM_ALLOC: class=ctx hRoot=0x1 hObjectParent=0x2 "
			 "hObjectNew=0x3 hClass=0x80 status=NV_ERR_INVALID_ARGUMENT");
	nvidia(0x2b, sizeof(large));
	give(&large, sizeof(large));
	large.status = 0x51;
	take(&large, sizeof(large));
	ck_assert_str_eq(say("nvidia"), "NV_ESC_RM_ALLOC: class=ctx hRoot=0x1 hObjectParent=0x2 "
					"hObjectNew=0x3 hClass=0x2080 status=NV_ERR_NO_MEMORY");
}
END_TEST

START_TEST(an_escape_in_another_one_is_that_one)
{
	struct nvos33_with_fd in = { 1, 2, 3, 0, 0x1000, 8192, 0, 0, 0x40, 17, 0 };

	ck_assert_uint_eq(sizeof(in), 56);
	nvidia(0xd3, 16); /* NV_ESC_IOCTL_XFER_CMD, as the kernel's half unwraps it: */
	ev.nr = 0x4e;
	ev.size = sizeof(in);
	ev.flags = GPU_WRAPPED;
	give(&in, sizeof(in));
	take(&in, sizeof(in));
	ck_assert_str_eq(say("nvidia"),
			 "NV_ESC_RM_MAP_MEMORY: class=map hClient=0x1 hDevice=0x2 "
			 "hMemory=0x3 offset=0x1000 length=8192 flags=0x40 fd_arg=17 "
			 "status=NV_OK");
}
END_TEST

START_TEST(a_modeset_is_its_command)
{
	uint32_t in[4] = { 15, 120, 0x1000, 0 }; /* struct NvKmsIoctlParams */

	nvidia(0, 16);
	ev.rdev = NVIDIA_MODESET;
	ask(_IOC_READ | _IOC_WRITE, 'm', 0, sizeof(in));
	ck_assert_uint_eq(ev.request, 0xc0106d00);
	ev.nr = in[0];
	give(in, sizeof(in));
	ck_assert_str_eq(say("nvidia-modeset"), "NVKMS_IOCTL_FLIP: class=kms size=120");
	ev.nr = 200;
	ck_assert_str_eq(say("nvidia-modeset"),
			 "NVKMS command 0xc8: class=unknown request=0xc0106d00");
	ev.nr = UINT32_MAX;
	ck_assert_str_eq(say("nvidia-modeset"), "NVKMS command: class=unknown request=0xc0106d00");
}
END_TEST

static void uvm(uint32_t nr, size_t size)
{
	ev.gpu_class = GPU_NVIDIA_UVM;
	ev.rdev = 508u << 20;
	ev.request = ev.nr = nr;
	ev.size = (uint32_t)size;
}

START_TEST(numbers_of_uvm_have_no_form)
{
	/* UVM_RESERVE_VA_PARAMS */
	struct {
		uint64_t requestedBase, length;
		uint32_t rmStatus, pad;
	} in = { 0x200000000, 1 << 20, 0, 0 }, out = in;
	/* UVM_INITIALIZE_PARAMS */
	struct {
		uint64_t flags;
		uint32_t rmStatus, pad;
	} init = { 1, 0, 0 };

	out.rmStatus = 0x1f;
	uvm(1, sizeof(in));
	give(&in, sizeof(in));
	take(&out, sizeof(out));
	ck_assert_str_eq(say("nvidia-uvm"), "UVM_RESERVE_VA: class=map requestedBase=0x200000000 "
					    "length=1048576 status=NV_ERR_INVALID_ARGUMENT");

	set_up();
	uvm(0x30000001, sizeof(init));
	give(&init, sizeof(init));
	take(&init, sizeof(init));
	ck_assert_str_eq(say("nvidia-uvm"), "UVM_INITIALIZE: class=ctx flags=0x1 status=NV_OK");
}
END_TEST

START_TEST(a_status_behind_what_is_kept_is_read_by_itself)
{
	uint8_t in[96] = { 0 };

	uvm(33, 9264); /* UVM_MAP_EXTERNAL_ALLOCATION, its rmStatus at 9260 */
	give(in, sizeof(in));
	ck_assert_ptr_null(strstr(say("nvidia-uvm"), "status"));
	ev.status = 0x40;
	ev.flags = GPU_HAS_STATUS;
	ck_assert_ptr_nonnull(strstr(say("nvidia-uvm"), "UVM_MAP_EXTERNAL_ALLOCATION"));
	ck_assert_ptr_nonnull(strstr(text, "status=NV_ERR_"));
}
END_TEST

START_TEST(what_nobody_knows_of_nvidia)
{
	nvidia(0x99, 16);
	ck_assert_str_eq(say("nvidia"), "NVIDIA escape 0x99: class=unknown request=0xc0104699");
	uvm(0x99, 0);
	ck_assert_str_eq(say("nvidia-uvm"), "UVM ioctl 0x99: class=unknown request=0x99");
	uvm(0x12345678, 0);
	ck_assert_str_eq(say("nvidia-uvm"), "UVM ioctl: class=unknown request=0x12345678");
	ev.gpu_class = GPU_NVIDIA_CAPS;
	ck_assert_str_eq(say("nvidia-caps"), "ioctl: class=unknown request=0x12345678");
	/* A status that has no name. */
	struct nvos54 in = { .status = 0xabcd };

	set_up();
	nvidia(0x2a, sizeof(in));
	take(&in, sizeof(in));
	ck_assert_ptr_nonnull(strstr(say("nvidia"), "status=0xabcd"));
}
END_TEST

/* ---- all of them ---- */

static void check_class_of(const char *driver)
{
	static const struct {
		const char *driver;
		enum gpu_class class;
		uint32_t rdev;
	} files[] = {
		{ "kfd", GPU_KFD, 238u << 20 },
		{ "nvidia", GPU_NVIDIA, NVIDIA_GPU },
		{ "nvidia-modeset", GPU_NVIDIA, NVIDIA_MODESET },
		{ "nvidia-uvm", GPU_NVIDIA_UVM, 508u << 20 },
		{ "dma-buf", GPU_DMA_BUF, 0 },
		{ "sync_file", GPU_SYNC_FILE, 0 },
		{ "dma-heap", GPU_DMA_HEAP, 250u << 20 },
		{ "udmabuf", GPU_UDMABUF, 10u << 20 | 122 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(files[i].driver, driver) == 0) {
			ev.gpu_class = files[i].class;
			ev.rdev = files[i].rdev;
		}
}

/* `n` bytes of the caller's struct. */
static void describe_row(const char *driver, const struct gpu_ioctl_info *row, size_t n)
{
	bool modeset = strcmp(driver, "nvidia-modeset") == 0;
	uint8_t bytes[GPU_IOCTL_MAX_DATA];
	struct gpu_description d;
	char begin[96];

	set_up();
	check_class_of(driver);
	memset(bytes, 0xa5, sizeof(bytes));
	ask(row->direction, row->type, modeset ? 0 : row->nr, n);
	if (ev.gpu_class == GPU_NVIDIA_UVM)
		ev.request = row->nr;
	ev.nr = row->nr;
	ev.size = (uint32_t)n;
	if (row->direction & 1)
		give(bytes, n);
	memset(bytes, 0x5a, sizeof(bytes));
	if (row->direction & 2)
		take(bytes, n);
	gpu_ioctl_describe(&ev, driver, &d);
	ck_assert_ptr_nonnull(d.info);
	ck_assert_uint_eq(d.info->nr, row->nr);
	if (n == row->size)
		ck_assert_str_eq(d.name, row->name);
	ck_assert_uint_lt(d.n_args, TRACE_MAX_ARGS); /* so none was left out */
	snprintf(begin, sizeof(begin), "%s:", d.name);
	ck_assert_ptr_eq(strstr(say(driver), begin), text);
	if (n == row->size)
		return;
	for (size_t i = 0; i < d.info->n_fields; i++) {
		char field[64];

		snprintf(field, sizeof(field), " %s=", d.info->fields[i].name);
		if (d.info->fields[i].offset + d.info->fields[i].bytes > n &&
		    !(d.info->fields[i].flags & FIELD_STATUS))
			ck_assert_msg(!strstr(text, field), "%s of %zu bytes: %s", d.name, n, text);
	}
}

START_TEST(every_row_decodes_at_every_size)
{
	const char *driver;

	for (unsigned slot = 1; (driver = gpu_ioctl_driver(slot)); slot++) {
		size_t n_rows = 0;
		const struct gpu_ioctl_info *rows = gpu_ioctl_rows(slot, &n_rows);

		for (size_t i = 0; i < n_rows; i++) {
			size_t max = rows[i].size < 120 ? rows[i].size : 120;

			describe_row(driver, &rows[i], rows[i].size);
			for (size_t n = 0; n < max; n++)
				describe_row(driver, &rows[i], n);
		}
	}
}
END_TEST

START_TEST(a_program_cannot_make_up_many_names)
{
	static char names[4096][GPU_IOCTL_NAME_LEN];
	size_t n = 0;

	srand(1);
	for (int i = 0; i < 100000; i++) {
		struct gpu_description d;
		size_t k = 0;

		set_up();
		ev.gpu_class = 1 + (unsigned)rand() % (N_GPU_CLASSES - 1);
		ev.request = (uint32_t)rand() * 2 + (uint32_t)rand() % 2;
		if (rand() % 2) /* of a form that is known */
			ev.request = _IOC(3u, "dKFmHub>"[rand() % 8], rand() % 256, rand() % 128);
		ev.nr = rand() % 2 ? ev.request : ev.request & 0xff;
		gpu_ioctl_describe(&ev, "x", &d);
		while (k < n && strcmp(names[k], d.name) != 0)
			k++;
		if (k < n)
			continue;
		ck_assert_uint_lt(n, 4096);
		strcpy(names[n++], d.name);
	}
	ck_assert_uint_le(n, 10 * 256);
}
END_TEST

START_TEST(a_32_bit_struct_of_another_size_is_not_guessed_at)
{
	uint32_t in[16] = { 1, 2, 3 };

	ev.flags = GPU_COMPAT;
	ask(_IOC_READ | _IOC_WRITE, 'd', 0x00, 36); /* drm_version32_t */
	give(in, 36);
	ck_assert_str_eq(say("i915"), "DRM_IOCTL_VERSION: class=query compat=1");
	ask(_IOC_WRITE, 'd', 0x09, 8); /* struct drm_gem_close is the same */
	give(in, 8);
	ck_assert_str_eq(say("i915"), "DRM_IOCTL_GEM_CLOSE: class=mem handle=1 compat=1");
}
END_TEST

START_TEST(what_could_not_be_read_is_not_made_up)
{
	ask(_IOC_READ | _IOC_WRITE, 'd', 0x44, 24);
	ev.flags = GPU_NO_INPUT | GPU_NO_OUTPUT;
	ev.ret = -14;
	ev.n_skipped = 3;
	ck_assert_str_eq(say("amdgpu"), "DRM_IOCTL_AMDGPU_CS: class=submit error=EFAULT "
					"queries_before=3 input_unreadable=1");
}
END_TEST

START_TEST(calls_that_are_repeated)
{
	ck_assert(gpu_ioctl_is_retry(-4));
	ck_assert(gpu_ioctl_is_retry(-11));
	ck_assert(gpu_ioctl_is_retry(-512));
	ck_assert(!gpu_ioctl_is_retry(0));
	ck_assert(!gpu_ioctl_is_retry(-22));
	ck_assert(!gpu_ioctl_is_retry(4));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_ioctl_describe");
	TCase *tc = tcase_create("describe");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120); /* sanitizers */
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, a_submit_shows_what_went_in_and_what_came_out);
	tcase_add_test(tc, what_has_changed_is_shown_twice);
	tcase_add_test(tc, an_older_struct_is_shown_as_far_as_it_goes);
	tcase_add_test(tc, what_a_driver_only_tells_is_what_came_out);
	tcase_add_test(tc, an_unknown_number_stays_one);
	tcase_add_test(tc, the_core_is_the_same_with_every_driver);
	tcase_add_test(tc, accelerators_have_drivers_of_their_own);
	tcase_add_test(tc, a_timeout_may_be_below_zero);
	tcase_add_test(tc, a_queue_of_kfd_is_made);
	tcase_add_test(tc, files_that_are_shared_have_no_device);
	tcase_add_test(tc, memory_that_becomes_a_buffer);
	tcase_add_test(tc, a_control_that_fails_inside_says_so);
	tcase_add_test(tc, two_structs_of_one_escape_are_told_apart_by_size);
	tcase_add_test(tc, an_escape_in_another_one_is_that_one);
	tcase_add_test(tc, a_modeset_is_its_command);
	tcase_add_test(tc, numbers_of_uvm_have_no_form);
	tcase_add_test(tc, a_status_behind_what_is_kept_is_read_by_itself);
	tcase_add_test(tc, what_nobody_knows_of_nvidia);
	tcase_add_test(tc, every_row_decodes_at_every_size);
	tcase_add_test(tc, a_program_cannot_make_up_many_names);
	tcase_add_test(tc, a_32_bit_struct_of_another_size_is_not_guessed_at);
	tcase_add_test(tc, what_could_not_be_read_is_not_made_up);
	tcase_add_test(tc, calls_that_are_repeated);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
