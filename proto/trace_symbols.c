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

void trace_symbols_free(struct trace_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->msg.n_address_symbols; i++)
		free(s->addresses[i]);
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

/* An address, its lines and their text, in one piece of memory. */
struct address {
	AddressSymbols msg; /* first */
	char *text;	    /* where the next string goes: there is room for all */
	Line *lines[];	    /* n pointers, n lines, text */
};

/* Of what is not UTF-8 each byte becomes three. */
static size_t text_room(size_t len)
{
	return 3 * len + 1;
}

static size_t address_size(const struct trace_symbol_line *lines, size_t n)
{
	size_t size = sizeof(struct address) + n * (sizeof(Line *) + sizeof(Line));

	for (size_t i = 0; i < n; i++)
		size += text_room(lines[i].function_len) + text_room(lines[i].source_len);
	return size;
}

/* NULL for an empty one. */
static char *put_text(struct address *a, const char *text, size_t len)
{
	char *at = a->text;

	if (len == 0)
		return NULL;
	a->text += text_utf8(at, text_room(len), text, len) + 1;
	return at;
}

static void put_line(struct address *a, Line *line, const struct trace_symbol_line *in)
{
	line__init(line);
	line->function_name = put_text(a, in->function, in->function_len);
	line->source_file_name = put_text(a, in->source, in->source_len);
	line->has_line_number = in->line != 0;
	line->line_number = in->line;
}

static AddressSymbols *address_new(uint64_t address, const struct trace_symbol_line *lines,
				   size_t n)
{
	struct address *a = malloc(address_size(lines, n));
	Line *items;

	if (!a)
		return NULL;
	address_symbols__init(&a->msg);
	a->msg.has_address = 1;
	a->msg.address = address;
	a->msg.n_lines = n;
	a->msg.lines = a->lines;
	items = (Line *)(a->lines + n);
	a->text = (char *)(items + n);
	for (size_t i = 0; i < n; i++) {
		a->lines[i] = &items[i];
		put_line(a, &items[i], &lines[i]);
	}
	return (AddressSymbols *)a;
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
