/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpu.bpf.c - a stack sample each time a perf event's counter overflows, or a
 * tracepoint has been passed so many times.
 *
 * Feeds daemon/collect/cpu.c. Attached to each session's own perf events; the
 * attach cookie says whose and which (CPU_COOKIE), so a sample is tagged with
 * its session here and nowhere else.
 */
#include "common.bpf.h"
#include "cpu_events.h"
#include "interp.bpf.h"
#include "own.bpf.h"
#include "unwind.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_sample_event);
} scratch SEC(".maps");

/* bpf_get_stack() gives bytes; a failure gives no frames. */
static __always_inline __u32 n_frames(long bytes, __u32 max)
{
	__u32 n;

	if (bytes <= 0)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	return n < max ? n : max;
}

/* A crowd of copies must not drive out the samples of others: up to so many quarters. */
static __always_inline bool has_room(__u32 quarters)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <
	       bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4 * quarters;
}

/*
 * What each session has put into the ring, and what of that the daemon has taken out. Who
 * has more in it than their share has no place while it is half full: a session that
 * samples more than can be read makes no other one lose.
 */
__u64 put_bytes[EVENT_MAX_STREAMS], taken_bytes[EVENT_MAX_STREAMS];
__u64 share_bytes = ~0ull; /* set by the daemon; ~0: there is one session */

static __always_inline bool is_over_share(__u32 slot)
{
	slot &= EVENT_MAX_STREAMS - 1;
	return put_bytes[slot] - taken_bytes[slot] > share_bytes && !has_room(2);
}

static __always_inline void count_put(const struct event_hdr *hdr)
{
	__sync_fetch_and_add(&put_bytes[hdr->stream & (EVENT_MAX_STREAMS - 1)], hdr->size);
}

/* Number of the user whose processes the session has alone; 0: it has all. */
static __always_inline __u32 session_user(__u32 slot)
{
	struct event_users *u = some_users();

	return u ? u->slots[slot & (EVENT_MAX_STREAMS - 1)] : 0;
}

/* Behind `n` of the kernel. Returns how many. */
static __always_inline __u32 user_frames(void *ctx, struct cpu_sample_event *ev, __u32 n)
{
	struct unwind_result r = {};

	ev->has_copy = 0;
	if (unwind_by_tables) {
		unwind_user(ev->ips + (n & 127), &ev->copy, &r);
		ev->has_copy = ev->copy.sp && has_room(3);
	} else if (((struct task_struct *)bpf_get_current_task_btf())->flags & PF_KTHREAD) {
		r.end = UNWIND_KTHREAD;
	} else {
		r.end = UNWIND_FP_ONLY;
		r.n = n_frames(bpf_get_stack(ctx, ev->ips + (n & 127),
					     CPU_MAX_USER_FRAMES * sizeof(__u64), BPF_F_USER_STACK),
			       CPU_MAX_USER_FRAMES);
	}
	ev->n_user = r.n;
	ev->end = r.end;
	return r.n;
}

/* Fixed at load: this kernel can walk them. */
const volatile bool python_frames = true;

/* Behind the `n` other frames. Returns how many words. */
static __always_inline __u32 python_words(struct cpu_sample_event *ev, __u32 n)
{
	__u32 end = PYTHON_NONE, words = 0;

	if (python_frames && n <= CPU_MAX_FRAMES)
		words = interp_words(ev->hdr.tgid, ev->hdr.tid, ev->ips + n, &end);
	ev->python = words | (words && end != PYTHON_COMPLETE ? CPU_PYTHON_CUT : 0);
	return words;
}

/* With so much of the stack that it is too long for the scratch space. */
static __always_inline bool output_large(struct cpu_sample_event *ev)
{
	__u8 *large = bpf_ringbuf_reserve(&ring, CPU_SAMPLE_LARGE, 0);
	struct cpu_sample_event *head = (void *)large;

	if (!large)
		return false;
	unwind_copy_stack(&ev->copy, large + CPU_SAMPLE_COPY_HEAD, UNWIND_LARGE_COPY_BYTES);
	ev->hdr.size = CPU_SAMPLE_COPY_HEAD + ev->copy.len;
	bpf_probe_read_kernel(head, CPU_SAMPLE_COPY_HEAD, ev);
	count_put(&ev->hdr);
	event_submit_sized(large, CPU_SAMPLE_LARGE);
	return true;
}

static __always_inline void output(struct cpu_sample_event *ev, struct event_stream *s, __u32 n)
{
	__u32 size;

	if (ev->has_copy) {
		__u64 wanted = unwind_stack_size((void *)bpf_get_current_task_btf(), ev->copy.sp);

		if (wanted > UNWIND_COPY_BYTES && has_room(2) && output_large(ev))
			return;
		unwind_copy_stack(&ev->copy, ev->stack, UNWIND_COPY_BYTES);
		size = CPU_SAMPLE_COPY_HEAD + ev->copy.len;
	} else {
		size = CPU_SAMPLE_HEAD + n * sizeof(__u64);
	}
	barrier_var(size); /* or what it is made of is compared, from which 6.1 learns nothing */
	if (size > sizeof(*ev))
		return; /* for the verifier: it cannot be */
	ev->hdr.size = size;
	if (event_output(&ev->hdr, s, size))
		count_put(&ev->hdr);
}

/* A sample of the current thread, for the session and event that `cookie` names. */
static __always_inline int sample(void *ctx, __u64 cookie, __u64 ip)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 ids = bpf_get_current_pid_tgid(), seq = 0;
	struct cpu_sample_event *ev;
	struct event_stream *s;
	__u32 n, whose, zero = 0;

	if ((__u32)ids == 0 || is_own(ids >> 32)) /* idle is not a sample */
		return 0;
	whose = session_user(CPU_COOKIE_SLOT(cookie));
	if (whose && look_at_user(task) != whose) /* nothing of others is even counted */
		return 0;
	ev = bpf_map_lookup_elem(&scratch, &zero);
	if (!ev)
		return 0;
	s = stream_next(CPU_COOKIE_SLOT(cookie), &seq);
	if (!s)
		return 0;
	if (is_over_share(CPU_COOKIE_SLOT(cookie))) {
		__sync_fetch_and_add(&s->n_lost, 1);
		return 0;
	}

	event_fill(&ev->hdr, CPU_SAMPLE, CPU_COOKIE_SLOT(cookie), 0, seq);
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = ids >> 32;
	ev->hdr.tid = (__u32)ids;
	ev->hdr.user = whose;
	ev->in_kernel = (__s64)ip < 0;
	ev->event = CPU_COOKIE_EVENT(cookie);
	__builtin_memset(ev->pad, 0, sizeof(ev->pad));

	n = 0;
	if (ev->in_kernel)
		n = n_frames(bpf_get_stack(ctx, ev->ips, CPU_MAX_KERNEL_FRAMES * sizeof(__u64), 0),
			     CPU_MAX_KERNEL_FRAMES);
	ev->n_kernel = n;
	n += user_frames(ctx, ev, n);
	if (n == 0) { /* at least where it was */
		ev->ips[0] = ip;
		ev->n_kernel = ev->in_kernel;
		ev->n_user = !ev->in_kernel;
		n = 1;
	}
	n += python_words(ev, n);
	output(ev, s, n);
	return 0;
}

/* How often each event has called on a CPU, whoever ran: sampler_due() compares. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_COOKIES);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

SEC("perf_event")
int on_overflow(struct bpf_perf_event_data *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), *n;
	__u32 key = (__u32)cookie;

	n = bpf_map_lookup_elem(&calls, &key);
	if (n)
		(*n)++;
	return sample(ctx, cookie, PT_REGS_IP(&ctx->regs));
}

/* Of those that sample tracepoints, by cookie; the daemon writes them. */
__u64 tracepoint_periods[CPU_COOKIES];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_COOKIES);
	__type(key, __u32);
	__type(value, __u64);
} tracepoint_counts SEC(".maps");

/* The kernel counts no periods for these: it comes here each time. */
SEC("tp")
int on_tracepoint(void *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), *count;
	__u32 key = cookie;

	count = bpf_map_lookup_elem(&tracepoint_counts, &key);
	if (!count || cookie >= CPU_COOKIES)
		return 0;
	if (++*count < tracepoint_periods[cookie])
		return 0;
	*count = 0;
	return sample(ctx, cookie, (__u64)-1);
}

char LICENSE[] SEC("license") = "GPL";
