/* SPDX-License-Identifier: Apache-2.0 */
/* net_programs.c - which programs of bpf/net.bpf.c this kernel takes, and when they run. */
#include "net_programs.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stdio.h>

#include "bpf_load.h"
#include "net.skel.h"
#include "net_events.h"

#define MAX_PROGRAMS 16
/* Ticks without a splice() after which nobody does it any more. */
#define SPLICES_QUIET 60

struct program {
	struct bpf_program *prog;
	struct bpf_link **link;
};

#define PROGRAM(name)                               \
	(struct program)                            \
	{                                           \
		skel->progs.name, &skel->links.name \
	}

static size_t tcp_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	size_t n = 0;

	ret[n++] = PROGRAM(on_state);
	ret[n++] = PROGRAM(on_retransmit);
	ret[n++] = PROGRAM(on_reset_sent);
	ret[n++] = PROGRAM(on_reset_received);
	ret[n++] = PROGRAM(on_drop);
	return n;
}

/* What a ring is asked for is known before it is done: these first. */
static size_t uring_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	size_t n = 0;

	ret[n++] = PROGRAM(on_uring_submit);
	ret[n++] = PROGRAM(on_uring_submit_sqe);
	ret[n++] = PROGRAM(on_uring_file);
	ret[n++] = PROGRAM(on_uring_wait);
	return n;
}

static size_t tracepoint_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	size_t n = 0;

	ret[n++] = PROGRAM(on_send);
	ret[n++] = PROGRAM(on_recv);
	return n;
}

static size_t function_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	size_t n = 0;

	ret[n++] = PROGRAM(on_inet_send);
	ret[n++] = PROGRAM(on_inet6_send);
	ret[n++] = PROGRAM(on_inet_sendpage);
	ret[n++] = PROGRAM(on_inet_recv);
	ret[n++] = PROGRAM(on_inet6_recv);
	ret[n++] = PROGRAM(on_unix_send);
	ret[n++] = PROGRAM(on_unix_recv);
	ret[n++] = PROGRAM(on_unix_send_dgram);
	ret[n++] = PROGRAM(on_unix_recv_dgram);
	return n;
}

/* What splice() takes: where functions can be attached to, or while somebody does it. */
static size_t splice_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	ret[0] = PROGRAM(on_splice);
	return 1;
}

static size_t space_programs(struct net_bpf *skel, struct program ret[MAX_PROGRAMS])
{
	ret[0] = PROGRAM(on_space);
	return 1;
}

typedef size_t programs_fn(struct net_bpf *skel, struct program ret[MAX_PROGRAMS]);

static void leave_out(struct net_bpf *skel, programs_fn *which)
{
	struct program all[MAX_PROGRAMS];
	size_t n = which(skel, all);

	for (size_t i = 0; i < n; i++)
		bpf_program__set_autoload(all[i].prog, false);
}

static int attach(struct net_bpf *skel, programs_fn *which)
{
	struct program all[MAX_PROGRAMS];
	size_t n = which(skel, all);

	for (size_t i = 0; i < n; i++) {
		if (*all[i].link || !bpf_program__autoload(all[i].prog))
			continue;
		*all[i].link = bpf_program__attach(all[i].prog);
		if (!*all[i].link)
			return -errno;
	}
	return 0;
}

static void detach(struct net_bpf *skel, programs_fn *which)
{
	struct program all[MAX_PROGRAMS];
	size_t n = which(skel, all);

	for (size_t i = 0; i < n; i++) {
		bpf_link__destroy(*all[i].link);
		*all[i].link = NULL;
	}
}

/* ---- what the kernel has ---- */

static void set_calls(uint8_t of_nr[NET_MAX_NR])
{
	of_nr[__NR_read] = of_nr[__NR_write] = NET_CALL_BUFFER;
	of_nr[__NR_recvfrom] = NET_CALL_BUFFER;
	of_nr[__NR_sendto] = NET_CALL_SENDTO;
	of_nr[__NR_readv] = of_nr[__NR_writev] = NET_CALL_VECTOR;
	of_nr[__NR_preadv2] = of_nr[__NR_pwritev2] = NET_CALL_VECTOR;
	of_nr[__NR_sendmsg] = of_nr[__NR_recvmsg] = NET_CALL_MESSAGE;
	of_nr[__NR_sendmmsg] = of_nr[__NR_recvmmsg] = NET_CALL_MESSAGES;
	of_nr[__NR_splice] = NET_CALL_SPLICE;
}

/* The verifier takes no program that looks at arguments which are not there. */
static void set_arguments(struct net_bpf *skel)
{
	skel->rodata->reset_has_reason = bpf_tracepoint_args("tcp_send_reset") >= 3;
	skel->rodata->drop_has_reason = bpf_tracepoint_args("kfree_skb") >= 3;
	skel->rodata->drop_has_sock = bpf_tracepoint_args("kfree_skb") >= 4;
}

enum net_moves net_programs_moves(bool loops, bool tracepoints, bool functions, char why[WHY_LEN])
{
	if (loops && tracepoints)
		return NET_MOVES_TRACEPOINTS;
	if (loops && functions)
		return NET_MOVES_FUNCTIONS;
	snprintf(why, WHY_LEN, "connections alone, without what goes over them: needs %s",
		 !loops ? "Linux 5.17 (bpf_loop)"
			: "Linux 6.3 (tracepoint sock_send_length), or one with fentry");
	return NET_MOVES_NONE;
}

static void choose_splice(struct net_bpf *skel, enum net_moves moves)
{
	bool function = moves == NET_MOVES_FUNCTIONS ||
			(moves != NET_MOVES_NONE && bpf_can_attach_to("tcp_splice_read") == 0);

	if (!function)
		leave_out(skel, splice_programs);
	if (function || moves == NET_MOVES_NONE)
		leave_out(skel, space_programs);
}

static void choose_moves(struct net_bpf *skel, char why[WHY_LEN])
{
	bool tracepoints = bpf_tracepoint_args("sock_send_length") >= 0;
	bool functions = !tracepoints && bpf_can_attach_to("inet_sendmsg") == 0;
	enum net_moves moves = net_programs_moves(bpf_can_loop(), tracepoints, functions, why);

	if (moves != NET_MOVES_FUNCTIONS)
		leave_out(skel, function_programs);
	if (moves != NET_MOVES_TRACEPOINTS)
		leave_out(skel, tracepoint_programs);
	if (moves == NET_MOVES_NONE)
		leave_out(skel, uring_programs);
	choose_splice(skel, moves);
}

int net_programs_choose(struct net_bpf *skel, char why[WHY_LEN])
{
	bool ring = bpf_tracepoint_args("io_uring_submit_req") >= 0;
	bool old_ring = bpf_tracepoint_args("io_uring_submit_sqe") >= 0;

	set_calls((uint8_t *)skel->rodata->net_call_of_nr);
	set_arguments(skel);
	/* One of these there is, or the kernel has no rings: not worth a word. */
	bpf_program__set_autoload(skel->progs.on_uring_submit, ring);
	bpf_program__set_autoload(skel->progs.on_uring_submit_sqe, old_ring);
	if (!ring && !old_ring)
		leave_out(skel, uring_programs);
	choose_moves(skel, why);
	return bpf_load_trim(skel->obj, why, WHY_LEN);
}

int net_programs_attach_tcp(struct net_bpf *skel)
{
	return attach(skel, tcp_programs);
}

int net_programs_attach_moves(struct net_bpf *skel)
{
	int r = attach(skel, uring_programs);

	if (r == 0)
		r = attach(skel, tracepoint_programs);
	if (r == 0)
		r = attach(skel, function_programs);
	if (r == 0)
		r = attach(skel, splice_programs);
	if (r == 0)
		skel->bss->net_epoch |= 1;
	return r;
}

void net_programs_detach_moves(struct net_bpf *skel)
{
	skel->bss->net_epoch += skel->bss->net_epoch & 1;
	detach(skel, space_programs);
	detach(skel, splice_programs);
	detach(skel, function_programs);
	detach(skel, tracepoint_programs);
	detach(skel, uring_programs);
}

int net_programs_follow_splices(struct net_bpf *skel, struct net_splices *s)
{
	uint32_t n = __atomic_load_n(&skel->bss->net_n_splices, __ATOMIC_RELAXED);

	if (n == s->n || !(skel->bss->net_epoch & 1))
		return 0;
	s->n = n;
	s->n_quiet = 0;
	return attach(skel, space_programs);
}

void net_programs_splices_tick(struct net_bpf *skel, struct net_splices *s)
{
	if (skel->links.on_space && ++s->n_quiet > SPLICES_QUIET)
		detach(skel, space_programs);
}
