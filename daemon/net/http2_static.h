/* SPDX-License-Identifier: Apache-2.0 */
/* http2_static.h - HPACK's static table (RFC 7541, appendix A); index 1 is its first. */
#ifndef HTTP2_STATIC_H
#define HTTP2_STATIC_H

#define N_HTTP2_STATIC 61

struct http2_static {
	const char *name, *value;
};

extern const struct http2_static http2_static[N_HTTP2_STATIC];

#endif
