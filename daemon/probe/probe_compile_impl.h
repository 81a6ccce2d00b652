/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_compile_impl.h - the insides of the compiler, shared by probe_compile.c (what becomes
 * of values), probe_operators.c and probe_strings.c (expressions), probe_names.c (what names
 * mean) and probe_values.c (types, and how values come into registers).
 *
 * Registers are a stack: what is computed goes to register `reg`, and may use those beyond.
 */
#ifndef PROBE_COMPILE_IMPL_H
#define PROBE_COMPILE_IMPL_H

#include "probe/probe_compile.h"
#include "probe/probe_expr.h"
#include "probe/probe_types.h"

/* One of the table, or one of our own; and so many pointers to it. */
struct ctype {
	uint32_t index; /* PROBE_NO_TYPE: `own` */
	struct probe_type_entry own;
	unsigned n_pointers;
};

enum cvalue_where {
	CVALUE_CONSTANT, /* `number` */
	CVALUE_REGISTER, /* in `reg` */
	CVALUE_MEMORY,	 /* at the address in `reg` + offset */
	CVALUE_PIECES,	 /* in registers of the process, from byte `offset` of `at` on */
	CVALUE_RECORD,	 /* at `offset` of the record */
	CVALUE_STRING,	 /* text, whose address is in `reg` */
	CVALUE_LITERAL,	 /* "text" of the expression: `node` */
};

struct cvalue {
	enum cvalue_where where;
	struct ctype type;
	uint8_t reg;
	bool is_raw;	/* a register of which nothing else is known */
	bool is_kernel; /* what lies at the address */
	uint8_t bit_at, bit_size;
	bool is_sized; /* the string's length is in the next register */
	unsigned max;  /* of a string: bytes; 0: as many as a string has room for */
	int64_t offset;
	uint64_t number;
	struct probe_location at;
	const struct probe_node *node;
};

struct compiler {
	const struct probe_def *def;
	const struct probe_place *place;
	const struct probe_types *types; /* NULL: none */
	struct probe_code *code;
	struct probe_tree tree;
	char *why;
	const char *what; /* is compiled: "argument size" */
	unsigned n_texts;
	bool is_kernel;
	bool is_whole; /* the complaint is about all of the probe */
};

/* All of these: false, and `why` is there. */

/* ---- probe_values.c ---- */

bool cc_refuse(struct compiler *c, const struct probe_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool cc_emit(struct compiler *c, const struct probes_insn *insn);
/* dst = a op imm */
bool cc_emit_imm(struct compiler *c, enum probes_op op, uint8_t dst, uint8_t a, int64_t imm);
bool cc_emit_extend(struct compiler *c, uint8_t reg, unsigned size, bool is_signed);
/* A register beyond the last one: the expression is too deep. */
bool cc_has_register(struct compiler *c, const struct probe_node *node, uint8_t reg);

struct ctype ctype_int(unsigned size, bool is_signed);
struct ctype ctype_of_kind(enum probe_type_kind kind, unsigned size);
struct ctype ctype_in_table(uint32_t index);
struct probe_type_entry cc_type(const struct compiler *c, const struct ctype *type);
/* What it points to, or is an array of. False: nobody knows; there is no message. */
bool cc_target(const struct compiler *c, const struct ctype *type, struct ctype *ret);
/* For messages: "struct gc *". */
const char *cc_type_name(const struct compiler *c, const struct ctype *type, char *dst,
			 size_t size);

/* A number in a register or a constant; arrays become pointers. */
bool cc_load(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg);
/* The same, and it is in `reg`. */
bool cc_load_register(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		      uint8_t reg);
/* Its address. */
bool cc_address(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg);
/* What is at `at`, as a value. */
bool cc_place(struct compiler *c, const struct probe_node *node, const struct probe_location *at,
	      struct ctype type, struct cvalue *ret, uint8_t reg);

/* ---- probe_names.c ---- */

bool cc_name(struct compiler *c, const struct probe_node *node, struct cvalue *ret, uint8_t reg);
bool cc_register(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		 uint8_t reg);
/* The type that a cast is to. */
bool cc_cast_type(struct compiler *c, const struct probe_node *node, struct ctype *ret);
/* `v` becomes its member. */
bool cc_member(struct compiler *c, const struct probe_node *node, struct cvalue *v);

/* ---- probe_operators.c ---- */

bool cc_eval(struct compiler *c, uint8_t node, struct cvalue *ret, uint8_t reg);
/* ---- probe_strings.c ---- */

/* Text, its address in `reg`: a string, a pointer to characters, an array of them. */
bool cc_is_text(const struct compiler *c, const struct cvalue *v);
bool cc_text(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg);
/* Fills in what the instruction says of it. */
void cc_text_insn(const struct cvalue *v, struct probes_insn *insn);
/* str(p), str(p, n) */
bool cc_str(struct compiler *c, const struct probe_node *node, struct cvalue *ret, uint8_t reg);
/* `v` becomes whether it is the text of the expression. */
bool cc_compare_text(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		     const struct cvalue *literal, uint8_t reg);

#endif
