/* SPDX-License-Identifier: Apache-2.0 */
/* http2_huffman.h - HPACK's code for strings (RFC 7541, 5.2). */
#ifndef HTTP2_HUFFMAN_H
#define HTTP2_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

/* All is decoded, the first `room` bytes are kept. The number of all; -EBADMSG. */
long http2_huffman_decode(const uint8_t *data, size_t n, uint8_t *ret, size_t room);

#endif
