/* SPDX-License-Identifier: Apache-2.0 */
/* flight_used.c - which frames the stacks of a segment have. */
#include "flight/flight_used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "symbolize/symbolizer.h"
#include "wire.h"

/* Of InternedData, and of the messages in it. */
#define FIELD_FRAME	   6
#define FIELD_CALLSTACK	   7
#define FIELD_BUILD_ID	   16
#define FIELD_MAPPING_PATH 17
#define FIELD_MAPPING	   19

#define FIELD_IID	       1
#define FIELD_TEXT	       2
#define FIELD_FRAMES	       2
#define FIELD_MAPPING_BUILD_ID 2
#define FIELD_MAPPING_TEXT     7
#define FIELD_FRAME_MAPPING    3
#define FIELD_FRAME_PC	       4

struct stack {
	size_t n;
	uint64_t frames[]; /* ids */
};

struct flight_used {
	/* What has an id: of texts, mappings and frames a hash of what they are. */
	struct hash *known;
	struct hash *stacks; /* struct stack */
	struct hash *frames; /* hash of a frame -> not NULL: a stack has it */
};

struct key {
	uint32_t sequence, field;
	uint64_t iid;
};

int flight_used_new(struct flight_used **ret)
{
	struct flight_used *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	if (hash_new(&u->known) < 0 || hash_new(&u->stacks) < 0 || hash_new(&u->frames) < 0) {
		flight_used_free(u);
		return -ENOMEM;
	}
	*ret = u;
	return 0;
}

void flight_used_free(struct flight_used *u)
{
	size_t pos = 0;
	void *stack;

	if (!u)
		return;
	while (u->stacks && hash_next(u->stacks, &pos, NULL, NULL, &stack))
		free(stack);
	hash_free(u->stacks);
	hash_free(u->known);
	hash_free(u->frames);
	free(u);
}

/* ---- what they are ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	const uint64_t pair[] = { a, b };

	return hash_bytes(pair, sizeof(pair), 0);
}

static uint64_t what_is(const struct flight_used *u, uint32_t sequence, uint32_t field,
			uint64_t iid)
{
	const struct key key = { sequence, field, iid };

	return (uintptr_t)hash_get(u->known, &key, sizeof(key));
}

static int set(struct flight_used *u, const struct key *key, uint64_t what)
{
	/* 0 is nothing to a hash. */
	return hash_set(u->known, key, sizeof(*key), (void *)(uintptr_t)(what | 1));
}

static int add_text(struct flight_used *u, struct key *key, const struct wire_field *message)
{
	struct wire_field f;
	uint64_t what = 0;
	struct wire w;

	wire_init(&w, message->data, message->len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_IID)
			key->iid = f.value;
		else if (f.number == FIELD_TEXT)
			what = hash_bytes(f.data, f.len, 0);
	}
	return set(u, key, what);
}

static int add_mapping(struct flight_used *u, struct key *key, const struct wire_field *message)
{
	uint64_t path = 0, build_id = 0;
	struct wire_field f;
	struct wire w;

	wire_init(&w, message->data, message->len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_IID)
			key->iid = f.value;
		else if (f.number == FIELD_MAPPING_TEXT)
			path = what_is(u, key->sequence, FIELD_MAPPING_PATH, f.value);
		else if (f.number == FIELD_MAPPING_BUILD_ID)
			build_id = what_is(u, key->sequence, FIELD_BUILD_ID, f.value);
	}
	return set(u, key, mix(path, build_id));
}

static int add_frame(struct flight_used *u, struct key *key, const struct wire_field *message)
{
	uint64_t mapping = 0, pc = 0;
	struct wire_field f;
	struct wire w;

	wire_init(&w, message->data, message->len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_IID)
			key->iid = f.value;
		else if (f.number == FIELD_FRAME_MAPPING)
			mapping = what_is(u, key->sequence, FIELD_MAPPING, f.value);
		else if (f.number == FIELD_FRAME_PC)
			pc = f.value;
	}
	return set(u, key, mix(mapping, pc));
}

static int add_stack(struct flight_used *u, struct key *key, const struct wire_field *message)
{
	struct stack *stack = malloc(sizeof(*stack) + message->len * sizeof(stack->frames[0]));
	struct wire_field f;
	struct wire w;
	void *old;

	if (!stack)
		return -ENOMEM;
	stack->n = 0;
	wire_init(&w, message->data, message->len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_IID)
			key->iid = f.value;
		else if (f.number == FIELD_FRAMES)
			stack->frames[stack->n++] = f.value;
	}
	old = hash_get(u->stacks, key, sizeof(*key));
	if (hash_set(u->stacks, key, sizeof(*key), stack) < 0) {
		free(stack);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

int flight_used_intern(struct flight_used *u, uint32_t sequence, const void *data, size_t len)
{
	struct wire_field f;
	struct wire w;
	int r = 0;

	wire_init(&w, data, len);
	while (r == 0 && wire_next(&w, &f) == 1) {
		struct key key = { .sequence = sequence, .field = f.number };

		if (f.number == FIELD_BUILD_ID || f.number == FIELD_MAPPING_PATH)
			r = add_text(u, &key, &f);
		else if (f.number == FIELD_MAPPING)
			r = add_mapping(u, &key, &f);
		else if (f.number == FIELD_FRAME)
			r = add_frame(u, &key, &f);
		else if (f.number == FIELD_CALLSTACK)
			r = add_stack(u, &key, &f);
	}
	return r;
}

/* ---- which are there ---- */

int flight_used_stack(struct flight_used *u, uint32_t sequence, uint64_t callstack_iid)
{
	const struct key key = { sequence, FIELD_CALLSTACK, callstack_iid };
	struct stack *stack = hash_get(u->stacks, &key, sizeof(key));
	int r = 0;

	for (size_t i = 0; r == 0 && stack && i < stack->n; i++) {
		uint64_t what = what_is(u, sequence, FIELD_FRAME, stack->frames[i]);

		if (what)
			r = hash_set_u64(u->frames, what, u);
	}
	if (stack)
		stack->n = 0; /* it has been looked at */
	return r;
}

bool flight_used_has(const struct flight_used *u, const struct location *loc)
{
	const struct module *m = loc->module;
	uint64_t path = hash_bytes(m->path, strlen(m->path), 0) | 1;
	uint64_t build_id = m->build_id_len ? hash_bytes(m->build_id, m->build_id_len, 0) | 1 : 0;
	uint64_t mapping = mix(path, build_id) | 1;

	return hash_get_u64(u->frames, mix(mapping, loc->rel_pc) | 1) != NULL;
}
