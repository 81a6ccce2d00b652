/* SPDX-License-Identifier: Apache-2.0 */
/* probe_kernel.c - places of the kernel: functions by BTF, tracepoints by their formats. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "probe/probe_btf.h"
#include "probe/probe_registers.h"
#include "symbolize/files_protocol.h"
#include "tracefs.h"
#include "tracepoint_format.h"

#define MAX_FORMAT (64 << 10)
#define BTF_DIR	   "/sys/kernel/btf"

/* What an answer is made of. */
struct maker {
	const struct probe_place *place;
	struct btf *vmlinux, *module; /* NULL: not to be had, not needed */
	struct probe_types *types;
	struct probe_btf *btf;
	char words[FILES_PROBE_WORDS];
	size_t words_len;
	int error;
};

static const struct btf *btf_of(const struct maker *m)
{
	return m->module ? m->module : m->vmlinux;
}

static int add_value(struct maker *m, const char *name, uint32_t type,
		     const struct probe_location *at)
{
	int r = probe_types_add_string(m->types, name, strlen(name));
	struct probe_value v = { .type = type, .at = *at };

	if (r >= 0) {
		v.name = (uint32_t)r;
		r = probe_types_add_value(m->types, &v);
	}
	if (r == -ENOMEM)
		m->error = r;
	return r;
}

/* ---- functions ---- */

static const struct btf_type *find_function(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	return t ? btf__type_by_id(btf, t->type) : NULL;
}

/* Of a kernel module; then its BTF is kept. */
static const struct btf_type *find_in_modules(struct maker *m)
{
	const struct btf_type *proto = NULL;
	DIR *dir = opendir(BTF_DIR);
	struct dirent *e;

	while (dir && !proto && (e = readdir(dir))) {
		struct btf *btf;

		if (e->d_name[0] == '.' || strcmp(e->d_name, "vmlinux") == 0)
			continue;
		btf = btf__load_module_btf(e->d_name, m->vmlinux);
		if (!btf)
			continue;
		proto = find_function(btf, m->place->symbol);
		if (proto)
			m->module = btf;
		else
			btf__free(btf);
	}
	if (dir)
		closedir(dir);
	return proto;
}

static int no_function(const struct maker *m, char why[PROBE_WHY_LEN])
{
	struct nearest near = { .wanted = m->place->symbol };
	uint32_t n = btf__type_cnt(m->vmlinux);

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(m->vmlinux, id);

		if (btf_is_func(t))
			nearest_offer(&near, btf__name_by_offset(m->vmlinux, t->name_off));
	}
	snprintf(why, PROBE_WHY_LEN,
		 "the kernel has no function \"%s\" that can be probed (it may be inlined)",
		 m->place->symbol);
	nearest_append(&near, why, PROBE_WHY_LEN);
	return -ENOENT;
}

/* In the record of fentry and fexit, or in the registers. */
static void place_arg(const struct maker *m, unsigned slot, struct probe_location *ret)
{
	unsigned n_args = probe_arch_n_args(PROBE_ARCH);

	*ret = (struct probe_location){ .kind = PROBE_AT_FIELD,
					.registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER },
					.offset = 8 * slot };
	if (m->place->kind != PROBE_KPROBE)
		return;
	ret->offset = 0;
	ret->kind = PROBE_AT_REGISTERS;
	if (m->place->offset) {
		ret->kind = PROBE_AT_NOTHING;
	} else if (slot < n_args) {
		ret->registers[0] = probe_arch_arg(PROBE_ARCH, slot);
	} else {
		ret->kind = PROBE_AT_MEMORY;
		ret->registers[0] = probe_arch_stack(PROBE_ARCH);
		ret->offset = probe_arch_stack_skip(PROBE_ARCH) + 8 * (slot - n_args);
	}
}

static void add_arguments(struct maker *m, const struct btf_type *proto)
{
	const struct btf_param *params = btf_params(proto);
	struct probe_location at;
	unsigned slot = 0;
	uint32_t type;
	int r;

	for (uint32_t i = 0; i < btf_vlen(proto); i++) {
		if (!params[i].type) {
			m->types->flags |= PROBE_TYPES_VARIADIC;
			continue;
		}
		type = probe_btf_type(m->btf, params[i].type);
		place_arg(m, slot, &at);
		r = add_value(m, btf__name_by_offset(btf_of(m), params[i].name_off), type, &at);
		m->types->n_args += r >= 0;
		/* A struct of up to 16 bytes takes two. */
		slot += type != PROBE_NO_TYPE && probe_types_type(m->types, type)->size > 8 ? 2 : 1;
	}
	if (!proto->type || m->place->kind != PROBE_FEXIT)
		return;
	place_arg(m, slot, &at);
	r = add_value(m, "", probe_btf_type(m->btf, proto->type), &at);
	if (r >= 0)
		m->types->retval = (uint32_t)r;
}

static int make_function(struct maker *m, char why[PROBE_WHY_LEN])
{
	const struct btf_type *proto;
	int r;

	if (!m->vmlinux) {
		snprintf(why, PROBE_WHY_LEN,
			 "this kernel does not tell its functions and types (BTF): "
			 "/sys/kernel/btf/vmlinux cannot be read");
		return -ENOTSUP;
	}
	proto = find_function(m->vmlinux, m->place->symbol);
	if (!proto)
		proto = find_in_modules(m);
	if (!proto)
		return no_function(m, why);
	r = probe_btf_new(btf_of(m), m->words, m->words_len, m->types, &m->btf);
	if (r < 0)
		return r;
	add_arguments(m, proto);
	probe_btf_names(m->btf);
	m->types->flags |= PROBE_TYPES_HAS_TYPES | PROBE_TYPES_FUNCTION;
	if (!m->place->offset)
		m->types->flags |= PROBE_TYPES_AT_ENTRY;
	return 0;
}

/* ---- tracepoints ---- */

/* What a pointer to "struct file *" leads to. */
static uint32_t pointer_type(struct maker *m, const char *type)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_POINTER,
				      .size = 8,
				      .target = PROBE_NO_TYPE };
	char name[PROBE_NAME_LEN];
	const char *s = type;
	int id, r;

	if (strncmp(s, "const ", 6) == 0)
		s += 6;
	if (strcmp(s, "char *") == 0 || strcmp(s, "char*") == 0) {
		r = probe_types_add_type(m->types,
					 &(struct probe_type_entry){ .kind = PROBE_KIND_INT,
								     .size = 1,
								     .flags = PROBE_TYPE_IS_SIGNED |
									      PROBE_TYPE_IS_CHAR,
								     .target = PROBE_NO_TYPE });
		e.target = r < 0 ? PROBE_NO_TYPE : (uint32_t)r;
	} else if (m->btf && sscanf(s, "struct %63[A-Za-z0-9_] *", name) == 1 &&
		   strchr(s, '*') == strrchr(s, '*')) {
		id = btf__find_by_name_kind(m->vmlinux, name, BTF_KIND_STRUCT);
		if (id > 0)
			e.target = probe_btf_type(m->btf, (uint32_t)id);
	}
	r = probe_types_add_type(m->types, &e);
	return r < 0 ? PROBE_NO_TYPE : (uint32_t)r;
}

static uint32_t plain_type(struct maker *m, const char *type, unsigned size, bool is_signed)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_INT,
				      .size = size,
				      .flags = is_signed ? PROBE_TYPE_IS_SIGNED : 0,
				      .target = PROBE_NO_TYPE };
	int r;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		e.kind = PROBE_KIND_OTHER;
	else if (strcmp(type, "bool") == 0)
		e.kind = PROBE_KIND_BOOL;
	else if (strcmp(type, "char") == 0 || strcmp(type, "const char") == 0)
		e.flags |= PROBE_TYPE_IS_CHAR;
	r = probe_types_add_type(m->types, &e);
	return r < 0 ? PROBE_NO_TYPE : (uint32_t)r;
}

static uint32_t array_type(struct maker *m, uint32_t element, unsigned size, unsigned count)
{
	int r = probe_types_add_type(m->types, &(struct probe_type_entry){ .kind = PROBE_KIND_ARRAY,
									   .size = size,
									   .target = element,
									   .count = count });

	return r < 0 ? PROBE_NO_TYPE : (uint32_t)r;
}

/* The tracepoint_field_fn. */
static void take_field(void *ctx, const char *type, const char *name, unsigned count,
		       const struct tracepoint_field *field)
{
	struct probe_location at = { .kind = PROBE_AT_FIELD,
				     .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER },
				     .offset = field->offset };
	struct maker *m = ctx;
	uint32_t of;

	if (strncmp(type, "__rel_loc", 9) == 0) {
		at.kind = PROBE_AT_NOTHING;
		at.offset = 0;
		of = plain_type(m, "", 0, false);
	} else if (field->is_data_loc) {
		at.kind = PROBE_AT_DATA_LOC;
		of = plain_type(m, strstr(type, "char") ? "char" : "", 1, false);
		of = array_type(m, of, 0, 0);
	} else if (count > 0) {
		of = plain_type(m, type, field->size / count, field->is_signed);
		of = array_type(m, of, field->size, count);
	} else if (field->is_pointer && field->size == 8) {
		of = pointer_type(m, type);
	} else {
		of = plain_type(m, type, field->size, field->is_signed);
	}
	(void)add_value(m, name, of, &at);
}

static int no_tracepoint(const struct maker *m, int r, char why[PROBE_WHY_LEN])
{
	char wanted[2 * PROBE_NAME_LEN];
	struct nearest near = { .wanted = wanted };

	if (r == -EACCES || r == -EPERM) {
		snprintf(why, PROBE_WHY_LEN,
			 "tracepoints cannot be read: tracefs is not mounted, and may not be");
		return r;
	}
	snprintf(why, PROBE_WHY_LEN, "this kernel has no tracepoint %s:%s", m->place->group,
		 m->place->symbol);
	snprintf(wanted, sizeof(wanted), "%.60s:%.60s", m->place->group, m->place->symbol);
	tracefs_offer(m->place->group, &near);
	if (near.n == 0) {
		near.wanted = m->place->group;
		tracefs_offer("", &near);
	}
	nearest_append(&near, why, PROBE_WHY_LEN);
	return -ENOENT;
}

static int make_tracepoint(struct maker *m, char why[PROBE_WHY_LEN])
{
	char *format = malloc(MAX_FORMAT);
	int r = format ? tracefs_event_format(m->place->group, m->place->symbol, format, MAX_FORMAT)
		       : -ENOMEM;

	if (r == -ENOMEM || r < 0) {
		free(format);
		return r == -ENOMEM ? r : no_tracepoint(m, r, why);
	}
	if (m->vmlinux)
		r = probe_btf_new(m->vmlinux, m->words, m->words_len, m->types, &m->btf);
	if (r == 0) {
		tracepoint_fields(format, take_field, m);
		if (m->btf)
			probe_btf_names(m->btf);
		m->types->flags |= PROBE_TYPES_HAS_TYPES;
	}
	free(format);
	return r;
}

/* ---- all ---- */

static int make_site(struct maker *m, struct probe_sites **ret)
{
	struct probe_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->list = calloc(1, sizeof(*sites->list));
	if (sites->list)
		sites->list[0].symbol = strdup(m->place->symbol);
	if (!sites->list || !sites->list[0].symbol) {
		probe_sites_free(sites);
		return -ENOMEM;
	}
	sites->n = 1;
	sites->list[0].types = m->types;
	m->types = NULL;
	*ret = sites;
	return 0;
}

int probe_types_kernel(const struct probe_def *def, const struct probe_place *place,
		       struct probe_sites **ret, char why[PROBE_WHY_LEN])
{
	bool is_tracepoint = place->kind == PROBE_TRACEPOINT;
	struct maker *m = calloc(1, sizeof(*m));
	int r = m ? probe_types_new(&m->types) : -ENOMEM;

	snprintf(why, PROBE_WHY_LEN, "%s", strerror(ENOMEM));
	if (r < 0) {
		free(m);
		return r;
	}
	m->place = place;
	m->words_len = probe_words(def, m->words, sizeof(m->words));
	if (!is_tracepoint || probe_needs_types(def, place))
		m->vmlinux = btf__load_vmlinux_btf();
	r = is_tracepoint ? make_tracepoint(m, why) : make_function(m, why);
	if (m->btf && probe_btf_free(m->btf) < 0)
		r = -ENOMEM;
	if (r == 0 && m->error)
		r = m->error;
	if (r == 0)
		r = make_site(m, ret);
	probe_types_free(m->types);
	btf__free(m->module);
	btf__free(m->vmlinux);
	free(m);
	return r;
}
