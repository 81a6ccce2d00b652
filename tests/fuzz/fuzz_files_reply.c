/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a reply of the worker: refused, or read within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/files_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files_reply reply;
	const char *end = (const char *)data + size;

	if (files_reply_decode(data, size, &reply) < 0)
		return 0;
	if (size > FILES_REPLY_MAX || reply.head.n > FILES_BATCH_MAX)
		abort();
	for (uint32_t i = 0; i < reply.head.n; i++) {
		struct files_entry e;
		char name[DEMANGLE_MAX];

		files_reply_next(&reply, &e);
		if (e.name > end || e.head.name_len > end - e.name)
			abort();
		memcpy(name, e.name, e.head.name_len);
		if (memchr(name, 0, e.head.name_len))
			abort();
	}
	if (reply.len != 0)
		abort();
	return 0;
}
