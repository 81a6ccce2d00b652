/* SPDX-License-Identifier: GPL-2.0 */
/*
 * offcpu.bpf.c - how long threads wait, for what, where, and who ends it.
 *
 * Feeds daemon/collect/offcpu.c. A wait is from the switch that takes a thread
 * off its CPU, asleep, to the one that puts it on again; only one that lasts
 * becomes a record. What most waits cost is therefore at the way out: a look
 * into a map and the user's stack, which nobody can read later. All the rest
 * is still there when the thread is woken: the kernel's stack, the registers
 * with the system call and its arguments, the file.
 */
#define WAKEUP_BAND 65536 /* a wait with a copied stack is that long */
#include "common.bpf.h"
#include "irq_depth.bpf.h"
#include "offcpu_events.h"
#include "socket.bpf.h"
#include "syscall_regs.bpf.h"
#include "unwind.bpf.h"

/* Kernel's include/linux/sched.h; these have not changed since 4.14 resp. as noted. */
#define TASK_RUNNING   0x0
#define TASK_DEAD      0x80
#define TASK_NOLOAD    0x400
#define PF_IO_WORKER   0x00000010 /* 5.12: threads of io_uring, without a user's side */
#define PF_USER_WORKER 0x00004000 /* 6.4: of vhost */
#define PF_NO_USER     (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)

#define ANON_INODE_FS_MAGIC 0x09041934
#define PID_FS_MAGIC	    0x50494446 /* 6.9 */

/* Facts of the machine, fixed at load: does the call's first argument say what it waits for? */
const volatile __u8 waits_for_fd[OFFCPU_MAX_NR];

/* Changed by the daemon while we run. */
__u32 own_tgids[EVENT_MAX_OWN]; /* left out; 0 = free */
__u64 wait_min_ns = ~0ull;	/* a wait that is over sooner is no event; ~0: none is wanted */

/* Of one thread, from its first wait to its end. */
struct wait {
	struct offcpu_event ev; /* begin_ns 0: it runs */
	__u8 described;		/* what it waits for has been looked up */
	__u8 lasted;		/* its last wait was an event */
	__u8 n_short;		/* those since then that were none, if not more than MAX_SHORT */
	__u8 pad;
	__u32 copy; /* number in `copies`, + 1; 0: none */
};

/* Preallocated: at a switch there is no memory to be had. Resized by the daemon before load. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, __u32); /* tid */
	__type(value, struct wait);
} waits SEC(".maps");

/* As bytes: the type is nobody else's business. */
const __u64 blank[sizeof(struct wait) / sizeof(__u64)];

/* Stacks whose walk the daemon has to finish, each of a thread that waits now. */
#define N_COPIES 256

struct copy {
	__u32 tid; /* 0: free */
	__u32 pad;
	struct unwind_copy copy;
	__u8 stack[UNWIND_COPY_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, N_COPIES);
	__type(key, __u32);
	__type(value, struct copy);
} copies SEC(".maps");

__u32 next_copy;

/* For a walk under way. */
struct room {
	__u64 ips[UNWIND_MAX_FRAMES];
	struct unwind_copy copy;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct room);
} rooms SEC(".maps");

/* Where a wait and the copy of its stack are put together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct offcpu_copied);
} scratch SEC(".maps");

/* The same for unfinished() alone, which may be interrupted by a switch. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct offcpu_copied);
} unfinished_scratch SEC(".maps");

/*
 * A user's stack is most of what a wait costs. Beyond so many on a CPU and in so
 * long, some 5 % of its time, only threads get one whose last wait was an event:
 * those that pass a byte to and fro all the time are not them. A copy takes
 * several times as long, and a thread gets none after many short waits.
 */
#define WINDOW_NS    10000000
#define STACKS_LIMIT 1000
#define COPIES_LIMIT 100
#define MAX_SHORT    16

struct budget {
	__u64 begin_ns;
	__u32 n_stacks, n_copies;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budget SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned long s_magic;
};

struct inode___kind {
	struct super_block *i_sb;
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

struct file___kind {
	struct path f_path;
};

struct task_struct___io {
	unsigned in_iowait : 1;
};

struct task_struct___cpu {
	int on_cpu;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

static __always_inline bool is_own(__u32 tgid)
{
	for (int i = 0; i < EVENT_MAX_OWN && own_tgids[i]; i++)
		if (own_tgids[i] == tgid)
			return true;
	return false;
}

/* bpf_get_stack() and its kin give bytes; a failure gives no frames. */
static __always_inline __u8 n_frames(long bytes, __u32 max)
{
	__u32 n;

	if (bytes <= 0)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	return n < max ? n : max;
}

/* ---- what it waits for ---- */

static __always_inline void describe_file(struct offcpu_event *ev, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct file___kind *named = (void *)file;
	struct inode___kind *kind = (void *)inode;
	struct socket *socket;
	struct sock *sk;
	__u32 magic;

	magic = BPF_CORE_READ(kind, i_sb, s_magic);
	if (magic == ANON_INODE_FS_MAGIC) {
		ev->file = OFFCPU_FILE_ANON;
		bpf_probe_read_kernel_str(ev->anon_name, sizeof(ev->anon_name),
					  BPF_CORE_READ(named, f_path.dentry, d_name.name));
		return;
	}
	if (magic == PID_FS_MAGIC) {
		ev->file = OFFCPU_FILE_PIDFD;
		return;
	}
	switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
	case S_IFIFO:
		ev->file = OFFCPU_FILE_PIPE;
		break;
	case S_IFREG:
		ev->file = OFFCPU_FILE_REGULAR;
		break;
	case S_IFDIR:
		ev->file = OFFCPU_FILE_DIRECTORY;
		break;
	case S_IFCHR:
		ev->file = OFFCPU_FILE_CHAR;
		ev->rdev = BPF_CORE_READ(inode, i_rdev);
		break;
	case S_IFBLK:
		ev->file = OFFCPU_FILE_BLOCK;
		ev->rdev = BPF_CORE_READ(inode, i_rdev);
		break;
	case S_IFSOCK:
		socket = file_socket(file);
		if (!socket) /* the node of one in a file system, opened with O_PATH */
			break;
		ev->file = OFFCPU_FILE_SOCKET;
		sk = BPF_CORE_READ(socket, sk);
		ev->sock_type = BPF_CORE_READ(socket, type);
		ev->family = BPF_CORE_READ(sk, __sk_common.skc_family);
		ev->protocol = BPF_CORE_READ(sk, sk_protocol);
		break;
	default:
		ev->file = OFFCPU_FILE_OTHER;
	}
}

static __always_inline void describe_call(struct offcpu_event *ev, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file *file;
	struct args args;
	__s32 nr = syscall_nr(regs);

	if (nr < 0)
		return;
	ev->syscall = nr;
	read_args(regs, &args);
	ev->args[0] = args.a[0];
	ev->args[1] = args.a[1];
	ev->args[2] = args.a[2];
	if (is_compat(task)) {
		ev->flags |= OFFCPU_COMPAT;
		return;
	}
	if (nr >= OFFCPU_MAX_NR || !waits_for_fd[nr])
		return;
	/* As long as the call goes on it keeps the file open, unless another thread closes it. */
	file = task_file(task, args.a[0]);
	if (file)
		describe_file(ev, file);
}

/* `task` sleeps, or is just being switched in: its kernel stack and registers stand still. */
static __always_inline void describe(struct offcpu_event *ev, struct task_struct *task)
{
	__u32 n = ev->n_user;

	if (BPF_CORE_READ_BITFIELD_PROBED((struct task_struct___io *)task, in_iowait))
		ev->flags |= OFFCPU_IO_WAIT;
	if (task->flags & PF_NO_USER)
		ev->flags |= OFFCPU_KERNEL_THREAD;
	else
		describe_call(ev, task);

	asm volatile("" : "+r"(n)); /* the verifier shall see the bound that follows */
	if (n > OFFCPU_MAX_USER)
		return;
	ev->n_kernel = n_frames(
		bpf_get_task_stack(task, ev->ips + n, OFFCPU_MAX_KERNEL * sizeof(__u64), 0),
		OFFCPU_MAX_KERNEL);
}

/* ---- user stacks ---- */

static __always_inline struct copy *copy_of(const struct wait *w)
{
	__u32 i = w->copy - 1;

	return w->copy ? bpf_map_lookup_elem(&copies, &i) : 0;
}

static __always_inline void drop_copy(struct wait *w)
{
	struct copy *c = copy_of(w);

	if (c)
		c->tid = 0;
	w->copy = 0;
	w->ev.has_copy = 0;
}

/* NULL: none is free, or nearly so. */
static __always_inline struct copy *new_copy(struct wait *w, __u32 tid)
{
	for (int tries = 0; tries < 4; tries++) {
		__u32 i = __sync_fetch_and_add(&next_copy, 1) % N_COPIES;
		struct copy *c = bpf_map_lookup_elem(&copies, &i);

		if (c && __sync_val_compare_and_swap(&c->tid, 0, tid) == 0) {
			w->copy = i + 1;
			return c;
		}
	}
	return 0;
}

static __always_inline struct budget *this_budget(__u64 now)
{
	__u32 zero = 0;
	struct budget *b = bpf_map_lookup_elem(&budget, &zero);

	if (b && now - b->begin_ns > WINDOW_NS) {
		b->begin_ns = now;
		b->n_stacks = b->n_copies = 0;
	}
	return b;
}

/* The walk came too early: the daemon finishes it, if this wait lasts. */
static __always_inline void copy_stack(struct wait *w, __u32 tid, const struct room *room,
				       struct budget *b)
{
	struct copy *c;

	if (w->n_short >= MAX_SHORT || b->n_copies++ >= COPIES_LIMIT)
		return;
	c = new_copy(w, tid);
	if (!c)
		return;
	bpf_probe_read_kernel(&c->copy, sizeof(c->copy), &room->copy);
	unwind_copy_stack(&c->copy, c->stack, UNWIND_COPY_BYTES);
	c->copy.len &= ~7u; /* records have a multiple of 8 bytes */
	w->ev.has_copy = 1;
}

/* Up the running thread's user stack, into `ips`. Returns the number of frames, at most `max`. */
static __always_inline __u32 walk(void *ctx, struct room *room, __u64 *ips, __u32 max, __u8 *end)
{
	struct unwind_result r = {};
	__u32 n;

	if (!unwind_by_tables) {
		*end = UNWIND_APPROX;
		room->copy.sp = 0;
		return n_frames(bpf_get_stack(ctx, ips, max * sizeof(__u64), BPF_F_USER_STACK),
				max);
	}
	unwind_user(room->ips, &room->copy, &r);
	*end = r.end;
	n = r.n;
	if (n > max) {
		n = max;
		*end = UNWIND_DEPTH;
		room->copy.sp = 0;
	}
	asm volatile("" : "+r"(n));
	if (n > max)
		return 0;
	bpf_probe_read_kernel(ips, n * sizeof(__u64), room->ips);
	return n;
}

static __always_inline struct room *this_room(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&rooms, &zero);
}

static __always_inline void take_stack(void *ctx, struct wait *w, struct task_struct *task,
				       __u64 now)
{
	struct budget *b = this_budget(now);
	struct room *room = this_room();

	w->ev.end = UNWIND_NO_STATE;
	if (!b || !room)
		return;
	if (task->flags & PF_NO_USER) {
		w->ev.end = UNWIND_KTHREAD;
		return;
	}
	if (++b->n_stacks > STACKS_LIMIT && !w->lasted) {
		w->ev.flags |= OFFCPU_NO_STACK;
		return;
	}
	w->ev.n_user = walk(ctx, room, w->ev.ips, OFFCPU_MAX_USER, &w->ev.end);
	if (room->copy.sp)
		copy_stack(w, task->pid, room, b);
}

/* ---- a wait, from its end ---- */

static __always_inline __u32 n_ips(const struct offcpu_event *ev)
{
	return (__u32)ev->n_user + ev->n_kernel + ev->n_waker_kernel + ev->n_waker_user;
}

static __always_inline void identify(struct offcpu_event *ev, struct task_struct *task)
{
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->start_ns = task->group_leader->start_boottime;
	ev->exec_id = task->self_exec_id;
}

/* `ev` and the copy of its stack. Returns the size, or 0: no such copy. */
static __always_inline __u32 put_together(struct offcpu_copied *rec, const struct offcpu_event *ev,
					  const struct copy *c)
{
	__u32 len;

	if (!c)
		return 0;
	len = c->copy.len;
	asm volatile("" : "+r"(len));
	if (len > UNWIND_COPY_BYTES)
		return 0;
	bpf_probe_read_kernel(&rec->ev, sizeof(rec->ev), ev);
	bpf_probe_read_kernel(&rec->copy, sizeof(rec->copy) + len, &c->copy);
	rec->ev.hdr.size = OFFCPU_COPY_HEAD + len;
	return OFFCPU_COPY_HEAD + len;
}

static __always_inline void output_copied(struct wait *w, struct event_stream *s)
{
	struct offcpu_copied *rec;
	__u32 zero = 0, size;

	rec = bpf_map_lookup_elem(&scratch, &zero);
	size = rec ? put_together(rec, &w->ev, copy_of(w)) : 0;
	if (size == 0 || size > sizeof(*rec))
		__sync_fetch_and_add(&s->n_lost, 1);
	else
		event_output(&rec->ev.hdr, s, size);
}

/* A crowd of copies must not drive out the waits of others. */
static __always_inline bool has_room_for_copies(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <
	       bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4;
}

static __always_inline void record(struct wait *w, struct task_struct *task, __u64 end_ns)
{
	struct offcpu_event *ev = &w->ev;
	__u32 waker_tgid = ev->hdr.peer_tgid, waker = ev->hdr.peer_tid, n = n_ips(ev);
	struct event_stream *s;
	__u64 seq = 0;

	s = stream_next(0, &seq);
	if (!s || n > OFFCPU_MAX_IPS)
		return;
	event_fill(&ev->hdr, OFFCPU_WAIT, 0, OFFCPU_HEAD + n * sizeof(__u64), seq);
	ev->hdr.time_ns = end_ns;
	identify(ev, task);
	if (ev->woken_ns) {
		ev->hdr.peer_tgid = waker_tgid;
		ev->hdr.peer_tid = waker;
	}
	ev->has_copy = w->copy && has_room_for_copies();
	if (ev->has_copy)
		output_copied(w, s);
	else
		event_output(&ev->hdr, s, OFFCPU_HEAD + n * sizeof(__u64));
}

static __always_inline void end_wait(struct task_struct *next, __u64 now)
{
	__u32 tid = next->pid;
	struct wait *w;

	if (tid == 0)
		return;
	w = bpf_map_lookup_elem(&waits, &tid);
	if (!w)
		return;
	if (w->ev.begin_ns) {
		w->lasted = now - w->ev.begin_ns >= wait_min_ns;
		if (w->lasted) {
			if (!w->described)
				describe(&w->ev, next);
			record(w, next, now);
			w->n_short = 0;
		} else if (w->n_short < MAX_SHORT) {
			w->n_short++;
		}
		if (w->copy)
			drop_copy(w);
		w->ev.begin_ns = 0;
	}
	w->ev.woken_ns = 0;
}

/* ---- its begin ---- */

/* Whether it would have lasted is not known: better one loss too many. */
static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

static __always_inline struct wait *wait_of(__u32 tid)
{
	struct wait *w = bpf_map_lookup_elem(&waits, &tid);

	if (w)
		return w;
	bpf_map_update_elem(&waits, &tid, blank, BPF_NOEXIST);
	return bpf_map_lookup_elem(&waits, &tid);
}

/* A blank wait. Whoever woke the thread while it went to sleep is kept. */
static __always_inline void clear(struct wait *w, __u32 state)
{
	struct offcpu_event *ev = &w->ev;

	drop_copy(w);
	w->described = 0;
	ev->args[0] = ev->args[1] = ev->args[2] = 0;
	ev->syscall = -1;
	ev->rdev = 0;
	ev->state = state;
	ev->flags &=
		ev->woken_ns ? OFFCPU_WOKEN_BY_IRQ | OFFCPU_WOKEN_BY_SOFT | OFFCPU_WAKER_KERNEL : 0;
	ev->family = ev->sock_type = ev->protocol = 0;
	ev->file = OFFCPU_FILE_NONE;
	ev->n_user = ev->n_kernel = ev->n_waker_kernel = ev->n_waker_user = 0;
	ev->end = ev->waker_end = UNWIND_NO_STATE;
	__builtin_memset(ev->anon_name, 0, sizeof(ev->anon_name));
}

static __always_inline void begin_wait(void *ctx, bool preempt, struct task_struct *prev,
				       __u32 state, __u64 now)
{
	struct wait *w;

	if (preempt || state == TASK_RUNNING || prev->pid == 0 || wait_min_ns == ~0ull)
		return;
	/* The waits of workers for work, and of the dead. */
	if (state & (TASK_NOLOAD | TASK_DEAD) || prev->flags & PF_EXITING || is_own(prev->tgid))
		return;
	w = wait_of(prev->pid);
	if (!w) {
		count_lost();
		return;
	}
	/* It ran meanwhile, and the kernel did not tell. */
	if (w->ev.begin_ns && w->ev.woken_ns) {
		if (w->ev.woken_ns - w->ev.begin_ns >= wait_min_ns) {
			w->ev.flags |= OFFCPU_NO_SWITCH_IN;
			record(w, prev, w->ev.woken_ns);
		}
		w->ev.woken_ns = 0;
	}
	w->ev.begin_ns = 0;
	clear(w, state);
	take_stack(ctx, w, prev, now);
	barrier();
	w->ev.begin_ns = now;
}

static __always_inline int on_any_switch(void *ctx, bool preempt, struct task_struct *prev,
					 struct task_struct *next, __u32 state)
{
	__u64 now = bpf_ktime_get_boot_ns();

	irq_none();
	begin_wait(ctx, preempt, prev, state, now);
	end_wait(next, now);
	return 0;
}

/* Linux 5.18 and newer hand over the state: by now a waker may have changed it in the task. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return on_any_switch(ctx, preempt, prev, next, prev_state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_pre_5_18, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_struct___pre_5_14 *old = (void *)prev;
	__u32 state;

	if (bpf_core_field_exists(prev->__state))
		state = BPF_CORE_READ(prev, __state);
	else
		state = BPF_CORE_READ(old, state);
	return on_any_switch(ctx, preempt, prev, next, state);
}

/* ---- who ends it ---- */

static __always_inline void take_waker_stack(void *ctx, struct offcpu_event *ev,
					     struct task_struct *waker)
{
	__u32 n = (__u32)ev->n_user + ev->n_kernel;
	struct room *room = this_room();

	asm volatile("" : "+r"(n));
	if (!room || n > OFFCPU_MAX_USER + OFFCPU_MAX_KERNEL)
		return;
	ev->n_waker_kernel =
		n_frames(bpf_get_stack(ctx, ev->ips + n, OFFCPU_MAX_KERNEL * sizeof(__u64), 0),
			 OFFCPU_MAX_KERNEL);
	ev->waker_end = UNWIND_KTHREAD;
	/* What was interrupted has nothing to do with it. */
	if (ev->flags & (OFFCPU_WOKEN_BY_IRQ | OFFCPU_WOKEN_BY_SOFT | OFFCPU_WAKER_KERNEL))
		return;
	n += ev->n_waker_kernel;
	asm volatile("" : "+r"(n));
	if (n > OFFCPU_MAX_USER + 2 * OFFCPU_MAX_KERNEL)
		return;
	ev->waker_start_ns = waker->group_leader->start_boottime;
	ev->waker_exec_id = waker->self_exec_id;
	ev->n_waker_user = walk(ctx, room, ev->ips + n, OFFCPU_MAX_WAKER_USER, &ev->waker_end);
}

static __always_inline __u16 waker_flags(struct task_struct *waker)
{
	struct irq_depth *depth = this_depth();
	__u16 flags = 0;

	if (waker->flags & PF_NO_USER)
		flags |= OFFCPU_WAKER_KERNEL;
	if (depth && depth->hard)
		flags |= OFFCPU_WOKEN_BY_IRQ;
	else if (depth && depth->soft)
		flags |= OFFCPU_WOKEN_BY_SOFT;
	else if (waker->pid == 0) /* the idle thread does nothing by itself */
		flags |= OFFCPU_WOKEN_BY_IRQ;
	return flags;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	__u32 tid = p->pid;
	struct wait *w;
	__u64 now;

	w = bpf_map_lookup_elem(&waits, &tid);
	if (!w)
		return 0;
	now = bpf_ktime_get_boot_ns();
	w->ev.flags &= ~(OFFCPU_WOKEN_BY_IRQ | OFFCPU_WOKEN_BY_SOFT | OFFCPU_WAKER_KERNEL);
	w->ev.flags |= waker_flags(waker);
	w->ev.hdr.peer_tgid = waker->tgid;
	w->ev.hdr.peer_tid = waker->pid;
	w->ev.waker_cpu = bpf_get_smp_processor_id();
	w->ev.woken_ns = now;
	if (!w->ev.begin_ns || now - w->ev.begin_ns < wait_min_ns)
		return 0;
	describe(&w->ev, p);
	w->described = 1;
	take_waker_stack(ctx, &w->ev, waker);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry)
{
	irq_enter(false);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit)
{
	irq_leave(false);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry)
{
	irq_enter(true);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit)
{
	irq_leave(true);
	return 0;
}

/* On x86 the timer, which wakes most, is no irq of irq_handler_entry. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_x86_timer_entry)
{
	irq_enter(false);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_x86_timer_exit)
{
	irq_leave(false);
	return 0;
}

/* ---- threads that end, or change their number ---- */

static __always_inline void forget(__u32 tid)
{
	struct wait *w = bpf_map_lookup_elem(&waits, &tid);

	if (!w)
		return;
	drop_copy(w);
	bpf_map_delete_elem(&waits, &tid);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	forget(p->pid);
	return 0;
}

/* The caller of exec takes over its leader's number. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, int old_pid)
{
	if (old_pid != p->pid)
		forget(old_pid);
	return 0;
}

/* ---- at the start and at the end of a recording ---- */

static __always_inline bool is_asleep(struct task_struct *task)
{
	struct task_struct___pre_5_14 *old = (void *)task;
	struct task_struct___cpu *cpu = (void *)task;
	__u32 state;

	if (bpf_core_field_exists(task->__state))
		state = BPF_CORE_READ(task, __state);
	else
		state = BPF_CORE_READ(old, state);
	return state != TASK_RUNNING && !(state & (TASK_NOLOAD | TASK_DEAD)) &&
	       !BPF_CORE_READ(cpu, on_cpu);
}

/* Run by the daemon when a session begins: who sleeps by then and is not followed begins now. */
SEC("iter/task")
int asleep_before(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wait *w;
	__u64 begin_ns;

	if (!task || !is_asleep(task) || task->flags & PF_EXITING || is_own(task->tgid))
		return 0;
	w = wait_of(task->pid);
	if (!w || w->ev.begin_ns) /* it has been switched out since */
		return 0;
	clear(w, task->__state);
	w->ev.flags |= OFFCPU_BEGAN_BEFORE;
	w->ev.end = UNWIND_ASLEEP;
	barrier();
	begin_ns = w->ev.begin_ns = bpf_ktime_get_boot_ns();
	barrier();
	/* Awake by now? Then it was switched in too soon to find what we left for it. */
	if (!is_asleep(task) && w->ev.begin_ns == begin_ns && !w->ev.woken_ns)
		w->ev.begin_ns = 0;
	return 0;
}

/* Stacks that unfinished_with_stacks() may still copy: 35 MB. Set by the daemon before each run. */
__u32 n_copies_left;

/* Registers of a thread that sleeps, for a walk from where it entered the kernel. */
static __always_inline bool read_user_regs(struct task_struct *task, struct unwind_copy *copy)
{
	const void *regs = (const void *)bpf_task_pt_regs(task);
	struct unwind_walk w = {};
	bool is_compat;

	unwind_begin(&w, regs, &is_compat);
	if (is_compat || !w.sp)
		return false;
	unwind_copy_state(&w, task->group_leader, task, copy);
	return true;
}

/* To the end of a page at a time, since the next one may not be there. */
static __always_inline __u32 copy_from_task(struct task_struct *task, __u8 *stack, __u64 from)
{
	__u32 len = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < UNWIND_COPY_BYTES / 4096 + 1; i++) {
		__u32 piece = 4096 - ((from + len) & 4095);

		barrier_var(piece);
		barrier_var(len);
		if (piece == 0 || piece > 4096 || len > UNWIND_COPY_BYTES - 4096)
			break;
		if (bpf_copy_from_user_task(stack + len, piece, (const void *)(from + len), task,
					    0))
			break;
		len += piece;
	}
	return len & ~7u; /* records have a multiple of 8 bytes */
}

/*
 * The user stack of a wait that began before anybody looked: the thread still
 * sleeps, so it is what it was. Returns the record's size, or 0: not to be had.
 */
static __always_inline __u32 copy_sleeper(struct offcpu_copied *rec, struct task_struct *task)
{
	__u32 len;

	if (n_copies_left == 0 || task->flags & PF_NO_USER || !task->mm ||
	    !read_user_regs(task, &rec->copy))
		return 0;
	n_copies_left--;
	rec->copy.from = rec->copy.sp - UNWIND_RED_ZONE;
	len = copy_from_task(task, rec->stack, rec->copy.from);
	asm volatile("" : "+r"(len));
	if (len > UNWIND_COPY_BYTES)
		return 0;
	rec->copy.len = len;
	rec->ev.ips[0] = rec->copy.pc;
	rec->ev.n_user = 1;
	rec->ev.end = UNWIND_NOPROC;
	rec->ev.has_copy = 1;
	return OFFCPU_COPY_HEAD + len;
}

static __always_inline int tell_unfinished(struct bpf_iter__task *ctx, bool can_read)
{
	struct task_struct *task = ctx->task;
	__u64 begin_ns, now = bpf_ktime_get_boot_ns();
	struct offcpu_copied *rec;
	__u32 tid, size, described, zero = 0;
	struct wait *w;

	if (!task)
		return 0;
	tid = task->pid;
	w = bpf_map_lookup_elem(&waits, &tid);
	rec = bpf_map_lookup_elem(&unfinished_scratch, &zero);
	if (!w || !rec)
		return 0;
	begin_ns = w->ev.begin_ns;
	if (!begin_ns) /* how long is for the session to judge, whose minimum is gone by now */
		return 0;
	described = w->described;
	size = put_together(rec, &w->ev, copy_of(w));
	if (size == 0) {
		bpf_probe_read_kernel(&rec->ev, sizeof(rec->ev), &w->ev);
		rec->ev.has_copy = 0;
		if (can_read && !described && rec->ev.n_user == 0)
			size = copy_sleeper(rec, task);
	}
	if (!described && is_asleep(task))
		describe(&rec->ev, task);
	else if (!described)
		rec->ev.flags |= OFFCPU_NOT_DESCRIBED;
	barrier();
	/* It ran meanwhile: what was read belongs to two waits. */
	if (w->ev.begin_ns != begin_ns || rec->ev.begin_ns != begin_ns)
		return 0;

	if (size == 0)
		size = OFFCPU_HEAD + n_ips(&rec->ev) * sizeof(__u64);
	asm volatile("" : "+r"(size));
	if (size > sizeof(*rec))
		return 0;
	identify(&rec->ev, task);
	if (!rec->ev.woken_ns)
		rec->ev.hdr.peer_tgid = rec->ev.hdr.peer_tid = 0;
	rec->ev.hdr.time_ns = now;
	rec->ev.hdr.seq = 0;
	rec->ev.hdr.cpu = 0;
	rec->ev.hdr.type = OFFCPU_UNFINISHED;
	rec->ev.hdr.stream = 0;
	rec->ev.hdr.size = size;
	bpf_seq_write(ctx->meta->seq, rec, size);
	return 0;
}

/* Read by the daemon: a record of every wait that goes on. */
SEC("iter/task")
int unfinished(struct bpf_iter__task *ctx)
{
	return tell_unfinished(ctx, false);
}

/* The same where the kernel lets us read others' memory, from Linux 5.18 on. */
SEC("iter.s/task")
int unfinished_with_stacks(struct bpf_iter__task *ctx)
{
	return tell_unfinished(ctx, true);
}

char LICENSE[] SEC("license") = "GPL";
