/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_ioctl.bpf.h - ioctls on GPU devices and on the files that buffers and
 * fences are shared by. A part of gpu.bpf.c.
 *
 * The kernel's function for this one system call is watched, so that no other one
 * pays for it; where functions cannot be, its tracepoints. Those of all calls only
 * where these cannot be had either, or while there are 32-bit programs, which have no
 * tracepoints of their own. What is known on the way in waits in the
 * thread's own storage, which is the record by then: on the way out it is copied into
 * the ring as it is.
 */
#ifndef GPU_IOCTL_BPF_H
#define GPU_IOCTL_BPF_H

#include "gpu_device.bpf.h"
#include "syscall_regs.bpf.h"
#include "user_stack.bpf.h"

/* Facts of the machine, fixed at load. */
const volatile __u32 ioctl_nr = 16;	   /* of the system call */
const volatile __u32 compat_ioctl_nr = 54; /* of 32-bit programs */
const volatile bool only_compat = false;   /* of the tracepoints of all calls: 32-bit programs */
const volatile __u64 slow_ns = 1000000;	   /* what takes that long is always kept */
/* Of the files and devices that have one driver by their nature; 0: not in the table. */
const volatile __u32 slot_of_class[N_GPU_CLASSES];
const volatile __u32 modeset_slot, core_slot;

/* Changed by the daemon while we run. */
__u32 generation = 1; /* what is known of devices from before may have changed */

/* The call of a thread, from its entry to its exit. */
struct gpu_call {
	struct gpu_ioctl_event ev;
	__u64 arg;	  /* where the caller's struct is */
	__u32 active;	  /* 0: none is under way */
	__u16 status_at;  /* of the driver's result, if it has to be fetched */
	__u8 n_in, n_out; /* what is wanted of the struct */
	/* The file of the last call, which is that of the next one nearly always. */
	__u32 known_since; /* the `generation` that was; 0: nothing is known */
	struct file *known_file;
	struct inode *known_inode;
	__u32 known_slot; /* of the driver's own ioctls */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct gpu_call);
} gpu_calls SEC(".maps");

/* Of a driver's ioctl, slot << 8 | number. The daemon's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPU_MAX_SLOTS *GPU_IOCTLS_OF_SLOT);
	__type(key, __u32);
	__type(value, struct gpu_ioctl_rule);
} gpu_rules SEC(".maps");

/* For walks; a program may be preempted, and another one come in between. */
struct gpu_room {
	struct gpu_ioctl_stack_event ev;
	__u64 window_ns; /* stacks are so many in so long: since when */
	__u32 n_stacks;
	__u32 busy;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpu_room);
} gpu_rooms SEC(".maps");

/* A CPU takes at most 10,000 stacks a second, some 1 % of its time. */
#define GPU_WINDOW_NS	 10000000
#define GPU_STACKS_LIMIT 100

/*
 * The ioctl that the running thread is in, or NULL: for whatever happens inside,
 * such as a job that is queued.
 */
static __always_inline const struct gpu_ioctl_event *gpu_ioctl_now(void)
{
	struct gpu_call *call = bpf_task_storage_get(&gpu_calls, bpf_get_current_task_btf(), 0, 0);

	return call && call->active ? &call->ev : 0;
}

/* It has queued a job, so that its stack is wanted also where the table does not know it. */
static __always_inline void gpu_ioctl_queued_job(const struct gpu_ioctl_event *ioctl)
{
	((struct gpu_ioctl_event *)ioctl)->flags |= GPU_QUEUED_JOB;
}

static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

/* ---- what does it ask? ---- */

/* NVIDIA's: the number of an escape; around large ones there is another. */
static __always_inline __u32 nvidia_slot(struct gpu_call *call, bool readable)
{
	struct gpu_ioctl_event *ev = &call->ev;
	__u32 head[4] = {};

	if ((ev->rdev & 0xfffff) == NVIDIA_MODESET_MINOR) {
		ev->nr = ~0u;
		if (readable && bpf_probe_read_user(head, 4, (void *)call->arg) == 0)
			ev->nr = head[0];
		return modeset_slot;
	}
	if (ev->nr == NVIDIA_XFER_CMD && readable &&
	    bpf_probe_read_user(head, sizeof(head), (void *)call->arg) == 0) {
		ev->flags |= GPU_WRAPPED;
		ev->nr = head[0];
		ev->size = head[1];
		call->arg = head[2] | (__u64)head[3] << 32;
	}
	return slot_of_class[GPU_NVIDIA];
}

static __always_inline __u32 slot_of(struct gpu_call *call, bool readable)
{
	struct gpu_ioctl_event *ev = &call->ev;
	__u8 class = ev->gpu_class;

	switch (class) {
	case GPU_DRM:
	case GPU_ACCEL:
		if (GPU_IOC_TYPE(ev->request) != 'd')
			return 0;
		return ev->nr < DRM_FIRST_OF_DRIVER || ev->nr > DRM_LAST_OF_DRIVER
			       ? core_slot
			       : call->known_slot;
	case GPU_NVIDIA:
		return nvidia_slot(call, readable);
	case GPU_NVIDIA_UVM:
		/* Its requests are bare numbers. */
		ev->nr = ev->request;
		ev->size = 0;
		return slot_of_class[GPU_NVIDIA_UVM];
	default:
		return class < N_GPU_CLASSES ? slot_of_class[class] : 0;
	}
}

static __always_inline void apply_rule(struct gpu_call *call, __u32 slot)
{
	struct gpu_ioctl_event *ev = &call->ev;
	__u32 nr = ev->nr, key;
	struct gpu_ioctl_rule *rule;

	if (nr - UVM_INITIALIZE < 2)
		nr = nr - UVM_INITIALIZE + GPU_IOCTLS_OF_SLOT - 2;
	if (!slot || nr >= GPU_IOCTLS_OF_SLOT)
		return;
	key = slot * GPU_IOCTLS_OF_SLOT + nr;
	rule = bpf_map_lookup_elem(&gpu_rules, &key);
	if (!rule)
		return;
	ev->ioctl_class = rule->ioctl_class;
	call->status_at = rule->status_at;
	call->n_in = rule->n_in;
	call->n_out = rule->n_out;
	if (rule->size)
		ev->size = rule->size;
}

/* ---- on the way in ---- */

/* NVIDIA's numbers say RW, or nothing at all. */
static __always_inline bool goes(const struct gpu_ioctl_event *ev, __u32 way)
{
	return ev->gpu_class == GPU_NVIDIA || ev->gpu_class == GPU_NVIDIA_UVM || ev->request & way;
}

static __always_inline void take_input(struct gpu_call *call, bool readable)
{
	struct gpu_ioctl_event *ev = &call->ev;
	__u32 n = call->n_in < ev->size ? call->n_in : ev->size;

	if (!n || !goes(ev, GPU_IOC_WRITE))
		return;
	if (n > GPU_IOCTL_MAX_DATA)
		n = GPU_IOCTL_MAX_DATA;
	if (readable && bpf_probe_read_user(ev->data, n, (void *)call->arg) == 0)
		ev->n_in = n;
	else
		ev->flags |= GPU_NO_INPUT;
}

/* False: none of ours. */
static __always_inline bool know_file(struct gpu_call *call, struct file *file, __u32 request)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	call->ev.file = (__u64)BPF_CORE_READ(file, private_data);
	if (call->known_since == generation && call->known_file == file &&
	    call->known_inode == inode)
		return true;
	call->known_since = 0;
	call->ev.gpu_class = class_of_file(file, inode, request, &call->ev.rdev);
	if (!call->ev.gpu_class)
		return false;
	call->ev.driver[0] = '\0';
	call->known_slot = 0;
	if (call->ev.gpu_class == GPU_DRM || call->ev.gpu_class == GPU_ACCEL)
		call->known_slot = drm_driver(&call->ev);
	call->known_file = file;
	call->known_inode = inode;
	call->known_since = generation;
	return true;
}

/* The thread's call, new or old, with what is known of its file; NULL: none of ours. */
static __always_inline struct gpu_call *begin(struct task_struct *task, struct file *file,
					      __u32 request)
{
	struct gpu_call *call = bpf_task_storage_get(&gpu_calls, task, 0, 0);
	__u32 rdev;

	if (!call) {
		if (!class_of_file(file, BPF_CORE_READ(file, f_inode), request, &rdev) ||
		    is_own(task->tgid))
			return 0;
		call = bpf_task_storage_get(&gpu_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!call) {
			count_lost();
			return 0;
		}
	}
	call->active = 0;
	barrier();
	return know_file(call, file, request) ? call : 0;
}

/* `current`: `task` is, so its memory can be read. */
static __always_inline int ioctl_enter(struct task_struct *task, bool current, __u32 fd,
				       __u32 request, __u64 arg, __u8 flags)
{
	struct gpu_ioctl_event *ev;
	struct gpu_call *call;
	struct file *file;

	if (!may_be_ours(request))
		return 0;
	file = task_file(task, fd);
	if (!file)
		return 0;
	call = begin(task, file, request);
	if (!call)
		return 0;
	call->arg = arg;
	call->status_at = 0;
	call->n_in = call->n_out = 0;
	ev = &call->ev;
	ev->ret = 0;
	ev->request = request;
	ev->nr = GPU_IOC_NR(request);
	ev->size = GPU_IOC_SIZE(request);
	ev->status = 0;
	ev->fd = fd;
	ev->ioctl_class = GPU_CLASS_UNKNOWN;
	ev->flags = flags;
	ev->n_in = ev->n_out = 0;
	apply_rule(call, slot_of(call, current));
	take_input(call, current);
	/* The last thing done: our own cost is not the call's. */
	ev->enter_ns = bpf_ktime_get_boot_ns();
	barrier();
	call->active = 1;
	return 0;
}

/* ---- on the way out ---- */

/* The kernel or the program repeats the call: many of them are one. */
static __always_inline bool is_retry(__s64 ret)
{
	return ret == -EINTR || ret == -EAGAIN ||
	       (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK);
}

static __always_inline void take_output(struct gpu_call *call)
{
	struct gpu_ioctl_event *ev = &call->ev;
	__u32 n = call->n_out < ev->size ? call->n_out : ev->size, at = GPU_ROUND(ev->n_in);

	if (call->status_at &&
	    bpf_probe_read_user(&ev->status, 4, (void *)call->arg + call->status_at) == 0)
		ev->flags |= GPU_HAS_STATUS;
	if (!n || !goes(ev, GPU_IOC_READ))
		return;
	if (n > GPU_IOCTL_MAX_DATA)
		n = GPU_IOCTL_MAX_DATA;
	if (at > GPU_IOCTL_MAX_DATA)
		return; /* for the verifier: it cannot be */
	if (bpf_probe_read_user(ev->data + at, n, (void *)call->arg) == 0)
		ev->n_out = n;
	else
		ev->flags |= GPU_NO_OUTPUT;
}

/* The room of this CPU, if a stack may be taken now. */
static __always_inline struct gpu_room *take_room(__u64 now)
{
	__u32 zero = 0;
	struct gpu_room *room = bpf_map_lookup_elem(&gpu_rooms, &zero);

	if (!room)
		return 0;
	if (now - room->window_ns > GPU_WINDOW_NS) {
		room->window_ns = now;
		room->n_stacks = 0;
	}
	if (room->n_stacks >= GPU_STACKS_LIMIT ||
	    __sync_val_compare_and_swap(&room->busy, 0, 1) != 0)
		return 0;
	room->n_stacks++;
	return room;
}

/* False: there was none to walk. */
static __always_inline bool output_with_stack(void *ctx, struct gpu_room *room,
					      struct gpu_call *call, struct event_stream *s)
{
	struct gpu_ioctl_stack_event *ev = &room->ev;
	__u32 size = sizeof(ev->ioctl) + user_stack_walk(ctx, &ev->user);

	if (!ev->user.n_user || size > sizeof(*ev)) /* the latter cannot be: for the verifier */
		return false;
	__builtin_memcpy(&ev->ioctl, &call->ev, sizeof(ev->ioctl));
	ev->ioctl.hdr.type = GPU_IOCTL_STACK;
	ev->ioctl.hdr.size = size;
	event_output(&ev->ioctl.hdr, s, size);
	return true;
}

static __always_inline void record(void *ctx, struct task_struct *task, struct gpu_call *call,
				   __u64 now, bool slow)
{
	struct gpu_ioctl_event *ev = &call->ev;
	struct gpu_room *room = 0;
	struct event_stream *s;
	bool is_out = false;
	__u64 seq = 0;
	__u32 size;

	take_output(call);
	s = stream_next(0, &seq);
	if (!s)
		return;
	size = GPU_IOCTL_SIZE(ev->n_in, ev->n_out);
	event_fill_at(&ev->hdr, now, GPU_IOCTL, 0, size, seq);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->hdr.cgroup_id = task_cgroup_id(task);
	if ((ev->ioctl_class == GPU_CLASS_SUBMIT || ev->flags & GPU_QUEUED_JOB || slow) &&
	    !is_retry(ev->ret))
		room = take_room(now);
	if (room) {
		is_out = output_with_stack(ctx, room, call, s);
		room->busy = 0;
	}
	if (!is_out && size <= sizeof(*ev))
		event_output(&ev->hdr, s, size);
	ev->n_skipped = 0;
}

static __noinline int tell_syncobjs(struct gpu_call *call); /* gpu_syncobj.bpf.h */

static __always_inline bool waits_for_syncobjs(const struct gpu_ioctl_event *ev)
{
	return ev->gpu_class == GPU_DRM &&
	       (ev->nr == DRM_NR_SYNCOBJ_WAIT || ev->nr == DRM_NR_TIMELINE_WAIT);
}

static __always_inline int ioctl_exit(void *ctx, __s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gpu_call *call = bpf_task_storage_get(&gpu_calls, task, 0, 0);
	__u64 now;
	bool slow;

	if (!call || !call->active)
		return 0;
	now = bpf_ktime_get_boot_ns();
	slow = now - call->ev.enter_ns >= slow_ns;
	call->ev.ret = ret;
	if (ret >= 0 && waits_for_syncobjs(&call->ev))
		tell_syncobjs(call);
	if (call->ev.ioctl_class == GPU_CLASS_QUERY && ret >= 0 && !slow)
		call->ev.n_skipped++;
	else
		record(ctx, task, call, now, slow);
	call->active = 0;
	return 0;
}

static __always_inline void read_ioctl_args(struct pt_regs *regs, struct args *args, bool compat)
{
	struct pt_regs___x86_user *x = (void *)regs;

	read_args(regs, args);
	if (!compat || !bpf_core_field_exists(x->orig_ax))
		return;
	args->a[0] = x->bx;
	args->a[1] = (__u32)x->cx;
	args->a[2] = (__u32)x->dx;
}

/* ---- the functions of ioctl() ---- */

static __always_inline int enter_function(struct pt_regs *regs, bool compat)
{
	struct args args;

	read_ioctl_args(regs, &args, compat);
	return ioctl_enter(bpf_get_current_task_btf(), true, args.a[0], args.a[1], args.a[2],
			   compat ? GPU_COMPAT : 0);
}

SEC("fentry/" GPU_IOCTL_FUNCTION)
int BPF_PROG(on_function_enter, struct pt_regs *regs)
{
	return enter_function(regs, false);
}

SEC("fexit/" GPU_IOCTL_FUNCTION)
int BPF_PROG(on_function_exit, struct pt_regs *regs, long ret)
{
	return ioctl_exit(ctx, ret);
}

SEC("fentry/" GPU_COMPAT_IOCTL_FUNCTION)
int BPF_PROG(on_compat_function_enter, struct pt_regs *regs)
{
	return enter_function(regs, true);
}

SEC("fexit/" GPU_COMPAT_IOCTL_FUNCTION)
int BPF_PROG(on_compat_function_exit, struct pt_regs *regs, long ret)
{
	return ioctl_exit(ctx, ret);
}

/* ---- the tracepoints of ioctl() ---- */

struct tp_sys_enter {
	__u64 common;
	__s64 nr;
	__u64 args[6];
};

struct tp_sys_exit {
	__u64 common;
	__s64 nr;
	__s64 ret;
};

SEC("tp/syscalls/sys_enter_ioctl")
int on_ioctl_enter(struct tp_sys_enter *ctx)
{
	return ioctl_enter(bpf_get_current_task_btf(), true, ctx->args[0], ctx->args[1],
			   ctx->args[2], 0);
}

SEC("tp/syscalls/sys_exit_ioctl")
int on_ioctl_exit(struct tp_sys_exit *ctx)
{
	return ioctl_exit(ctx, ctx->ret);
}

/* ---- those of all calls ---- */

static __always_inline int enter_by_regs(struct task_struct *task, bool current,
					 struct pt_regs *regs, __u32 nr, __u8 flags)
{
	struct args args;

	if (is_compat(task)) {
		if (nr != compat_ioctl_nr)
			return 0;
		flags |= GPU_COMPAT;
	} else if (nr != ioctl_nr) {
		return 0;
	}
	read_ioctl_args(regs, &args, flags & GPU_COMPAT);
	return ioctl_enter(task, current, args.a[0], args.a[1], args.a[2], flags);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_any_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (nr != compat_ioctl_nr && (nr != ioctl_nr || only_compat))
		return 0;
	return enter_by_regs(task, true, regs, nr, 0);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_any_exit, struct pt_regs *regs, long ret)
{
	__u32 nr = syscall_nr(regs);

	if (nr != compat_ioctl_nr && (nr != ioctl_nr || only_compat))
		return 0;
	return ioctl_exit(ctx, ret);
}

#endif
