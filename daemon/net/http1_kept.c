/* SPDX-License-Identifier: Apache-2.0 */
/* http1_kept.c - what must be kept of an HTTP/1 head until all of it is there. */
#include "http1_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 32 /* of a field that somebody reads */

enum fate {
	LINE_KEPT, /* as is the first one */
	LINE_SKIPPED,
	LINE_OPEN,	 /* its name is not complete */
	LINE_AFTER_KEPT, /* at its beginning: a blank there goes on with the one before */
	LINE_AFTER_SKIPPED,
};

void http1_forget(struct http1_kept *k)
{
	if (k->data)
		explicit_bzero(k->data, k->cap);
	free(k->data);
	*k = (struct http1_kept){ 0 };
}

/* No copy is left behind, as realloc() would. */
static int append(struct http1_kept *k, const uint8_t *data, size_t n)
{
	size_t cap = k->cap ? k->cap : 256;
	uint8_t *larger;

	while (cap < k->len + n)
		cap *= 2;
	if (cap != k->cap) {
		larger = malloc(cap);
		if (!larger)
			return -ENOMEM;
		if (k->data) {
			memcpy(larger, k->data, k->len);
			explicit_bzero(k->data, k->cap);
			free(k->data);
		}
		k->data = larger;
		k->cap = cap;
	}
	memcpy(k->data + k->len, data, n);
	k->len += n;
	return 0;
}

static void cut(struct http1_kept *k, size_t len)
{
	explicit_bzero(k->data + len, k->len - len);
	k->len = len;
}

/* "GET /a?b=c HTTP/1.1" becomes "GET /a? HTTP/1.1". */
static void hide_query(struct http1_kept *k, const struct net_privacy *p)
{
	uint8_t *query = memchr(k->data, '?', k->len), *blank = memrchr(k->data, ' ', k->len);
	size_t n;

	if (p->query == NET_QUERY_KEEP || p->query == NET_QUERY_KEYS || !query || !blank ||
	    blank < query)
		return;
	n = (size_t)(k->data + k->len - blank);
	memmove(query + 1, blank, n);
	cut(k, (size_t)(query + 1 - k->data) + n);
}

/* The line that ends here. Without a colon it is the last one, or none at all. */
static void end_line(struct http1_kept *k, const struct net_privacy *p)
{
	size_t n = k->len - k->line;

	if (k->fate == LINE_OPEN && (n == 1 || (n == 2 && k->data[k->line] == '\r'))) {
		k->is_over = true;
	} else if (k->fate == LINE_OPEN) {
		cut(k, k->line);
		k->fate = LINE_SKIPPED;
	}
	if (!k->is_start_kept)
		hide_query(k, p);
	k->is_start_kept = true;
	k->fate = k->fate == LINE_SKIPPED ? LINE_AFTER_SKIPPED : LINE_AFTER_KEPT;
	k->line = k->len;
}

/* With the first byte it may be clear whether it goes on with the one before. */
static void begin_line(struct http1_kept *k, uint8_t c)
{
	bool goes_on = c == ' ' || c == '\t';

	if (k->fate == LINE_AFTER_KEPT)
		k->fate = goes_on ? LINE_KEPT : LINE_OPEN;
	else if (k->fate == LINE_AFTER_SKIPPED)
		k->fate = goes_on ? LINE_SKIPPED : LINE_OPEN;
}

/* A name has no blanks in it, and blanks behind it only before the colon. */
static bool may_be_name(const uint8_t *line, size_t len)
{
	size_t name = 0;

	while (name < len && !strchr(" \t\r\n", line[name]))
		name++;
	for (size_t i = name; i < len; i++)
		if (!strchr(" \t\r\n", line[i]))
			return false;
	return name <= MAX_NAME;
}

static void decide(struct http1_kept *k)
{
	const uint8_t *line = k->data + k->line;
	size_t len = k->len - k->line;
	bool is_known;

	if (line[len - 1] == ':') {
		while (len > 1 && (line[len - 2] == ' ' || line[len - 2] == '\t'))
			len--;
		is_known = net_header_of(line, len - 1) != NET_HEADER_OTHER;
		k->fate = is_known ? LINE_KEPT : LINE_SKIPPED;
	} else if (!may_be_name(line, len)) {
		k->fate = LINE_SKIPPED;
	}
	if (k->fate == LINE_SKIPPED)
		cut(k, k->line);
}

/* Up to what decides about the line, or to its end, or all there is. */
static size_t step_len(const struct http1_kept *k, const uint8_t *data, size_t n)
{
	const uint8_t *lf = memchr(data, '\n', n), *colon;

	if (lf)
		n = (size_t)(lf + 1 - data);
	colon = k->fate == LINE_OPEN ? memchr(data, ':', n) : NULL;
	return colon ? (size_t)(colon + 1 - data) : n;
}

int http1_keep(struct http1_kept *k, const struct net_privacy *p, const uint8_t *data, size_t n)
{
	size_t taken = 0;

	if (n > HTTP1_MAX_HEAD - k->n_seen)
		n = HTTP1_MAX_HEAD - k->n_seen;
	while (taken < n && !k->is_over) {
		size_t some;

		begin_line(k, data[taken]);
		some = step_len(k, data + taken, n - taken);
		if (k->fate != LINE_SKIPPED && append(k, data + taken, some) < 0)
			return -ENOMEM;
		taken += some;
		if (k->fate == LINE_OPEN)
			decide(k);
		if (data[taken - 1] == '\n')
			end_line(k, p);
	}
	k->n_seen += taken;
	return (int)taken;
}
