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

#include "net_io.bpf.h"
#include "net_tcp.bpf.h"

char LICENSE[] SEC("license") = "GPL";
