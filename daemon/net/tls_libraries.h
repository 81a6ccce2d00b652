/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_libraries.h - libraries that programs hand clear text to, the functions of theirs
 * that are probed, and the selectors by which a session says whose.
 */
#ifndef TLS_LIBRARIES_H
#define TLS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/lib_probes.h"
#include "net_tls.h"

/* ---- files ---- */

enum tls_library {
	TLS_NONE = -1,
	TLS_OPENSSL, /* and what has its functions: LibreSSL, BoringSSL */
	TLS_GNUTLS,
	TLS_NSPR, /* NSS is used through it */
	TLS_LIBC, /* getaddrinfo() */
	TLS_ANY,  /* a program, or a file that was named: all but the C library's */
	N_TLS_LIBRARIES
};

/* By the name that a library has; directories before it do not matter. */
enum tls_library tls_library_of(const char *path);
/* `by_name`: with NET_TLS_BY_NAME in the cookies. They are there for good. */
const struct lib_function *tls_library_functions(enum tls_library library, bool by_name,
						 size_t *ret_n);
/* By cookie, for the BPF program: NET_TLS_MAX_FUNCTIONS of them. */
void tls_library_specs(struct net_tls_function *ret);

/*
 * What to ask a file for before it is probed. It is not when it has one of the first
 * `*ret_n_go`: Go moves stacks, and a probe on the way out would end the program. It need
 * not be when it has none of the others.
 */
const char *const *tls_file_marks(size_t *ret_n, size_t *ret_n_go);

/* ---- selectors ---- */

enum tls_selector_kind { TLS_BY_PID, TLS_BY_COMM, TLS_BY_LIB };

struct tls_selector {
	enum tls_selector_kind kind;
	uint32_t pid;
	const char *text; /* in what was parsed: a glob, a path */
};

/* "pid:1234", "comm:GLOB", "lib:PATH". -EINVAL: it is none. */
int tls_selector_parse(const char *s, struct tls_selector *ret);
/* Is a file of this path, as a process sees it, meant by lib:`wanted`? */
bool tls_selector_is_lib(const char *wanted, const char *path);

/* -EINVAL: more than 63 parts, or a set that does not end. */
int tls_glob_compile(const char *glob, struct net_tls_glob *ret);

#endif
