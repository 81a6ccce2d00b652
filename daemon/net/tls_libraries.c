/* SPDX-License-Identifier: Apache-2.0 */
/* tls_libraries.c - libraries of TLS and their functions; selectors. */
#include "tls_libraries.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "text.h"

/* ---- functions ---- */

static const struct tls_symbol {
	const char *name;
	enum tls_library library;
	struct net_tls_function function;
} symbols[] = {
	{ "SSL_read", TLS_OPENSSL, { NET_TLS_READ, NET_TLS_ENDS } },
	{ "SSL_read_ex", TLS_OPENSSL, { NET_TLS_READ, NET_TLS_OUT } },
	{ "SSL_read_early_data", TLS_OPENSSL, { NET_TLS_READ, NET_TLS_OUT } },
	{ "SSL_write", TLS_OPENSSL, { NET_TLS_WRITE, 0 } },
	{ "SSL_write_ex", TLS_OPENSSL, { NET_TLS_WRITE, NET_TLS_OUT } },
	{ "SSL_write_early_data", TLS_OPENSSL, { NET_TLS_WRITE, NET_TLS_OUT } },
	{ "SSL_sendfile", TLS_OPENSSL, { NET_TLS_WRITE, NET_TLS_FILE } },
	{ "SSL_do_handshake", TLS_OPENSSL, { NET_TLS_HANDSHAKE, 0 } },
	{ "SSL_free", TLS_OPENSSL, { NET_TLS_FREE, 0 } },
	{ "gnutls_record_recv", TLS_GNUTLS, { NET_TLS_READ, NET_TLS_ENDS } },
	{ "gnutls_record_recv_seq", TLS_GNUTLS, { NET_TLS_READ, NET_TLS_ENDS } },
	{ "gnutls_record_send", TLS_GNUTLS, { NET_TLS_WRITE, NET_TLS_AGAIN } },
	{ "gnutls_record_send2", TLS_GNUTLS, { NET_TLS_WRITE, NET_TLS_AGAIN } },
	{ "gnutls_record_send_file", TLS_GNUTLS, { NET_TLS_WRITE, NET_TLS_FILE } },
	{ "gnutls_handshake", TLS_GNUTLS, { NET_TLS_HANDSHAKE, NET_TLS_ZERO } },
	{ "gnutls_deinit", TLS_GNUTLS, { NET_TLS_FREE, 0 } },
	{ "PR_Read", TLS_NSPR, { NET_TLS_READ, NET_TLS_NSPR | NET_TLS_ENDS } },
	{ "PR_Recv", TLS_NSPR, { NET_TLS_READ, NET_TLS_NSPR | NET_TLS_ENDS } },
	{ "PR_Write", TLS_NSPR, { NET_TLS_WRITE, NET_TLS_NSPR } },
	{ "PR_Send", TLS_NSPR, { NET_TLS_WRITE, NET_TLS_NSPR } },
	{ "PR_Close", TLS_NSPR, { NET_TLS_FREE, 0 } },
	{ "getaddrinfo", TLS_LIBC, { NET_TLS_LOOKUP, 0 } },
};

#define N_SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))
_Static_assert(N_SYMBOLS <= NET_TLS_MAX_FUNCTIONS, "a function is a cookie");

void tls_library_specs(struct net_tls_function *ret)
{
	memset(ret, 0, NET_TLS_MAX_FUNCTIONS * sizeof(*ret));
	for (size_t i = 0; i < N_SYMBOLS; i++)
		ret[i] = symbols[i].function;
}

static bool is_in(const struct tls_symbol *s, enum tls_library library)
{
	return s->library == library || (library == TLS_ANY && s->library != TLS_LIBC);
}

const struct lib_function *tls_library_functions(enum tls_library library, bool by_name,
						 size_t *ret_n)
{
	static struct lib_function tables[N_TLS_LIBRARIES][2][N_SYMBOLS];
	struct lib_function *table = tables[library][by_name];
	size_t n = 0;

	for (size_t i = 0; i < N_SYMBOLS; i++)
		if (is_in(&symbols[i], library))
			table[n++] = (struct lib_function){
				.name = symbols[i].name,
				.cookie = (uint16_t)(i | (by_name ? NET_TLS_BY_NAME : 0)),
			};
	*ret_n = n;
	return table;
}

const char *const *tls_file_marks(size_t *ret_n, size_t *ret_n_go)
{
	static const char *const marks[] = { ".note.go.buildid",   ".go.buildinfo", "SSL_write",
					     "gnutls_record_send", "PR_Write",	    "getaddrinfo" };

	*ret_n = sizeof(marks) / sizeof(marks[0]);
	*ret_n_go = 2;
	return marks;
}

/* ---- files ---- */

/* Of libssl3.so, which is NSS's, the functions are used through NSPR. */
enum tls_library tls_library_of(const char *path)
{
	static const struct {
		const char *prefix;
		enum tls_library which;
	} names[] = {
		{ "libssl.so", TLS_OPENSSL },	{ "libssl-", TLS_OPENSSL },
		{ "libgnutls.so", TLS_GNUTLS }, { "libgnutls-", TLS_GNUTLS },
		{ "libnspr4.so", TLS_NSPR },	{ "libc.so.", TLS_LIBC },
		{ "libc-2.", TLS_LIBC },	{ "ld-musl-", TLS_LIBC },
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; strstr(name, ".so") && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i].prefix, strlen(names[i].prefix)) == 0)
			return names[i].which;
	return TLS_NONE;
}

/* ---- selectors ---- */

int tls_selector_parse(const char *s, struct tls_selector *ret)
{
	uint64_t pid;

	if (strncmp(s, "pid:", 4) == 0) {
		if (text_u64(s + 4, 1, INT32_MAX, &pid) < 0)
			return -EINVAL;
		*ret = (struct tls_selector){ .kind = TLS_BY_PID, .pid = (uint32_t)pid };
		return 0;
	}
	if (strncmp(s, "comm:", 5) == 0) {
		struct net_tls_glob glob;

		*ret = (struct tls_selector){ .kind = TLS_BY_COMM, .text = s + 5 };
		return s[5] ? tls_glob_compile(s + 5, &glob) : -EINVAL;
	}
	if (strncmp(s, "lib:", 4) == 0) {
		*ret = (struct tls_selector){ .kind = TLS_BY_LIB, .text = s + 4 };
		return s[4] == '/' && s[5] ? 0 : -EINVAL;
	}
	return -EINVAL;
}

bool tls_selector_is_lib(const char *wanted, const char *path)
{
	size_t len = strlen(wanted);

	return strncmp(path, wanted, len) == 0 &&
	       (path[len] == '\0' || strcmp(path + len, " (deleted)") == 0);
}

/* The length of the part of a glob at `s` that stands for one byte; 0: it does not end. */
static size_t part_len(const char *s)
{
	size_t i = 1;

	if (s[0] == '\\')
		return s[1] ? 2 : 0;
	if (s[0] != '[')
		return 1;
	if (s[i] == '!' || s[i] == '^')
		i++;
	if (s[i] == ']')
		i++;
	while (s[i] && s[i] != ']')
		i++;
	return s[i] ? i + 1 : 0;
}

int tls_glob_compile(const char *glob, struct net_tls_glob *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (*glob) {
		char part[64], byte[2] = { 0 };
		size_t len;

		if (*glob == '*') {
			ret->stays |= 1ull << ret->n;
			glob++;
			continue;
		}
		len = part_len(glob);
		if (len == 0 || len >= sizeof(part) || ret->n == 63)
			return -EINVAL;
		memcpy(part, glob, len);
		part[len] = '\0';
		for (int c = 1; c < 256; c++) {
			byte[0] = (char)c;
			if (fnmatch(part, byte, 0) == 0)
				ret->moves[c] |= 1ull << ret->n;
		}
		ret->n++;
		glob += len;
	}
	return 0;
}
