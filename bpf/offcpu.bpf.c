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
#include "common.bpf.h"
#include "interp.bpf.h"
#include "irq_depth.bpf.h"
#include "offcpu_describe.bpf.h"
#include "offcpu_events.h"
#include "own.bpf.h"
#include "unwind.bpf.h"

/* Kernel's include/linux/sched.h; these have not changed since 4.14 resp. as noted. */
#define TASK_RUNNING 0x0
#define TASK_DEAD    0x80
#define TASK_NOLOAD  0x400

/* Changed by the daemon while we run. */
__u64 wait_min_ns = ~0ull; /* a wait that is over sooner is no event; ~0: none is wanted */

/* Of one thread, from its first wait to its end. */
struct wait {
	struct offcpu_event ev; /* begin_ns 0: it runs */
	__u8 described;		/* what it waits for has been looked up */
	__u8 lasted;		/* its last wait was an event */
	__u8 n_short;		/* those since then that were none, if not more than MAX_SHORT */
	__u8 pad;
	__u32 copy, waker_copy; /* numbers in `copies`, + 1; 0: none */
	__u32 pad2;
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
	__u8 stack[OFFCPU_COPY_BYTES];
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

/* ---- user stacks ---- */

static __always_inline struct copy *copy_of(__u32 number)
{
	__u32 i = number - 1;

	return number ? bpf_map_lookup_elem(&copies, &i) : 0;
}

static __always_inline void drop_copy(__u32 *number)
{
	struct copy *c = copy_of(*number);

	if (c)
		c->tid = 0;
	*number = 0;
}

static __always_inline void drop_copies(struct wait *w)
{
	drop_copy(&w->copy);
	drop_copy(&w->waker_copy);
	w->ev.has_copy = 0;
}

/* NULL: none is free, or nearly so. */
static __always_inline struct copy *new_copy(__u32 *number, __u32 tid)
{
	for (int tries = 0; tries < 4; tries++) {
		__u32 i = __sync_fetch_and_add(&next_copy, 1) % N_COPIES;
		struct copy *c = bpf_map_lookup_elem(&copies, &i);

		if (c && __sync_val_compare_and_swap(&c->tid, 0, tid) == 0) {
			*number = i + 1;
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

/* The walk came too early: the daemon finishes it, if this wait lasts. `tid` is not 0. */
static __always_inline void copy_stack(__u32 *number, __u32 tid, const struct room *room,
				       struct budget *b)
{
	struct copy *c;

	if (b->n_copies++ >= COPIES_LIMIT)
		return;
	c = new_copy(number, tid);
	if (!c)
		return;
	bpf_probe_read_kernel(&c->copy, sizeof(c->copy), &room->copy);
	unwind_copy_stack(&c->copy, c->stack, OFFCPU_COPY_BYTES);
	c->copy.len &= ~7u; /* records have a multiple of 8 bytes */
}

/* Up the running thread's user stack, into `ips`. Returns the number of frames, at most `max`. */
static __always_inline __u32 walk(void *ctx, struct room *room, __u64 *ips, __u32 max, __u8 *end)
{
	struct unwind_result r = {};
	__u32 n;

	if (!unwind_by_tables) {
		*end = UNWIND_FP_ONLY;
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

/* Fixed at load: this kernel can walk them. */
const volatile bool python_frames = true;

/* Behind the user's frames. The room is free again by now. */
static __always_inline void take_python(struct wait *w, struct task_struct *task, struct room *room)
{
	__u32 end = PYTHON_NONE, at = w->ev.n_user, n;

	if (!python_frames)
		return;
	n = interp_words(task->tgid, task->pid, room->ips, &end);
	if (n == 0)
		return;
	if (n > OFFCPU_MAX_PYTHON) {
		n = OFFCPU_MAX_PYTHON;
		end = PYTHON_DEPTH;
	}
	asm volatile("" : "+r"(at), "+r"(n));
	if (at > OFFCPU_MAX_USER || n > OFFCPU_MAX_PYTHON)
		return;
	bpf_probe_read_kernel(w->ev.ips + at, n * sizeof(__u64), room->ips);
	w->ev.python = n | (end != PYTHON_COMPLETE ? OFFCPU_PYTHON_CUT : 0);
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
	if (room->copy.sp && w->n_short < MAX_SHORT)
		copy_stack(&w->copy, task->pid, room, b);
	take_python(w, task, room);
}

/* ---- a wait, from its end ---- */

static __always_inline __u32 n_ips(const struct offcpu_event *ev)
{
	return (__u32)ev->n_user + OFFCPU_N_PYTHON(ev) + ev->n_kernel + ev->n_waker_kernel +
	       ev->n_waker_user;
}

static __always_inline void identify(struct offcpu_event *ev, struct task_struct *task)
{
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->hdr.user = task_user(task);
	ev->start_ns = task->group_leader->start_boottime;
	ev->exec_id = task->self_exec_id;
}

/* A copy and its stack, the latter `at` bytes behind others. Returns its length. */
static __always_inline __u32 put_copy(struct unwind_copy *copy, __u8 *stacks, __u32 at,
				      const struct copy *c)
{
	__u32 len;

	if (!c) {
		__builtin_memset(copy, 0, sizeof(*copy));
		return 0;
	}
	bpf_probe_read_kernel(copy, sizeof(*copy), &c->copy);
	len = copy->len;
	asm volatile("" : "+r"(len), "+r"(at));
	if (len > OFFCPU_COPY_BYTES || at > OFFCPU_COPY_BYTES)
		return 0;
	bpf_probe_read_kernel(stacks + at, len, c->stack);
	return len;
}

/* `ev` and the copies of its stacks. Returns the size, or 0: there are no copies. */
static __always_inline __u32 put_together(struct offcpu_copied *rec, const struct wait *w)
{
	__u32 len, waker_len, number = w->copy, waker_number = w->waker_copy;

	if (!(number | waker_number))
		return 0;
	bpf_probe_read_kernel(&rec->ev, sizeof(rec->ev), &w->ev);
	rec->ev.has_copy =
		(number ? OFFCPU_COPY_SLEEPER : 0) | (waker_number ? OFFCPU_COPY_WAKER : 0);
	len = put_copy(&rec->copy, rec->stacks, 0, copy_of(number));
	waker_len = put_copy(&rec->waker_copy, rec->stacks, len, copy_of(waker_number));
	rec->ev.hdr.size = OFFCPU_COPY_HEAD + len + waker_len;
	return OFFCPU_COPY_HEAD + len + waker_len;
}

static __always_inline void output_copied(struct wait *w, struct event_stream *s)
{
	struct offcpu_copied *rec;
	__u32 zero = 0, size;

	rec = bpf_map_lookup_elem(&scratch, &zero);
	size = rec ? put_together(rec, w) : 0;
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
	__u8 waker_user = ev->hdr.peer_user;
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
		ev->hdr.peer_user = waker_user;
	}
	ev->has_copy = 0;
	if ((w->copy || w->waker_copy) && has_room_for_copies())
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
		if (w->copy || w->waker_copy)
			drop_copies(w);
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

	drop_copies(w);
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
	ev->python = 0;
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

static __always_inline void take_waker_stack(void *ctx, struct wait *w, struct task_struct *waker,
					     __u64 now)
{
	struct offcpu_event *ev = &w->ev;
	__u32 n = (__u32)ev->n_user + OFFCPU_N_PYTHON(ev) + ev->n_kernel;
	struct budget *b = this_budget(now);
	struct room *room = this_room();

	asm volatile("" : "+r"(n));
	if (!b || !room || n > OFFCPU_MAX_USER + OFFCPU_MAX_KERNEL)
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
	if (n > OFFCPU_MAX_USER + OFFCPU_MAX_PYTHON + 2 * OFFCPU_MAX_KERNEL)
		return;
	ev->waker_start_ns = waker->group_leader->start_boottime;
	ev->waker_exec_id = waker->self_exec_id;
	ev->n_waker_user = walk(ctx, room, ev->ips + n, OFFCPU_MAX_WAKER_USER, &ev->waker_end);
	if (room->copy.sp)
		copy_stack(&w->waker_copy, ev->hdr.peer_tid, room, b);
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
	w->ev.hdr.peer_user = task_user(waker);
	w->ev.waker_cpu = bpf_get_smp_processor_id();
	w->ev.woken_ns = now;
	if (!w->ev.begin_ns || now - w->ev.begin_ns < wait_min_ns)
		return 0;
	describe(&w->ev, p);
	w->described = 1;
	take_waker_stack(ctx, w, waker, now);
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
	drop_copies(w);
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

#include "offcpu_iter.bpf.h"

char LICENSE[] SEC("license") = "GPL";
