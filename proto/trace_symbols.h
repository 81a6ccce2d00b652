/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_symbols.h - ModuleSymbols in the making: what is known late about
 * addresses of one module, to be written behind all samples.
 *
 * A reader takes only what meets a frame: by exactly the module's path and build
 * id, and the frame's address.
 */
#ifndef TRACE_SYMBOLS_H
#define TRACE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "trace.pb-c.h"

struct trace_symbols;

/* One function at an address. Not NUL-terminated; need not be UTF-8; empty: not known. */
struct trace_symbol_line {
	const char *function, *source;
	size_t function_len, source_len;
	uint32_t line; /* 0: not known */
};

/* `path` as it stands in the trace's mapping. Everything is copied. */
int trace_symbols_new(const char *path, const void *build_id, size_t build_id_len,
		      struct trace_symbols **ret);
void trace_symbols_free(struct trace_symbols *s); /* takes NULL */

/* `lines`: the innermost function first, n > 0. -ENOMEM leaves all as it was. */
int trace_symbols_add(struct trace_symbols *s, uint64_t address,
		      const struct trace_symbol_line *lines, size_t n);
size_t trace_symbols_count(const struct trace_symbols *s); /* addresses */

/* Valid until the next call with `s`. */
ModuleSymbols *trace_symbols_message(struct trace_symbols *s);

#endif
