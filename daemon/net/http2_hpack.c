/* SPDX-License-Identifier: Apache-2.0 */
/* http2_hpack.c - see http2_hpack.h. */
#include "http2_hpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http2_huffman.h"
#include "http2_static.h"

#define DEFAULT_TABLE  4096 /* RFC 9113, 6.5.2 */
#define ENTRY_OVERHEAD 32   /* RFC 7541, 4.1 */
#define MAX_INTEGER    (1u << 28)

/* Of a value; what is behind has no room in a struct exchange in any case. */
#define MAX_STRING 4096
#define MAX_NAME   32 /* longer ones are none of those that are looked at */

/* A field: enum net_header, and what HTTP/2 has beyond it. */
enum {
	FIELD_METHOD = N_NET_HEADERS,
	FIELD_SCHEME,
	FIELD_AUTHORITY,
	FIELD_PATH,
	FIELD_STATUS,
	FIELD_PROTOCOL,
	FIELD_UNKNOWN, /* may be any, with any value */
};

struct http2_entry {
	char *text;	   /* as http2_head has it; NULL: of a field that is not kept */
	uint32_t name_len; /* as it was sent */
	uint32_t size;
	uint8_t field;
};

/* A name with what an insertion needs of it. */
struct name {
	uint32_t len;
	uint8_t field;
};

struct string {
	const uint8_t *data;
	size_t n;   /* bytes at `data` */
	size_t len; /* bytes that it has */
};

struct reader {
	struct http2_hpack *table;
	struct http2_head *head;
	const uint8_t *at, *end;
	size_t n_dirty; /* of `scratch`, which is wiped so far */
	uint8_t scratch[MAX_STRING];
	char text[EXCHANGE_PATH_LEN];
};

/* ---- fields ---- */

static uint8_t pseudo_field_of(const uint8_t *name, size_t len)
{
	static const struct {
		const char *name;
		uint8_t field;
	} known[] = {
		{ ":method", FIELD_METHOD }, { ":scheme", FIELD_SCHEME },
		{ ":path", FIELD_PATH },     { ":authority", FIELD_AUTHORITY },
		{ ":status", FIELD_STATUS }, { ":protocol", FIELD_PROTOCOL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0)
			return known[i].field;
	return NET_HEADER_OTHER;
}

static struct name name_of(const uint8_t *name, size_t n, size_t len)
{
	struct name ret = { .len = (uint32_t)len, .field = NET_HEADER_OTHER };

	if (n == len && len > 0)
		ret.field = name[0] == ':' ? pseudo_field_of(name, len) : net_header_of(name, len);
	return ret;
}

static struct name static_name(const struct http2_static *s)
{
	size_t len = strlen(s->name);

	return name_of((const uint8_t *)s->name, len, len);
}

/* Up to `until`, if that is there, and without blanks at its end. */
static void copy_until(char *ret, size_t room, const struct string *s, char until)
{
	const uint8_t *end = s->n > 0 ? memchr(s->data, until, s->n) : NULL;
	size_t n = end ? (size_t)(end - s->data) : s->n;

	while (n > 0 && (s->data[n - 1] == ' ' || s->data[n - 1] == '\t'))
		n--;
	net_privacy_text(s->data, n, ret, room);
}

/* What may be kept of a value, into `ret` of EXCHANGE_PATH_LEN bytes. False: nothing. */
static bool text_of(const struct net_privacy *p, uint8_t field, const struct string *value,
		    char *ret)
{
	switch (field) {
	case FIELD_PATH:
		net_privacy_path(p, value->data, value->n, ret, EXCHANGE_PATH_LEN);
		return true;
	case FIELD_AUTHORITY:
	case NET_HEADER_HOST:
		net_privacy_name(p, value->data, value->n, ret, EXCHANGE_HOST_LEN);
		return true;
	case NET_HEADER_CONTENT_TYPE:
		copy_until(ret, EXCHANGE_FIELD_LEN, value, ';');
		return true;
	case FIELD_SCHEME:
		net_privacy_text(value->data, value->n, ret,
				 sizeof(((struct http2_head *)0)->scheme));
		return true;
	case NET_HEADER_AGE:
		net_privacy_text(value->data, value->n, ret, sizeof(((struct http2_head *)0)->age));
		return true;
	case FIELD_METHOD:
	case FIELD_PROTOCOL:
	case FIELD_STATUS:
	case NET_HEADER_CONTENT_LENGTH:
	case NET_HEADER_GRPC_STATUS:
		net_privacy_text(value->data, value->n, ret, EXCHANGE_METHOD_LEN);
		return true;
	case NET_HEADER_X_CACHE:
		/* Caches name themselves behind their verdict. */
		copy_until(ret, EXCHANGE_FIELD_LEN, value, p->hash_names ? ' ' : 0);
		return true;
	default:
		return false;
	}
}

/* Digits and nothing else; -1: it is not that. */
static int64_t number(const char *s)
{
	char *end;
	long long n;

	if (s[0] < '0' || s[0] > '9')
		return -1;
	errno = 0;
	n = strtoll(s, &end, 10);
	return errno || *end ? -1 : n;
}

static int small_number(const char *s, int max, int none)
{
	int64_t n = number(s);

	return n >= 0 && n <= max ? (int)n : none;
}

/* The first of a name counts. */
static void put(char *ret, size_t room, const char *text)
{
	if (!ret[0])
		strncat(ret, text, room - 1);
}

#define PUT(ret, text) put(ret, sizeof(ret), text)

static void take(struct http2_head *h, uint8_t field, const char *text)
{
	switch (field) {
	case FIELD_METHOD:
		PUT(h->method, text);
		break;
	case FIELD_SCHEME:
		PUT(h->scheme, text);
		break;
	case FIELD_AUTHORITY:
		PUT(h->authority, text);
		break;
	case FIELD_PATH:
		PUT(h->path, text);
		break;
	case FIELD_PROTOCOL:
		PUT(h->protocol, text);
		break;
	case FIELD_STATUS:
		h->status = small_number(text, 999, 0);
		break;
	case NET_HEADER_HOST:
		PUT(h->host, text);
		break;
	case NET_HEADER_CONTENT_TYPE:
		PUT(h->content_type, text);
		break;
	case NET_HEADER_CONTENT_LENGTH:
		h->length = number(text);
		break;
	case NET_HEADER_AGE:
		PUT(h->age, text);
		break;
	case NET_HEADER_X_CACHE:
		PUT(h->x_cache, text);
		break;
	case NET_HEADER_GRPC_STATUS:
		h->grpc_status = small_number(text, INT16_MAX, -1);
		break;
	case FIELD_UNKNOWN:
		h->has_unknown = true;
		break;
	}
}

/* ---- the table ---- */

void http2_hpack_init(struct http2_hpack *t, const struct net_privacy *p, bool is_partial)
{
	*t = (struct http2_hpack){ .privacy = p,
				   .max_size = DEFAULT_TABLE,
				   .is_partial = is_partial };
}

/* `i` = 0: the newest. NULL: there is none, or none that we know. */
static struct http2_entry *entry_at(const struct http2_hpack *t, uint32_t i)
{
	return i < t->n ? &t->entries[(t->newest + t->n_room - i) % t->n_room] : NULL;
}

static void shrink(struct http2_hpack *t, uint32_t size)
{
	while (t->n > 0 && t->size > size) {
		struct http2_entry *e = entry_at(t, t->n - 1);

		if (e->text)
			t->n_text -= strlen(e->text) + 1;
		free(e->text);
		t->size -= e->size;
		t->n--;
	}
}

void http2_hpack_done(struct http2_hpack *t)
{
	shrink(t, 0);
	free(t->entries);
	t->entries = NULL;
	t->n_room = 0;
}

void http2_hpack_forget(struct http2_hpack *t)
{
	shrink(t, 0);
	t->is_partial = true;
}

static int grow(struct http2_hpack *t)
{
	uint32_t n_room = t->n_room ? 2 * t->n_room : 16;
	struct http2_entry *entries = calloc(n_room, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		entries[t->n - 1 - i] = *entry_at(t, i);
	free(t->entries);
	t->entries = entries;
	t->n_room = n_room;
	t->newest = t->n > 0 ? t->n - 1 : n_room - 1;
	return 0;
}

static int insert(struct http2_hpack *t, const struct name *name, size_t value_len,
		  const char *text)
{
	struct http2_entry e = { .name_len = name->len, .field = name->field };

	if (value_len > HTTP2_MAX_TABLE || name->len > HTTP2_MAX_TABLE) {
		shrink(t, 0);
		return 0;
	}
	e.size = (uint32_t)(name->len + value_len + ENTRY_OVERHEAD);
	shrink(t, e.size < t->max_size ? t->max_size - e.size : 0);
	if (e.size > t->max_size)
		return 0; /* all others are gone, and it is not there (RFC 7541, 4.4) */
	if (t->n == t->n_room && grow(t) < 0)
		return -ENOMEM;
	if (text) {
		e.text = strdup(text);
		if (!e.text)
			return -ENOMEM;
		t->n_text += strlen(text) + 1;
	}
	t->newest = (t->newest + 1) % t->n_room;
	t->entries[t->newest] = e;
	t->n++;
	t->size += e.size;
	return 0;
}

size_t http2_hpack_bytes(const struct http2_hpack *t)
{
	return t->n_room * sizeof(*t->entries) + t->n_text;
}

/* ---- reading ---- */

/* An integer whose first byte has `n_bits` of it (RFC 7541, 5.1). */
static int read_integer(struct reader *r, unsigned n_bits, uint32_t *ret)
{
	uint32_t mask = (1u << n_bits) - 1, value;
	unsigned shift = 0;
	uint8_t byte;

	if (r->at == r->end)
		return -EBADMSG;
	value = *r->at++ & mask;
	if (value < mask) {
		*ret = value;
		return 0;
	}
	do {
		if (r->at == r->end || shift > 21)
			return -EBADMSG;
		byte = *r->at++;
		value += (uint32_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (value > MAX_INTEGER)
		return -EBADMSG;
	*ret = value;
	return 0;
}

/* `ret` holds until the next string is read. */
static int read_string(struct reader *r, struct string *ret)
{
	bool is_huffman = r->at < r->end && *r->at & 0x80;
	uint32_t n;
	long len;
	int err;

	err = read_integer(r, 7, &n);
	if (err < 0)
		return err;
	if (n > r->end - r->at)
		return -EBADMSG;
	*ret = (struct string){ .data = r->at, .n = n < MAX_STRING ? n : MAX_STRING, .len = n };
	r->at += n;
	if (!is_huffman)
		return 0;
	len = http2_huffman_decode(ret->data, n, r->scratch, sizeof(r->scratch));
	if (len < 0) {
		r->n_dirty = sizeof(r->scratch);
		return (int)len;
	}
	ret->data = r->scratch;
	ret->len = (size_t)len;
	ret->n = ret->len < MAX_STRING ? ret->len : MAX_STRING;
	r->n_dirty = r->n_dirty > ret->n ? r->n_dirty : ret->n;
	return 0;
}

/* -EBADMSG: there is no such entry. */
static int dynamic_entry(const struct http2_hpack *t, uint32_t index,
			 const struct http2_entry **ret)
{
	static const struct http2_entry unknown = { .field = FIELD_UNKNOWN };
	const struct http2_entry *e = entry_at(t, index - N_HTTP2_STATIC - 1);

	if (!e && !t->is_partial)
		return -EBADMSG;
	*ret = e ? e : &unknown;
	return 0;
}

static void take_static(struct reader *r, const struct http2_static *s)
{
	struct string value = { (const uint8_t *)s->value, strlen(s->value), strlen(s->value) };
	struct name name = static_name(s);

	if (text_of(r->table->privacy, name.field, &value, r->text))
		take(r->head, name.field, r->text);
}

static int read_indexed(struct reader *r)
{
	const struct http2_entry *e;
	uint32_t index;
	int err;

	err = read_integer(r, 7, &index);
	if (err < 0)
		return err;
	if (index == 0)
		return -EBADMSG;
	if (index <= N_HTTP2_STATIC) {
		take_static(r, &http2_static[index - 1]);
		return 0;
	}
	err = dynamic_entry(r->table, index, &e);
	if (err == 0 && (e->text || e->field == FIELD_UNKNOWN))
		take(r->head, e->field, e->text);
	return err;
}

static int read_name(struct reader *r, unsigned n_bits, struct name *ret)
{
	const struct http2_entry *e;
	struct string s;
	uint32_t index;
	int err;

	err = read_integer(r, n_bits, &index);
	if (err < 0)
		return err;
	if (index == 0) {
		err = read_string(r, &s);
		if (err == 0)
			*ret = name_of(s.data, s.n < MAX_NAME ? s.n : MAX_NAME, s.len);
		return err;
	}
	if (index <= N_HTTP2_STATIC) {
		*ret = static_name(&http2_static[index - 1]);
		return 0;
	}
	err = dynamic_entry(r->table, index, &e);
	if (err == 0)
		*ret = (struct name){ .len = e->name_len, .field = e->field };
	return err;
}

/* A name, of which `n_bits` are in the first byte, and a value. */
static int read_literal(struct reader *r, unsigned n_bits, bool is_inserted)
{
	struct http2_hpack *t = r->table;
	struct string value = { 0 };
	struct name name = { 0 };
	bool has_text;
	int err;

	err = read_name(r, n_bits, &name);
	if (err == 0)
		err = read_string(r, &value);
	if (err < 0)
		return err;
	has_text = text_of(t->privacy, name.field, &value, r->text);
	if (has_text || name.field == FIELD_UNKNOWN)
		take(r->head, name.field, r->text);
	return is_inserted ? insert(t, &name, value.len, has_text ? r->text : NULL) : 0;
}

/* RFC 7541, 6.3: of an empty table all is known, of a larger one than ours the newest part. */
static int read_table_size(struct reader *r)
{
	struct http2_hpack *t = r->table;
	uint32_t size;
	int err;

	err = read_integer(r, 5, &size);
	if (err < 0)
		return err;
	t->max_size = size < HTTP2_MAX_TABLE ? size : HTTP2_MAX_TABLE;
	shrink(t, t->max_size);
	if (size == 0)
		t->is_partial = false;
	else if (size > HTTP2_MAX_TABLE)
		t->is_partial = true;
	return 0;
}

static int read_field(struct reader *r)
{
	uint8_t first = *r->at;

	if (first & 0x80)
		return read_indexed(r);
	if (first & 0x40)
		return read_literal(r, 6, true);
	if (first & 0x20)
		return read_table_size(r);
	return read_literal(r, 4, false); /* also those that must never be indexed */
}

int http2_hpack_block(struct http2_hpack *t, const uint8_t *data, size_t n, struct http2_head *ret)
{
	struct reader r; /* not set as a whole: it is large, and seldom used as far */
	int err = 0;

	r.table = t;
	r.head = ret;
	r.at = data;
	r.end = data + n;
	r.n_dirty = 0;
	*ret = (struct http2_head){ .grpc_status = -1, .length = -1 };
	while (r.at < r.end && err == 0)
		err = read_field(&r);
	explicit_bzero(r.scratch, r.n_dirty);
	return err;
}
