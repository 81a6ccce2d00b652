/* SPDX-License-Identifier: Apache-2.0 */
/* perf_map.c - the text file in which a compiler at run time tells what it has generated. */
#include "perf_map.h"

#include <errno.h>
#include <string.h>

#include "jit_map.h"
#include "jit_names.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the blanks behind it; NULL: none, or one that does not fit. */
static const char *take_hex(const char *p, const char *end, uint64_t *ret)
{
	const char *begin;
	uint64_t v = 0;
	int digit;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (begin = p; p < end && (digit = hex_digit(*p)) >= 0; p++) {
		if (v >> 60)
			return NULL;
		v = v << 4 | (uint64_t)digit;
	}
	if (p == begin || p == end || (*p != ' ' && *p != '\t'))
		return NULL;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*ret = v;
	return p;
}

static void take_line(struct perf_map *p, const char *line, const char *end, struct jit_map *map)
{
	struct jit_code code = { .time_ns = p->time_ns, .is_late = true };
	struct jit_line_info where;
	int r = -EINVAL;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	code.name = take_hex(line, end, &code.start);
	if (code.name)
		code.name = take_hex(code.name, end, &code.size);
	if (code.name) {
		code.name_len = (size_t)(end - code.name);
		if (jit_name_source(code.name, code.name_len, &where)) {
			code.lines = &where;
			code.n_lines = 1;
		}
		if (p->is_first)
			code.time_ns = 0;
		r = jit_map_add(map, &code);
	}
	p->n_bad += r == -EINVAL;
	p->n_over_cap += r < 0 && r != -EINVAL;
}

size_t perf_map_parse(struct perf_map *p, const char *data, size_t len, struct jit_map *map)
{
	const char *at = data, *end = data + len, *eol;

	while ((eol = memchr(at, '\n', (size_t)(end - at)))) {
		if (!p->skip_line && eol > at)
			take_line(p, at, eol, map);
		p->skip_line = false;
		at = eol + 1;
	}
	if (end - at >= PERF_MAP_MAX_LINE) {
		p->n_bad += !p->skip_line;
		p->skip_line = true;
		at = end;
	}
	return (size_t)(at - data);
}
