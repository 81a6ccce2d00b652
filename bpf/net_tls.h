/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * net_tls.h - what daemon/collect/net_tls.c tells bpf/net_tls.bpf.c: which functions
 * there are, and which processes are looked at.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <linux/types.h>

enum net_tls_kind {
	NET_TLS_NONE,
	NET_TLS_READ,
	NET_TLS_WRITE,
	NET_TLS_HANDSHAKE,
	NET_TLS_FREE,	/* the handle is gone */
	NET_TLS_LOOKUP, /* getaddrinfo(): the first argument is a name */
};

/* net_tls_function.flags */
#define NET_TLS_NSPR  0x01 /* its descriptors are all kinds of files; those of TLS have layers */
#define NET_TLS_AGAIN 0x02 /* what did not fit is tried again with a buffer of NULL */
#define NET_TLS_ENDS  0x04 /* it returns 0 when the other end has said that it is over */
#define NET_TLS_OUT   0x08 /* returns 1; how many bytes is where its fourth argument says */
#define NET_TLS_FILE  0x10 /* the bytes are a file's */
#define NET_TLS_ZERO  0x20 /* it returns 0 when it has succeeded; else 1, or more */

/* A function (handle, buffer, size, ...). */
struct net_tls_function {
	__u8 kind;
	__u8 flags;
};

#define NET_TLS_MAX_FUNCTIONS 32
/* A cookie is the function, and this: of processes whose name matches one of the globs. */
#define NET_TLS_BY_NAME 0x100

/*
 * A glob, as what each byte may do: the state is a set of positions, and the byte c moves
 * those of moves[c] on by one, while those of `stays` stay where they are. It matches when
 * position `n` is in the set at the end.
 */
struct net_tls_glob {
	__u64 moves[256];
	__u64 stays;
	__u32 n;
	__u32 pad;
};

#define NET_TLS_MAX_GLOBS 32

struct net_tls_globs {
	__u32 version; /* another one when they change */
	__u32 n;
	struct net_tls_glob globs[NET_TLS_MAX_GLOBS];
};

#endif
