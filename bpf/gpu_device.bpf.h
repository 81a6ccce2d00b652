/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_device.bpf.h - which files are those of GPUs, and which driver they have. A
 * part of gpu.bpf.c.
 */
#ifndef GPU_DEVICE_BPF_H
#define GPU_DEVICE_BPF_H

#include "socket.bpf.h"

/* Changed by the daemon while we run. */
__u32 udmabuf_minor = ~0u; /* among the miscellaneous devices */

/* Of a major number: enum gpu_class. The daemon's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPU_MAX_MAJOR);
	__type(key, __u32);
	__type(value, __u8);
} gpu_majors SEC(".maps");

/* Slots by the names of drivers. The daemon's. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPU_MAX_SLOTS);
	__type(key, char[GPU_DRIVER_NAME]);
	__type(value, __u32);
} gpu_drivers SEC(".maps");

/*
 * Devices by their numbers, learnt at their first ioctl. The daemon empties it now
 * and then, since another driver may get the number, and enters those whose driver
 * it knows better.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct gpu_node);
} gpu_nodes SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* In the module drm, so that there may be no such types in what this kernel tells. */
struct drm_driver {
	char *name;
};

struct drm_device {
	const struct drm_driver *driver;
};

struct drm_minor {
	struct drm_device *dev;
};

struct drm_file {
	struct drm_minor *minor;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file___path {
	struct path f_path;
};

struct super_block {
	unsigned long s_magic;
};

struct inode___super {
	struct super_block *i_sb;
};

#pragma clang attribute pop

/* include/uapi/asm-generic/ioctl.h, the same on x86 and arm64. */
#define GPU_IOC_NR(request)   ((request)&0xff)
#define GPU_IOC_TYPE(request) ((request) >> 8 & 0xff)
#define GPU_IOC_SIZE(request) ((request) >> 16 & 0x3fff)
#define GPU_IOC_WRITE	      (1u << 30)
#define GPU_IOC_READ	      (2u << 30)

#define DMA_BUF_MAGIC	      0x444d4142 /* include/uapi/linux/magic.h */
#define DRM_FIRST_OF_DRIVER   0x40
#define DRM_LAST_OF_DRIVER    0x9f
#define DRM_NR_SYNCOBJ_WAIT   0xc3 /* include/uapi/drm/drm.h */
#define DRM_NR_TIMELINE_WAIT  0xca
#define NVIDIA_MODESET_MINOR  254
#define NVIDIA_XFER_CMD	      0xd3
#define UVM_INITIALIZE	      0x30000001 /* and UVM_DEINITIALIZE: the only large ones */
#define UVM_SMALL_NUMBERS     0x800
#define ERESTARTSYS	      512
#define ERESTART_RESTARTBLOCK 516
#define EINTR		      4
#define EAGAIN		      11

static __always_inline __u8 class_of_rdev(__u32 rdev)
{
	__u32 major = rdev >> 20;
	__u8 *class = bpf_map_lookup_elem(&gpu_majors, &major);

	if (!class)
		return GPU_NONE;
	if (*class != GPU_MISC)
		return *class;
	return (rdev & 0xfffff) == udmabuf_minor ? GPU_UDMABUF : GPU_NONE;
}

static __always_inline bool is_sync_file(struct file *file)
{
	const unsigned char *name =
		BPF_CORE_READ((struct file___path *)file, f_path.dentry, d_name.name);
	char text[10] = {};

	bpf_probe_read_kernel(text, sizeof(text), name);
	return *(__u64 *)text == *(__u64 *)"sync_fil" && text[8] == 'e' && !text[9];
}

/*
 * The first question, which needs no look at the file: could it be one of ours? All
 * have a letter of their own but those of UVM, which are small numbers, or two larger
 * ones. It spares most other ioctls all that follows; of ours it leaves out what is
 * none of their drivers', as when a program asks whether it writes to a terminal.
 */
static __always_inline bool may_be_ours(__u32 request)
{
	switch (GPU_IOC_TYPE(request)) {
	case 'd': /* DRM */
	case 'K': /* KFD */
	case 'F': /* NVIDIA */
	case 'm': /* its modesetting */
	case 'H': /* DMA heaps */
	case 'u': /* udmabuf */
	case 'b': /* DMA buffers */
	case '>': /* sync files */
		return true;
	default:
		return request < UVM_SMALL_NUMBERS || request - UVM_INITIALIZE < 2;
	}
}

/* Files without a device. */
static __always_inline __u8 class_of_plain(struct file *file, struct inode *inode, __u32 request)
{
	switch (GPU_IOC_TYPE(request)) {
	case 'b':
		return BPF_CORE_READ((struct inode___super *)inode, i_sb, s_magic) == DMA_BUF_MAGIC
			       ? GPU_DMA_BUF
			       : GPU_NONE;
	case '>':
		return is_sync_file(file) ? GPU_SYNC_FILE : GPU_NONE;
	default:
		return GPU_NONE;
	}
}

static __always_inline __u8 class_of_file(struct file *file, struct inode *inode, __u32 request,
					  __u32 *ret_rdev)
{
	*ret_rdev = 0;
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFCHR)
		return class_of_plain(file, inode, request);
	*ret_rdev = BPF_CORE_READ(inode, i_rdev);
	return class_of_rdev(*ret_rdev);
}

/* ---- which driver has it? ---- */

static __noinline int learn_node(struct gpu_ioctl_event *ev)
{
	struct gpu_node node = {};
	struct drm_file *file;
	__u32 *slot, rdev;

	if (!ev)
		return 0;
	file = (struct drm_file *)ev->file;
	rdev = ev->rdev;
	if (bpf_core_field_exists(file->minor) && bpf_core_type_exists(struct drm_driver) && file)
		bpf_probe_read_kernel_str(node.driver, sizeof(node.driver),
					  BPF_CORE_READ(file, minor, dev, driver, name));
	slot = bpf_map_lookup_elem(&gpu_drivers, node.driver);
	if (slot)
		node.slot = *slot;
	/* Not over what the daemon knows. */
	bpf_map_update_elem(&gpu_nodes, &rdev, &node, BPF_NOEXIST);
	return 0;
}

/* The name goes into the record; returned is the slot, 0: not known. */
static __always_inline __u32 drm_driver(struct gpu_ioctl_event *ev)
{
	__u32 rdev = ev->rdev;
	struct gpu_node *node = bpf_map_lookup_elem(&gpu_nodes, &rdev);

	if (!node) {
		learn_node(ev);
		node = bpf_map_lookup_elem(&gpu_nodes, &rdev);
		if (!node)
			return 0;
	}
	__builtin_memcpy(ev->driver, node->driver, sizeof(ev->driver));
	return node->slot;
}

#endif
