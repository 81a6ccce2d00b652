/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_sample_packets.c - StackSample and PerfSample packets.
 *
 * They are by far the most packets and small, so they are read on the wire.
 */
#include <string.h>

#include "index_impl.h"

/* A TaskContext within the sample. */
static uint32_t task(struct trace_index *ix, const struct wire_field *context)
{
	int32_t pid = INDEX_NO_PID, tid = -1;
	struct wire_field f;
	struct wire w;

	wire_init(&w, context->data, context->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 2 && f.type == WIRE_VARINT)
			pid = (int32_t)f.value;
		else if (f.number == 3 && f.type == WIRE_VARINT)
			tid = (int32_t)f.value;
	}
	return index_tasks_pair(ix, pid, tid < 0 && pid >= 0 ? pid : tid);
}

/* An ExecutionContext within the sample. */
static int64_t cpu(const struct wire_field *context)
{
	int64_t result = -1;
	struct wire_field f;
	struct wire w;

	wire_init(&w, context->data, context->len);
	while (wire_next(&w, &f) > 0)
		if (f.number == 2 && f.type == WIRE_VARINT)
			result = (uint32_t)f.value;
	return result;
}

/* A CounterDescriptor within the sample. */
static uint32_t counter(struct trace_index *ix, const struct wire_field *descriptor)
{
	uint32_t name = TRACE_NONE;
	enum trace_unit unit = TRACE_UNIT_COUNT;
	struct wire_field f;
	struct wire w;

	wire_init(&w, descriptor->data, descriptor->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 2 && f.type == WIRE_BYTES)
			name = index_string(ix, f.data, f.len);
		else if (f.number == 3 && f.type == WIRE_VARINT &&
			 f.value <= TRACE_UNIT_PAGE_FAULTS)
			unit = (enum trace_unit)f.value;
		else if (f.number == 4 && f.type == WIRE_BYTES && f.len >= 2 &&
			 memcmp(f.data, "ns", 2) == 0)
			unit = TRACE_UNIT_NS;
	}
	return index_samples_counter(ix, name, unit);
}

static void stack_sample_bytes(struct trace_index *ix, const struct wire_field *f,
			       struct index_sample *raw)
{
	switch (f->number) {
	case 1:
		raw->pair = task(ix, f);
		break;
	case 3:
		raw->cpu = cpu(f);
		break;
	case 5:
		raw->stack = index_stacks_inline(ix, f->data, f->len);
		break;
	case 7:
		if (f->len)
			raw->ended = index_samples_reason(ix, f->data, f->len);
		break;
	case 9:
		raw->counter = counter(ix, f);
		break;
	}
}

static void stack_sample_number(const struct index_sequence *seq, const struct wire_field *f,
				struct index_sample *raw)
{
	uint32_t found;

	switch (f->number) {
	case 2:
		raw->pair = index_lookup(seq, TABLE_TASKS, f->value);
		break;
	case 4:
		found = index_lookup(seq, TABLE_CPUS, f->value);
		if (found != TRACE_NONE)
			raw->cpu = found;
		break;
	case 6:
		raw->stack = index_lookup(seq, TABLE_STACKS, f->value);
		break;
	case 10:
		raw->counter = index_lookup(seq, TABLE_COUNTERS, f->value);
		break;
	}
}

void index_samples_stack(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
			 const uint8_t *data, size_t len)
{
	struct index_sample raw = {
		.stack = TRACE_NONE,
		.pair = TRACE_NONE,
		.counter = seq ? seq->counter : TRACE_NONE,
		.cpu = -1,
		.weight = 1,
	};
	struct wire_field f;
	struct wire w;
	int r;

	wire_init(&w, data, len);
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.type == WIRE_BYTES)
			stack_sample_bytes(ix, &f, &raw);
		else if (f.type == WIRE_VARINT && f.number == 11)
			raw.weight = f.value;
		else if (f.type == WIRE_VARINT && seq)
			stack_sample_number(seq, &f, &raw);
	}
	if (r < 0) {
		ix->facts.n_faults++;
		return;
	}
	if (raw.pair == TRACE_NONE)
		raw.pair = index_tasks_pair(ix, INDEX_NO_PID, -1);
	index_samples_add(ix, seq, time_ns, &raw);
}

/* Profiling.StackUnwindError, as reasons. */
static const char *perf_error(uint64_t error)
{
	static const char *const names[] = {
		"UNKNOWN",     NULL,	     "MEMORY_INVALID", "UNWIND_INFO", "UNSUPPORTED",
		"INVALID_MAP", "MAX_FRAMES", "REPEATED_FRAME", "INVALID_ELF",
	};

	return error < sizeof(names) / sizeof(names[0]) ? names[error] : "UNWIND_ERROR";
}

void index_samples_perf(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len)
{
	struct index_sample raw = {
		.stack = TRACE_NONE,
		.counter = seq ? seq->counter : TRACE_NONE,
		.cpu = -1,
		.weight = 1,
		.perf = true,
	};
	int32_t pid = INDEX_NO_PID, tid = -1;
	const char *error = NULL;
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 1)
			raw.cpu = (uint32_t)f.value;
		else if (f.number == 2)
			pid = (int32_t)f.value;
		else if (f.number == 3)
			tid = (int32_t)f.value;
		else if (f.number == 4 && seq)
			raw.stack = index_lookup(seq, TABLE_STACKS, f.value);
		else if (f.number == 16)
			error = perf_error(f.value);
		else if (f.number == 17)
			ix->facts.n_perf_lost += f.value;
	}
	if (error)
		raw.ended = index_samples_reason(ix, error, strlen(error));
	raw.pair = index_tasks_pair(ix, pid, tid < 0 && pid >= 0 ? pid : tid);
	if (raw.stack != TRACE_NONE || pid != INDEX_NO_PID) /* else it only tells of losses */
		index_samples_add(ix, seq, time_ns, &raw);
}
