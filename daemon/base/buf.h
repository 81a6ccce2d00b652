/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - bytes that grow. Zero-initialised is empty; buf_done() when finished. */
#ifndef BUF_H
#define BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

int buf_grow(struct buf *b, size_t n); /* of buf_reserve(): there is no room yet */
/* Room for `n` more bytes at data + len; -ENOMEM leaves the content as it was. */
static inline int buf_reserve(struct buf *b, size_t n)
{
	return n <= b->cap && b->len + n <= b->cap ? 0 : buf_grow(b, n);
}
int buf_append(struct buf *b, const void *data, size_t n);
void buf_done(struct buf *b); /* frees; the buf is empty and usable again */

#endif
