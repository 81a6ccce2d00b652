/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_sample.c - samples, packed by hand: of all packets they are the most, and
 * protobuf-c looks twice at each of the fields that a packet could have.
 */
#include <string.h>

#include "trace_writer_impl.h"
#include "wire.h"

/* Of TracePacket, and of StackSample. */
#define FIELD_TIMESTAMP	   8
#define FIELD_STACK_SAMPLE 135
#define FIELD_TASK	   2
#define FIELD_EXECUTION	   4
#define FIELD_CALLSTACK	   6
#define FIELD_ERROR	   7
#define FIELD_WEIGHT	   11

#define MAX_ERROR 64

/* A key has at most two bytes. */
#define NUMBER_MAX (2 + WIRE_VARINT_MAX)
#define SAMPLE_MAX (4 * NUMBER_MAX + 2 + MAX_ERROR)

static size_t put_number(uint8_t *dst, unsigned field, uint64_t value)
{
	size_t n = wire_put_varint(dst, (uint64_t)field << 3);

	return n + wire_put_varint(dst + n, value);
}

static size_t put_bytes(uint8_t *dst, unsigned field, const void *bytes, size_t len)
{
	size_t n = wire_put_varint(dst, (uint64_t)field << 3 | WIRE_BYTES);

	n += wire_put_varint(dst + n, len);
	memcpy(dst + n, bytes, len);
	return n + len;
}

int trace_writer_put_sample(struct trace_writer *w, enum trace_sequence seq,
			    const struct trace_sample *sample, unsigned n_events)
{
	uint8_t body[SAMPLE_MAX], fields[SAMPLE_MAX + 2 * NUMBER_MAX];
	size_t len = put_number(body, FIELD_TASK, sample->task_iid), n;

	len += put_number(body + len, FIELD_EXECUTION, sample->execution_iid);
	len += put_number(body + len, FIELD_CALLSTACK, sample->callstack_iid);
	if (sample->error)
		len += put_bytes(body + len, FIELD_ERROR, sample->error,
				 strnlen(sample->error, MAX_ERROR));
	len += put_number(body + len, FIELD_WEIGHT, sample->weight);
	n = put_number(fields, FIELD_TIMESTAMP, sample->time_ns);
	n += put_bytes(fields + n, FIELD_STACK_SAMPLE, body, len);
	return trace_writer_put_packed(w, seq, fields, n, n_events);
}
