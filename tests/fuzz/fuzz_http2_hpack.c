/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as blocks of header fields, each with its length before it (two bytes), to
 * ours and to nghttp2: what it takes we take too, to the same fields and the same table.
 */
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http2_hpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

#define N_STATIC 61

static const struct net_privacy privacy = { .query = NET_QUERY_KEEP };

/* The first field of each name whose value is kept as it is. */
struct reference {
	char method[EXCHANGE_METHOD_LEN], scheme[8], protocol[EXCHANGE_METHOD_LEN];
};

static void take(char *ret, size_t room, const nghttp2_nv *nv, const char *name)
{
	if (ret[0] || nv->namelen != strlen(name) || memcmp(nv->name, name, nv->namelen) != 0)
		return;
	net_privacy_text(nv->value, nv->valuelen, ret, room);
}

/* False: it is no block, for nghttp2. */
static bool reference_decode(nghttp2_hd_inflater *inflater, const uint8_t *data, size_t n,
			     struct reference *ret)
{
	nghttp2_nv nv;
	int flags = 0;

	*ret = (struct reference){ 0 };
	for (;;) {
		ssize_t r = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, data, n, 1);

		if (r < 0)
			return false;
		data += r;
		n -= (size_t)r;
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			break;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
			return false;
		take(ret->method, sizeof(ret->method), &nv, ":method");
		take(ret->scheme, sizeof(ret->scheme), &nv, ":scheme");
		take(ret->protocol, sizeof(ret->protocol), &nv, ":protocol");
	}
	nghttp2_hd_inflate_end_headers(inflater);
	return true;
}

static void check_partial(struct http2_hpack *t, const uint8_t *data, size_t n,
			  const struct http2_head *want)
{
	struct http2_head head;

	if (http2_hpack_block(t, data, n, &head) < 0)
		http2_hpack_forget(t);
	if (head.has_unknown)
		return;
	CHECK(strcmp(head.method, want->method) == 0 && strcmp(head.path, want->path) == 0);
	CHECK(strcmp(head.authority, want->authority) == 0 && head.status == want->status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	nghttp2_hd_inflater *inflater;
	struct http2_hpack t, late;
	bool is_good = true;
	size_t n_blocks = 0;

	if (nghttp2_hd_inflate_new(&inflater) != 0)
		return 0;
	nghttp2_hd_inflate_change_table_size(inflater, HTTP2_MAX_TABLE);
	http2_hpack_init(&t, &privacy, false);
	http2_hpack_init(&late, &privacy, true);
	while (is_good && size >= 2) {
		size_t n = (size_t)data[0] << 8 | data[1];
		struct reference want;
		struct http2_head head;
		int r;

		data += 2;
		size -= 2;
		n = n < size ? n : size;
		is_good = reference_decode(inflater, data, n, &want);
		r = http2_hpack_block(&t, data, n, &head);
		CHECK(http2_hpack_bytes(&t) < (2u << 20));
		if (is_good) {
			CHECK(r == 0 && !head.has_unknown);
			CHECK(strcmp(head.method, want.method) == 0);
			CHECK(strcmp(head.scheme, want.scheme) == 0);
			CHECK(strcmp(head.protocol, want.protocol) == 0);
			CHECK(t.n == nghttp2_hd_inflate_get_num_table_entries(inflater) - N_STATIC);
			CHECK(t.size == nghttp2_hd_inflate_get_dynamic_table_size(inflater));
			if (n_blocks++ > 0) /* it has missed the first one */
				check_partial(&late, data, n, &head);
		}
		data += n;
		size -= n;
	}
	http2_hpack_done(&t);
	http2_hpack_done(&late);
	nghttp2_hd_inflate_del(inflater);
	return 0;
}
