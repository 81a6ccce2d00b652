/* SPDX-License-Identifier: Apache-2.0 */
/* dns_message.c - one DNS message. */
#include "dns_message.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

/* Of a name on the wire, with the lengths of its labels (RFC 1035, 2.3.4). */
#define MAX_NAME 255
/* As text: each may be escaped. */
#define MAX_TEXT (4 * MAX_NAME + 4)
#define ELLIPSIS "..."

struct message {
	const struct net_privacy *privacy;
	const uint8_t *data;
	size_t n, at;
};

static uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)get_u16(p) << 16 | get_u16(p + 2);
}

/* ---- names ---- */

struct text {
	char *s;
	size_t len, room;
	size_t fits; /* so much of it, and "..." behind, are a name */
	bool is_full;
};

/* Whole or not at all: "..." stands for what has no room. */
static void put(struct text *t, const char *s, size_t n)
{
	if (t->is_full)
		return;
	if (t->len + n + sizeof(ELLIPSIS) > t->room) {
		t->is_full = true;
		s = ELLIPSIS;
		n = sizeof(ELLIPSIS) - 1;
	}
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
	if (t->len + sizeof(ELLIPSIS) <= DNS_NAME_LEN)
		t->fits = t->len;
}

static void put_label(struct text *t, const uint8_t *label, size_t n)
{
	char s[5];

	if (t->len > 0)
		put(t, ".", 1);
	for (size_t i = 0; i < n; i++) {
		uint8_t c = label[i];

		if (c == '.' || c == '\\')
			put(t, s, (size_t)snprintf(s, sizeof(s), "\\%c", c));
		else if (c > ' ' && c < 0x7f)
			put(t, s, (size_t)snprintf(s, sizeof(s), "%c", tolower(c)));
		else
			put(t, s, (size_t)snprintf(s, sizeof(s), "\\%03u", c));
	}
}

/*
 * Where a name goes on: names may end with what has been there before (RFC 1035, 4.1.4).
 * `*end` is where the last part began; only what lies before it has been there.
 */
static int follow(const struct message *m, size_t at, size_t *end, size_t *ret)
{
	size_t target;

	if (at + 2 > m->n)
		return -EBADMSG;
	target = get_u16(m->data + at) & 0x3fff;
	if (target < DNS_HEAD_LEN || target >= *end)
		return -EBADMSG;
	*end = *ret = target;
	return 0;
}

/* Reads the name at m->at and goes behind it. `t` NULL: it is only stepped over. */
static int read_labels(struct message *m, struct text *t)
{
	size_t at = m->at, end = m->at, total = 0;
	bool followed = false;

	for (;;) {
		uint8_t n;
		int r;

		if (at >= m->n)
			return -EBADMSG;
		n = m->data[at];
		if (n >= 0xc0) {
			if (!followed)
				m->at = at + 2;
			followed = true;
			r = follow(m, at, &end, &at);
			if (r < 0)
				return r;
			continue;
		}
		total += 1u + n;
		if (n > 63 || total > MAX_NAME || at + 1 + n > m->n)
			return -EBADMSG;
		at += 1u + n;
		if (n == 0)
			break;
		if (t)
			put_label(t, m->data + at - n, n);
	}
	if (!followed)
		m->at = at;
	return 0;
}

static int read_name(struct message *m, char ret[DNS_NAME_LEN])
{
	char name[MAX_TEXT] = "";
	struct text t = { .s = name, .room = sizeof(name) };
	int r = read_labels(m, &t);

	if (r < 0)
		return r;
	if (t.len == 0)
		put(&t, ".", 1);
	if (m->privacy->hash_names)
		net_privacy_name(m->privacy, (const uint8_t *)name, t.len, ret, DNS_NAME_LEN);
	else if (t.len < DNS_NAME_LEN)
		memcpy(ret, name, t.len + 1);
	else
		snprintf(ret, DNS_NAME_LEN, "%.*s%s", (int)t.fits, name, ELLIPSIS);
	explicit_bzero(name, sizeof(name));
	return 0;
}

/* ---- records ---- */

struct record {
	uint16_t type, class;
	uint32_t ttl;
	size_t at, len; /* of its data */
};

static int read_record(struct message *m, struct record *ret)
{
	int r = read_labels(m, NULL);

	if (r < 0)
		return r;
	if (m->n - m->at < 10)
		return -EBADMSG;
	ret->type = get_u16(m->data + m->at);
	ret->class = get_u16(m->data + m->at + 2);
	ret->ttl = get_u32(m->data + m->at + 4);
	ret->len = get_u16(m->data + m->at + 8);
	ret->at = m->at + 10;
	if (ret->len > m->n - ret->at)
		return -EBADMSG;
	m->at = ret->at + ret->len;
	return 0;
}

__attribute__((format(printf, 2, 3))) static void put_answer(struct text *t, const char *format,
							     ...)
{
	char s[2 * DNS_NAME_LEN];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s, sizeof(s), format, args);
	va_end(args);
	if (t->len > 0)
		put(t, ", ", 2);
	put(t, s, MIN((size_t)n, sizeof(s) - 1));
}

static void put_address(struct dns_message *ret, struct text *t, const uint8_t *bytes, size_t len)
{
	char s[INET6_ADDRSTRLEN] = "";

	inet_ntop(len == 4 ? AF_INET : AF_INET6, bytes, s, sizeof(s));
	put_answer(t, "%s", s);
	if (ret->n_addresses < DNS_MAX_ADDRESSES) {
		struct dns_address *a = &ret->addresses[ret->n_addresses++];

		a->len = (uint8_t)len;
		memcpy(a->bytes, bytes, len);
	}
}

/* Numbers before the name that a record's data ends with; -1: it has no name, or none that counts.
 */
static int numbers_before_name(uint16_t type)
{
	switch (type) {
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
	case DNS_DNAME:
		return 0;
	case DNS_MX:
	case DNS_SVCB:
	case DNS_HTTPS:
		return 1;
	case DNS_SRV:
		return 3;
	default:
		return -1;
	}
}

/* "SRV 0 5 5060 sip.example.org" */
static void put_named(const struct message *m, const struct record *rec, int numbers,
		      struct text *t)
{
	char name[DNS_NAME_LEN], scratch[16], before[32] = "";
	struct message data = *m;
	size_t len = 0;

	data.n = rec->at + rec->len;
	data.at = rec->at + 2u * (unsigned)numbers;
	if (data.at > data.n || read_name(&data, name) < 0)
		return;
	for (int i = 0; i < numbers; i++)
		len += (size_t)snprintf(before + len, sizeof(before) - len, " %u",
					get_u16(m->data + rec->at + 2 * i));
	put_answer(t, "%s%s %s", dns_type_name(rec->type, scratch), before, name);
	explicit_bzero(name, sizeof(name));
}

static void answer(const struct message *m, const struct record *rec, struct dns_message *ret,
		   struct text *t)
{
	int numbers = numbers_before_name(rec->type);
	char scratch[16];

	if (rec->type == DNS_A && rec->len == 4)
		put_address(ret, t, m->data + rec->at, 4);
	else if (rec->type == DNS_AAAA && rec->len == 16)
		put_address(ret, t, m->data + rec->at, 16);
	else if (rec->type == DNS_TXT)
		put_answer(t, "TXT %zu bytes", rec->len);
	else if (numbers >= 0)
		put_named(m, rec, numbers, t);
	else
		put_answer(t, "%s", dns_type_name(rec->type, scratch));
}

/* ---- the message ---- */

static void read_head(const uint8_t *p, struct dns_message *ret)
{
	uint16_t flags = get_u16(p + 2);

	ret->id = get_u16(p);
	ret->is_response = flags & 0x8000;
	ret->opcode = flags >> 11 & 15;
	ret->authoritative = flags & 0x0400;
	ret->truncated = flags & 0x0200;
	ret->recursion_available = flags & 0x0080;
	ret->rcode = flags & 15;
	ret->n_questions = get_u16(p + 4);
	ret->n_answers = get_u16(p + 6);
}

static int read_questions(struct message *m, struct dns_message *ret)
{
	for (unsigned i = 0; i < ret->n_questions; i++) {
		int r = i == 0 ? read_name(m, ret->name) : read_labels(m, NULL);

		if (r < 0)
			return r;
		if (m->n - m->at < 4)
			return -EBADMSG;
		if (i == 0) {
			ret->qtype = get_u16(m->data + m->at);
			ret->qclass = get_u16(m->data + m->at + 2);
		}
		m->at += 4;
	}
	return 0;
}

static int read_answers(struct message *m, struct dns_message *ret)
{
	struct text t = { .s = ret->answers, .room = sizeof(ret->answers) };

	for (unsigned i = 0; i < ret->n_answers; i++) {
		struct record rec;
		int r = read_record(m, &rec);

		if (r < 0) {
			put_answer(&t, "...");
			return r;
		}
		answer(m, &rec, ret, &t);
		ret->has_soa |= rec.type == DNS_SOA;
		ret->min_ttl = i == 0 ? rec.ttl : MIN(ret->min_ttl, rec.ttl);
	}
	return 0;
}

/* Of authority and additional records: whose "no" it is, and EDNS (RFC 6891, 6.1.3). */
static int read_others(struct message *m, unsigned n, struct dns_message *ret)
{
	while (n-- > 0) {
		struct record rec;
		int r = read_record(m, &rec);

		if (r < 0)
			return r;
		ret->has_soa |= rec.type == DNS_SOA;
		if (rec.type == DNS_OPT && !ret->has_edns) {
			ret->has_edns = true;
			ret->rcode = (uint16_t)(ret->rcode | rec.ttl >> 24 << 4);
		}
	}
	return 0;
}

int dns_parse(const struct net_privacy *p, const uint8_t *data, size_t n_data, size_t len,
	      struct dns_message *ret)
{
	struct message m = { .privacy = p, .data = data, .n = n_data, .at = DNS_HEAD_LEN };
	unsigned n_others;

	memset(ret, 0, sizeof(*ret));
	if (n_data < DNS_HEAD_LEN || n_data > len)
		return -EBADMSG;
	read_head(data, ret);
	ret->len = len;
	ret->cut = n_data < len;
	n_others = (unsigned)get_u16(data + 8) + get_u16(data + 10);
	if (read_questions(&m, ret) < 0)
		return -EBADMSG;
	if (read_answers(&m, ret) < 0 || read_others(&m, n_others, ret) < 0)
		ret->cut = true;
	return 0;
}
