/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_sample.c - samples, packed by hand: of all packets they are the most.
 */
#include <errno.h>
#include <string.h>

#include "trace_packet.h"

/* Of TracePacket, and of StackSample. */
#define FIELD_STACK_SAMPLE 135
#define FIELD_TASK	   2
#define FIELD_EXECUTION	   4
#define FIELD_CALLSTACK	   6
#define FIELD_ERROR	   7
#define FIELD_WEIGHT	   11

#define MAX_ERROR 64

#define SAMPLE_MAX (4 * PACK_NUMBER_MAX + PACK_HEAD_MAX + MAX_ERROR)

int trace_writer_put_sample(struct trace_writer *w, enum trace_sequence seq,
			    const struct trace_sample *sample, unsigned n_events)
{
	uint8_t *at = trace_packet_begin(w, seq, PACK_HEAD_MAX + SAMPLE_MAX);
	uint8_t *length;
	int r;

	if (!at)
		return -ENOMEM;
	length = pack_key(at, FIELD_STACK_SAMPLE, WIRE_BYTES);
	at = pack_number(length + 1, FIELD_TASK, sample->task_iid);
	at = pack_number(at, FIELD_EXECUTION, sample->execution_iid);
	at = pack_number(at, FIELD_CALLSTACK, sample->callstack_iid);
	if (sample->error)
		at = pack_bytes(at, FIELD_ERROR, sample->error, strnlen(sample->error, MAX_ERROR));
	at = pack_number(at, FIELD_WEIGHT, sample->weight);
	at = pack_length(length, 1, at);
	r = trace_packet_end(w, seq, at, sample->time_ns, n_events);
	return r < 0 ? r : trace_packet_after(w, seq);
}
