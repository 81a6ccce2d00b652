/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of system calls, one after the other, up to the packets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/syscalls_encode.h"
#include "process/process_table.h"
#include "syscalls_events.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(void *ctx, const void *bytes, size_t len, bool essential)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	(void)essential;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct trace_config config;
	struct encoder_env env = { .config = &config, .start_ns = 1000 };
	void *encoder = NULL;

	if (trace_writer_new(drop, NULL, &env.writer) < 0)
		return 0;
	if (process_table_new(NULL, &env.processes) == 0 &&
	    syscalls_encoder_new(&env, &encoder) == 0) {
		for (size_t at = 0; at < size; at += sizeof(struct syscalls_event)) {
			size_t len = size - at;
			struct syscalls_event *ev;

			if (len > sizeof(*ev))
				len = sizeof(*ev);
			if (len < sizeof(ev->hdr))
				break;	  /* the ring hands out none without a head */
			ev = malloc(len); /* so that a look beyond the end is seen */
			if (!ev)
				break;
			memcpy(ev, data + at, len);
			if (syscalls_valid(&ev->hdr, len)) {
				trace_writer_source(env.writer, 0, ev->hdr.time_ns);
				(void)syscalls_encode(encoder, &ev->hdr);
			}
			free(ev);
		}
		(void)trace_writer_flush(env.writer);
	}
	syscalls_encoder_free(encoder);
	process_table_free(env.processes);
	trace_writer_free(env.writer);
	return 0;
}
