/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_types.h - what is known of the place of a probe: where it is in the file, where its
 * arguments are there, and the types of those.
 *
 * Of a program by its symbols, USDT notes and DWARF, which only the worker reads
 * (symbolize/probe_sites.c, dwarf_types.c); of the kernel by its BTF and the formats of its
 * tracepoints. From all of them comes the same table, which holds no more than what the
 * probe's expressions mention.
 */
#ifndef PROBE_TYPES_H
#define PROBE_TYPES_H

#include <sys/types.h>

#include "base/buf.h"
#include "probe/probe_def.h"

struct module;
struct symbolizer;

/* ---- the table: types, members, values; strings by their offset, 0 is "" ---- */

#define PROBE_NO_TYPE UINT32_MAX

enum probe_type_kind {
	PROBE_KIND_VOID,
	PROBE_KIND_INT, /* also char */
	PROBE_KIND_BOOL,
	PROBE_KIND_FLOAT,
	PROBE_KIND_ENUM,
	PROBE_KIND_POINTER,
	PROBE_KIND_ARRAY,
	PROBE_KIND_STRUCT, /* also union and class */
	PROBE_KIND_FUNCTION,
	PROBE_KIND_OTHER, /* cannot be shown */
	PROBE_KINDS
};

#define PROBE_TYPE_IS_SIGNED 1
#define PROBE_TYPE_IS_CHAR   2 /* a pointer to it, or an array, is text */
#define PROBE_TYPE_IS_CUT    4 /* it has members that are not in the table */

struct probe_type_entry {
	uint8_t kind; /* enum probe_type_kind */
	uint8_t flags;
	uint16_t zero;
	uint32_t name;
	uint64_t size;
	uint32_t target;   /* of a pointer, an array; PROBE_NO_TYPE */
	uint32_t count;	   /* of an array; 0: nobody knows */
	uint32_t first, n; /* members of a struct */
};

/* One without a name has members that count as the struct's own: a union in it, a base class. */
struct probe_member {
	uint32_t name, type;
	uint64_t offset;
	uint8_t bit_at, bit_size; /* of a bit field: in the bytes from `offset`; else 0 */
	uint8_t zero[6];
};

/* A type by its name, for casts; or the constant of an enumeration. */
struct probe_name {
	uint32_t name, type;
	int64_t value;
	uint8_t is_constant, zero[7];
};

enum probe_location_kind {
	PROBE_AT_NOTHING,   /* `offset`: enum probe_nowhere */
	PROBE_AT_REGISTERS, /* its first 8 bytes in registers[0], the others in registers[1] */
	PROBE_AT_MEMORY,    /* at registers[0] + (registers[1] << shift) + offset */
	PROBE_AT_PC,	    /* in memory, at the place itself + offset */
	PROBE_AT_CONSTANT,  /* it is `offset` */
	PROBE_AT_FIELD,	    /* of the record: at `offset` */
	PROBE_AT_DATA_LOC,  /* in the record, where the 4 bytes at `offset` say */
	PROBE_LOCATIONS
};

enum probe_nowhere {
	PROBE_NOWHERE,	 /* the compiler has left it out, or one cannot tell */
	PROBE_IN_VECTOR, /* in a register of floating point numbers */
};

#define PROBE_NO_REGISTER UINT16_MAX

struct probe_location {
	uint8_t kind;	       /* enum probe_location_kind */
	uint8_t shift;	       /* of AT_REGISTERS: the value begins at this bit */
	uint16_t registers[2]; /* offsets in struct pt_regs, or PROBE_NO_REGISTER */
	uint16_t zero;
	int64_t offset;
};

/* An argument, a field, a variable. */
struct probe_value {
	uint32_t name;
	uint32_t type;
	struct probe_location at;
};

#define PROBE_TYPES_HAS_TYPES 1 /* by DWARF or BTF; without it only places are known */
#define PROBE_TYPES_AT_ENTRY  2 /* a function begins there */
#define PROBE_TYPES_VARIADIC  4 /* more arguments may follow those that have names */
#define PROBE_TYPES_FUNCTION  8 /* what the function takes and returns is known */

struct probe_types {
	uint32_t flags;
	uint32_t function;  /* its name */
	uint32_t n_args;    /* the first ones of the values: arg0, arg1 */
	uint32_t retval;    /* its value's number; PROBE_NO_TYPE: there is none, or not known */
	struct buf types;   /* struct probe_type_entry */
	struct buf members; /* struct probe_member */
	struct buf values;  /* struct probe_value */
	struct buf names;   /* struct probe_name */
	struct buf strings;
};

int probe_types_new(struct probe_types **ret);
void probe_types_free(struct probe_types *types); /* takes NULL */

/*
 * The number of what was added, for the others to refer to; -ENOSPC: the table is full,
 * -ENOMEM.
 */
int probe_types_add_type(struct probe_types *t, const struct probe_type_entry *entry);
int probe_types_add_member(struct probe_types *t, const struct probe_member *member);
int probe_types_add_value(struct probe_types *t, const struct probe_value *value);
int probe_types_add_name(struct probe_types *t, const struct probe_name *name);
int probe_types_add_string(struct probe_types *t, const char *s, size_t len);

size_t probe_types_n_values(const struct probe_types *t);
size_t probe_types_n_names(const struct probe_types *t);
struct probe_type_entry *probe_types_type(const struct probe_types *t, uint32_t i);
const struct probe_member *probe_types_member(const struct probe_types *t, uint32_t i);
const struct probe_value *probe_types_value(const struct probe_types *t, uint32_t i);
const struct probe_name *probe_types_name(const struct probe_types *t, uint32_t i);
const char *probe_types_string(const struct probe_types *t, uint32_t at);

/* The arguments of `args`, which are numbers, become the first values of `t`. */
int probe_types_set_args(struct probe_types *t, const struct probe_types *args);

/* As it goes over the wire; -ENOSPC: it is longer than `size`. Returns the length. */
ssize_t probe_types_encode(const struct probe_types *t, void *dst, size_t size);
/* -EBADMSG: there is something in it that cannot be. */
int probe_types_decode(const void *src, size_t len, struct probe_types **ret);

/* ---- the places of a probe ---- */

struct probe_site {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* in the file, of a USDT probe; 0: it has none */
	char *symbol;	    /* the function's name as it is in the file; of the kernel's, too */
	struct probe_types *types; /* NULL: nothing is known */
};

struct probe_sites {
	struct probe_site *list;
	size_t n;
	size_t n_more; /* that the glob means, too, beyond PROBES_MAX */
	bool is_go;    /* a return probe would break it */
};

void probe_sites_free(struct probe_sites *sites); /* takes NULL */

struct probe_question;

/*
 * `sites` is the callee's; NULL: `why` says what is wrong (no such symbol, with the nearest
 * names; an offset inside an instruction), or that the file cannot be read.
 */
typedef void probe_sites_fn(void *ctx, struct probe_sites *sites, const char *why);

/*
 * Where `place` of `def`, its `at` or `end`, is in the module's file. The question is gone when
 * `fn` has been called, which may be before this returns: then `*ret` is NULL.
 */
int probe_types_ask(struct symbolizer *sym, struct module *module, const struct probe_def *def,
		    const struct probe_place *place, probe_sites_fn *fn, void *ctx,
		    struct probe_question **ret);
/* Nothing more comes. Takes NULL. */
void probe_question_free(struct probe_question *q);

/* The same of the kernel, at once: by its BTF and tracefs. */
int probe_types_kernel(const struct probe_def *def, const struct probe_place *place,
		       struct probe_sites **ret, char why[PROBE_WHY_LEN]);

/* ---- for the two ---- */

/* Whether the probe's expressions need types, for this place; and their words. */
bool probe_needs_types(const struct probe_def *def, const struct probe_place *place);
size_t probe_words(const struct probe_def *def, char *dst, size_t size);

#endif
