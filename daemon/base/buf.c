/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - bytes that grow. */
#include "buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CAP 256

int buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : MIN_CAP;
	uint8_t *data;

	if (n > SIZE_MAX / 2 - b->len)
		return -ENOMEM;
	while (cap < b->len + n)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_append(struct buf *b, const void *data, size_t n)
{
	int r;

	if (n == 0)
		return 0;
	r = buf_reserve(b, n);
	if (r < 0)
		return r;
	memcpy(b->data + b->len, data, n);
	b->len += n;
	return 0;
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
