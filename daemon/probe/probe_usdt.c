/* SPDX-License-Identifier: Apache-2.0 */
/* probe_usdt.c - where the arguments of a USDT probe are, by its note. */
#include "probe/probe_usdt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERAND_MAX 128

struct operand {
	enum probe_arch arch;
	probe_usdt_symbol_fn *symbol;
	void *ctx;
	int size; /* negative: signed; 0: not said */
	char text[OPERAND_MAX];
};

static const struct probe_location nowhere = {
	.kind = PROBE_AT_NOTHING, .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER }
};

/* A number that `*s` begins with; `*s` is then behind it. */
static bool take_number(const char **s, int64_t *ret)
{
	char *end;

	*ret = (int64_t)strtoull(*s, &end, 0);
	if (end == *s)
		return false;
	*s = end;
	return true;
}

/* Up to one of `ends`; "%" in front of it or not. */
static bool take_register(const struct operand *o, const char **s, const char *ends,
			  struct probe_register *ret)
{
	size_t len;
	char name[8];

	*s += **s == '%';
	len = strcspn(*s, ends);
	if (len == 0 || len >= sizeof(name))
		return false;
	memcpy(name, *s, len);
	name[len] = '\0';
	*s += len;
	return probe_register_find(o->arch, name, ret, NULL);
}

static bool in_register(const struct operand *o, const char *s, struct probe_location *ret,
			unsigned *ret_size)
{
	struct probe_register reg;

	if (!take_register(o, &s, "", &reg) || *s)
		return false;
	ret->kind = PROBE_AT_REGISTERS;
	ret->registers[0] = reg.offset;
	ret->shift = reg.shift;
	*ret_size = reg.size;
	return true;
}

/* ---- x86: disp(base,index,scale), symbol+disp(%rip) ---- */

static bool take_index(const struct operand *o, const char **s, struct probe_location *ret)
{
	struct probe_register reg;
	int64_t scale = 1;

	if (!take_register(o, s, ",)", &reg) || reg.size != 8)
		return false;
	ret->registers[1] = reg.offset;
	if (**s == ',') {
		(*s)++;
		if (!take_number(s, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	ret->shift = (uint8_t)__builtin_ctzll((unsigned long long)scale);
	return true;
}

/* "counter+8": where it is from here. */
static bool take_symbol(const struct operand *o, const char **s, int64_t *ret)
{
	size_t len = strcspn(*s, "+-(");
	char name[OPERAND_MAX];
	int64_t more = 0;

	snprintf(name, sizeof(name), "%.*s", (int)len, *s);
	*s += len;
	if (**s && **s != '(' && !take_number(s, &more))
		return false;
	if (!o->symbol || !o->symbol(o->ctx, name, ret))
		return false;
	*ret += more;
	return true;
}

static bool in_memory_x86(const struct operand *o, const char *s, struct probe_location *ret)
{
	bool is_symbol = isalpha((unsigned char)*s) || *s == '_' || *s == '.';
	struct probe_register reg;

	ret->kind = PROBE_AT_MEMORY;
	if (is_symbol ? !take_symbol(o, &s, &ret->offset)
		      : *s != '(' && !take_number(&s, &ret->offset))
		return false;
	if (is_symbol) {
		ret->kind = PROBE_AT_PC;
		return *s == '\0' || strcmp(s, "(%rip)") == 0;
	}
	if (!*s)
		return true; /* an address */
	if (*s++ != '(')
		return false;
	if (*s != ',') {
		if (!take_register(o, &s, ",)", &reg) || reg.size != 8)
			return false;
		ret->registers[0] = reg.offset;
	}
	if (*s == ',') {
		s++;
		if (!take_index(o, &s, ret))
			return false;
	}
	return strcmp(s, ")") == 0;
}

static bool read_x86(const struct operand *o, struct probe_location *ret, unsigned *ret_size)
{
	const char *s = o->text;

	if (*s == '%')
		return in_register(o, s, ret, ret_size);
	if (*s != '$')
		return in_memory_x86(o, s, ret);
	s++;
	ret->kind = PROBE_AT_CONSTANT;
	return take_number(&s, &ret->offset) && !*s;
}

/* ---- arm64: x0, [sp, 60], [x0, x1, lsl 3], 42 ---- */

static bool take_comma(const char **s)
{
	*s += strspn(*s, " ");
	if (**s != ',')
		return false;
	*s += 1 + strspn(*s + 1, " ");
	*s += **s == '#';
	return true;
}

static bool in_memory_arm64(const struct operand *o, const char *s, struct probe_location *ret)
{
	struct probe_register reg;
	int64_t shift = 0;

	ret->kind = PROBE_AT_MEMORY;
	if (!take_register(o, &s, ", ]", &reg) || reg.size != 8)
		return false;
	ret->registers[0] = reg.offset;
	if (take_comma(&s) && !take_number(&s, &ret->offset)) {
		if (!take_register(o, &s, ", ]", &reg) || reg.size != 8)
			return false;
		ret->registers[1] = reg.offset;
		if (take_comma(&s)) {
			if (strncmp(s, "lsl", 3) != 0)
				return false;
			s += 3 + strspn(s + 3, " #");
			if (!take_number(&s, &shift) || shift < 0 || shift > 4)
				return false;
		}
		ret->shift = (uint8_t)shift;
	}
	return strcmp(s + strspn(s, " "), "]") == 0;
}

static bool read_arm64(const struct operand *o, struct probe_location *ret, unsigned *ret_size)
{
	const char *s = o->text;

	if (*s == '[')
		return in_memory_arm64(o, s + 1, ret);
	if (isalpha((unsigned char)*s))
		return in_register(o, s, ret, ret_size);
	ret->kind = PROBE_AT_CONSTANT;
	return take_number(&s, &ret->offset) && !*s;
}

/* ---- the note ---- */

/* The next operand, blanks in brackets being part of it. False: there is none. */
static bool next_operand(const char **note, struct operand *ret, bool *ret_float)
{
	const char *s = *note + strspn(*note, " "), *at;
	size_t len = 0;
	char *end;

	if (!*s)
		return false;
	for (bool inside = false; s[len] && (inside || s[len] != ' '); len++)
		inside = s[len] == '[' || (inside && s[len] != ']');
	*note = s + len;
	*ret_float = false;
	ret->size = 0;
	at = memchr(s, '@', len);
	if (at) {
		ret->size = (int)strtol(s, &end, 10);
		*ret_float = *end == 'f';
		len -= (size_t)(at + 1 - s);
		s = at + 1;
	}
	if (len >= sizeof(ret->text))
		len = 0; /* then it cannot be understood */
	memcpy(ret->text, s, len);
	ret->text[len] = '\0';
	return true;
}

static int add_value(struct probe_types *t, int size, bool is_float,
		     const struct probe_location *at)
{
	struct probe_type_entry type = { .kind = PROBE_KIND_INT, .target = PROBE_NO_TYPE };
	struct probe_value value = { .at = *at };
	int r;

	type.size = (uint64_t)(size < 0 ? -size : size);
	type.flags = size < 0 && !is_float ? PROBE_TYPE_IS_SIGNED : 0;
	if (is_float)
		type.kind = PROBE_KIND_FLOAT;
	r = probe_types_add_type(t, &type);
	if (r < 0)
		return r;
	value.type = (uint32_t)r;
	r = probe_types_add_value(t, &value);
	return r < 0 ? r : 0;
}

static bool is_size(int size)
{
	size = size < 0 ? -size : size;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

int probe_usdt_args(enum probe_arch arch, const char *note, probe_usdt_symbol_fn *symbol, void *ctx,
		    struct probe_types *t)
{
	struct operand o = { .arch = arch, .symbol = symbol, .ctx = ctx };
	bool is_float, ok;
	int r = 0;

	t->n_args = 0;
	while (r == 0 && t->n_args < PROBE_USDT_ARGS && next_operand(&note, &o, &is_float)) {
		struct probe_location at = nowhere;
		unsigned size = 8;

		ok = arch == PROBE_X86_64 ? read_x86(&o, &at, &size) : read_arm64(&o, &at, &size);
		if (o.size == 0)
			o.size = (int)size;
		if (!ok || !is_size(o.size)) {
			at = nowhere;
			at.offset = is_float ? PROBE_IN_VECTOR : PROBE_NOWHERE;
			o.size = is_size(o.size) ? o.size : 8;
		}
		r = add_value(t, o.size, is_float, &at);
		t->n_args += r == 0;
	}
	return r;
}
