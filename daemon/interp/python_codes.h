/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_codes.h - the code objects (functions) of Python programs that the
 * walker has described: their names, files and lines.
 *
 * Descriptions come once, from python_ring; each has a number by which frames
 * name it. Everything in them is what a traced process says of itself.
 */
#ifndef PYTHON_CODES_H
#define PYTHON_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "python.h"

struct python_codes;

struct python_code_info {
	uint32_t number;
	uint32_t tgid;
	uint64_t address;   /* of the code object */
	const char *name;   /* qualified, UTF-8, never empty: "<unknown>" at worst */
	const char *file;   /* as the program was compiled from; may be empty */
	int32_t first_line; /* of the function; 0: not known */
};

/*
 * `forgotten` is called when a description goes for lack of room: the walker
 * has to describe it anew when it meets it again.
 */
typedef void python_code_forgotten_fn(void *ctx, uint32_t tgid, uint64_t address);

int python_codes_new(python_code_forgotten_fn *forgotten, void *ctx, struct python_codes **ret);
void python_codes_free(struct python_codes *pc); /* takes NULL */

/*
 * Takes a record of python_ring. -EBADMSG: not one. -ENOMEM. A description that
 * is there already is kept.
 */
int python_codes_add(struct python_codes *pc, const void *record, size_t len);

/* NULL: never described, or forgotten. Valid until the next _add(). */
const struct python_code_info *python_codes_get(struct python_codes *pc, uint32_t number);

/* The line of an instruction (PYTHON_WORD_UNIT); the first one where that is not known. */
int32_t python_code_line(const struct python_code_info *code, uint32_t unit);

size_t python_codes_count(const struct python_codes *pc);

#endif
