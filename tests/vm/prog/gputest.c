/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputest - what programs do with a GPU, on devices that a virtual machine has.
 *
 *	gputest jobs N [DEVICE]     N times a job on each of fakegpu's rings, each
 *	                            waiting for the one before, and a wait for the last
 *	gputest syncobjs            waits for one of them, for several, for points of a timeline
 *	gputest errors              calls that fail, one that no driver knows
 *	gputest fences              fences between drivers: sync_file, vgem, dma-buf
 *	gputest virtio              virtio_gpu without 3D
 *	gputest flood N             N calls as fast as they can be made
 *	gputest busy RING MS SECONDS    jobs of MS one after the other, or until SIGTERM
 *
 * Prints what it did: "ioctl NAME RESULT" for each call but those of a flood, "job RING
 * CONTEXT:SEQNO" with the fence of each job, "wait CONTEXT:SEQNO", of `syncobjs` "waits
 * CONTEXT:SEQNO..." for each wait, and "busy ENGINE NS", what fdinfo says at the end.
 */
#include "drm_node.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <drm/virtgpu_drm.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include "fakegpu_drm.h"

#define WAIT_NS (60 * 1000000000ll) /* on a machine that is slow and busy */

static const char *const rings[] = { "gfx", "compute", "copy" };

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int open_fakegpu(int skip)
{
	int fd = open_driver("fakegpu", 1, skip);

	must(fd, "fakegpu");
	return fd;
}

static uint32_t new_syncobj(int fd)
{
	struct drm_syncobj_create create = { 0 };

	must(call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create), "SYNCOBJ_CREATE");
	return create.handle;
}

static void wait_syncobjs(int fd, const uint32_t *handles, uint32_t n)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)handles,
		.count_handles = n,
		.timeout_nsec = now_ns() + WAIT_NS,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
	};

	must(call(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait), "SYNCOBJ_WAIT");
}

static void wait_syncobj(int fd, uint32_t handle)
{
	wait_syncobjs(fd, &handle, 1);
}

static struct drm_fakegpu_submit submit(int fd, uint32_t ring, uint32_t us, uint32_t in,
					uint32_t out)
{
	struct drm_fakegpu_submit args = {
		.ring = ring, .duration_us = us, .in_syncobj = in, .out_syncobj = out
	};

	must(call(fd, DRM_IOCTL_FAKEGPU_SUBMIT, &args), "SUBMIT");
	printf("job %s %llu:%llu\n", rings[ring], (unsigned long long)args.fence_ctx,
	       (unsigned long long)args.fence_seqno);
	return args;
}

static void print_busy(int fd)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	if (!f)
		must(-errno, path);
	while (fgets(line, sizeof(line), f)) {
		char engine[32];
		unsigned long long ns;

		if (sscanf(line, "drm-engine-%31[^:]: %llu ns", engine, &ns) == 2)
			printf("busy %s %llu\n", engine, ns);
	}
	fclose(f);
}

static void jobs(int n, int device)
{
	int fd = open_fakegpu(device);
	uint32_t s[3];

	for (int i = 0; i < 3; i++)
		s[i] = new_syncobj(fd);
	for (int i = 0; i < n; i++) {
		struct drm_fakegpu_submit last;

		submit(fd, FAKEGPU_GFX, 4000, 0, s[0]);
		submit(fd, FAKEGPU_COMPUTE, 2000, s[0], s[1]);
		last = submit(fd, FAKEGPU_COPY, 1000, s[1], s[2]);
		wait_syncobj(fd, s[2]);
		printf("wait %llu:%llu\n", (unsigned long long)last.fence_ctx,
		       (unsigned long long)last.fence_seqno);
	}
	print_busy(fd);
	close(fd);
}

static void print_wait(const struct drm_fakegpu_submit *job)
{
	printf(" %llu:%llu", (unsigned long long)job->fence_ctx,
	       (unsigned long long)job->fence_seqno);
}

/* Waits for what was done long before, and for several: among so many handles that they make a
 * tree. */
static void syncobjs(void)
{
	int fd = open_fakegpu(0);
	struct drm_fakegpu_submit a, b;
	uint32_t both[2], first = new_syncobj(fd);

	for (int i = 0; i < 100; i++)
		both[i % 2] = new_syncobj(fd);
	a = submit(fd, FAKEGPU_GFX, 4000, 0, first);
	wait_syncobj(fd, first);
	b = submit(fd, FAKEGPU_COMPUTE, 4000, 0, both[0]);
	wait_syncobj(fd, both[0]);
	wait_syncobj(fd, first);
	printf("waits");
	print_wait(&a);
	printf("\nwaits");
	print_wait(&b);
	printf("\nwaits");
	print_wait(&a);
	printf("\n");

	a = submit(fd, FAKEGPU_GFX, 4000, 0, both[0]);
	b = submit(fd, FAKEGPU_COMPUTE, 8000, 0, both[1]);
	wait_syncobjs(fd, both, 2);
	printf("waits");
	print_wait(&a);
	print_wait(&b);
	printf("\n");
	close(fd);
}

static void timeline_wait(int fd, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = now_ns() + WAIT_NS,
	};

	must(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), "TIMELINE_WAIT");
}

/* A job's fence becomes a point of a timeline: as drivers do, by a transfer. */
static void timeline_add(int fd, uint32_t timeline, uint32_t from, uint64_t point)
{
	struct drm_syncobj_transfer transfer = {
		.src_handle = from,
		.dst_handle = timeline,
		.dst_point = point,
	};

	must(call(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &transfer), "SYNCOBJ_TRANSFER");
}

static void timeline(void)
{
	int fd = open_fakegpu(0);
	uint32_t line = new_syncobj(fd), s = new_syncobj(fd);
	struct drm_fakegpu_submit job[2];

	for (int i = 0; i < 2; i++) {
		job[i] = submit(fd, i ? FAKEGPU_COMPUTE : FAKEGPU_GFX, 8000, 0, s);
		timeline_add(fd, line, s, i ? 20 : 10);
	}
	for (int i = 0; i < 2; i++) {
		timeline_wait(fd, line, i ? 20 : 10);
		printf("waits");
		print_wait(&job[i]);
		printf("\n");
	}
	close(fd);
}

static void errors(void)
{
	struct drm_fakegpu_submit bad = { .ring = 9, .duration_us = 1 };
	int fd = open_fakegpu(0);

	call(fd, DRM_IOCTL_FAKEGPU_SUBMIT, &bad);
	call_named(fd, DRM_IOWR(0x90, struct drm_fakegpu_submit), &bad, "0x90");
	call_named(fd, DRM_IOWR(0xef, uint32_t), &bad, "0xef");
	close(fd);
}

static void export_fence(void)
{
	struct drm_syncobj_handle handle = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE
	};
	struct sync_file_info info = { 0 };
	int fd = open_fakegpu(0);

	handle.handle = new_syncobj(fd);
	submit(fd, FAKEGPU_GFX, 4000, 0, handle.handle);
	must(call(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle), "SYNCOBJ_HANDLE_TO_FD");
	wait_syncobj(fd, handle.handle);
	must(call(handle.fd, SYNC_IOC_FILE_INFO, &info), "SYNC_IOC_FILE_INFO");
	close(handle.fd);
	close(fd);
}

static void fences(void)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };
	struct drm_vgem_fence_signal signal = { 0 };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	struct pollfd pfd = { .events = POLLOUT };
	int fd;

	export_fence();
	fd = open_driver("vgem", 0, 0);
	must(fd, "vgem");
	must(call(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb), "CREATE_DUMB");
	attach.handle = prime.handle = dumb.handle;
	must(call(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach), "FENCE_ATTACH");
	must(call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), "PRIME_HANDLE_TO_FD");
	pfd.fd = prime.fd;
	printf("ready %d\n", poll(&pfd, 1, 0));
	signal.fence = attach.out_fence;
	must(call(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal), "FENCE_SIGNAL");
	printf("ready %d\n", poll(&pfd, 1, -1));
	must(call(prime.fd, DMA_BUF_IOCTL_SYNC, &sync), "DMA_BUF_IOCTL_SYNC");
	close(prime.fd);
	close(fd);
}

static void virtio(void)
{
	struct drm_virtgpu_execbuffer exec = { .fence_fd = -1 };
	struct drm_virtgpu_getparam param = { .param = VIRTGPU_PARAM_3D_FEATURES };
	uint64_t value = 0;
	int fd = open_driver("virtio_gpu", 1, 0);

	must(fd, "virtio_gpu");
	param.value = (uintptr_t)&value;
	call(fd, DRM_IOCTL_VIRTGPU_GETPARAM, &param);
	call(fd, DRM_IOCTL_VIRTGPU_EXECBUFFER, &exec);
	close(fd);
}

static void flood(int n)
{
	struct drm_gem_close none = { .handle = 12345 };
	int fd = open_fakegpu(0);

	for (int i = 0; i < n; i++)
		(void)ioctl(fd, DRM_IOCTL_GEM_CLOSE, &none);
	printf("flood %d\n", n);
	close(fd);
}

static volatile sig_atomic_t over;

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

static void busy(const char *name, int ms, int seconds)
{
	int64_t end = now_ns() + seconds * 1000000000ll;
	int fd = open_fakegpu(0);
	uint32_t s = new_syncobj(fd), ring = 0;

	while (ring < FAKEGPU_N_RINGS - 1 && strcmp(name, rings[ring]) != 0)
		ring++;
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_term, .sa_flags = SA_RESTART },
		  NULL);
	while (!over && now_ns() < end) {
		submit(fd, ring, ms * 1000, 0, s);
		wait_syncobj(fd, s);
	}
	print_busy(fd);
	fflush(stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int arg[3];

	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	for (int i = 0; i < 3; i++)
		arg[i] = argc > i + 2 ? atoi(argv[i + 2]) : 0;
	if (!strcmp(what, "jobs"))
		jobs(arg[0], arg[1]);
	else if (!strcmp(what, "syncobjs"))
		syncobjs(), timeline();
	else if (!strcmp(what, "errors"))
		errors();
	else if (!strcmp(what, "fences"))
		fences();
	else if (!strcmp(what, "virtio"))
		virtio();
	else if (!strcmp(what, "flood"))
		flood(arg[0]);
	else if (!strcmp(what, "busy") && argc == 5)
		busy(argv[2], arg[1], arg[2]);
	else
		return 2;
	return 0;
}
