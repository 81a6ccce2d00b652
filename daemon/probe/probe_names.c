/* SPDX-License-Identifier: Apache-2.0 */
/* probe_names.c - what the names in a probe's expressions mean. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "probe/probe_compile_impl.h"
#include "probe/probe_registers.h"

#define MAX_DEPTH 16 /* of structs without a name in each other */

static bool is_return(const struct compiler *c)
{
	return c->place->kind == PROBE_URETPROBE || c->place->kind == PROBE_FEXIT;
}

static bool has_registers(const struct compiler *c)
{
	return c->place->kind <= PROBE_USDT || c->place->kind == PROBE_KPROBE;
}

static bool has_types(const struct compiler *c)
{
	return c->types && (c->types->flags & PROBE_TYPES_HAS_TYPES);
}

/* Of a glob the function that it is now. */
static const char *function(const struct compiler *c)
{
	if (c->types && c->types->function)
		return probe_types_string(c->types, c->types->function);
	return c->place->symbol;
}

static bool has_function(const struct compiler *c)
{
	return c->types && (c->types->flags & PROBE_TYPES_FUNCTION);
}

static struct ctype type_of(uint32_t index)
{
	return index == PROBE_NO_TYPE ? ctype_of_kind(PROBE_KIND_OTHER, 0) : ctype_in_table(index);
}

/* ---- arguments ---- */

/* "arg3": 3; -1: it is no such name. */
static int arg_number(const char *name)
{
	char *end;
	unsigned long n;

	if (strncmp(name, "arg", 3) != 0 || !isdigit((unsigned char)name[3]))
		return -1;
	n = strtoul(name + 3, &end, 10);
	return *end || n > 99 ? -1 : (int)n;
}

static bool set_raw(struct compiler *c, const struct probe_node *node,
		    const struct probe_location *at, struct cvalue *ret, uint8_t reg)
{
	if (!cc_place(c, node, at, ctype_int(8, true), ret, reg))
		return false;
	ret->is_raw = true;
	return true;
}

/* As if all before it were whole numbers and pointers. */
static bool raw_arg(struct compiler *c, const struct probe_node *node, unsigned n,
		    struct cvalue *ret, uint8_t reg)
{
	unsigned n_args = probe_arch_n_args(PROBE_ARCH);
	struct probe_location at = { .kind = PROBE_AT_REGISTERS,
				     .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER } };

	if (n < n_args) {
		at.registers[0] = probe_arch_arg(PROBE_ARCH, n);
	} else {
		at.kind = PROBE_AT_MEMORY;
		at.registers[0] = probe_arch_stack(PROBE_ARCH);
		at.offset = (int64_t)probe_arch_stack_skip(PROBE_ARCH) + 8 * (n - n_args);
	}
	return set_raw(c, node, &at, ret, reg);
}

static bool no_arg(struct compiler *c, const struct probe_node *node, unsigned n)
{
	unsigned n_args = c->types->n_args;

	if (n_args == 0)
		return cc_refuse(c, node, "%s has no arguments", function(c));
	return cc_refuse(c, node, "%s has no arg%u, but %u argument%s, from arg0", function(c), n,
			 n_args, n_args == 1 ? "" : "s");
}

static bool arg(struct compiler *c, const struct probe_node *node, unsigned n, struct cvalue *ret,
		uint8_t reg)
{
	const struct probe_value *v;

	if (c->place->kind == PROBE_TRACEPOINT)
		return cc_refuse(c, node,
				 "a tracepoint's fields have names; tracepoints have no "
				 "arg%u",
				 n);
	if (is_return(c) && c->place->kind != PROBE_FEXIT)
		return cc_refuse(c, node,
				 "when a function returns its arguments are gone: take them at its "
				 "beginning (uprobe:), with the return as --end");
	if (c->types && n < c->types->n_args) {
		v = probe_types_value(c->types, n);
		return cc_place(c, node, &v->at, type_of(v->type), ret, reg);
	}
	if (c->types && (has_function(c) || c->place->kind == PROBE_USDT) &&
	    !(c->types->flags & PROBE_TYPES_VARIADIC))
		return no_arg(c, node, n);
	if (!has_registers(c) || c->place->kind == PROBE_USDT)
		return cc_refuse(c, node, "nothing is known of the arguments of %s",
				 c->place->symbol);
	if (c->place->offset)
		return cc_refuse(c, node,
				 "inside a function its arguments may be anywhere: name a register "
				 "($%s), or a variable where there is DWARF",
				 PROBE_ARCH == PROBE_X86_64 ? "rdi" : "x0");
	return raw_arg(c, node, n, ret, reg);
}

static bool retval(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		   uint8_t reg)
{
	struct probe_location at = { .kind = PROBE_AT_REGISTERS,
				     .registers = { probe_arch_retval(PROBE_ARCH, 0),
						    PROBE_NO_REGISTER } };
	const struct probe_value *v;

	if (!is_return(c))
		return cc_refuse(c, node,
				 "retval is known when a function returns: at uretprobe: "
				 "or fexit:");
	if (c->types && c->types->retval != PROBE_NO_TYPE) {
		v = probe_types_value(c->types, c->types->retval);
		return cc_place(c, node, &v->at, type_of(v->type), ret, reg);
	}
	if (has_function(c))
		return cc_refuse(c, node, "%s returns nothing", function(c));
	if (c->place->kind == PROBE_FEXIT)
		return cc_refuse(c, node, "nothing is known of what %s returns", c->place->symbol);
	return set_raw(c, node, &at, ret, reg);
}

/* ---- other names ---- */

static bool find_value(const struct compiler *c, const char *name, const struct probe_value **ret)
{
	for (uint32_t i = 0; c->types && i < probe_types_n_values(c->types); i++) {
		*ret = probe_types_value(c->types, i);
		if (i != c->types->retval &&
		    strcmp(probe_types_string(c->types, (*ret)->name), name) == 0)
			return true;
	}
	return false;
}

static const struct probe_name *find_name(const struct compiler *c, const char *name,
					  bool is_constant)
{
	for (uint32_t i = 0; c->types && i < probe_types_n_names(c->types); i++) {
		const struct probe_name *n = probe_types_name(c->types, i);

		if (n->is_constant == is_constant &&
		    strcmp(probe_types_string(c->types, n->name), name) == 0)
			return n;
	}
	return NULL;
}

#define VMDATA 5 /* of PROBES_TASK, in pages */

/* pid and what else every place has. */
static bool of_task(struct compiler *c, const char *name, struct cvalue *ret, uint8_t reg,
		    bool *ret_found)
{
	static const struct {
		const char *name;
		uint8_t number, size;
	} words[] = {
		{ "pid", 0, 4 },  { "tid", 1, 4 }, { "cpu", 2, 4 },
		{ "time", 3, 8 }, { "uid", 4, 4 }, { "vmdata", VMDATA, 8 },
	};

	*ret_found = false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, name) != 0)
			continue;
		*ret_found = true;
		*ret = (struct cvalue){ .where = CVALUE_REGISTER,
					.reg = reg,
					.type = ctype_int(words[i].size, false) };
		if (!cc_emit(c, &(struct probes_insn){
					.op = PROBES_TASK, .dst = reg, .imm = words[i].number }))
			return false;
		return words[i].number != VMDATA ||
		       cc_emit_imm(c, PROBES_MUL, reg, reg, sysconf(_SC_PAGESIZE));
	}
	return false;
}

static bool constant(const struct compiler *c, const char *name, struct cvalue *ret)
{
	static const struct {
		const char *name;
		uint64_t number;
	} words[] = { { "NULL", 0 }, { "nullptr", 0 }, { "false", 0 }, { "true", 1 } };
	const struct probe_name *n = find_name(c, name, true);

	*ret = (struct cvalue){ .where = CVALUE_CONSTANT, .type = ctype_int(8, true) };
	if (n) {
		ret->number = (uint64_t)n->value;
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		ret->number = words[i].number;
		if (strcmp(words[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Of what is not known, with what there is. */
static bool unknown_name(struct compiler *c, const struct probe_node *node, const char *name)
{
	struct nearest near = { .wanted = name };
	size_t n = c->types ? probe_types_n_values(c->types) : 0, len;

	if (!has_types(c) && c->place->kind <= PROBE_URETPROBE)
		return cc_refuse(
			c, node,
			"nothing is known of \"%s\": there is no debug information (DWARF); "
			"install it (a package named -dbgsym), or write arg0, retval or a register",
			name);
	if (!has_types(c) && c->place->kind == PROBE_USDT)
		(void)cc_refuse(c, node,
				"there is no \"%s\" here; a USDT probe has arg0, arg1, ...", name);
	else
		(void)cc_refuse(c, node, "there is no \"%s\" at %s", name, function(c));
	for (uint32_t i = 0; i < n; i++)
		nearest_offer(&near,
			      probe_types_string(c->types, probe_types_value(c->types, i)->name));
	nearest_append(&near, c->why, PROBE_WHY_LEN);
	if (near.n > 0)
		return false;
	/* None is like it: all that there are. */
	for (uint32_t i = 0, said = 0; i < n && said < 12; i++) {
		const char *other =
			probe_types_string(c->types, probe_types_value(c->types, i)->name);

		len = strlen(c->why);
		if (*other)
			snprintf(c->why + len, PROBE_WHY_LEN - len, "%s%s",
				 said++ ? ", " : "; there are ", other);
	}
	return false;
}

bool cc_name(struct compiler *c, const struct probe_node *node, struct cvalue *ret, uint8_t reg)
{
	const char *name = probe_node_text(&c->tree, node);
	const struct probe_value *v;
	int n = arg_number(name);
	bool found, r;

	if (!cc_has_register(c, node, reg))
		return false;
	/* Of a field or a parameter that is called pid the author means that. */
	if (find_value(c, name, &v)) {
		if (c->place->kind == PROBE_URETPROBE)
			return cc_refuse(
				c, node,
				"when a function returns %s cannot be told: take it at its "
				"beginning (uprobe:), with the return as --end",
				name);
		return cc_place(c, node, &v->at, type_of(v->type), ret, reg);
	}
	if (n >= 0)
		return arg(c, node, (unsigned)n, ret, reg);
	if (strcmp(name, "retval") == 0)
		return retval(c, node, ret, reg);
	if (constant(c, name, ret))
		return true;
	r = of_task(c, name, ret, reg, &found);
	return found ? r : unknown_name(c, node, name);
}

bool cc_register(struct compiler *c, const struct probe_node *node, struct cvalue *ret, uint8_t reg)
{
	const char *name = probe_node_text(&c->tree, node);
	struct probe_location at = { .kind = PROBE_AT_REGISTERS };
	struct nearest near = { .wanted = name };
	struct probe_register found;

	if (!has_registers(c))
		return cc_refuse(c, node, "there are no registers at %s",
				 c->place->kind == PROBE_TRACEPOINT ? "a tracepoint"
								    : "fentry: and fexit:");
	if (!probe_register_find(PROBE_ARCH, name, &found, &near)) {
		(void)cc_refuse(c, node, "there is no register \"%s\"", name);
		nearest_append(&near, c->why, PROBE_WHY_LEN);
		return false;
	}
	at.registers[0] = found.offset;
	at.registers[1] = PROBE_NO_REGISTER;
	at.shift = found.shift;
	if (!cc_place(c, node, &at, ctype_int(found.size, found.size == 8), ret, reg))
		return false;
	ret->is_raw = true;
	return true;
}

/* ---- types and members ---- */

static bool unknown_type(struct compiler *c, const struct probe_node *node, const char *name)
{
	struct nearest near = { .wanted = name };

	if (!has_types(c)) {
		if (c->is_kernel)
			return cc_refuse(c, node,
					 "the kernel's types (BTF) are not to be had, and "
					 "\"%s\" is no number",
					 name);
		return cc_refuse(c, node,
				 "nothing is known of the type \"%s\": there is no debug "
				 "information (DWARF); install it (a package named -dbgsym)",
				 name);
	}
	for (uint32_t i = 0; i < probe_types_n_names(c->types); i++)
		if (!probe_types_name(c->types, i)->is_constant)
			nearest_offer(
				&near,
				probe_types_string(c->types, probe_types_name(c->types, i)->name));
	(void)cc_refuse(c, node, "there is no type \"%s\"%s", name,
			c->is_kernel ? " in the kernel" : "");
	nearest_append(&near, c->why, PROBE_WHY_LEN);
	return false;
}

bool cc_cast_type(struct compiler *c, const struct probe_node *node, struct ctype *ret)
{
	const char *name = probe_node_text(&c->tree, node);
	const struct probe_name *found;
	bool is_signed, is_char;
	uint16_t size;

	if (probe_builtin_type(name, &size, &is_signed, &is_char)) {
		*ret = ctype_int(size, is_signed);
		ret->own.flags |= is_char ? PROBE_TYPE_IS_CHAR : 0;
		ret->own.kind = strcmp(name, "bool") == 0 ? PROBE_KIND_BOOL : PROBE_KIND_INT;
	} else if (strcmp(name, "void") == 0) {
		*ret = ctype_of_kind(PROBE_KIND_VOID, 0);
	} else if (strcmp(name, "double") == 0 || strcmp(name, "float") == 0) {
		*ret = ctype_of_kind(PROBE_KIND_FLOAT, name[0] == 'd' ? 8 : 4);
	} else if ((found = find_name(c, name, false)) && found->type != PROBE_NO_TYPE) {
		*ret = ctype_in_table(found->type);
	} else {
		return unknown_type(c, node, name);
	}
	ret->n_pointers = (unsigned)node->number;
	return true;
}

/* Also in members that have no name. `*offset` is added to. */
static const struct probe_member *find_member(const struct compiler *c,
					      const struct probe_type_entry *type, const char *name,
					      int64_t *offset, unsigned depth)
{
	for (uint32_t i = 0; depth < MAX_DEPTH && i < type->n; i++) {
		const struct probe_member *m = probe_types_member(c->types, type->first + i), *in;
		int64_t before = *offset;

		*offset += (int64_t)m->offset;
		if (m->name && strcmp(probe_types_string(c->types, m->name), name) == 0)
			return m;
		if (!m->name && m->type != PROBE_NO_TYPE) {
			in = find_member(c, probe_types_type(c->types, m->type), name, offset,
					 depth + 1);
			if (in)
				return in;
		}
		*offset = before;
	}
	return NULL;
}

static void offer_members(const struct compiler *c, const struct probe_type_entry *type,
			  struct nearest *near, unsigned depth)
{
	for (uint32_t i = 0; depth < MAX_DEPTH && i < type->n; i++) {
		const struct probe_member *m = probe_types_member(c->types, type->first + i);

		if (m->name)
			nearest_offer(near, probe_types_string(c->types, m->name));
		else if (m->type != PROBE_NO_TYPE)
			offer_members(c, probe_types_type(c->types, m->type), near, depth + 1);
	}
}

static bool no_member(struct compiler *c, const struct probe_node *node, const struct cvalue *v,
		      const struct probe_type_entry *type)
{
	const char *name = probe_node_text(&c->tree, node);
	struct nearest near = { .wanted = name };
	char text[PROBE_EXPR_LEN];
	size_t len;

	cc_type_name(c, &v->type, text, sizeof(text));
	if (type->n == 0)
		return cc_refuse(c, node, "nothing is known of what is in %s", text);
	(void)cc_refuse(c, node, "%s has no member \"%s\"", text, name);
	offer_members(c, type, &near, 0);
	nearest_append(&near, c->why, PROBE_WHY_LEN);
	for (uint32_t i = 0; near.n == 0 && i < type->n && i < 12; i++) {
		const struct probe_member *m = probe_types_member(c->types, type->first + i);

		len = strlen(c->why);
		snprintf(c->why + len, PROBE_WHY_LEN - len, "%s%s", i ? ", " : "; it has ",
			 m->name ? probe_types_string(c->types, m->name) : "...");
	}
	return false;
}

bool cc_member(struct compiler *c, const struct probe_node *node, struct cvalue *v)
{
	const char *name = probe_node_text(&c->tree, node);
	struct probe_type_entry type = cc_type(c, &v->type);
	const struct probe_member *m;
	char text[PROBE_EXPR_LEN];
	int64_t offset = 0;

	if (type.kind == PROBE_KIND_POINTER)
		return cc_refuse(c, node, "this is a pointer: write ->%s", name);
	if (type.kind != PROBE_KIND_STRUCT)
		return cc_refuse(c, node, "this is %s and has no members",
				 cc_type_name(c, &v->type, text, sizeof(text)));
	m = find_member(c, &type, name, &offset, 0);
	if (!m)
		return no_member(c, node, v, &type);
	if (v->where != CVALUE_MEMORY && v->where != CVALUE_PIECES && v->where != CVALUE_RECORD)
		return cc_refuse(c, node, "the members of this are nowhere");
	v->offset += offset;
	v->bit_at = m->bit_at;
	v->bit_size = m->bit_size;
	v->type = type_of(m->type);
	v->is_raw = false;
	return true;
}
