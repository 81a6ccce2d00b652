/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_devices.c - GPU device nodes: /proc/devices, /proc/misc, debugfs, sysfs.
 *
 * Nothing is opened that would wake a GPU.
 */
#include "gpu_devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Documentation/admin-guide/devices.txt */
#define MAJOR_MISC   10
#define MAJOR_NVIDIA 195
#define MAJOR_DRM    226
#define MAJOR_ACCEL  261

#define NVIDIA_MODESET_MIN 254

/* The registered names; a name that only starts with "nvidia" is one of its helpers. */
static const struct {
	const char *name;
	enum gpu_class class;
} majors_by_name[] = {
	{ "drm", GPU_DRM },
	{ "accel", GPU_ACCEL },
	{ "kfd", GPU_KFD },
	{ "nvidia", GPU_NVIDIA },
	{ "nvidia-frontend", GPU_NVIDIA }, /* as the driver before 560 calls it */
	{ "nvidia-uvm", GPU_NVIDIA_UVM },
	{ "nvidia-caps", GPU_NVIDIA_CAPS },
	{ "dma_heap", GPU_DMA_HEAP },
};

static enum gpu_class class_of_name(const char *name)
{
	for (size_t i = 0; i < sizeof(majors_by_name) / sizeof(majors_by_name[0]); i++)
		if (strcmp(name, majors_by_name[i].name) == 0)
			return majors_by_name[i].class;
	return strncmp(name, "nvidia", 6) == 0 ? GPU_NVIDIA_OTHER : GPU_NONE;
}

void gpu_majors_parse(const char *text, uint8_t class[GPU_MAX_MAJOR])
{
	memset(class, GPU_NONE, GPU_MAX_MAJOR);
	class[MAJOR_DRM] = GPU_DRM;
	class[MAJOR_ACCEL] = GPU_ACCEL;
	class[MAJOR_NVIDIA] = GPU_NVIDIA;
	class[MAJOR_MISC] = GPU_MISC;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char name[32];
		unsigned major;
		int n = 0;

		if (strncmp(line, "Block", 5) == 0)
			break;
		if (sscanf(line, "%u %31[^\n]%n", &major, name, &n) != 2 ||
		    major >= GPU_MAX_MAJOR || class[major])
			continue;
		class[major] = class_of_name(name);
	}
}

/* All of a file in /proc, as far as there is room. */
static int read_text(const char *path, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	while (fd >= 0 && len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (n < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return r;
}

int gpu_majors_read(uint8_t class[GPU_MAX_MAJOR])
{
	char text[16384]; /* 512 lines at most are usual; the rest is block devices */
	int r = read_text("/proc/devices", text, sizeof(text));

	gpu_majors_parse(text, class);
	return r;
}

uint32_t gpu_misc_minor(const char *text, const char *name)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char found[64];
		unsigned minor;

		if (sscanf(line, "%u %63[^\n]", &minor, found) == 2 && strcmp(found, name) == 0)
			return minor;
	}
	return GPU_NO_MINOR;
}

uint32_t gpu_udmabuf_minor(void)
{
	char text[16384];

	(void)read_text("/proc/misc", text, sizeof(text)); /* what is not there is not found */
	return gpu_misc_minor(text, "udmabuf");
}

/* The first word of a file, which is to be a name. */
static bool first_word(const char *path, char ret[GPU_DRIVER_LEN])
{
	char text[128];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, " \n")] = '\0';
	snprintf(ret, GPU_DRIVER_LEN, "%.*s", GPU_DRIVER_LEN - 1, text);
	return ret[0] != '\0';
}

/* The DRM core itself says it, where debugfs is: "virtio_gpu dev=0000:00:01.0 unique=...". */
static bool debugfs_driver(enum gpu_class class, uint32_t minor, char ret[GPU_DRIVER_LEN])
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%u/name",
		 class == GPU_ACCEL ? "accel" : "dri", minor);
	return first_word(path, ret);
}

/* Drivers of the bus that have another name than what they tell the DRM core. */
static const struct {
	const char *bus, *drm;
} drm_names[] = {
	{ "nvidia", "nvidia-drm" },	 { "virtio-pci", "virtio_gpu" },
	{ "virtio-mmio", "virtio_gpu" }, { "vc4-drm", "vc4" },
	{ "exynos-drm", "exynos" },	 { "amdxdna", "amdxdna_accel_driver" },
};

void gpu_drm_name(const char *bus, char ret[GPU_DRIVER_LEN])
{
	for (size_t i = 0; i < sizeof(drm_names) / sizeof(drm_names[0]); i++)
		if (strcmp(drm_names[i].bus, bus) == 0)
			bus = drm_names[i].drm;
	snprintf(ret, GPU_DRIVER_LEN, "%.*s", GPU_DRIVER_LEN - 1, bus);
}

/* From the link /sys/dev/char/226:0/device/driver; false: there is none, as with vgem. */
static bool sysfs_driver(uint32_t major, uint32_t minor, char ret[GPU_DRIVER_LEN])
{
	char path[64], target[512];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/driver", major, minor);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	gpu_drm_name(base ? base + 1 : target, ret);
	return ret[0] != '\0';
}

void gpu_driver_name(enum gpu_class class, uint32_t major, uint32_t minor, char ret[GPU_DRIVER_LEN])
{
	static const char *const names[N_GPU_CLASSES] = {
		[GPU_NONE] = "unknown",
		[GPU_DRM] = "drm",
		[GPU_ACCEL] = "accel",
		[GPU_KFD] = "kfd",
		[GPU_NVIDIA] = "nvidia",
		[GPU_NVIDIA_UVM] = "nvidia-uvm",
		[GPU_NVIDIA_CAPS] = "nvidia-caps",
		[GPU_NVIDIA_OTHER] = "nvidia-other",
		[GPU_DMA_HEAP] = "dma-heap",
		[GPU_MISC] = "misc",
		[GPU_UDMABUF] = "udmabuf",
		[GPU_DMA_BUF] = "dma-buf",
		[GPU_SYNC_FILE] = "sync_file",
	};

	if ((class == GPU_DRM || class == GPU_ACCEL) &&
	    (debugfs_driver(class, minor, ret) || sysfs_driver(major, minor, ret)))
		return;
	if (class == GPU_NVIDIA && minor == NVIDIA_MODESET_MIN)
		snprintf(ret, GPU_DRIVER_LEN, "nvidia-modeset");
	else
		snprintf(ret, GPU_DRIVER_LEN, "%s", names[class < N_GPU_CLASSES ? class : 0]);
}
