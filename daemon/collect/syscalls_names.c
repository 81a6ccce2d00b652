/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls_names.c - names of system calls, errors, protocols and addresses.
 *
 * Numbers of calls come from <asm/unistd.h>: they are the architecture's. A
 * call that one does not have, or that the headers are too old for, is simply
 * absent there.
 */
#include "syscalls_names.h"

#include <arpa/inet.h>
#include <asm/unistd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "text.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct call_info infos[N_CALLS] = {
	[CALL_CONNECT] = { "connect", RESULT_STATUS },
	[CALL_ACCEPT] = { "accept", RESULT_FD },
	[CALL_ACCEPT4] = { "accept4", RESULT_FD },
	[CALL_BIND] = { "bind", RESULT_STATUS },
	[CALL_LISTEN] = { "listen", RESULT_STATUS },
	[CALL_SENDTO] = { "sendto", RESULT_BYTES },
	[CALL_SENDMSG] = { "sendmsg", RESULT_BYTES },
	[CALL_SENDMMSG] = { "sendmmsg", RESULT_MESSAGES },
	[CALL_RECVFROM] = { "recvfrom", RESULT_BYTES },
	[CALL_RECVMSG] = { "recvmsg", RESULT_BYTES },
	[CALL_RECVMMSG] = { "recvmmsg", RESULT_MESSAGES },
	[CALL_SHUTDOWN] = { "shutdown", RESULT_STATUS },
	[CALL_READ] = { "read", RESULT_BYTES },
	[CALL_READV] = { "readv", RESULT_BYTES },
	[CALL_PREADV2] = { "preadv2", RESULT_BYTES },
	[CALL_WRITE] = { "write", RESULT_BYTES },
	[CALL_WRITEV] = { "writev", RESULT_BYTES },
	[CALL_PWRITEV2] = { "pwritev2", RESULT_BYTES },
	[CALL_SENDFILE] = { "sendfile", RESULT_BYTES },
	[CALL_SPLICE] = { "splice", RESULT_BYTES },
	[CALL_CLOSE] = { "close", RESULT_STATUS },
	[CALL_SOCKET] = { "socket", RESULT_FD },
	[CALL_SOCKETPAIR] = { "socketpair", RESULT_STATUS },
	[CALL_POLL] = { "poll", RESULT_READY },
	[CALL_PPOLL] = { "ppoll", RESULT_READY },
	[CALL_SELECT] = { "select", RESULT_READY },
	[CALL_PSELECT6] = { "pselect6", RESULT_READY },
	[CALL_EPOLL_WAIT] = { "epoll_wait", RESULT_READY },
	[CALL_EPOLL_PWAIT] = { "epoll_pwait", RESULT_READY },
	[CALL_EPOLL_PWAIT2] = { "epoll_pwait2", RESULT_READY },
};

const struct call_info *call_info(unsigned id)
{
	return id < N_CALLS && infos[id].name ? &infos[id] : NULL;
}

/* preadv and pwritev always have an offset, so they fail on a socket. */
static const struct {
	unsigned nr;
	uint8_t id;
} numbers[] = {
	{ __NR_connect, CALL_CONNECT },
	{ __NR_accept, CALL_ACCEPT },
	{ __NR_accept4, CALL_ACCEPT4 },
	{ __NR_bind, CALL_BIND },
	{ __NR_listen, CALL_LISTEN },
	{ __NR_sendto, CALL_SENDTO },
	{ __NR_sendmsg, CALL_SENDMSG },
	{ __NR_sendmmsg, CALL_SENDMMSG },
	{ __NR_recvfrom, CALL_RECVFROM },
	{ __NR_recvmsg, CALL_RECVMSG },
	{ __NR_recvmmsg, CALL_RECVMMSG },
	{ __NR_shutdown, CALL_SHUTDOWN },
	{ __NR_read, CALL_READ },
	{ __NR_readv, CALL_READV },
	{ __NR_write, CALL_WRITE },
	{ __NR_writev, CALL_WRITEV },
	{ __NR_sendfile, CALL_SENDFILE },
	{ __NR_splice, CALL_SPLICE },
	{ __NR_close, CALL_CLOSE },
	{ __NR_socket, CALL_SOCKET },
	{ __NR_socketpair, CALL_SOCKETPAIR },
	{ __NR_ppoll, CALL_PPOLL },
	{ __NR_pselect6, CALL_PSELECT6 },
	{ __NR_epoll_pwait, CALL_EPOLL_PWAIT },
	{ __NR_restart_syscall, CALL_RESTART },
#ifdef __NR_preadv2
	{ __NR_preadv2, CALL_PREADV2 },
	{ __NR_pwritev2, CALL_PWRITEV2 },
#endif
#ifdef __NR_epoll_pwait2
	{ __NR_epoll_pwait2, CALL_EPOLL_PWAIT2 },
#endif
#ifdef __NR_poll /* and the others that newer architectures have left out */
	{ __NR_poll, CALL_POLL },
	{ __NR_select, CALL_SELECT },
	{ __NR_epoll_wait, CALL_EPOLL_WAIT },
#endif
};

void call_numbers(uint8_t ret[SYSCALLS_MAX_NR])
{
	memset(ret, CALL_NONE, SYSCALLS_MAX_NR);
	for (size_t i = 0; i < N(numbers); i++)
		if (numbers[i].nr < SYSCALLS_MAX_NR)
			ret[numbers[i].nr] = numbers[i].id;
}

/* include/linux/errno.h: between the kernel and itself. */
static const struct {
	int64_t ret;
	const char *name;
} restarts[] = {
	{ -512, "ERESTARTSYS" }, { -513, "ERESTARTNOINTR" },	    { -514, "ERESTARTNOHAND" },
	{ -515, "ENOIOCTLCMD" }, { -516, "ERESTART_RESTARTBLOCK" },
};

#define MAX_ERRNO 4095

const char *call_error(int64_t ret)
{
	const char *name;

	if (ret >= 0 || ret < -MAX_ERRNO)
		return NULL;
	for (size_t i = 0; i < N(restarts); i++)
		if (restarts[i].ret == ret)
			return restarts[i].name;
	name = strerrorname_np((int)-ret);
	return name ? name : "unknown error";
}

bool call_interrupted(int64_t ret)
{
	return ret == -512 || ret == -513 || ret == -514 || ret == -516;
}

/* ---- protocols ---- */

static const char *const families[] = {
	[AF_UNIX] = "unix",	  [AF_INET] = "inet",	  [AF_INET6] = "inet6",
	[AF_NETLINK] = "netlink", [AF_PACKET] = "packet", [AF_BLUETOOTH] = "bluetooth",
	[AF_ALG] = "alg",	  [AF_VSOCK] = "vsock",	  [AF_CAN] = "can",
	[AF_KEY] = "key",	  [AF_XDP] = "xdp",	  [AF_TIPC] = "tipc",
};

static const char *const types[] = {
	[SOCK_STREAM] = "stream", [SOCK_DGRAM] = "dgram",	  [SOCK_RAW] = "raw",
	[SOCK_RDM] = "rdm",	  [SOCK_SEQPACKET] = "seqpacket",
};

#define INET 0 /* AF_INET and AF_INET6 */
#define ANY  0xffff

/* The usual ones, the commonest first. */
static const struct {
	uint16_t family, type, protocol;
	const char *name;
} protocols[] = {
	{ INET, SOCK_STREAM, IPPROTO_TCP, "tcp" },
	{ AF_UNIX, SOCK_STREAM, ANY, "unix stream" },
	{ INET, SOCK_DGRAM, IPPROTO_UDP, "udp" },
	{ AF_UNIX, SOCK_DGRAM, ANY, "unix dgram" },
	{ AF_UNIX, SOCK_SEQPACKET, ANY, "unix seqpacket" },
	{ INET, SOCK_STREAM, 0, "tcp" }, /* as socket() is told */
	{ INET, SOCK_DGRAM, 0, "udp" },
	{ INET, SOCK_STREAM, IPPROTO_MPTCP, "mptcp" },
	{ INET, SOCK_STREAM, IPPROTO_SCTP, "sctp" },
	{ INET, SOCK_SEQPACKET, IPPROTO_SCTP, "sctp seqpacket" },
	{ INET, SOCK_DGRAM, IPPROTO_UDPLITE, "udplite" },
	{ INET, SOCK_DGRAM, IPPROTO_ICMP, "icmp" },
	{ INET, SOCK_DGRAM, IPPROTO_ICMPV6, "icmpv6" },
	{ INET, SOCK_RAW, IPPROTO_ICMP, "raw icmp" },
	{ INET, SOCK_RAW, IPPROTO_ICMPV6, "raw icmpv6" },
};

#define LOOKUP(table, i) ((i) < N(table) ? (table)[i] : NULL)

const char *call_protocol(const struct syscalls_call *call, char scratch[PROTOCOL_TEXT_LEN])
{
	bool inet = call->family == AF_INET || call->family == AF_INET6;
	uint16_t group = inet ? INET : call->family;
	const char *family = LOOKUP(families, call->family);
	const char *type = LOOKUP(types, call->sock_type);
	char family_nr[16], type_nr[16], protocol[32] = "";

	if (!(call->flags & CALL_SOCKET_KNOWN))
		return NULL;
	for (size_t i = 0; (inet || group == AF_UNIX) && i < N(protocols); i++)
		if (protocols[i].family == group && protocols[i].type == call->sock_type &&
		    (protocols[i].protocol == call->protocol || protocols[i].protocol == ANY))
			return protocols[i].name;

	snprintf(family_nr, sizeof(family_nr), "family %u", call->family);
	snprintf(type_nr, sizeof(type_nr), "type %u", call->sock_type);
	if (call->protocol)
		snprintf(protocol, sizeof(protocol), " protocol %u", call->protocol);
	snprintf(scratch, PROTOCOL_TEXT_LEN, "%s %s%s", family ? family : family_nr,
		 type ? type : type_nr, protocol);
	return scratch;
}

/* ---- addresses ---- */

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

/* An unbound or unconnected end is all zero. */
static bool inet_text(uint16_t family, const uint8_t addr[16], uint16_t port, uint32_t scope_id,
		      char ret[ADDRESS_TEXT_LEN])
{
	char text[INET6_ADDRSTRLEN], scope[16] = "";

	if (port == 0 && is_zero(addr, family == AF_INET ? 4 : 16))
		return false;
	if (family == AF_INET6 && memcmp(addr, mapped_prefix, sizeof(mapped_prefix)) == 0) {
		family = AF_INET;
		addr += sizeof(mapped_prefix);
	}
	if (!inet_ntop(family, addr, text, sizeof(text)))
		return false;
	if (scope_id)
		snprintf(scope, sizeof(scope), "%%%u", scope_id);
	snprintf(ret, ADDRESS_TEXT_LEN, family == AF_INET ? "%s%s:%u" : "[%s%s]:%u", text, scope,
		 port);
	return true;
}

static bool path_text(const struct syscalls_call *call, char ret[ADDRESS_TEXT_LEN])
{
	const struct syscalls_unix *u = &call->unix_addr;
	bool cut = u->len > CALL_PATH_LEN, abstract = call->flags & CALL_PATH_ABSTRACT;
	int n;

	if (u->len == 0)
		return false;
	n = snprintf(ret, ADDRESS_TEXT_LEN, "%s%s", abstract ? "@" : "", cut ? "…" : "");
	text_printable(ret + n, ADDRESS_TEXT_LEN - (size_t)n, u->path,
		       cut ? CALL_PATH_LEN : u->len);
	return true;
}

static bool has_inet(const struct syscalls_call *call)
{
	return call->addr_family == AF_INET || call->addr_family == AF_INET6;
}

bool call_peer(const struct syscalls_call *call, char ret[ADDRESS_TEXT_LEN])
{
	const struct syscalls_inet *inet = &call->inet;

	if (call->addr_family == AF_UNIX)
		return !(call->flags & CALL_PATH_LOCAL) && path_text(call, ret);
	/* The address stays in the socket of a connection that is none any more, the port does not.
	 */
	if (!has_inet(call) || (call->sock_type == SOCK_STREAM && inet->peer_port == 0))
		return false;
	return inet_text(call->addr_family, inet->peer, inet->peer_port, inet->scope_id, ret);
}

bool call_local(const struct syscalls_call *call, char ret[ADDRESS_TEXT_LEN])
{
	const struct syscalls_inet *inet = &call->inet;

	if (call->addr_family == AF_UNIX)
		return (call->flags & CALL_PATH_LOCAL) && path_text(call, ret);
	if (!has_inet(call) || (call->sock_type == SOCK_STREAM && inet->local_port == 0))
		return false;
	return inet_text(call->addr_family, inet->local, inet->local_port, 0, ret);
}
