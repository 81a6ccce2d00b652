/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_intern.c - what a sequence refers to by id: strings, frames, stacks.
 *
 * A new entry is packed at once into the sequence's pending InternedData,
 * which goes out with the next packet; the importer reads it before the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/symbolizer.h"
#include "text.h"
#include "trace_writer_impl.h"

#define FIELD_FRAME	6
#define FIELD_CALLSTACK 7
#define FIELD_MAPPING	19
#define FIELD_GRAPHICS	23
#define FIELD_GPU_SPEC	24
#define FIELD_TASK	48
#define FIELD_EXECUTION 49

#define MAX_FRAMES 1024

void trace_intern_forget(struct trace_sequence_state *s)
{
	for (unsigned field = 0; field < INTERN_KINDS; field++)
		if (s->ids[field])
			hash_clear(s->ids[field]);
	if (s->frames)
		memset(s->frames, 0, RECENT_FRAMES * sizeof(*s->frames));
	if (s->literals)
		memset(s->literals, 0, RECENT_LITERALS * sizeof(*s->literals));
	memset(s->next_iid, 0, sizeof(s->next_iid));
	s->pending.len = 0;
}

const char *trace_clean(const char *str, size_t len, struct buf *scratch, size_t *ret_len)
{
	*ret_len = len;
	if (text_is_utf8(str, len))
		return str;
	scratch->len = 0;
	if (buf_reserve(scratch, 3 * len + 1) < 0) /* one byte becomes U+FFFD at worst */
		return NULL;
	*ret_len = text_utf8((char *)scratch->data, 3 * len + 1, str, len);
	return (const char *)scratch->data;
}

/*
 * The id of (field, content). When it is new `*ret_new` is set, and the caller
 * adds the message that says what it means, or forgets it.
 */
static uint64_t lookup(struct trace_sequence_state *s, unsigned field, const void *content,
		       size_t len, bool *ret_new)
{
	uintptr_t next = s->next_iid[field] + 1;
	void *iid;

	*ret_new = false;
	if (!s->ids[field] && hash_new(&s->ids[field]) < 0)
		return 0;
	if (hash_add(s->ids[field], content, len, (void *)next, &iid) < 0)
		return 0;
	*ret_new = (uintptr_t)iid == next;
	s->next_iid[field] += *ret_new;
	return (uintptr_t)iid;
}

/* An id whose meaning could not be told must not be handed out again. Returns 0. */
static uint64_t forget(struct trace_sequence_state *s, unsigned field, const void *content,
		       size_t len)
{
	(void)hash_remove(s->ids[field], content, len);
	return 0;
}

/* False: out of memory. */
static bool add(struct trace_sequence_state *s, unsigned field, const ProtobufCMessage *msg)
{
	uint8_t small[512], *packed = small;
	size_t len = protobuf_c_message_get_packed_size(msg);
	int r;

	if (len > sizeof(small)) {
		packed = malloc(len);
		if (!packed)
			return false;
	}
	protobuf_c_message_pack(msg, packed);
	r = trace_append_field(&s->pending, field, packed, len);
	if (packed != small)
		free(packed);
	return r == 0;
}

/* EventName, EventCategory and the like are InternedString on the wire. */
static uint64_t intern_bytes(struct trace_writer *w, enum trace_sequence seq, unsigned field,
			     const void *data, size_t len)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	InternedString msg = INTERNED_STRING__INIT;
	bool is_new;
	uint64_t iid = lookup(s, field, data, len, &is_new);

	if (!is_new || iid == 0)
		return iid;
	msg.has_iid = msg.has_str = 1;
	msg.iid = iid;
	msg.str.data = (uint8_t *)data;
	msg.str.len = len;
	return add(s, field, &msg.base) ? iid : forget(s, field, data, len);
}

uint64_t trace_intern_string(struct trace_writer *w, enum trace_sequence seq, enum intern_kind kind,
			     const void *str, size_t len)
{
	const struct hash *known = w->sequences[seq].ids[kind];
	struct buf scratch = { 0 };
	const char *clean = str;
	uint64_t iid = known ? (uintptr_t)hash_get(known, str, len) : 0;

	if (iid) /* what is there is clean */
		return iid;
	if (kind != INTERN_BUILD_ID)
		clean = trace_clean(str, len, &scratch, &len);
	if (clean)
		iid = intern_bytes(w, seq, kind, clean, len);
	buf_done(&scratch);
	return iid;
}

uint64_t trace_intern_new_literal(struct trace_writer *w, enum trace_sequence seq,
				  enum intern_kind kind, const char *text)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	uint64_t iid = trace_intern_string(w, seq, kind, text, strlen(text));

	if (!s->literals)
		s->literals = calloc(RECENT_LITERALS, sizeof(*s->literals));
	if (s->literals && iid) {
		struct recent_literal *pair = recent_literals(s, kind, text);

		pair[1] = pair[0];
		pair[0] = (struct recent_literal){ .text = text, .iid = iid, .kind = kind };
	}
	return iid;
}

static uint64_t intern_mapping(struct trace_writer *w, enum trace_sequence seq,
			       const struct module *module)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	/* The build id is known with the first names: what comes later is found by it. */
	struct {
		uint64_t id, has_build_id;
	} key = { module->id, module->build_id_len > 0 };
	Mapping msg = MAPPING__INIT;
	uint64_t path, iid;
	bool is_new, ok;

	iid = lookup(s, FIELD_MAPPING, &key, sizeof(key), &is_new);
	if (!is_new || iid == 0)
		return iid;
	path = trace_intern_string(w, seq, INTERN_MAPPING_PATH, module->path, strlen(module->path));
	msg.has_iid = 1;
	msg.iid = iid;
	msg.n_path_string_ids = 1;
	msg.path_string_ids = &path;
	ok = path != 0;
	if (module->build_id_len) {
		msg.has_build_id = 1;
		msg.build_id = trace_intern_string(w, seq, INTERN_BUILD_ID, module->build_id,
						   module->build_id_len);
		ok = ok && msg.build_id != 0;
	}
	ok = ok && add(s, FIELD_MAPPING, &msg.base);
	return ok ? iid : forget(s, FIELD_MAPPING, &key, sizeof(key));
}

/* A name for a location whose own one came too late. */
static uint64_t intern_late_name(struct trace_writer *w, enum trace_sequence seq,
				 const struct location *loc)
{
	const char *slash = strrchr(loc->module->path, '/');
	char name[320];
	int n = snprintf(name, sizeof(name), "[%.255s+0x%llx]",
			 slash ? slash + 1 : loc->module->path, (unsigned long long)loc->rel_pc);

	return trace_intern_string(w, seq, INTERN_FUNCTION, name, (size_t)n);
}

static uint64_t intern_frame(struct trace_writer *w, enum trace_sequence seq,
			     const struct location *loc)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	struct {
		uint64_t id, ready;
	} key = { loc->id, loc->ready };
	Frame msg = FRAME__INIT;
	uint64_t iid;
	bool is_new;

	iid = lookup(s, FIELD_FRAME, &key, sizeof(key), &is_new);
	if (!is_new || iid == 0)
		return iid;
	msg.has_iid = msg.has_function_name_id = msg.has_mapping_id = msg.has_rel_pc = 1;
	msg.has_kind = 1;
	msg.iid = iid;
	if (loc->ready)
		msg.function_name_id = trace_intern_string(w, seq, INTERN_FUNCTION, loc->function,
							   strlen(loc->function));
	else
		msg.function_name_id = intern_late_name(w, seq, loc);
	msg.mapping_id = intern_mapping(w, seq, loc->module);
	msg.rel_pc = loc->rel_pc;
	msg.kind = loc->kind;
	if (loc->file) {
		msg.has_source_path_iid = 1;
		msg.source_path_iid = trace_intern_string(w, seq, INTERN_SOURCE_PATH, loc->file,
							  strlen(loc->file));
		msg.has_line_number = loc->line != 0;
		msg.line_number = loc->line;
		if (!msg.source_path_iid)
			return forget(s, FIELD_FRAME, &key, sizeof(key));
	}
	if (!msg.function_name_id || !msg.mapping_id || !add(s, FIELD_FRAME, &msg.base))
		return forget(s, FIELD_FRAME, &key, sizeof(key));
	trace_places_note(&w->places, loc);
	return iid;
}

uint64_t trace_intern_frame(struct trace_writer *w, enum trace_sequence seq,
			    const struct location *loc)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	struct recent_frame *recent;
	uint64_t iid;

	if (!s->frames)
		s->frames = calloc(RECENT_FRAMES, sizeof(*s->frames));
	if (!s->frames || !loc->ready) /* it gets another name, and id, when it is */
		return intern_frame(w, seq, loc);
	recent = &s->frames[loc->id % RECENT_FRAMES];
	if (recent->iid && recent->location == loc->id)
		return recent->iid;
	iid = intern_frame(w, seq, loc);
	if (iid)
		*recent = (struct recent_frame){ .location = loc->id, .iid = iid };
	return iid;
}

uint64_t trace_intern_callstack(struct trace_writer *w, enum trace_sequence seq,
				const uint64_t *frames, size_t n)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	Callstack msg = CALLSTACK__INIT;
	uint64_t iid;
	bool is_new;

	if (n == 0 || n > MAX_FRAMES)
		return 0;
	iid = lookup(s, FIELD_CALLSTACK, frames, n * sizeof(*frames), &is_new);
	if (!is_new || iid == 0)
		return iid;
	msg.has_iid = 1;
	msg.iid = iid;
	msg.n_frame_ids = n;
	msg.frame_ids = (uint64_t *)frames;
	if (!add(s, FIELD_CALLSTACK, &msg.base))
		return forget(s, FIELD_CALLSTACK, frames, n * sizeof(*frames));
	return iid;
}

uint64_t trace_intern_task(struct trace_writer *w, enum trace_sequence seq, uint32_t tgid,
			   uint32_t tid)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	StackSample__TaskContext msg = STACK_SAMPLE__TASK_CONTEXT__INIT;
	uint32_t key[] = { tgid, tid };
	uint64_t iid;
	bool is_new;

	iid = lookup(s, FIELD_TASK, key, sizeof(key), &is_new);
	if (!is_new || iid == 0)
		return iid;
	msg.has_iid = msg.has_pid = msg.has_tid = 1;
	msg.iid = iid;
	msg.pid = tgid;
	msg.tid = tid;
	return add(s, FIELD_TASK, &msg.base) ? iid : forget(s, FIELD_TASK, key, sizeof(key));
}

uint64_t trace_intern_execution(struct trace_writer *w, enum trace_sequence seq, uint32_t cpu,
				bool in_kernel)
{
	enum { MODE_USER = 1, MODE_KERNEL = 2 };
	struct trace_sequence_state *s = &w->sequences[seq];
	StackSample__ExecutionContext msg = STACK_SAMPLE__EXECUTION_CONTEXT__INIT;
	uint32_t key[] = { cpu, in_kernel ? MODE_KERNEL : MODE_USER };
	uint64_t iid;
	bool is_new;

	iid = lookup(s, FIELD_EXECUTION, key, sizeof(key), &is_new);
	if (!is_new || iid == 0)
		return iid;
	msg.has_iid = msg.has_cpu = msg.has_mode = 1;
	msg.iid = iid;
	msg.cpu = cpu;
	msg.mode = (int32_t)key[1];
	return add(s, FIELD_EXECUTION, &msg.base) ? iid
						  : forget(s, FIELD_EXECUTION, key, sizeof(key));
}

uint64_t trace_intern_graphics_context(struct trace_writer *w, enum trace_sequence seq,
				       uint32_t pid)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	InternedGraphicsContext msg = INTERNED_GRAPHICS_CONTEXT__INIT;
	bool is_new;

	if (lookup(s, FIELD_GRAPHICS, &pid, sizeof(pid), &is_new) == 0)
		return 0;
	/* Contexts are to be unique in the trace, whatever is forgotten in between. */
	if (!is_new)
		return pid;
	msg.has_iid = msg.has_pid = 1;
	msg.iid = pid;
	msg.pid = (int32_t)pid;
	return add(s, FIELD_GRAPHICS, &msg.base) ? pid
						 : forget(s, FIELD_GRAPHICS, &pid, sizeof(pid));
}

uint64_t trace_intern_gpu_specification(struct trace_writer *w, enum trace_sequence seq,
					const char *name, int category)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	InternedGpuRenderStageSpecification msg = INTERNED_GPU_RENDER_STAGE_SPECIFICATION__INIT;
	struct buf scratch = { 0 };
	size_t len = strlen(name);
	const char *clean = trace_clean(name, len, &scratch, &len);
	uint64_t iid = 0;
	bool is_new;

	if (clean)
		iid = lookup(s, FIELD_GPU_SPEC, clean, len, &is_new);
	if (iid && is_new) {
		msg.has_iid = msg.has_category = 1;
		msg.iid = iid;
		msg.name = (char *)clean;
		msg.category = category;
		if (!add(s, FIELD_GPU_SPEC, &msg.base))
			iid = forget(s, FIELD_GPU_SPEC, clean, len);
	}
	buf_done(&scratch);
	return iid;
}
