/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* gpu_events.h - records of bpf/gpu.bpf.c, read by daemon/collect/gpu.c. */
#ifndef GPU_EVENTS_H
#define GPU_EVENTS_H

#include "event.h"
#include "user_stack.h"

/* hdr.type. Each part of the source has its range. */
enum gpu_event_type {
	GPU_IOCTL = 1,	      /* struct gpu_ioctl_event: one has returned */
	GPU_IOCTL_STACK,      /* the same, with the caller's stack: struct gpu_ioctl_stack_event */
	GPU_IOCTL_UNFINISHED, /* one that has not, as of hdr.time_ns: no event of the ledger */

	GPU_JOBS_FIRST = 16, /* jobs, fences, frames: gpu_point_events.h */
	GPU_EVENT_TYPES = 48
};

/* What kind of file an ioctl is for; 0 = none of ours. */
enum gpu_class {
	GPU_NONE,
	GPU_DRM,
	GPU_ACCEL, /* of the DRM subsystem, with numbers of its own */
	GPU_KFD,
	GPU_NVIDIA,
	GPU_NVIDIA_UVM,
	GPU_NVIDIA_CAPS,
	GPU_NVIDIA_OTHER,
	GPU_DMA_HEAP,
	GPU_MISC, /* of the miscellaneous devices, by its minor number: */
	GPU_UDMABUF,
	/* No device nodes: files without a name. */
	GPU_DMA_BUF,
	GPU_SYNC_FILE,
	N_GPU_CLASSES
};

/* The kernel's functions for ioctl(), of 64-bit and of 32-bit programs. */
#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define GPU_IOCTL_FUNCTION	  "__x64_sys_ioctl"
#define GPU_COMPAT_IOCTL_FUNCTION "__ia32_compat_sys_ioctl"
#else
#define GPU_IOCTL_FUNCTION	  "__arm64_sys_ioctl"
#define GPU_COMPAT_IOCTL_FUNCTION "__arm64_compat_sys_ioctl"
#endif

#define GPU_MAX_MAJOR	   512 /* the kernel hands out none above 511 by itself */
#define GPU_DRIVER_NAME	   24
#define GPU_IOCTL_MAX_DATA 96 /* bytes that are kept of a struct, each way */

/* What an ioctl is for decides whether it is kept; of each (driver, number) in the table. */
enum gpu_ioctl_class {
	GPU_CLASS_UNKNOWN, /* not in the table: kept */
	GPU_CLASS_SUBMIT,
	GPU_CLASS_WAIT,
	GPU_CLASS_FENCE,
	GPU_CLASS_KMS,
	GPU_CLASS_MAP,
	GPU_CLASS_MEM,
	GPU_CLASS_CTX,
	GPU_CLASS_OTHER,
	GPU_CLASS_QUERY, /* only counted, unless it fails or takes long */
	N_GPU_IOCTL_CLASSES
};

/*
 * Numbers of drivers in the daemon's table of ioctls (gpu_ioctl_table.h), from 1 on.
 * The kernel's half looks up each ioctl's rule by slot and number.
 */
#define GPU_MAX_SLOTS	   64
#define GPU_IOCTLS_OF_SLOT 256

struct gpu_ioctl_rule {
	__u8 ioctl_class;
	__u8 n_in, n_out; /* as much of the struct is of interest, each way */
	__u8 pad;
	__u16 status_at; /* of the driver's own result, if it is beyond what is kept; 0: is not */
	__u16 size;	 /* of the struct, for those whose number does not say */
};

/* A device, as the kernel's half has met it. */
struct gpu_node {
	char driver[GPU_DRIVER_NAME]; /* empty: not known */
	__u32 slot;		      /* 0: not in the table */
	__u32 by_daemon;	      /* not read in the kernel */
};

/* gpu_ioctl_event.flags */
#define GPU_COMPAT	   0x01 /* a 32-bit program's: structs may differ */
#define GPU_ENTERED_BEFORE 0x02 /* the call was under way when we came */
#define GPU_NO_INPUT	   0x04 /* its memory could not be read */
#define GPU_NO_OUTPUT	   0x08
#define GPU_HAS_STATUS	   0x10 /* `status` has been read */
#define GPU_WRAPPED	   0x20 /* NV_ESC_IOCTL_XFER_CMD around this one */
#define GPU_QUEUED_JOB	   0x40 /* whatever its class is, it was a submit */
#define GPU_IOCTL_FLAGS	   0x7f

/*
 * `tid` and `enter_ns` name a call: what its jobs and fences refer to. In `data`
 * are the first n_in bytes of the caller's struct as they were when the call was
 * entered, and from the next multiple of 8 on the n_out bytes that were there when
 * it returned: as many as the table says, the struct has, and there is room for.
 */
struct gpu_ioctl_event {
	struct event_hdr hdr; /* time_ns: when the call returned */
	__u64 enter_ns;	      /* CLOCK_BOOTTIME */
	__s64 ret;	      /* as the kernel has it: -512 and below are restarts */
	__u64 file;	      /* file->private_data: struct drm_file of a DRM device */
	__u32 request;
	__u32 rdev;   /* of the device: major << 20 | minor; 0: it is none */
	__u32 nr;     /* _IOC_NR(), NVIDIA's escape or command, the request where it has no form */
	__u32 size;   /* of the caller's struct; 0: not known */
	__u32 status; /* the driver's own result, see GPU_HAS_STATUS */
	__s32 fd;
	__u32 n_skipped;  /* of this thread, since its last record: only counted */
	__u8 gpu_class;	  /* enum gpu_class */
	__u8 ioctl_class; /* enum gpu_ioctl_class, as the kernel's half knew it */
	__u8 flags;
	__u8 n_in, n_out;
	__u8 pad[7];
	char driver[GPU_DRIVER_NAME]; /* drm_driver.name; empty: not known */
	__u8 data[2 * GPU_IOCTL_MAX_DATA];
};

#define GPU_IOCTL_HEAD	     (sizeof(struct event_hdr) + 88)
#define GPU_ROUND(n)	     (((n) + 7u) & ~7u)
#define GPU_IOCTL_SIZE(i, o) (GPU_IOCTL_HEAD + GPU_ROUND(i) + GPU_ROUND(o))

_Static_assert(sizeof(struct gpu_ioctl_event) == GPU_IOCTL_HEAD + 2 * GPU_IOCTL_MAX_DATA,
	       "no padding");

/* With the stack that led to the call. `ioctl` is whole, whatever its n_in and n_out are. */
struct gpu_ioctl_stack_event {
	struct gpu_ioctl_event ioctl;
	struct user_stack user;
};

_Static_assert(sizeof(struct gpu_ioctl_stack_event) < 32768, "per-CPU maps hold no more");

#endif
