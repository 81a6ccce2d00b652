/* SPDX-License-Identifier: Apache-2.0 */
/* probe_btf.c - the kernel's types, as far as a probe's expressions mention them. */
#include "probe/probe_btf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "probe/probe_expr.h"

#define MAX_DEPTH   32
#define MAX_KNOWN   1024
#define MAX_MEMBERS 1024
#define MAX_OTHERS  64 /* members that are not mentioned, for messages */

struct probe_btf {
	const struct btf *btf;
	const char *words;
	size_t words_len;
	struct probe_types *types;
	unsigned depth;
	int error;
	struct {
		uint32_t id, index;
	} known[MAX_KNOWN];
	unsigned n_known;
};

int probe_btf_new(const struct btf *btf, const char *words, size_t words_len,
		  struct probe_types *types, struct probe_btf **ret)
{
	struct probe_btf *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->btf = btf;
	b->words = words;
	b->words_len = words_len;
	b->types = types;
	*ret = b;
	return 0;
}

int probe_btf_free(struct probe_btf *b)
{
	int r = b->error;

	free(b);
	return r;
}

static bool wants(const struct probe_btf *b, char role, const char *name)
{
	for (size_t at = 0; at < b->words_len; at += strlen(b->words + at) + 1)
		if (b->words[at] == role && strcmp(b->words + at + 1, name) == 0)
			return true;
	return false;
}

static const char *name_of(const struct probe_btf *b, uint32_t offset)
{
	const char *s = btf__name_by_offset(b->btf, offset);

	return s ? s : "";
}

static uint32_t string(struct probe_btf *b, const char *s)
{
	int r = probe_types_add_string(b->types, s, strlen(s));

	if (r == -ENOMEM)
		b->error = r;
	return r < 0 ? 0 : (uint32_t)r;
}

static uint32_t add(struct probe_btf *b, uint32_t id, const struct probe_type_entry *entry)
{
	int r = probe_types_add_type(b->types, entry);

	if (r == -ENOMEM)
		b->error = r;
	if (r < 0)
		return PROBE_NO_TYPE;
	if (id && b->n_known < MAX_KNOWN) {
		b->known[b->n_known].id = id;
		b->known[b->n_known++].index = (uint32_t)r;
	}
	return (uint32_t)r;
}

static uint32_t integer(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_INT,
				      .size = t->size,
				      .target = PROBE_NO_TYPE };
	const char *name = name_of(b, t->name_off);

	if (btf_int_encoding(t) & BTF_INT_SIGNED)
		e.flags |= PROBE_TYPE_IS_SIGNED;
	if (btf_int_encoding(t) & BTF_INT_BOOL)
		e.kind = PROBE_KIND_BOOL;
	if (t->size == 1 && strcmp(name, "char") == 0)
		e.flags |= PROBE_TYPE_IS_CHAR;
	e.name = string(b, name);
	return add(b, id, &e);
}

static uint32_t pointer(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	uint32_t i = add(b, id,
			 &(struct probe_type_entry){
				 .kind = PROBE_KIND_POINTER, .size = 8, .target = PROBE_NO_TYPE });
	uint32_t target;

	if (i == PROBE_NO_TYPE)
		return i;
	target = probe_btf_type(b, t->type);
	probe_types_type(b->types, i)->target = target;
	return i;
}

static uint32_t array(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	const struct btf_array *a = btf_array(t);
	uint32_t target = probe_btf_type(b, a->type);
	uint64_t size;

	if (target == PROBE_NO_TYPE)
		return target;
	size = probe_types_type(b->types, target)->size * a->nelems;
	return add(b, id,
		   &(struct probe_type_entry){ .kind = PROBE_KIND_ARRAY,
					       .size = size <= INT32_MAX ? size : 0,
					       .target = target,
					       .count = a->nelems });
}

/* ---- structs ---- */

/* For messages some of the others are kept, and those that are called alike. */
static bool is_worth_it(const struct probe_btf *b, const char *name, unsigned *n_others)
{
	if (!*name || wants(b, PROBE_WORD_MEMBER, name) || (*n_others)++ < MAX_OTHERS)
		return true;
	for (size_t at = 0; at < b->words_len; at += strlen(b->words + at) + 1)
		if (b->words[at] == PROBE_WORD_MEMBER && nearest_is(b->words + at + 1, name))
			return true;
	return false;
}

/* `ids[i]`: of the type of the member that was added as number i; 0: not needed. */
static uint32_t add_members(struct probe_btf *b, const struct btf_type *t, uint32_t *ids,
			    bool *ret_cut)
{
	unsigned n_others = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		uint32_t at = btf_member_bit_offset(t, i);
		const struct btf_member *from = btf_members(t) + i;
		const char *name = name_of(b, from->name_off);
		struct probe_member m = { .type = PROBE_NO_TYPE,
					  .offset = at / 8,
					  .bit_size = (uint8_t)btf_member_bitfield_size(t, i) };

		if (n == MAX_MEMBERS || !is_worth_it(b, name, &n_others)) {
			*ret_cut = true;
			continue;
		}
		m.bit_at = m.bit_size ? (uint8_t)(at % 8) : 0;
		m.name = string(b, name);
		if (probe_types_add_member(b->types, &m) < 0)
			break;
		ids[n++] = !*name || wants(b, PROBE_WORD_MEMBER, name) ? from->type : 0;
	}
	return n;
}

static uint32_t structure(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_STRUCT,
				      .size = t->size,
				      .target = PROBE_NO_TYPE };
	uint32_t i, first, n, *ids;
	bool is_cut = false;

	e.name = string(b, name_of(b, t->name_off));
	i = add(b, id, &e);
	ids = i != PROBE_NO_TYPE ? calloc(MAX_MEMBERS, sizeof(*ids)) : NULL;
	if (!ids)
		return i;
	first = (uint32_t)(b->types->members.len / sizeof(struct probe_member));
	n = add_members(b, t, ids, &is_cut);
	probe_types_type(b->types, i)->first = first;
	probe_types_type(b->types, i)->n = n;
	probe_types_type(b->types, i)->flags = is_cut ? PROBE_TYPE_IS_CUT : 0;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t type = ids[k] ? probe_btf_type(b, ids[k]) : PROBE_NO_TYPE;

		((struct probe_member *)b->types->members.data)[first + k].type = type;
	}
	free(ids);
	return i;
}

/* One that is declared alone. */
static uint32_t declared(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	const char *name = name_of(b, t->name_off);
	int found = btf__find_by_name_kind(b->btf, name,
					   btf_kflag(t) ? BTF_KIND_UNION : BTF_KIND_STRUCT);

	if (found > 0)
		return probe_btf_type(b, (uint32_t)found);
	return add(b, id,
		   &(struct probe_type_entry){ .kind = PROBE_KIND_STRUCT,
					       .name = string(b, name),
					       .target = PROBE_NO_TYPE });
}

/* ---- constants ---- */

static void constant(struct probe_btf *b, const char *name, int64_t value)
{
	struct probe_name n = { .type = PROBE_NO_TYPE, .value = value, .is_constant = 1 };

	if (!wants(b, PROBE_WORD_NAME, name))
		return;
	n.name = string(b, name);
	if (probe_types_add_name(b->types, &n) == -ENOMEM)
		b->error = -ENOMEM;
}

static void constants(struct probe_btf *b, const struct btf_type *t)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		if (btf_is_enum64(t)) {
			const struct btf_enum64 *e = btf_enum64(t) + i;

			constant(b, name_of(b, e->name_off), (int64_t)btf_enum64_value(e));
		} else {
			const struct btf_enum *e = btf_enum(t) + i;

			constant(b, name_of(b, e->name_off),
				 btf_kflag(t) ? e->val : (int64_t)(uint32_t)e->val);
		}
	}
}

static uint32_t enumeration(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	return add(b, id,
		   &(struct probe_type_entry){ .kind = PROBE_KIND_ENUM,
					       .size = t->size,
					       .flags = btf_kflag(t) ? PROBE_TYPE_IS_SIGNED : 0,
					       .name = string(b, name_of(b, t->name_off)),
					       .target = PROBE_NO_TYPE });
}

/* ---- all ---- */

/* Behind typedef, const and the like. */
static const struct btf_type *peel(const struct probe_btf *b, uint32_t *id)
{
	const struct btf_type *t = btf__type_by_id(b->btf, *id);

	for (int i = 0; t && i < MAX_DEPTH && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
		*id = t->type;
		t = btf__type_by_id(b->btf, *id);
	}
	return t;
}

static uint32_t by_kind(struct probe_btf *b, uint32_t id, const struct btf_type *t)
{
	struct probe_type_entry other = { .kind = PROBE_KIND_OTHER, .target = PROBE_NO_TYPE };

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return integer(b, id, t);
	case BTF_KIND_PTR:
		return pointer(b, id, t);
	case BTF_KIND_ARRAY:
		return array(b, id, t);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return structure(b, id, t);
	case BTF_KIND_FWD:
		return declared(b, id, t);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return enumeration(b, id, t);
	case BTF_KIND_UNKN:
		other.kind = PROBE_KIND_VOID;
		return add(b, id, &other);
	case BTF_KIND_FUNC_PROTO:
		other.kind = PROBE_KIND_FUNCTION;
		return add(b, id, &other);
	}
	return add(b, id, &other);
}

uint32_t probe_btf_type(struct probe_btf *b, uint32_t id)
{
	const struct btf_type *t = peel(b, &id);
	uint32_t i;

	if (!t || b->depth == MAX_DEPTH)
		return PROBE_NO_TYPE;
	for (unsigned k = 0; k < b->n_known; k++)
		if (id && b->known[k].id == id)
			return b->known[k].index;
	b->depth++;
	i = by_kind(b, id, t);
	b->depth--;
	return i;
}

static bool is_of_a_cast(const struct btf_type *t)
{
	return btf_is_struct(t) || btf_is_union(t) || btf_is_enum(t) || btf_is_enum64(t) ||
	       btf_is_typedef(t) || btf_is_int(t);
}

static bool has_name(const struct probe_btf *b, const char *name)
{
	for (uint32_t i = 0; i < probe_types_n_names(b->types); i++)
		if (strcmp(probe_types_string(b->types, probe_types_name(b->types, i)->name),
			   name) == 0)
			return true;
	return false;
}

/* For a message: those that are called alike, of no type. */
static void offer_types(struct probe_btf *b, const char *name)
{
	struct nearest near = { .wanted = name };
	uint32_t n = btf__type_cnt(b->btf);

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(b->btf, id);

		if (is_of_a_cast(t))
			nearest_offer(&near, name_of(b, t->name_off));
	}
	for (size_t i = 0; i < near.n; i++)
		(void)probe_types_add_name(b->types,
					   &(struct probe_name){ .name = string(b, near.names[i]),
								 .type = PROBE_NO_TYPE });
}

static void offer_missing(struct probe_btf *b)
{
	bool is_signed, is_char;
	uint16_t size;

	for (size_t at = 0; at < b->words_len; at += strlen(b->words + at) + 1) {
		const char *name = b->words + at + 1;

		if (b->words[at] == PROBE_WORD_TYPE && strcmp(name, "void") != 0 &&
		    !probe_builtin_type(name, &size, &is_signed, &is_char) && !has_name(b, name))
			offer_types(b, name);
	}
}

void probe_btf_names(struct probe_btf *b)
{
	uint32_t n = btf__type_cnt(b->btf);

	if (b->words_len == 0)
		return;
	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(b->btf, id);
		const char *name = name_of(b, t->name_off);
		struct probe_name named = { 0 };

		if (btf_is_enum(t) || btf_is_enum64(t))
			constants(b, t);
		if (!*name || !is_of_a_cast(t) || !wants(b, PROBE_WORD_TYPE, name))
			continue;
		named.type = probe_btf_type(b, id);
		named.name = string(b, name);
		if (probe_types_add_name(b->types, &named) == -ENOMEM)
			b->error = -ENOMEM;
	}
	offer_missing(b);
}
