/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_message.c - calls of io.systemd.Resolve, and their replies. */
#include "resolve_message.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "dns_message.h"
#include "markers/json_reader.h"
#include "net_address.h"
#include "text.h"

#define INTERFACE "io.systemd.Resolve."
#define WORD_LEN  64 /* of keys, methods and errors: what is longer is none that we know */

/* ---- JSON ---- */

/* A string, in full or not at all. */
static int read_word(struct json_reader *r, char ret[WORD_LEN])
{
	struct json_value v = { .text = ret, .max = WORD_LEN - 1 };
	int e = json_read_string(r, &v);

	ret[e < 0 || v.is_cut ? 0 : v.len] = '\0';
	return e;
}

/* Any value, however deep. */
static int skip_value(struct json_reader *r)
{
	unsigned depth = 0;
	char text[WORD_LEN];

	do {
		struct json_value v = { .text = text, .max = sizeof(text) };

		if (json_take(r, '{') || json_take(r, '['))
			depth++;
		else if (depth && (json_take(r, '}') || json_take(r, ']')))
			depth--;
		else if (!(depth && (json_take(r, ',') || json_take(r, ':'))) &&
			 json_read_value(r, &v) < 0)
			return -EBADMSG;
	} while (depth > 0);
	return 0;
}

/* Takes the value of `key`, all of it; < 0 if it is not what it should be. */
typedef int member_fn(struct json_reader *r, const char *key, void *ctx);

static int read_object(struct json_reader *r, member_fn *fn, void *ctx)
{
	char key[WORD_LEN];

	if (!json_take(r, '{'))
		return -EBADMSG;
	if (json_take(r, '}'))
		return 0;
	do {
		json_skip_blanks(r);
		if (read_word(r, key) < 0 || !json_take(r, ':'))
			return -EBADMSG;
		json_skip_blanks(r);
		if (fn(r, key, ctx) < 0)
			return -EBADMSG;
	} while (json_take(r, ','));
	return json_take(r, '}') ? 0 : -EBADMSG;
}

typedef int element_fn(struct json_reader *r, void *ctx);

static int read_array(struct json_reader *r, element_fn *fn, void *ctx)
{
	if (!json_take(r, '['))
		return -EBADMSG;
	if (json_take(r, ']'))
		return 0;
	do {
		json_skip_blanks(r);
		if (fn(r, ctx) < 0)
			return -EBADMSG;
	} while (json_take(r, ','));
	return json_take(r, ']') ? 0 : -EBADMSG;
}

static int read_number(struct json_reader *r, uint64_t max, uint64_t *ret)
{
	char text[WORD_LEN];
	struct json_value v = { .text = text, .max = sizeof(text) };

	if (json_read_value(r, &v) < 0)
		return -EBADMSG;
	if ((v.type != JSON_I64 && v.type != JSON_U64) || v.bits > max)
		return -EBADMSG;
	*ret = v.bits;
	return 0;
}

static int read_bool(struct json_reader *r, bool *ret)
{
	char text[WORD_LEN];
	struct json_value v = { .text = text, .max = sizeof(text) };

	if (json_read_value(r, &v) < 0)
		return -EBADMSG;
	*ret = v.type == JSON_BOOL && v.bits;
	return 0;
}

/* ---- addresses ---- */

static int read_byte(struct json_reader *r, void *ctx)
{
	struct dns_address *a = ctx;
	uint64_t byte;

	if (read_number(r, 255, &byte) < 0 || a->len >= sizeof(a->bytes))
		return -EBADMSG;
	a->bytes[a->len++] = (uint8_t)byte;
	return 0;
}

static int read_address(struct json_reader *r, struct dns_address *ret)
{
	*ret = (struct dns_address){ 0 };
	if (read_array(r, read_byte, ret) < 0 || (ret->len != 4 && ret->len != 16))
		return -EBADMSG;
	return 0;
}

/* As in a DNS message: there is nobody's name before an "@" in it. */
static void show_name(const struct net_privacy *p, const char *name, char ret[DNS_NAME_LEN])
{
	const uint8_t *text = (const uint8_t *)name;

	if (p->hash_names)
		net_privacy_name(p, text, strlen(name), ret, DNS_NAME_LEN);
	else
		net_privacy_text(text, strlen(name), ret, DNS_NAME_LEN);
}

/* ---- calls ---- */

enum method { METHOD_OTHER, METHOD_HOSTNAME, METHOD_ADDRESS, METHOD_SERVICE, METHOD_RECORD };

struct call {
	const struct net_privacy *privacy;
	struct resolve_call *ret;
	enum method method;
	struct json_reader parameters; /* where they begin; at == NULL: there are none */
	/* What they say. */
	char name[DNS_NAME_LEN], service[WORD_LEN], domain[DNS_NAME_LEN];
	struct dns_address address;
	uint64_t family, type, class;
};

static enum method method_of(const char *name)
{
	static const char *const methods[] = {
		[METHOD_HOSTNAME] = INTERFACE "ResolveHostname",
		[METHOD_ADDRESS] = INTERFACE "ResolveAddress",
		[METHOD_SERVICE] = INTERFACE "ResolveService",
		[METHOD_RECORD] = INTERFACE "ResolveRecord",
	};

	for (enum method m = METHOD_HOSTNAME; m <= METHOD_RECORD; m++)
		if (strcmp(name, methods[m]) == 0)
			return m;
	return METHOD_OTHER;
}

static int call_member(struct json_reader *r, const char *key, void *ctx)
{
	struct call *c = ctx;
	char method[WORD_LEN];

	if (strcmp(key, "method") == 0) {
		if (read_word(r, method) < 0)
			return -EBADMSG;
		c->method = method_of(method);
		return 0;
	}
	if (strcmp(key, "oneway") == 0)
		return read_bool(r, &c->ret->is_oneway);
	if (strcmp(key, "parameters") == 0)
		c->parameters = *r;
	return skip_value(r);
}

static int read_name(struct json_reader *r, char ret[DNS_NAME_LEN])
{
	struct json_value v = { .text = ret, .max = DNS_NAME_LEN - 1 };

	if (json_read_string(r, &v) < 0)
		return -EBADMSG;
	ret[v.len] = '\0';
	for (char *c = ret; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return 0;
}

static bool is_null(struct json_reader *r)
{
	return r->end - r->at >= 4 && memcmp(r->at, "null", 4) == 0;
}

static int parameter(struct json_reader *r, const char *key, void *ctx)
{
	struct call *c = ctx;

	if (is_null(r))
		return skip_value(r);
	if (strcmp(key, "name") == 0)
		return read_name(r, c->name);
	if (strcmp(key, "domain") == 0)
		return read_name(r, c->domain);
	if (strcmp(key, "family") == 0)
		return read_number(r, UINT16_MAX, &c->family);
	if (strcmp(key, "address") == 0 && c->method == METHOD_ADDRESS)
		return read_address(r, &c->address);
	if (strcmp(key, "type") == 0 && c->method == METHOD_SERVICE)
		return read_word(r, c->service);
	if (strcmp(key, "type") == 0)
		return read_number(r, UINT16_MAX, &c->type);
	if (strcmp(key, "class") == 0)
		return read_number(r, UINT16_MAX, &c->class);
	return skip_value(r);
}

/* "34.216.184.93.in-addr.arpa", as DNS itself is asked. */
static void name_reverse(const struct dns_address *a, char ret[DNS_NAME_LEN])
{
	static const char digits[] = "0123456789abcdef";
	char *at = ret;

	if (a->len == 4) {
		snprintf(ret, DNS_NAME_LEN, "%u.%u.%u.%u.in-addr.arpa", a->bytes[3], a->bytes[2],
			 a->bytes[1], a->bytes[0]);
		return;
	}
	for (int i = a->len - 1; i >= 0; i--) {
		*at++ = digits[a->bytes[i] & 15];
		*at++ = '.';
		*at++ = digits[a->bytes[i] >> 4];
		*at++ = '.';
	}
	strcpy(at, "ip6.arpa");
}

/* Instance, type and domain; each may be missing. */
static void name_service(struct call *c)
{
	char whole[2 * DNS_NAME_LEN + WORD_LEN];
	const char *const parts[] = { c->name, c->service, c->domain };
	size_t len = 0;

	for (int i = 0; i < 3; i++)
		if (parts[i][0])
			len += (size_t)snprintf(whole + len, sizeof(whole) - len, "%s%s",
						len ? "." : "", parts[i]);
	whole[len < DNS_NAME_LEN ? len : DNS_NAME_LEN - 1] = '\0';
	memcpy(c->name, whole, strlen(whole) + 1);
}

static void ask(struct call *c)
{
	struct dns_message *q = &c->ret->question;

	q->qclass = (uint16_t)(c->class ? c->class : 1);
	switch (c->method) {
	case METHOD_HOSTNAME:
		q->qtype = c->family == AF_INET	   ? DNS_A
			   : c->family == AF_INET6 ? DNS_AAAA
						   : DNS_ADDRESSES;
		break;
	case METHOD_ADDRESS:
		q->qtype = DNS_PTR;
		if (c->address.len)
			name_reverse(&c->address, c->name);
		break;
	case METHOD_SERVICE:
		q->qtype = DNS_SRV;
		name_service(c);
		break;
	default:
		q->qtype = (uint16_t)c->type;
		break;
	}
	q->n_questions = 1;
	show_name(c->privacy, c->name, q->name);
	c->ret->is_question = q->name[0];
}

/* Text that JSON can be read of. */
static bool is_text(const uint8_t *data, size_t len)
{
	return len > 0 && data[0] == '{' && !memchr(data, '\0', len) && text_is_utf8(data, len);
}

int resolve_read_call(const struct net_privacy *p, const uint8_t *data, size_t len,
		      struct resolve_call *ret)
{
	struct json_reader r = { (const char *)data, (const char *)data + len };
	struct call c = { .privacy = p, .ret = ret };
	int e = -EBADMSG;

	memset(ret, 0, sizeof(*ret));
	if (is_text(data, len))
		e = read_object(&r, call_member, &c);
	/* What its parameters are is known only with its method. */
	if (e == 0 && c.method != METHOD_OTHER && c.parameters.at &&
	    read_object(&c.parameters, parameter, &c) == 0)
		ask(&c);
	explicit_bzero(&c, sizeof(c));
	return e;
}

/* ---- replies ---- */

struct reply {
	const struct net_privacy *privacy;
	struct resolve_reply *ret;
	size_t len; /* of its answers' text */
	uint64_t rcode;
	bool has_rcode;
};

/* What has no room is left out, with all that follows. */
static void put_answer(struct reply *p, const char *what, const char *text)
{
	char *answers = p->ret->answer.answers;
	size_t room = DNS_ANSWER_LEN - p->len;
	int n = snprintf(answers + p->len, room, "%s%s%s", p->len ? ", " : "", what, text);

	p->ret->answer.n_answers++;
	if (n < 0 || (size_t)n >= room) {
		answers[p->len] = '\0';
		p->len = DNS_ANSWER_LEN - 1;
	} else {
		p->len += (size_t)n;
	}
}

static int address_member(struct json_reader *r, const char *key, void *ctx)
{
	struct reply *p = ctx;
	struct dns_message *m = &p->ret->answer;
	char text[NET_ADDRESS_LEN];
	struct dns_address a;

	if (strcmp(key, "address") != 0)
		return skip_value(r);
	if (read_address(r, &a) < 0)
		return -EBADMSG;
	if (m->n_addresses < DNS_MAX_ADDRESSES)
		m->addresses[m->n_addresses++] = a;
	net_ip_text(a.bytes, a.len, text);
	put_answer(p, "", text);
	return 0;
}

static int name_member(struct json_reader *r, const char *key, void *ctx)
{
	struct reply *p = ctx;
	char name[DNS_NAME_LEN], shown[DNS_NAME_LEN];

	if (strcmp(key, "name") != 0)
		return skip_value(r);
	if (read_name(r, name) < 0)
		return -EBADMSG;
	show_name(p->privacy, name, shown);
	put_answer(p, "PTR ", shown);
	return 0;
}

static int take_address(struct json_reader *r, void *ctx)
{
	return read_object(r, address_member, ctx);
}

static int take_name(struct json_reader *r, void *ctx)
{
	return read_object(r, name_member, ctx);
}

/* Of services and records of other types: that they are there. */
static int take_other(struct json_reader *r, void *ctx)
{
	struct reply *p = ctx;

	p->ret->answer.n_answers++;
	return skip_value(r);
}

static int result(struct json_reader *r, const char *key, void *ctx)
{
	struct reply *p = ctx;

	if (is_null(r))
		return skip_value(r);
	if (strcmp(key, "addresses") == 0)
		return read_array(r, take_address, ctx);
	if (strcmp(key, "names") == 0)
		return read_array(r, take_name, ctx);
	if (strcmp(key, "services") == 0 || strcmp(key, "rrs") == 0)
		return read_array(r, take_other, ctx);
	if (strcmp(key, "rcode") == 0) {
		p->has_rcode = true;
		return read_number(r, 4095, &p->rcode);
	}
	return skip_value(r);
}

static int reply_member(struct json_reader *r, const char *key, void *ctx)
{
	struct reply *p = ctx;
	char error[WORD_LEN], *name;

	if (strcmp(key, "parameters") == 0 && *r->at == '{')
		return read_object(r, result, ctx);
	if (strcmp(key, "continues") == 0)
		return read_bool(r, &p->ret->continues);
	if (strcmp(key, "error") != 0)
		return skip_value(r);
	if (read_word(r, error) < 0)
		return -EBADMSG;
	name = strrchr(error, '.');
	snprintf(p->ret->error, sizeof(p->ret->error), "%.*s", DNS_ERROR_LEN - 1,
		 name	    ? name + 1
		 : error[0] ? error
			    : "error");
	return 0;
}

int resolve_read_reply(const struct net_privacy *p, const uint8_t *data, size_t len, bool is_cut,
		       struct resolve_reply *ret)
{
	struct json_reader r = { (const char *)data, (const char *)data + len };
	struct reply reply = { .privacy = p, .ret = ret };
	int e;

	memset(ret, 0, sizeof(*ret));
	if (!is_text(data, len))
		return is_cut ? 0 : -EBADMSG;
	e = read_object(&r, reply_member, &reply);
	ret->answer.is_response = true;
	ret->answer.cut = is_cut;
	/* DNS's own answers have their own names. */
	if (reply.has_rcode && strcmp(ret->error, "DNSError") == 0) {
		ret->answer.rcode = (uint16_t)reply.rcode;
		ret->error[0] = '\0';
	} else if (strcmp(ret->error, "NoSuchResourceRecord") == 0) {
		ret->error[0] = '\0';
	}
	return is_cut ? 0 : e;
}
