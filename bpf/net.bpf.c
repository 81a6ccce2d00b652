/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.bpf.c - what goes over the network, and what TCP does with it.
 *
 * Feeds daemon/collect/net.c. No system call is watched: the kernel tells of every
 * socket that has moved something, in the thread that wanted it, however it was asked
 * for; programs that have nothing to do with sockets pay nothing. Each part includes
 * what it needs of the others.
 */
#include "common.bpf.h"
#include "net_events.h"

typedef __u64 size_t;

#include "net_io.bpf.h"
#include "net_iter.bpf.h"
#include "net_splice.bpf.h"
#include "net_tcp.bpf.h"
#include "net_udp.bpf.h"

struct msghdr;
struct page;

#define MSG_PEEK     0x2
#define MSG_ERRQUEUE 0x2000

/* The stack first, and with nothing else of ours on the stack: it needs nearly all of it. */
static __always_inline int moved_by_tcp(void *ctx, struct sock *sk, __u32 len, __u32 flags,
					bool sent)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);

	if (st && wants_stack(sk, st, len, sent))
		record_stack(ctx);
	return move_tcp(sk, st, len, flags, sent);
}

static __always_inline int moved(void *ctx, struct sock *sk, int ret, __u32 flags, bool sent)
{
	struct sock___net *n = (void *)sk;
	__u16 family = n->__sk_common.skc_family, protocol = n->sk_protocol;

	if (flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	if (family != AF_INET && family != AF_INET6)
		return family == AF_UNIX && ret > 0 ? move_unix(sk, ret, sent) : 0;
	if (protocol == IPPROTO_TCP)
		return ret >= 0 ? moved_by_tcp(ctx, sk, ret, flags, sent) : 0;
	if (protocol != IPPROTO_UDP)
		return 0;
	if (ret < 0)
		fail_udp(sk);
	else
		move_udp(sk, ret, sent);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret, int flags)
{
	return moved(ctx, sk, ret, 0, true);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_recv, struct sock *sk, int ret, int flags)
{
	return moved(ctx, sk, ret, flags, false);
}

/* ---- before Linux 6.3, which has no such tracepoints: what these functions return ---- */

static __always_inline int returned(void *ctx, struct socket *socket, int ret, __u32 flags,
				    bool sent)
{
	struct sock *sk = socket->sk;

	return sk ? moved(ctx, sk, ret, flags, sent) : 0;
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(on_inet_send, struct socket *socket, struct msghdr *msg, size_t size, int ret)
{
	return returned(ctx, socket, ret, 0, true);
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(on_inet6_send, struct socket *socket, struct msghdr *msg, size_t size, int ret)
{
	return returned(ctx, socket, ret, 0, true);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(on_inet_recv, struct socket *socket, struct msghdr *msg, size_t size, int flags,
	     int ret)
{
	return returned(ctx, socket, ret, flags, false);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(on_inet6_recv, struct socket *socket, struct msghdr *msg, size_t size, int flags,
	     int ret)
{
	return returned(ctx, socket, ret, flags, false);
}

/* sendfile() and splice(), until Linux 6.5. */
SEC("fexit/inet_sendpage")
int BPF_PROG(on_inet_sendpage, struct socket *socket, struct page *page, int offset, size_t size,
	     int flags, long ret)
{
	return returned(ctx, socket, ret, 0, true);
}

SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(on_unix_send, struct socket *socket, struct msghdr *msg, size_t size, int ret)
{
	return returned(ctx, socket, ret, 0, true);
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(on_unix_recv, struct socket *socket, struct msghdr *msg, size_t size, int flags,
	     int ret)
{
	return returned(ctx, socket, ret, flags, false);
}

SEC("fexit/unix_dgram_sendmsg")
int BPF_PROG(on_unix_send_dgram, struct socket *socket, struct msghdr *msg, size_t size, int ret)
{
	return returned(ctx, socket, ret, 0, true);
}

SEC("fexit/unix_dgram_recvmsg")
int BPF_PROG(on_unix_recv_dgram, struct socket *socket, struct msghdr *msg, size_t size, int flags,
	     int ret)
{
	return returned(ctx, socket, ret, flags, false);
}

char LICENSE[] SEC("license") = "GPL";
