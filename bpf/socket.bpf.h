/* SPDX-License-Identifier: GPL-2.0 */
/*
 * socket.bpf.h - from a descriptor of a task to its file, and to the socket
 * behind it.
 *
 * All pointers here are only ever read through bpf_probe_read_kernel(): the
 * file may be closed by another thread at any moment, and what was a socket
 * may be something else by then. Readers get a wrong value, never a fault.
 */
#ifndef SOCKET_BPF_H
#define SOCKET_BPF_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
};

struct file {
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct___files {
	struct files_struct *files;
};

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	int skc_bound_dev_if;
	/* With CONFIG_IPV6 only. */
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

#pragma clang attribute pop

#define S_IFMT	 00170000
#define S_IFSOCK 0140000
#define S_IFREG	 0100000
#define S_IFBLK	 0060000
#define S_IFDIR	 0040000
#define S_IFCHR	 0020000
#define S_IFIFO	 0010000

#define AF_UNIX	 1
#define AF_INET	 2
#define AF_INET6 10

#define SOCK_STREAM 1

/* NULL: no such descriptor. `task` must be current. */
static __always_inline struct file *task_file(struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = ((struct task_struct___files *)task)->files->fdt;
	struct file *file = 0;

	if (fd < fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

static __always_inline __u16 file_mode(struct file *file)
{
	return BPF_CORE_READ(file, f_inode, i_mode);
}

/*
 * NULL: not a socket. The mode alone does not make one: the node of a UNIX
 * socket in a file system, opened with O_PATH, has it too.
 */
static __always_inline struct socket *file_socket(struct file *file)
{
	struct socket *socket;

	if (!file || (file_mode(file) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	return socket && BPF_CORE_READ(socket, file) == file ? socket : 0;
}

#endif
