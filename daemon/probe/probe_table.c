/* SPDX-License-Identifier: Apache-2.0 */
/* probe_table.c - the table of what is known of a probe's place, and its way over the wire. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_types.h"

#define MAX_TYPES    1024
#define MAX_MEMBERS  4096
#define MAX_VALUES   512
#define MAX_NAMES    1024
#define MAX_STRINGS  (64u << 10)
#define MAX_REGISTER 4096	 /* beyond any struct pt_regs */
#define MAX_DISTANCE (1ll << 60) /* from a register */

/* What precedes the lists. */
struct head {
	uint32_t flags, function, n_args, retval;
	uint32_t n_types, n_members, n_values, n_names, strings_len;
};

int probe_types_new(struct probe_types **ret)
{
	struct probe_types *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->retval = PROBE_NO_TYPE;
	r = buf_append(&t->strings, "", 1);
	if (r < 0) {
		probe_types_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void probe_types_free(struct probe_types *t)
{
	if (!t)
		return;
	buf_done(&t->types);
	buf_done(&t->members);
	buf_done(&t->values);
	buf_done(&t->names);
	buf_done(&t->strings);
	free(t);
}

static int add(struct buf *b, const void *item, size_t size, size_t max)
{
	size_t n = b->len / size;
	int r;

	if (n >= max)
		return -ENOSPC;
	r = buf_append(b, item, size);
	return r < 0 ? r : (int)n;
}

int probe_types_add_type(struct probe_types *t, const struct probe_type_entry *entry)
{
	return add(&t->types, entry, sizeof(*entry), MAX_TYPES);
}

int probe_types_add_member(struct probe_types *t, const struct probe_member *member)
{
	return add(&t->members, member, sizeof(*member), MAX_MEMBERS);
}

int probe_types_add_value(struct probe_types *t, const struct probe_value *value)
{
	return add(&t->values, value, sizeof(*value), MAX_VALUES);
}

int probe_types_add_name(struct probe_types *t, const struct probe_name *name)
{
	return add(&t->names, name, sizeof(*name), MAX_NAMES);
}

int probe_types_add_string(struct probe_types *t, const char *s, size_t len)
{
	size_t at = t->strings.len;
	int r;

	if (len == 0)
		return 0;
	if (len + 1 > MAX_STRINGS - at)
		return -ENOSPC;
	r = buf_reserve(&t->strings, len + 1);
	if (r < 0)
		return r;
	memcpy(t->strings.data + at, s, len);
	t->strings.data[at + len] = '\0';
	t->strings.len += len + 1;
	return (int)at;
}

size_t probe_types_n_values(const struct probe_types *t)
{
	return t->values.len / sizeof(struct probe_value);
}

size_t probe_types_n_names(const struct probe_types *t)
{
	return t->names.len / sizeof(struct probe_name);
}

struct probe_type_entry *probe_types_type(const struct probe_types *t, uint32_t i)
{
	return (struct probe_type_entry *)t->types.data + i;
}

const struct probe_member *probe_types_member(const struct probe_types *t, uint32_t i)
{
	return (const struct probe_member *)t->members.data + i;
}

const struct probe_value *probe_types_value(const struct probe_types *t, uint32_t i)
{
	return (const struct probe_value *)t->values.data + i;
}

const struct probe_name *probe_types_name(const struct probe_types *t, uint32_t i)
{
	return (const struct probe_name *)t->names.data + i;
}

const char *probe_types_string(const struct probe_types *t, uint32_t at)
{
	return (const char *)t->strings.data + at;
}

/* Behind the values that are there; of `args` all refer to types that refer to none. */
static int append_args(struct probe_types *t, const struct probe_types *args)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < args->n_args; i++) {
		struct probe_value v = *probe_types_value(args, i);
		struct probe_type_entry type = { .kind = PROBE_KIND_OTHER };

		if (v.type != PROBE_NO_TYPE)
			type = *probe_types_type(args, v.type);
		type.target = PROBE_NO_TYPE;
		type.name = type.first = type.n = v.name = 0;
		r = probe_types_add_type(t, &type);
		if (r < 0)
			break;
		v.type = (uint32_t)r;
		r = probe_types_add_value(t, &v);
	}
	return r < 0 ? r : 0;
}

int probe_types_set_args(struct probe_types *t, const struct probe_types *args)
{
	struct buf others = t->values;
	int r;

	t->values = (struct buf){ 0 };
	r = append_args(t, args);
	if (r == 0 && others.len)
		r = buf_append(&t->values, others.data, others.len);
	buf_done(&others);
	if (r < 0)
		return r;
	t->n_args = args->n_args;
	t->retval = PROBE_NO_TYPE;
	return 0;
}

/* ---- over the wire ---- */

ssize_t probe_types_encode(const struct probe_types *t, void *dst, size_t size)
{
	const struct buf *bufs[] = { &t->types, &t->members, &t->values, &t->names, &t->strings };
	struct head head = {
		.flags = t->flags,
		.function = t->function,
		.n_args = t->n_args,
		.retval = t->retval,
		.n_types = (uint32_t)(t->types.len / sizeof(struct probe_type_entry)),
		.n_members = (uint32_t)(t->members.len / sizeof(struct probe_member)),
		.n_values = (uint32_t)(t->values.len / sizeof(struct probe_value)),
		.n_names = (uint32_t)(t->names.len / sizeof(struct probe_name)),
		.strings_len = (uint32_t)t->strings.len,
	};
	size_t len = sizeof(head);

	if (size < len)
		return -ENOSPC;
	memcpy(dst, &head, sizeof(head));
	for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) {
		if (bufs[i]->len > size - len)
			return -ENOSPC;
		if (bufs[i]->len)
			memcpy((char *)dst + len, bufs[i]->data, bufs[i]->len);
		len += bufs[i]->len;
	}
	return (ssize_t)len;
}

static bool string_valid(const struct probe_types *t, uint32_t at)
{
	return at < t->strings.len; /* the last byte is a NUL */
}

static bool type_valid(uint32_t i, uint32_t n)
{
	return i == PROBE_NO_TYPE || i < n;
}

static bool types_valid(const struct probe_types *t, const struct head *h)
{
	for (uint32_t i = 0; i < h->n_types; i++) {
		const struct probe_type_entry *e = probe_types_type(t, i);

		if (e->kind >= PROBE_KINDS || e->zero || !string_valid(t, e->name) ||
		    !type_valid(e->target, h->n_types) || e->n > h->n_members ||
		    e->first > h->n_members - e->n || e->size > INT32_MAX)
			return false;
	}
	for (uint32_t i = 0; i < h->n_members; i++) {
		const struct probe_member *m = probe_types_member(t, i);

		if (!string_valid(t, m->name) || !type_valid(m->type, h->n_types) ||
		    m->offset > INT32_MAX || m->bit_at > 63 || m->bit_size > 64)
			return false;
	}
	for (uint32_t i = 0; i < h->n_names; i++) {
		const struct probe_name *n = probe_types_name(t, i);

		if (!string_valid(t, n->name) || !type_valid(n->type, h->n_types) ||
		    n->is_constant > 1)
			return false;
	}
	return true;
}

static bool location_valid(const struct probe_location *at)
{
	for (int i = 0; i < 2; i++)
		if (at->registers[i] != PROBE_NO_REGISTER && at->registers[i] > MAX_REGISTER)
			return false;
	if (at->kind != PROBE_AT_CONSTANT &&
	    (at->offset > MAX_DISTANCE || at->offset < -MAX_DISTANCE))
		return false;
	return at->kind < PROBE_LOCATIONS && at->shift < 64;
}

static bool values_valid(const struct probe_types *t, const struct head *h)
{
	for (uint32_t i = 0; i < h->n_values; i++) {
		const struct probe_value *v = probe_types_value(t, i);

		if (!string_valid(t, v->name) || !type_valid(v->type, h->n_types) ||
		    !location_valid(&v->at))
			return false;
	}
	return string_valid(t, h->function) && h->n_args <= h->n_values &&
	       (h->retval == PROBE_NO_TYPE || h->retval < h->n_values);
}

static bool head_valid(const struct head *h, size_t len)
{
	return h->n_types <= MAX_TYPES && h->n_members <= MAX_MEMBERS &&
	       h->n_values <= MAX_VALUES && h->n_names <= MAX_NAMES && h->strings_len >= 1 &&
	       h->strings_len <= MAX_STRINGS &&
	       len == sizeof(*h) + h->n_types * sizeof(struct probe_type_entry) +
			       h->n_members * sizeof(struct probe_member) +
			       h->n_values * sizeof(struct probe_value) +
			       h->n_names * sizeof(struct probe_name) + h->strings_len;
}

static int take(struct buf *dst, const uint8_t **at, size_t len)
{
	int r = len ? buf_append(dst, *at, len) : 0;

	*at += len;
	return r;
}

static int take_all(struct probe_types *t, const struct head *h, const uint8_t *at)
{
	int r;

	t->strings.len = 0;
	r = take(&t->types, &at, h->n_types * sizeof(struct probe_type_entry));
	if (r == 0)
		r = take(&t->members, &at, h->n_members * sizeof(struct probe_member));
	if (r == 0)
		r = take(&t->values, &at, h->n_values * sizeof(struct probe_value));
	if (r == 0)
		r = take(&t->names, &at, h->n_names * sizeof(struct probe_name));
	if (r == 0)
		r = take(&t->strings, &at, h->strings_len);
	t->flags = h->flags;
	t->function = h->function;
	t->n_args = h->n_args;
	t->retval = h->retval;
	return r;
}

int probe_types_decode(const void *src, size_t len, struct probe_types **ret)
{
	struct probe_types *t;
	struct head head;
	int r;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, src, sizeof(head));
	if (!head_valid(&head, len))
		return -EBADMSG;
	r = probe_types_new(&t);
	if (r < 0)
		return r;
	r = take_all(t, &head, (const uint8_t *)src + sizeof(head));
	if (r == 0 && (t->strings.data[0] || t->strings.data[t->strings.len - 1] ||
		       !types_valid(t, &head) || !values_valid(t, &head)))
		r = -EBADMSG;
	if (r < 0)
		probe_types_free(t);
	else
		*ret = t;
	return r;
}
