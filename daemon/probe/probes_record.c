/* SPDX-License-Identifier: Apache-2.0 */
/* probes_record.c - records of probes: are they ours, and what is in them. */
#include "probe/probes_record.h"

#include <string.h>

#include "collect/stack_encode.h"
#include "cpus.h"
#include "markers/markers_payload.h"

/* ---- is it a record of ours? ---- */

/* Where the value ends that is at `at`; 0: there is none. */
static size_t behind_value(const struct probes_event *ev, size_t at)
{
	const struct probes_value *value = (const void *)(ev->bytes + at);
	size_t end;

	if (at + sizeof(*value) > ev->len || value->is_text > 1 || value->is_unreadable > 1 ||
	    value->is_cut > 1)
		return 0;
	if (value->is_unreadable ? value->len != 0
				 : (value->is_text ? value->len > PROBES_TEXT : value->len != 8))
		return 0;
	end = at + sizeof(*value) + ((value->len + 7u) & ~7u);
	return end <= ev->len ? end : 0;
}

static bool valid_hit(const struct probes_event *ev, size_t len)
{
	size_t at = 0, stack = len - PROBES_HEAD - ev->len;

	if (ev->point > PROBES_FINISH || ev->n_values > PROBES_ARGS ||
	    ev->flags & ~(PROBES_HAS_KEY | PROBES_HAS_COUNTER | PROBES_HAS_STACK | PROBES_LIMITED))
		return false;
	for (unsigned i = 0; i < ev->n_values; i++) {
		at = behind_value(ev, at);
		if (at == 0)
			return false;
	}
	if (at != ev->len)
		return false;
	if (!(ev->flags & PROBES_HAS_STACK))
		return stack == 0;
	return stack >= USER_STACK_HEAD && user_stack_valid(probes_stack(ev), stack);
}

bool probes_valid(const struct event_hdr *hdr, size_t len)
{
	const struct probes_event *ev = (const void *)hdr;

	if (len < PROBES_HEAD || hdr->size != len || hdr->stream != 0 || hdr->cpu >= MAX_CPUS ||
	    ev->len > PROBES_ROOM || ev->len % 8 || ev->len > len - PROBES_HEAD)
		return false;
	switch (hdr->type) {
	case PROBES_HIT:
		return valid_hit(ev, len);
	case PROBES_PAUSE:
	case PROBES_RESUME:
		return ev->len == 0 && len == PROBES_HEAD;
	default:
		return false;
	}
}

const struct user_stack *probes_stack(const struct probes_event *ev)
{
	return (const void *)(ev->bytes + ev->len);
}

/* ---- what is in it ---- */

/* NULL: the probe has one function, or it is not known which it was. */
static const char *function_of(struct probes_known *known, struct markers_keys *texts,
			       unsigned site)
{
	const struct probe *p = known->probe;

	if (site >= p->n_functions || site >= PROBES_MAX || !p->functions[site])
		return NULL;
	if (!known->functions[site])
		known->functions[site] =
			markers_key(texts, p->functions[site], strlen(p->functions[site]));
	return known->functions[site];
}

void probes_slice_init(struct probes_slice *s, struct probes_known *known,
		       struct markers_keys *texts, const struct probes_event *ev)
{
	const char *function = function_of(known, texts, ev->site);

	memset(&s->event, 0, sizeof(s->event));
	s->len = 0;
	s->event.name = known->name;
	s->event.is_literal = true;
	s->event.category = "probe";
	s->event.args = s->args;
	if (!function)
		return;
	s->event.name = function;
	s->args[s->event.n_args++] =
		(struct trace_arg){ .name = "probe", .type = ARG_LITERAL, .s = known->name };
}

static struct trace_arg *add(struct probes_slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg;

	if (s->event.n_args == TRACE_MAX_ARGS)
		return NULL;
	arg = &s->args[s->event.n_args++];
	arg->name = name;
	arg->type = type;
	return arg;
}

void probes_slice_true(struct probes_slice *s, const char *literal)
{
	struct trace_arg *arg = add(s, literal, ARG_BOOL);

	if (arg)
		arg->u = 1;
}

static int64_t extend(uint64_t bits, unsigned size)
{
	switch (size) {
	case 1:
		return (int8_t)bits;
	case 2:
		return (int16_t)bits;
	case 4:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static double to_double(uint64_t bits, unsigned size)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	memcpy(&f, &low, sizeof(f));
	memcpy(&d, &bits, sizeof(d));
	return size == 4 ? (double)f : d;
}

static void set_text(struct probes_slice *s, struct trace_arg *arg, const struct probes_value *v)
{
	char *dst = s->text + s->len;

	arg->type = ARG_REPEATED;
	arg->s = dst;
	memcpy(dst, v + 1, v->len);
	s->len += v->len;
	if (v->is_cut) {
		memcpy(s->text + s->len, "\u2026", 3);
		s->len += 3;
	}
	s->text[s->len++] = '\0';
}

static void set_number(struct trace_arg *arg, const struct probes_value *v, enum probe_type type,
		       unsigned size)
{
	uint64_t bits;

	memcpy(&bits, v + 1, sizeof(bits));
	arg->u = bits;
	switch (type) {
	case PROBE_TYPE_SIGNED:
		arg->type = ARG_INT;
		arg->i = extend(bits, size);
		break;
	case PROBE_TYPE_HEX:
	case PROBE_TYPE_POINTER:
		arg->type = ARG_POINTER;
		break;
	case PROBE_TYPE_BOOL:
		arg->type = ARG_BOOL;
		break;
	case PROBE_TYPE_FLOAT:
		arg->type = ARG_DOUBLE;
		arg->d = to_double(bits, size);
		break;
	default:
		arg->type = ARG_UINT;
	}
}

void probes_slice_add(struct probes_slice *s, const struct probes_known *known,
		      const struct probes_event *ev)
{
	const struct probe_code *code =
		ev->point == PROBES_FINISH ? &known->probe->end : &known->probe->begin;
	size_t at = 0;

	for (unsigned i = 0; i < ev->n_values; i++) {
		const struct probes_value *v = (const void *)(ev->bytes + at);
		unsigned number = i < code->n_values ? code->arg[i] : i;
		struct trace_arg *arg;

		at = behind_value(ev, at);
		if (number >= PROBES_ARGS || !known->args[number])
			continue;
		arg = add(s, known->args[number], ARG_LITERAL);
		if (!arg)
			return;
		arg->s = "(unreadable)";
		if (v->is_unreadable)
			continue;
		if (v->is_text)
			set_text(s, arg, v);
		else if (i < code->n_values)
			set_number(arg, v, code->type[i], code->size[i]);
		else
			set_number(arg, v, PROBE_TYPE_AUTO, 8);
	}
	if (ev->flags & PROBES_LIMITED) {
		struct trace_arg *arg = add(s, "hits_left_out_before", ARG_UINT);

		if (arg)
			arg->u = ev->n_over;
	}
}

uint64_t probes_counter(const struct probes_known *known, const struct probes_event *ev,
			bool *ret_is_double)
{
	const struct probe *p = known->probe;
	enum probe_type type =
		ev->point == PROBES_FINISH ? p->end.counter_type : p->begin.counter_type;
	unsigned size = p->def.counter.size;
	uint64_t bits = ev->counter;
	double d;

	*ret_is_double = type == PROBE_TYPE_FLOAT;
	if (*ret_is_double) {
		d = to_double(bits, size);
		memcpy(&bits, &d, sizeof(bits));
	} else if (type == PROBE_TYPE_SIGNED) {
		bits = (uint64_t)extend(bits, size);
	}
	return bits;
}
