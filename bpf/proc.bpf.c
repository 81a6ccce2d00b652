/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proc.bpf.c - tasks that begin, change their name or program, and end.
 *
 * Feeds daemon/collect/proc.c, which needs every one of them to know who a tid
 * is: no filters. Mappings come another way, as perf's side-band records.
 */
#include "common.bpf.h"
#include "proc_events.h"

/* numbers[0] is the initial namespace's, hdr.tid. */
static __always_inline void read_nstid(struct task_struct *task, __u32 nstid[PROC_NSTIDS])
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	const void *numbers = (const void *)pid + bpf_core_field_offset(struct pid, numbers);

	for (unsigned int i = 0; i < PROC_NSTIDS; i++) {
		const struct upid *upid = numbers + (i + 1) * bpf_core_type_size(struct upid);

		nstid[i] = i < level ? BPF_CORE_READ(upid, nr) : 0;
	}
}

/* Of which user it is. Returns flags. */
static __always_inline __u32 read_user(struct task_struct *task, __u32 *uid, __u32 *gid)
{
	struct user_ids ids = {};
	__u32 flags = 0;

	if (has_plain_ids(task, &ids)) {
		struct mm_struct *mm = BPF_CORE_READ(task, mm);

		flags = mm ? is_dumpable(mm) ? PROC_IS_PLAIN : 0 : PROC_WAS_PLAIN;
	}
	*uid = ids.uid;
	*gid = ids.gid;
	return flags;
}

static __always_inline struct proc_task_event *task_event(__u16 type, struct task_struct *task)
{
	struct proc_task_event *ev = event_reserve(type, 0, sizeof(*ev));
	__u64 current = bpf_get_current_pid_tgid();

	if (!ev)
		return 0;
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = BPF_CORE_READ(task, tgid);
	ev->hdr.tid = BPF_CORE_READ(task, pid);
	ev->hdr.peer_tgid = current >> 32;
	ev->hdr.peer_tid = (__u32)current;
	ev->start_ns = BPF_CORE_READ(task, start_boottime);
	ev->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	ev->clone_flags = 0;
	ev->prio = BPF_CORE_READ(task, prio);
	ev->flags = read_user(task, &ev->uid, &ev->gid);
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		ev->flags = PROC_IS_KTHREAD;
	ev->pad = 0;
	ev->ppid = BPF_CORE_READ(task, real_parent, tgid);
	__builtin_memset(ev->nstid, 0, sizeof(ev->nstid));
	BPF_CORE_READ_INTO(&ev->comm, task, comm);
	return ev;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task, __u64 clone_flags)
{
	struct proc_task_event *ev;

	/* The idle threads of CPUs that come online: not tasks like others. */
	if (BPF_CORE_READ(task, pid) == 0)
		return 0;
	ev = task_event(PROC_NEWTASK, task);
	if (!ev)
		return 0;
	ev->clone_flags = clone_flags;
	read_nstid(task, ev->nstid);
	event_submit(ev);
	return 0;
}

/* Not always current: /proc/PID/task/TID/comm is writable. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct proc_task_event *ev;

	if (BPF_CORE_READ(task, pid) == 0)
		return 0;
	ev = task_event(PROC_RENAME, task);
	if (!ev)
		return 0;
	bpf_probe_read_kernel_str(ev->comm, sizeof(ev->comm), comm);
	event_submit(ev);
	return 0;
}

/* Threads count down before they come here; who is not the last says nothing for the process. */
static __always_inline void read_exit(struct proc_task_event *ev, struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	if (BPF_CORE_READ(signal, live.counter) > 0)
		return;
	ev->flags |= PROC_IS_LAST;
	ev->exit_code = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT
				? BPF_CORE_READ(signal, group_exit_code)
				: BPF_CORE_READ(task, group_leader, exit_code);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct proc_task_event *ev = task_event(PROC_EXIT, task);

	if (!ev)
		return 0;
	read_exit(ev, task);
	event_submit(ev);
	return 0;
}

/*
 * After the last switch away from the task, when its parent has waited for it:
 * from here on nothing is about this task any more. Current is a bystander.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct proc_task_event *ev = task_event(PROC_FREE, task);

	if (ev)
		event_submit(ev);
	return 0;
}

/*
 * Comes after the new image is mapped; perf's COMM record comes before. The
 * kernel has just written the arguments, so their pages are there.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	struct proc_exec_event *ev = event_reserve(PROC_EXEC, 0, sizeof(*ev));
	unsigned long start, end;
	__u64 len;

	if (!ev)
		return 0;
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = ev->hdr.peer_tgid = BPF_CORE_READ(task, tgid);
	ev->hdr.tid = ev->hdr.peer_tid = BPF_CORE_READ(task, pid);
	ev->start_ns = BPF_CORE_READ(task, start_boottime);
	ev->old_tid = old_tid;
	ev->flags = read_user(task, &ev->uid, &ev->gid);
	BPF_CORE_READ_INTO(&ev->comm, task, comm);
	__builtin_memset(ev->filename, 0, sizeof(ev->filename));
	bpf_probe_read_kernel_str(ev->filename, sizeof(ev->filename),
				  BPF_CORE_READ(bprm, filename));

	start = BPF_CORE_READ(task, mm, arg_start);
	end = BPF_CORE_READ(task, mm, arg_end);
	len = end > start ? end - start : 0;
	ev->args_size = len < 0xffffffff ? len : 0xffffffff;
	__builtin_memset(ev->args, 0, sizeof(ev->args));
	barrier_var(len); /* or the verifier does not see the bound */
	if (len > sizeof(ev->args))
		len = sizeof(ev->args);
	if (bpf_probe_read_user(ev->args, len, (const void *)start) < 0)
		len = 0;
	ev->args_len = len;
	/* At once: the daemon opens the program's file, which may soon be gone. */
	bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
