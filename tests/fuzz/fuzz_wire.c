/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_wire.c - fields and packets read from any bytes: nothing outside the
 * message is handed out, and reading comes to an end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "packet_decoder.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const uint8_t *data, size_t size, unsigned depth)
{
	const uint8_t *before;
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, size);
	before = w.pos;
	while (wire_next(&w, &f) > 0) {
		if (w.pos <= before || w.pos > w.end || f.number == 0)
			abort();
		before = w.pos;
		if (f.type != WIRE_BYTES)
			continue;
		if (f.data < data || f.data > data + size || f.len > (size_t)(data + size - f.data))
			abort();
		if (depth < 8)
			walk(f.data, f.len, depth + 1);
	}
}

static void varints(const uint8_t *data, size_t size)
{
	struct wire w;
	uint64_t v;

	wire_init(&w, data, size);
	while (!wire_at_end(&w) && wire_varint(&w, &v) == 0) {
		uint8_t again[WIRE_VARINT_MAX];
		size_t n = wire_put_varint(again, v);
		struct wire back;
		uint64_t u;

		wire_init(&back, again, n);
		if (wire_varint(&back, &u) != 0 || u != v || !wire_at_end(&back))
			abort();
	}
}

/* What was decoded can be packed again, and stays the same from then on. */
static void decode(const uint8_t *data, size_t size)
{
	const TracePacket *pkt;
	struct packet_decoder *d;
	size_t len;
	uint8_t *packed;

	if (packet_decoder_new(&d) < 0)
		return;
	if (packet_decode(d, data, size, NULL, NULL, &pkt) == 0) {
		len = trace_packet__get_packed_size(pkt);
		packed = malloc(len + 1);
		if (packed && trace_packet__pack(pkt, packed) != len)
			abort();
		if (packed && packet_decode(d, packed, len, NULL, NULL, &pkt) != 0)
			abort();
		free(packed);
	}
	packet_decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(data, size, 0);
	varints(data, size);
	decode(data, size);
	return 0;
}
