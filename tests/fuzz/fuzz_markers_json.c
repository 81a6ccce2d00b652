/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a datagram with a marker: what is taken is a record like the kernel's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "markers/markers_json.h"
#include "markers/markers_payload.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct markers_slice slice;
	struct markers_event *ev = malloc(sizeof(*ev));
	char *copy = malloc(size ? size : 1); /* no longer than it is */
	struct markers_keys *keys;

	if (!ev || !copy || markers_keys_new(&keys) < 0)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (markers_json_parse(copy, size, ev) == 0) {
		ev->hdr = (struct event_hdr){ .type = MARKERS_MARK, .tgid = 1, .tid = 1 };
		ev->hdr.size = (uint16_t)(MARKERS_HEAD + ev->len);
		CHECK(markers_valid(&ev->hdr, ev->hdr.size));
		CHECK(ev->name_len > 0 || ev->phase == MARKERS_END);
		markers_slice_init(&slice, keys, ev);
		markers_slice_add(&slice, keys, ev);
		for (size_t i = 0; i < slice.event.n_args; i++) {
			const struct trace_arg *arg = &slice.args[i];

			CHECK(text_is_utf8(arg->name, strlen(arg->name)));
			CHECK(arg->type != ARG_STRING || text_is_utf8(arg->s, strlen(arg->s)));
		}
	}
	markers_keys_free(keys);
	free(copy);
	free(ev);
	return 0;
}
