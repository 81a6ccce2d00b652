/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_huffman.c - see http2_huffman.h.
 *
 * The code is canonical: codes of one length are consecutive numbers, in the order of
 * their symbols, and shorter ones come first. Symbols in that order, and how many there
 * are of each length, are all there is to know.
 */
#include "http2_huffman.h"

#include <errno.h>

#define MAX_CODE 30 /* bits */

static const uint8_t symbols[] = {
	/* 5 bits */
	'0', '1', '2', 'a', 'c', 'e', 'i', 'o', 's', 't',
	/* 6 */
	' ', '%', '-', '.', '/', '3', '4', '5', '6', '7', '8', '9', '=', 'A', '_', 'b', 'd', 'f',
	'g', 'h', 'l', 'm', 'n', 'p', 'r', 'u',
	/* 7 */
	':', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R',
	'S', 'T', 'U', 'V', 'W', 'Y', 'j', 'k', 'q', 'v', 'w', 'x', 'y', 'z',
	/* 8 */
	'&', '*', ',', ';', 'X', 'Z',
	/* 10 */
	'!', '"', '(', ')', '?',
	/* 11 */
	'\'', '+', '|',
	/* 12 */
	'#', '>',
	/* 13 */
	0, '$', '@', '[', ']', '~',
	/* 14 */
	'^', '}',
	/* 15 */
	'<', '`', '{',
	/* 19 */
	'\\', 195, 208,
	/* 20 */
	128, 130, 131, 162, 184, 194, 224, 226,
	/* 21 */
	153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230,
	/* 22 */
	129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186,
	187, 189, 190, 196, 198, 228, 232, 233,
	/* 23 */
	1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168,
	174, 175, 180, 182, 183, 188, 191, 197, 231, 239,
	/* 24 */
	9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237,
	/* 25 */
	199, 207, 234, 235,
	/* 26 */
	192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255,
	/* 27 */
	203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253,
	254,
	/* 28 */
	2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30,
	31, 127, 220, 249,
	/* 30, and then the end of the string, which must not occur in one */
	10, 13, 22
};

static const struct {
	uint8_t bits, n;
} lengths[] = {
	{ 5, 10 },  { 6, 26 },	{ 7, 32 }, { 8, 6 },   { 10, 5 },  { 11, 3 },  { 12, 2 },
	{ 13, 6 },  { 14, 2 },	{ 15, 3 }, { 19, 3 },  { 20, 8 },  { 21, 13 }, { 22, 26 },
	{ 23, 29 }, { 24, 12 }, { 25, 4 }, { 26, 15 }, { 27, 19 }, { 28, 29 }, { MAX_CODE, 3 },
};

_Static_assert(sizeof(symbols) == 256, "all of them");

/* The code that the topmost bits of `window` begin with; its length. 0: none. */
static unsigned code_at(uint32_t window, uint8_t *ret)
{
	uint32_t code = 0; /* the first of its length, from the top as the window is */
	unsigned symbol = 0;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		unsigned shift = 32 - lengths[i].bits;
		uint32_t k = (window - code) >> shift;

		if (k < lengths[i].n) {
			*ret = symbols[symbol + k];
			return lengths[i].bits;
		}
		code += (uint32_t)lengths[i].n << shift;
		symbol += lengths[i].n;
	}
	return 0;
}

long http2_huffman_decode(const uint8_t *data, size_t n, uint8_t *ret, size_t room)
{
	uint64_t bits = 0; /* the topmost n_bits of it */
	unsigned n_bits = 0, len;
	size_t at = 0, n_out = 0;
	uint8_t symbol;

	for (;;) {
		while (n_bits <= 56 && at < n) {
			bits |= (uint64_t)data[at++] << (56 - n_bits);
			n_bits += 8;
		}
		len = code_at((uint32_t)(bits >> 32), &symbol);
		if (len == 0 || len > n_bits)
			break;
		if (n_out < room)
			ret[n_out] = symbol;
		n_out++;
		bits <<= len;
		n_bits -= len;
	}
	/* What is left is the beginning of the end's code, which is all ones, and less than 8. */
	if (n_bits > 7 || (n_bits > 0 && bits >> (64 - n_bits) != (1u << n_bits) - 1))
		return -EBADMSG;
	return (long)n_out;
}
