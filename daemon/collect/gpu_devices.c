/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_devices.c - GPU device nodes: /proc/devices, sysfs, names of ioctls.
 *
 * Numbers are those of include/uapi/drm/drm.h, written down here so that names
 * do not depend on the headers of the machine that builds.
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
#define MAJOR_NVIDIA 195
#define MAJOR_DRM    226
#define MAJOR_ACCEL  261

#define DRM_IOCTL_TYPE	   'd'
#define DRM_FIRST_PRIVATE  0x40
#define DRM_LAST_PRIVATE   0x9f
#define KFD_IOCTL_TYPE	   'K'
#define NVIDIA_IOCTL_TYPE  'F'
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

int gpu_majors_read(uint8_t class[GPU_MAX_MAJOR])
{
	char text[16384]; /* 512 lines at most are usual; the rest is block devices */
	size_t len = 0;
	ssize_t n = 0;
	int fd = open("/proc/devices", O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	while (fd >= 0 && len < sizeof(text) - 1) {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (n < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	gpu_majors_parse(text, class);
	return r;
}

/* "amdgpu" from the link /sys/dev/char/226:0/device/driver; false: there is none. */
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
	base = base ? base + 1 : target;
	snprintf(ret, GPU_DRIVER_LEN, "%.*s", GPU_DRIVER_LEN - 1, base);
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
		[GPU_NVIDIA_OTHER] = "nvidia",
	};

	if ((class == GPU_DRM || class == GPU_ACCEL) && sysfs_driver(major, minor, ret))
		return;
	if (class == GPU_NVIDIA && minor == NVIDIA_MODESET_MIN)
		snprintf(ret, GPU_DRIVER_LEN, "nvidia-modeset");
	else
		snprintf(ret, GPU_DRIVER_LEN, "%s", names[class < N_GPU_CLASSES ? class : 0]);
}

static const char *const drm_core[256] = {
	[0x00] = "VERSION",
	[0x01] = "GET_UNIQUE",
	[0x02] = "GET_MAGIC",
	[0x03] = "IRQ_BUSID",
	[0x04] = "GET_MAP",
	[0x05] = "GET_CLIENT",
	[0x06] = "GET_STATS",
	[0x07] = "SET_VERSION",
	[0x08] = "MODESET_CTL",
	[0x09] = "GEM_CLOSE",
	[0x0a] = "GEM_FLINK",
	[0x0b] = "GEM_OPEN",
	[0x0c] = "GET_CAP",
	[0x0d] = "SET_CLIENT_CAP",
	[0x10] = "SET_UNIQUE",
	[0x11] = "AUTH_MAGIC",
	[0x12] = "BLOCK",
	[0x13] = "UNBLOCK",
	[0x14] = "CONTROL",
	[0x15] = "ADD_MAP",
	[0x16] = "ADD_BUFS",
	[0x17] = "MARK_BUFS",
	[0x18] = "INFO_BUFS",
	[0x19] = "MAP_BUFS",
	[0x1a] = "FREE_BUFS",
	[0x1b] = "RM_MAP",
	[0x1c] = "SET_SAREA_CTX",
	[0x1d] = "GET_SAREA_CTX",
	[0x1e] = "SET_MASTER",
	[0x1f] = "DROP_MASTER",
	[0x20] = "ADD_CTX",
	[0x21] = "RM_CTX",
	[0x22] = "MOD_CTX",
	[0x23] = "GET_CTX",
	[0x24] = "SWITCH_CTX",
	[0x25] = "NEW_CTX",
	[0x26] = "RES_CTX",
	[0x27] = "ADD_DRAW",
	[0x28] = "RM_DRAW",
	[0x29] = "DMA",
	[0x2a] = "LOCK",
	[0x2b] = "UNLOCK",
	[0x2c] = "FINISH",
	[0x2d] = "PRIME_HANDLE_TO_FD",
	[0x2e] = "PRIME_FD_TO_HANDLE",
	[0x30] = "AGP_ACQUIRE",
	[0x31] = "AGP_RELEASE",
	[0x32] = "AGP_ENABLE",
	[0x33] = "AGP_INFO",
	[0x34] = "AGP_ALLOC",
	[0x35] = "AGP_FREE",
	[0x36] = "AGP_BIND",
	[0x37] = "AGP_UNBIND",
	[0x38] = "SG_ALLOC",
	[0x39] = "SG_FREE",
	[0x3a] = "WAIT_VBLANK",
	[0x3b] = "CRTC_GET_SEQUENCE",
	[0x3c] = "CRTC_QUEUE_SEQUENCE",
	[0x3f] = "UPDATE_DRAW",
	[0xa0] = "MODE_GETRESOURCES",
	[0xa1] = "MODE_GETCRTC",
	[0xa2] = "MODE_SETCRTC",
	[0xa3] = "MODE_CURSOR",
	[0xa4] = "MODE_GETGAMMA",
	[0xa5] = "MODE_SETGAMMA",
	[0xa6] = "MODE_GETENCODER",
	[0xa7] = "MODE_GETCONNECTOR",
	[0xa8] = "MODE_ATTACHMODE",
	[0xa9] = "MODE_DETACHMODE",
	[0xaa] = "MODE_GETPROPERTY",
	[0xab] = "MODE_SETPROPERTY",
	[0xac] = "MODE_GETPROPBLOB",
	[0xad] = "MODE_GETFB",
	[0xae] = "MODE_ADDFB",
	[0xaf] = "MODE_RMFB",
	[0xb0] = "MODE_PAGE_FLIP",
	[0xb1] = "MODE_DIRTYFB",
	[0xb2] = "MODE_CREATE_DUMB",
	[0xb3] = "MODE_MAP_DUMB",
	[0xb4] = "MODE_DESTROY_DUMB",
	[0xb5] = "MODE_GETPLANERESOURCES",
	[0xb6] = "MODE_GETPLANE",
	[0xb7] = "MODE_SETPLANE",
	[0xb8] = "MODE_ADDFB2",
	[0xb9] = "MODE_OBJ_GETPROPERTIES",
	[0xba] = "MODE_OBJ_SETPROPERTY",
	[0xbb] = "MODE_CURSOR2",
	[0xbc] = "MODE_ATOMIC",
	[0xbd] = "MODE_CREATEPROPBLOB",
	[0xbe] = "MODE_DESTROYPROPBLOB",
	[0xbf] = "SYNCOBJ_CREATE",
	[0xc0] = "SYNCOBJ_DESTROY",
	[0xc1] = "SYNCOBJ_HANDLE_TO_FD",
	[0xc2] = "SYNCOBJ_FD_TO_HANDLE",
	[0xc3] = "SYNCOBJ_WAIT",
	[0xc4] = "SYNCOBJ_RESET",
	[0xc5] = "SYNCOBJ_SIGNAL",
	[0xc6] = "MODE_CREATE_LEASE",
	[0xc7] = "MODE_LIST_LESSEES",
	[0xc8] = "MODE_GET_LEASE",
	[0xc9] = "MODE_REVOKE_LEASE",
	[0xca] = "SYNCOBJ_TIMELINE_WAIT",
	[0xcb] = "SYNCOBJ_QUERY",
	[0xcc] = "SYNCOBJ_TRANSFER",
	[0xcd] = "SYNCOBJ_TIMELINE_SIGNAL",
	[0xce] = "MODE_GETFB2",
	[0xcf] = "SYNCOBJ_EVENTFD",
	[0xd0] = "MODE_CLOSEFB",
	[0xd1] = "SET_CLIENT_NAME",
	[0xd2] = "GEM_CHANGE_HANDLE",
};

/* The letter of _IOC() in the requests of a class, or 0: its numbers have no such form. */
static uint8_t ioctl_type(enum gpu_class class)
{
	switch (class) {
	case GPU_DRM:
	case GPU_ACCEL:
		return DRM_IOCTL_TYPE;
	case GPU_KFD:
		return KFD_IOCTL_TYPE;
	case GPU_NVIDIA:
		return NVIDIA_IOCTL_TYPE;
	default:
		return 0;
	}
}

void gpu_ioctl_name(enum gpu_class class, uint32_t request, const char *driver,
		    char ret[GPU_IOCTL_NAME_LEN])
{
	uint8_t nr = request & 0xff, type = request >> 8 & 0xff, expected = ioctl_type(class);

	/* Also keeps a program from making up 2^32 different names. */
	if (expected == 0 || type != expected)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl (%s)", driver);
	else if (expected != DRM_IOCTL_TYPE)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl nr 0x%02x (%s)", nr, driver);
	else if (drm_core[nr])
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl DRM_IOCTL_%s", drm_core[nr]);
	else if (nr >= DRM_FIRST_PRIVATE && nr <= DRM_LAST_PRIVATE)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl DRM_IOCTL nr 0x%02x (%s)", nr, driver);
	else
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl DRM_IOCTL nr 0x%02x", nr);
}
