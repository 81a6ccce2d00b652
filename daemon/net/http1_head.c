/* SPDX-License-Identifier: Apache-2.0 */
/* http1_head.c - the head of an HTTP/1 message: its start line and a few fields. */
#include "http1_head.h"

#include <string.h>
#include <strings.h>

#include "http1.h"
#include "net_privacy.h"

/* Registered methods (RFC 9110, 3253, 3648, 3744, 4437, 4791, 4918, 5323, 5789, 5842),
 * UPnP's, and those of caches. Not PRI, with which HTTP/2 begins. */
static const char *const methods[] = {
	"GET",
	"POST",
	"HEAD",
	"PUT",
	"DELETE",
	"OPTIONS",
	"PATCH",
	"CONNECT",
	"TRACE",
	"PROPFIND",
	"PROPPATCH",
	"REPORT",
	"MKCOL",
	"COPY",
	"MOVE",
	"LOCK",
	"UNLOCK",
	"SEARCH",
	"QUERY",
	"PURGE",
	"BAN",
	"ACL",
	"BIND",
	"REBIND",
	"UNBIND",
	"LINK",
	"UNLINK",
	"CHECKIN",
	"CHECKOUT",
	"UNCHECKOUT",
	"MERGE",
	"LABEL",
	"UPDATE",
	"MKACTIVITY",
	"MKCALENDAR",
	"MKWORKSPACE",
	"ORDERPATCH",
	"VERSION-CONTROL",
	"BASELINE-CONTROL",
	"MKREDIRECTREF",
	"UPDATEREDIRECTREF",
	"SUBSCRIBE",
	"UNSUBSCRIBE",
	"NOTIFY",
	"M-SEARCH",
	"SOURCE",
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_token(uint8_t c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void trim(struct http1_text *t)
{
	while (t->len > 0 && is_blank(t->data[0])) {
		t->data++;
		t->len--;
	}
	while (t->len > 0 && is_blank(t->data[t->len - 1]))
		t->len--;
}

bool http1_text_is(const struct http1_text *t, const char *word)
{
	size_t len = strlen(word);

	return t->len == len && strncasecmp((const char *)t->data, word, len) == 0;
}

/* As far as there are bytes: the method, a blank, something that a target begins with. */
static bool begins_with(const char *method, const uint8_t *data, size_t n)
{
	size_t len = strlen(method);

	if (memcmp(data, method, n < len ? n : len) != 0)
		return false;
	if (n > len && data[len] != ' ')
		return false;
	return n <= len + 1 || data[len + 1] > ' ';
}

static bool request_begins(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i][0] == (char)data[0] && begins_with(methods[i], data, n))
			return true;
	return false;
}

/* Any method: servers have their own. */
static bool token_begins(const uint8_t *data, size_t n)
{
	size_t i = 0;

	while (i < n && i < 32 && is_token(data[i]))
		i++;
	if (i == 0 || i == 32)
		return false;
	return i == n || (data[i] == ' ' && (i + 1 == n || data[i + 1] > ' ') &&
			  (n < 8 || memcmp(data, "PRI * HT", 8) != 0));
}

static bool response_begins(const uint8_t *data, size_t n)
{
	static const char pattern[] = "HTTP/1.# ###";

	for (size_t i = 0; i < n && i < sizeof(pattern) - 1; i++)
		if (pattern[i] == '#' ? !is_digit(data[i]) : data[i] != (uint8_t)pattern[i])
			return false;
	return true;
}

bool http1_head_begins(enum net_direction dir, const uint8_t *data, size_t n, bool is_expected)
{
	if (n == 0)
		return false;
	if (dir == NET_RESPONSE)
		return response_begins(data, n);
	return request_begins(data, n) || (is_expected && token_begins(data, n));
}

bool http1_is_request(const uint8_t *data, size_t n)
{
	return n > 0 && request_begins(data, n);
}

bool http1_is_response(const uint8_t *data, size_t n)
{
	return n > 0 && response_begins(data, n);
}

/* ---- the start line ---- */

/* " HTTP/1.1" at the end of a request line; cuts it off. */
static bool take_version(struct http1_text *line, int *ret_minor)
{
	static const char pattern[] = " HTTP/1.";
	const uint8_t *p;

	if (line->len < sizeof(pattern))
		return false;
	p = line->data + line->len - sizeof(pattern);
	if (memcmp(p, pattern, sizeof(pattern) - 1) != 0 || !is_digit(p[sizeof(pattern) - 1]))
		return false;
	*ret_minor = p[sizeof(pattern) - 1] - '0';
	line->len -= sizeof(pattern);
	return true;
}

static bool parse_request_line(struct http1_text line, bool is_cut, struct http1_head *ret)
{
	const uint8_t *blank;

	if (!take_version(&line, &ret->minor) && !is_cut)
		return false;
	blank = line.len ? memchr(line.data, ' ', line.len) : NULL;
	if (!blank && !is_cut)
		return false;
	ret->method.data = line.data;
	ret->method.len = blank ? (size_t)(blank - line.data) : line.len;
	for (size_t i = 0; i < ret->method.len; i++)
		if (!is_token(line.data[i]))
			return false;
	ret->target.data = line.data + ret->method.len;
	ret->target.len = line.len - ret->method.len;
	trim(&ret->target);
	return ret->method.len > 0 && (ret->target.len > 0 || is_cut);
}

static bool parse_status_line(struct http1_text line, bool is_cut, struct http1_head *ret)
{
	const uint8_t *p = line.data;

	if (!response_begins(p, line.len) || (line.len < 12 && !is_cut))
		return false;
	if (line.len > 7)
		ret->minor = p[7] - '0';
	if (line.len < 12)
		return true;
	ret->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
	return ret->status >= 100 && (line.len == 12 || is_blank(p[12]));
}

/* ---- fields ---- */

/* Takes the next element of a list. False: there is none. */
static bool next_element(struct http1_text *list, struct http1_text *ret)
{
	const uint8_t *comma;

	if (list->len == 0)
		return false;
	comma = memchr(list->data, ',', list->len);
	*ret = *list;
	if (comma) {
		ret->len = (size_t)(comma - list->data);
		list->data = comma + 1;
		list->len -= ret->len + 1;
	} else {
		list->len = 0;
	}
	trim(ret);
	return true;
}

/* -1: it is no number, or none that has room. */
static int64_t number(const struct http1_text *t)
{
	int64_t value = 0;

	if (t->len == 0 || t->len > 18)
		return -1;
	for (size_t i = 0; i < t->len; i++) {
		if (!is_digit(t->data[i]))
			return -1;
		value = value * 10 + (t->data[i] - '0');
	}
	return value;
}

/* Said twice it may be, but not differently (RFC 9110, 8.6). */
static void take_length(struct http1_text value, struct http1_head *ret)
{
	struct http1_text element;

	if (value.len == 0)
		ret->is_bad_length = true;
	while (next_element(&value, &element)) {
		int64_t length = number(&element);

		if (length < 0 || (ret->content_length >= 0 && ret->content_length != length))
			ret->is_bad_length = true;
		ret->content_length = length;
	}
}

static void take_coding(struct http1_text value, struct http1_head *ret)
{
	struct http1_text element;

	while (next_element(&value, &element)) {
		if (element.len == 0)
			continue;
		ret->has_coding = true;
		ret->is_chunked = http1_text_is(&element, "chunked");
	}
}

static void take_connection(struct http1_text value, struct http1_head *ret)
{
	struct http1_text element;

	while (next_element(&value, &element)) {
		if (http1_text_is(&element, "close"))
			ret->says_close = true;
		else if (http1_text_is(&element, "keep-alive"))
			ret->says_keep_alive = true;
	}
}

static void first_of(struct http1_text *field, struct http1_text value)
{
	if (!field->data)
		*field = value;
}

static void take_field(enum net_header header, struct http1_text value, struct http1_head *ret)
{
	switch (header) {
	case NET_HEADER_HOST:
		first_of(&ret->host, value);
		break;
	case NET_HEADER_CONTENT_TYPE:
		first_of(&ret->content_type, value);
		break;
	case NET_HEADER_CONTENT_LENGTH:
		take_length(value, ret);
		break;
	case NET_HEADER_TRANSFER_ENCODING:
		take_coding(value, ret);
		break;
	case NET_HEADER_CONNECTION:
		take_connection(value, ret);
		break;
	case NET_HEADER_UPGRADE:
		first_of(&ret->upgrade, value);
		break;
	case NET_HEADER_AGE:
		if (ret->age < 0)
			ret->age = number(&value);
		break;
	case NET_HEADER_X_CACHE:
		first_of(&ret->x_cache, value);
		break;
	default:
		break;
	}
}

/* The line's end, behind its LF; NULL: there is none. */
static const uint8_t *line_end(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *lf = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;

	return lf ? lf + 1 : NULL;
}

/* Up to the empty line: returns what is behind it; NULL: it is not there. */
static const uint8_t *parse_fields(const uint8_t *p, const uint8_t *end, struct http1_head *ret)
{
	const uint8_t *next;

	for (; (next = line_end(p, end)); p = next) {
		struct http1_text value;
		enum net_header header;
		size_t at;

		if (next - p == 1 || (next - p == 2 && *p == '\r'))
			return next;
		header = net_header_at(p, (size_t)(next - p), &at);
		/* Lines that begin with a blank belong to the field before (RFC 9112, 5.2). */
		while (next < end && (*next == ' ' || *next == '\t') && line_end(next, end))
			next = line_end(next, end);
		if (header == NET_HEADER_OTHER)
			continue;
		value = (struct http1_text){ p + at, (size_t)(next - p) - at };
		trim(&value);
		take_field(header, value, ret);
	}
	return NULL;
}

static bool parse_start(enum net_direction dir, struct http1_text line, bool is_cut,
			struct http1_head *ret)
{
	*ret = (struct http1_head){ .minor = -1, .content_length = -1, .age = -1 };
	while (line.len > 0 && is_blank(line.data[line.len - 1]))
		line.len--;
	return dir == NET_REQUEST ? parse_request_line(line, is_cut, ret)
				  : parse_status_line(line, is_cut, ret);
}

size_t http1_head_parse(enum net_direction dir, const uint8_t *data, size_t n,
			struct http1_head *ret, bool *ret_good)
{
	const uint8_t *end = data + n, *fields = line_end(data, end);

	if (!fields)
		return 0;
	*ret_good =
		parse_start(dir, (struct http1_text){ data, (size_t)(fields - data) }, false, ret);
	end = parse_fields(fields, end, ret);
	return end ? (size_t)(end - data) : 0;
}

bool http1_head_parse_cut(enum net_direction dir, const uint8_t *data, size_t n,
			  struct http1_head *ret)
{
	const uint8_t *end = data + n, *fields = line_end(data, end);
	struct http1_text line = { data, fields ? (size_t)(fields - data) : n };

	if (!parse_start(dir, line, !fields, ret))
		return false;
	if (fields)
		parse_fields(fields, end, ret);
	return true;
}
