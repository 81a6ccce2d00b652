/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls_names.h - what the numbers in a record of a system call are called:
 * the call, its error, the socket's protocol and addresses. Pure.
 */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls_events.h"

/* What a call returns when it does not fail. */
enum call_result { RESULT_STATUS, RESULT_BYTES, RESULT_MESSAGES, RESULT_FD, RESULT_READY };

struct call_info {
	const char *name;
	enum call_result result;
};

/* NULL: no such call. */
const struct call_info *call_info(unsigned id);

static inline bool call_is_wait(unsigned id)
{
	return id >= CALL_FIRST_WAIT && id <= CALL_EPOLL_PWAIT2;
}

/* For each of this machine's system call numbers the call it is, or CALL_NONE. */
void call_numbers(uint8_t ret[SYSCALLS_MAX_NR]);

/*
 * "ECONNREFUSED", also "ERESTARTSYS" and its kin, which a program never sees:
 * the kernel repeats the call or makes them EINTR. NULL: `ret` is no error.
 */
const char *call_error(int64_t ret);
bool call_interrupted(int64_t ret);

#define PROTOCOL_TEXT_LEN 64
/* Paths are cut, and each byte of one may need four characters. */
#define ADDRESS_TEXT_LEN (4 * CALL_PATH_LEN + 16)

/* "tcp", "udp", "unix stream", "netlink raw"; NULL: not known. */
const char *call_protocol(const struct syscalls_call *call, char scratch[PROTOCOL_TEXT_LEN]);

/*
 * "10.0.0.1:80", "[fe80::1%2]:80", "/run/x.sock", "@abstract"; "…" stands for
 * the start of a long path. IPv4 within IPv6 reads as IPv4. False: there is
 * none, or it is not known.
 */
bool call_peer(const struct syscalls_call *call, char ret[ADDRESS_TEXT_LEN]);
bool call_local(const struct syscalls_call *call, char ret[ADDRESS_TEXT_LEN]);

#endif
