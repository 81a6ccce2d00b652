/* SPDX-License-Identifier: Apache-2.0 */
/* net_privacy.c - what of a request may be kept. */
#include "net_privacy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HIDDEN "\xe2\x80\xa6" /* U+2026: it stands for what is not told */

#define HEADER(name, header)                   \
	{                                      \
		name, sizeof(name) - 1, header \
	}

static const struct {
	char name[18];
	uint8_t len;
	uint8_t header;
} headers[] = {
	HEADER("age", NET_HEADER_AGE),
	HEADER("connection", NET_HEADER_CONNECTION),
	HEADER("content-type", NET_HEADER_CONTENT_TYPE),
	HEADER("content-length", NET_HEADER_CONTENT_LENGTH),
	HEADER("expect", NET_HEADER_EXPECT),
	HEADER("grpc-status", NET_HEADER_GRPC_STATUS),
	HEADER("host", NET_HEADER_HOST),
	HEADER("transfer-encoding", NET_HEADER_TRANSFER_ENCODING),
	HEADER("upgrade", NET_HEADER_UPGRADE),
	HEADER("x-cache", NET_HEADER_X_CACHE),
};

#define N_HEADERS (sizeof(headers) / sizeof(headers[0]))

/* Where those begin that have this first letter, sorted as they are; others begin anywhere. */
static const uint8_t first_of[32] = {
	['a' & 31] = 0, ['c' & 31] = 1, ['e' & 31] = 4, ['g' & 31] = 5,
	['h' & 31] = 6, ['t' & 31] = 7, ['u' & 31] = 8, ['x' & 31] = 9,
};

/* `lower` has letters and dashes. */
static bool is_name(const uint8_t *name, const char *lower, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] != lower[i] && (lower[i] == '-' || (name[i] | 0x20) != lower[i]))
			return false;
	return true;
}

enum net_header net_header_of(const uint8_t *name, size_t len)
{
	char letter = (char)(len ? name[0] | 0x20 : 0);

	for (size_t i = first_of[letter & 31]; i < N_HEADERS && headers[i].name[0] == letter; i++)
		if (headers[i].len == len && is_name(name, headers[i].name, len))
			return headers[i].header;
	return NET_HEADER_OTHER;
}

enum net_header net_header_at(const uint8_t *line, size_t n, size_t *ret_value)
{
	char letter = (char)(n ? line[0] | 0x20 : 0);

	for (size_t i = first_of[letter & 31]; i < N_HEADERS && headers[i].name[0] == letter; i++) {
		size_t at = headers[i].len;

		if (n <= at || !is_name(line, headers[i].name, at))
			continue;
		while (at < n && (line[at] == ' ' || line[at] == '\t'))
			at++;
		if (at == n || line[at] != ':')
			break;
		*ret_value = at + 1;
		return headers[i].header;
	}
	return NET_HEADER_OTHER;
}

/* ---- texts that are cut ---- */

struct out {
	char *text;
	size_t len, room; /* room > len: there is always one for the NUL */
	bool is_full;
};

/* How long the character is that begins with this byte, if it is one. */
static size_t utf8_len(uint8_t c)
{
	if (c >= 0xf0)
		return 4;
	if (c >= 0xe0)
		return 3;
	return c >= 0xc0 ? 2 : 1;
}

/* Takes a character back of which only the beginning has found room. */
static void drop_half(struct out *o)
{
	size_t n = 1;

	while (n < o->len && n < 4 && ((uint8_t)o->text[o->len - n] & 0xc0) == 0x80)
		n++;
	if (n <= o->len && utf8_len((uint8_t)o->text[o->len - n]) > n)
		o->len -= n;
}

static void put(struct out *o, const void *data, size_t n)
{
	char *at = o->text + o->len;
	size_t some;

	if (o->is_full || n == 0)
		return;
	some = n < o->room - 1 - o->len ? n : o->room - 1 - o->len;
	memcpy(at, data, some);
	o->len += some;
	while ((at = memchr(at, '\0', (size_t)(o->text + o->len - at))))
		*at = '_';
	if (some < n) {
		o->is_full = true;
		drop_half(o);
	}
}

static void put_hidden(struct out *o)
{
	put(o, HIDDEN, strlen(HIDDEN));
}

void net_privacy_text(const uint8_t *text, size_t len, char *ret, size_t room)
{
	struct out o = { .text = ret, .room = room };

	if (room == 0)
		return;
	put(&o, text, len);
	ret[o.len] = '\0';
}

/* ---- names as numbers ---- */

static uint64_t rotate(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

/* SipHash-2-4 of the name in lower case: who has no key cannot try names out. */
static uint64_t keyed_hash(const struct net_privacy *p, const uint8_t *data, size_t len)
{
	uint64_t v[4] = { p->key[0] ^ 0x736f6d6570736575ull, p->key[1] ^ 0x646f72616e646f6dull,
			  p->key[0] ^ 0x6c7967656e657261ull, p->key[1] ^ 0x7465646279746573ull };
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t c = data[i] >= 'A' && data[i] <= 'Z' ? data[i] | 0x20 : data[i];

		word |= (uint64_t)c << (i % 8 * 8);
		if (i % 8 == 7) {
			sip_word(v, word);
			word = 0;
		}
	}
	sip_word(v, word | (uint64_t)len << 56);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void put_hash(struct out *o, const struct net_privacy *p, const uint8_t *data, size_t len)
{
	char text[20];

	put(o, text,
	    (size_t)snprintf(text, sizeof(text), "#%016" PRIx64, keyed_hash(p, data, len)));
}

/* ---- paths ---- */

/* More hexadecimal digits than that are a secret, and so may be as many characters with dots. */
#define MAX_HEX 32
#define MIN_JWT 8

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_base64url(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
	       c == '_';
}

/* "eyJ…" ('{"' in base64), and a dot with more of it behind. */
static bool is_jwt(const uint8_t *p, size_t len)
{
	size_t i = 3;

	if (len < MIN_JWT || memcmp(p, "eyJ", 3) != 0)
		return false;
	while (i < len && is_base64url(p[i]))
		i++;
	return i + 1 < len && p[i] == '.' && is_base64url(p[i + 1]);
}

static bool is_secret(const uint8_t *p, size_t len)
{
	size_t n_hex = 0;

	for (size_t i = 0; len > MAX_HEX && i < len; i++) {
		n_hex = is_hex(p[i]) ? n_hex + 1 : 0;
		if (n_hex > MAX_HEX)
			return true;
	}
	for (size_t i = 0; i + MIN_JWT <= len; i++)
		if (p[i] == 'e' && (i == 0 || !is_base64url(p[i - 1])) && is_jwt(p + i, len - i))
			return true;
	return false;
}

/* Up to the next `separator`, or all. */
static size_t part_len(const uint8_t *p, size_t len, char separator)
{
	const uint8_t *end = len ? memchr(p, separator, len) : NULL;

	return end ? (size_t)(end - p) : len;
}

static void put_path(struct out *o, const uint8_t *p, size_t len)
{
	while (len > 0 && !o->is_full) {
		size_t n = part_len(p, len, '/');

		if (is_secret(p, n))
			put_hidden(o);
		else
			put(o, p, n);
		if (n < len)
			put(o, p + n++, 1);
		p += n;
		len -= n;
	}
}

/* A parameter without "=" may be all value. */
static void put_keys(struct out *o, const uint8_t *p, size_t len)
{
	while (len > 0 && !o->is_full) {
		size_t n = part_len(p, len, '&'), key = part_len(p, n, '=');

		if (key < n && !is_secret(p, key))
			put(o, p, key + 1);
		if (n > 0)
			put_hidden(o);
		if (n < len)
			put(o, p + n++, 1);
		p += n;
		len -= n;
	}
}

static void put_query(struct out *o, const struct net_privacy *p, const uint8_t *query, size_t len)
{
	if (p->query == NET_QUERY_DROP)
		return;
	put(o, "?", 1);
	if (p->query == NET_QUERY_HIDE || p->hash_names)
		put_hidden(o);
	else if (p->query == NET_QUERY_KEEP)
		put(o, query, len);
	else
		put_keys(o, query, len);
}

void net_privacy_path(const struct net_privacy *p, const uint8_t *target, size_t len, char *ret,
		      size_t room)
{
	struct out o = { .text = ret, .room = room };
	size_t path;

	if (room == 0)
		return;
	len = part_len(target, len, '#'); /* a fragment has no business here */
	path = part_len(target, len, '?');
	if (p->hash_names && path > 0)
		put_hash(&o, p, target, path);
	else
		put_path(&o, target, path);
	if (path < len)
		put_query(&o, p, target + path + 1, len - path - 1);
	ret[o.len] = '\0';
}

/* Where ":443" begins; or the end. Of "[::1]" the colons are no port's. */
static size_t port_at(const uint8_t *name, size_t len)
{
	size_t i = len;

	while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9')
		i--;
	if (i == 0 || i == len || name[i - 1] != ':')
		return len;
	return i > 1 && name[0] != '[' && memchr(name, ':', i - 1) ? len : i - 1;
}

void net_privacy_name(const struct net_privacy *p, const uint8_t *name, size_t len, char *ret,
		      size_t room)
{
	struct out o = { .text = ret, .room = room };
	const uint8_t *at = len ? memrchr(name, '@', len) : NULL;
	size_t port, n;

	if (room == 0)
		return;
	if (at) {
		len -= (size_t)(at + 1 - name);
		name = at + 1;
	}
	port = port_at(name, len);
	n = port > 0 && name[port - 1] == '.' ? port - 1 : port; /* of DNS's root */
	if (p->hash_names && n > 0) {
		put_hash(&o, p, name, n);
		put(&o, name + port, len - port);
	} else {
		put(&o, name, len);
	}
	ret[o.len] = '\0';
}
