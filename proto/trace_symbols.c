/* SPDX-License-Identifier: Apache-2.0 */
/* trace_symbols.c - what is known late about addresses of one module. */
#include "trace_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct trace_symbols {
	ModuleSymbols msg;
	AddressSymbols **addresses;
	size_t cap;
};

static void line_free(Line *line)
{
	if (!line)
		return;
	free(line->function_name);
	free(line->source_file_name);
	free(line);
}

static void address_free(AddressSymbols *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->lines && i < a->n_lines; i++)
		line_free(a->lines[i]);
	free(a->lines);
	free(a);
}

void trace_symbols_free(struct trace_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->msg.n_address_symbols; i++)
		address_free(s->addresses[i]);
	free(s->addresses);
	free(s->msg.path);
	free(s->msg.build_id.data);
	free(s);
}

/* As the importer writes it: every path begins with a slash there. */
static char *module_path(const char *path)
{
	char *text = malloc(strlen(path) + 2);

	if (text)
		stpcpy(path[0] == '/' ? text : stpcpy(text, "/"), path);
	return text;
}

int trace_symbols_new(const char *path, const void *build_id, size_t build_id_len,
		      struct trace_symbols **ret)
{
	struct trace_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	module_symbols__init(&s->msg);
	s->msg.path = module_path(path);
	s->msg.build_id.data = malloc(build_id_len + 1);
	if (!s->msg.path || !s->msg.build_id.data) {
		trace_symbols_free(s);
		return -ENOMEM;
	}
	if (build_id_len)
		memcpy(s->msg.build_id.data, build_id, build_id_len);
	s->msg.build_id.len = build_id_len;
	s->msg.has_build_id = build_id_len != 0;
	*ret = s;
	return 0;
}

/* Of what is not UTF-8 each byte becomes three. */
static char *clean_text(const char *text, size_t len)
{
	char *clean = malloc(3 * len + 1);

	if (clean)
		(void)text_utf8(clean, 3 * len + 1, text, len);
	return clean;
}

static Line *line_new(const struct trace_symbol_line *in)
{
	Line *line = malloc(sizeof(*line));

	if (!line)
		return NULL;
	line__init(line);
	line->function_name = NULL;
	line->source_file_name = NULL;
	if (in->function_len)
		line->function_name = clean_text(in->function, in->function_len);
	if (in->source_len)
		line->source_file_name = clean_text(in->source, in->source_len);
	if ((in->function_len && !line->function_name) ||
	    (in->source_len && !line->source_file_name)) {
		line_free(line);
		return NULL;
	}
	line->has_line_number = in->line != 0;
	line->line_number = in->line;
	return line;
}

static AddressSymbols *address_new(uint64_t address, const struct trace_symbol_line *lines,
				   size_t n)
{
	AddressSymbols *a = malloc(sizeof(*a));

	if (!a)
		return NULL;
	address_symbols__init(a);
	a->has_address = 1;
	a->address = address;
	a->lines = calloc(n, sizeof(Line *));
	a->n_lines = n;
	for (size_t i = 0; a->lines && i < n; i++) {
		a->lines[i] = line_new(&lines[i]);
		if (!a->lines[i]) {
			address_free(a);
			return NULL;
		}
	}
	if (!a->lines) {
		address_free(a);
		return NULL;
	}
	return a;
}

int trace_symbols_add(struct trace_symbols *s, uint64_t address,
		      const struct trace_symbol_line *lines, size_t n)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	AddressSymbols *a, **grown;

	if (s->msg.n_address_symbols == s->cap) {
		grown = reallocarray(s->addresses, cap, sizeof(AddressSymbols *));
		if (!grown)
			return -ENOMEM;
		s->addresses = grown;
		s->cap = cap;
	}
	a = address_new(address, lines, n);
	if (!a)
		return -ENOMEM;
	s->addresses[s->msg.n_address_symbols++] = a;
	return 0;
}

size_t trace_symbols_count(const struct trace_symbols *s)
{
	return s->msg.n_address_symbols;
}

ModuleSymbols *trace_symbols_message(struct trace_symbols *s)
{
	s->msg.address_symbols = s->addresses;
	return &s->msg;
}
