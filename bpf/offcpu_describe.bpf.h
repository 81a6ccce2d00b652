/* SPDX-License-Identifier: GPL-2.0 */
/*
 * offcpu_describe.bpf.h - what a thread that sleeps waits for: the system call
 * that it is in, the file that this is about, where it is in the kernel. All of it
 * stands still until the thread runs.
 */
#ifndef OFFCPU_DESCRIBE_BPF_H
#define OFFCPU_DESCRIBE_BPF_H

#include "offcpu_events.h"
#include "socket.bpf.h"
#include "syscall_regs.bpf.h"

#define ANON_INODE_FS_MAGIC 0x09041934
#define PID_FS_MAGIC	    0x50494446 /* 6.9 */

/* Facts of the machine, fixed at load: does the call's first argument say what it waits for? */
const volatile __u8 waits_for_fd[OFFCPU_MAX_NR];

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

#pragma clang attribute pop

#define PF_USER_WORKER 0x00004000 /* 6.4: of vhost */
#define PF_NO_USER     (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)

/* bpf_get_stack() and its kin give bytes; a failure gives no frames. */
static __always_inline __u8 n_frames(long bytes, __u32 max)
{
	__u32 n;

	if (bytes <= 0)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	return n < max ? n : max;
}

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
	__u32 n = ev->n_user + OFFCPU_N_PYTHON(ev);

	if (BPF_CORE_READ_BITFIELD_PROBED((struct task_struct___io *)task, in_iowait))
		ev->flags |= OFFCPU_IO_WAIT;
	if (task->flags & PF_NO_USER)
		ev->flags |= OFFCPU_KERNEL_THREAD;
	else
		describe_call(ev, task);

	asm volatile("" : "+r"(n)); /* the verifier shall see the bound that follows */
	if (n > OFFCPU_MAX_USER + OFFCPU_MAX_PYTHON)
		return;
	ev->n_kernel = n_frames(
		bpf_get_task_stack(task, ev->ips + n, OFFCPU_MAX_KERNEL * sizeof(__u64), 0),
		OFFCPU_MAX_KERNEL);
}

#endif
