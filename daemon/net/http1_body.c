/* SPDX-License-Identifier: Apache-2.0 */
/* http1_body.c - where the body of an HTTP/1 message ends. */
#include "http1_body.h"

#include <string.h>

#define MAX_DIGITS 15

enum chunk_state {
	CHUNK_SIZE,
	CHUNK_EXTENSION, /* up to the line's end */
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_BEGIN, /* of a line, or the empty one that ends it all */
	TRAILER_CR,
	TRAILER_LINE,
};

void http1_body_begin(struct http1_body *b, enum http1_framing framing, uint64_t length)
{
	*b = (struct http1_body){ .framing = framing, .left = length, .state = CHUNK_SIZE };
	b->is_over = framing == HTTP1_NO_BODY || (framing == HTTP1_LENGTH && length == 0);
}

static void get_lost(struct http1_body *b)
{
	b->framing = HTTP1_UNTIL_TURN;
	b->was_chunked = true;
	b->last = '\r' << 8 | '\n';
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A byte of a chunk's size or what ends it. False: it is no size. */
static bool size_byte(struct http1_body *b, uint8_t c)
{
	int digit = hex_digit(c);

	if (digit >= 0) {
		b->left = (b->n_digits ? b->left << 4 : 0) | (uint64_t)digit;
		return ++b->n_digits <= MAX_DIGITS;
	}
	if (b->n_digits == 0 || !strchr("\r\n; \t", c) || c == '\0')
		return false;
	if (c != '\n')
		b->state = CHUNK_EXTENSION;
	else
		b->state = b->left ? CHUNK_DATA : TRAILER_BEGIN;
	return true;
}

static bool chunk_byte(struct http1_body *b, uint8_t c)
{
	switch (b->state) {
	case CHUNK_SIZE:
		return size_byte(b, c);
	case CHUNK_EXTENSION:
		if (c == '\n')
			b->state = b->left ? CHUNK_DATA : TRAILER_BEGIN;
		return true;
	case CHUNK_DATA_CR:
		b->state = c == '\n' ? CHUNK_SIZE : CHUNK_DATA_LF;
		b->n_digits = 0;
		return c == '\r' || c == '\n';
	case CHUNK_DATA_LF:
		b->state = CHUNK_SIZE;
		return c == '\n';
	case TRAILER_BEGIN:
		b->is_over = c == '\n';
		b->state = c == '\r' ? TRAILER_CR : TRAILER_LINE;
		return true;
	case TRAILER_CR:
		b->is_over = c == '\n';
		b->state = TRAILER_LINE;
		return true;
	default: /* TRAILER_LINE */
		if (c == '\n')
			b->state = TRAILER_BEGIN;
		return true;
	}
}

static uint64_t chunk_data(struct http1_body *b, uint64_t n)
{
	uint64_t some = n < b->left ? n : b->left;

	b->left -= some;
	b->n_payload += some;
	if (b->left == 0)
		b->state = CHUNK_DATA_CR;
	return some;
}

static size_t chunked_known(struct http1_body *b, const uint8_t *data, size_t n)
{
	size_t i = 0;

	while (i < n && !b->is_over) {
		if (b->state == CHUNK_DATA) {
			i += (size_t)chunk_data(b, n - i);
		} else if (chunk_byte(b, data[i])) {
			i++;
		} else {
			get_lost(b);
			break;
		}
	}
	return i;
}

/*
 * The last chunk, where what comes before it is not known: "0\r\n\r\n" at the beginning
 * of a line and at the end of what there is, or before another head.
 */
static size_t find_last_chunk(struct http1_body *b, const uint8_t *data, size_t n)
{
	static const uint64_t mark = 0x0d0a300d0a0d0aull; /* "\r\n0\r\n\r\n" */

	for (size_t i = 0; i < n; i++) {
		b->last = b->last << 8 | data[i];
		if (data[i] != '\n' || (b->last & 0xffffffffffffffull) != mark)
			continue;
		if (i + 1 == n || (n - i > 7 && memcmp(data + i + 1, "HTTP/1.", 7) == 0)) {
			b->is_over = true;
			return i + 1;
		}
	}
	return n;
}

size_t http1_body_known(struct http1_body *b, const uint8_t *data, size_t n)
{
	size_t taken = 0, some;

	if (b->framing == HTTP1_CHUNKED)
		taken = chunked_known(b, data, n);
	if (b->is_over || b->framing == HTTP1_CHUNKED)
		return taken;
	if (!b->was_chunked)
		return taken + (size_t)http1_body_unknown(b, n - taken);
	some = find_last_chunk(b, data + taken, n - taken);
	b->n_payload += some;
	return taken + some;
}

/* A chunk's data has two bytes behind it, known or not; then comes what must be known. */
static uint64_t chunked_unknown(struct http1_body *b, uint64_t n)
{
	uint64_t taken = 0;

	if (b->state == CHUNK_DATA)
		taken = chunk_data(b, n);
	while (taken < n && (b->state == CHUNK_DATA_CR || b->state == CHUNK_DATA_LF)) {
		chunk_byte(b, b->state == CHUNK_DATA_CR ? '\r' : '\n');
		taken++;
	}
	if (taken < n)
		get_lost(b);
	return taken;
}

uint64_t http1_body_unknown(struct http1_body *b, uint64_t n)
{
	uint64_t taken = 0;

	if (b->framing == HTTP1_CHUNKED)
		taken = chunked_unknown(b, n);
	if (b->is_over || b->framing == HTTP1_CHUNKED)
		return taken;
	if (b->framing == HTTP1_LENGTH) {
		taken = n < b->left ? n : b->left;
		b->left -= taken;
		b->is_over = b->left == 0;
		b->n_payload += taken;
		return taken;
	}
	b->n_payload += n - taken;
	b->last = '\r' << 8 | '\n';
	return n;
}
