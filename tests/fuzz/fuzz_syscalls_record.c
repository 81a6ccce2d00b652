/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of system calls, of one size, one after the other. */
#include "record_fuzz.h"
#include "syscalls_events.h"

static struct record_fuzz fuzz = { .name = "syscalls", .unfinished = SYSCALLS_UNFINISHED };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	record_fuzz_begin(&fuzz);
	while (size > 0) {
		size_t len = size;

		if (len > sizeof(struct syscalls_event))
			len = sizeof(struct syscalls_event);
		record_fuzz_record(&fuzz, data, len);
		data += len;
		size -= len;
	}
	record_fuzz_end(&fuzz, 0);
	return 0;
}
