/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the description of a Python function: refused, or UTF-8 and lines that end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "interp/python_codes.h"
#include "interp/python_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void forgotten(void *ctx, uint32_t tgid, uint64_t address)
{
	(void)ctx;
	(void)tgid;
	(void)address;
	abort(); /* one has room */
}

static void as_table(const uint8_t *data, size_t size)
{
	for (uint32_t unit = 0; unit < 300; unit += 7)
		if (python_line(data, size, 1, unit) < 0)
			abort();
	(void)python_line(data, size, INT32_MIN, UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct python_code_event ev; /* aligned, as the ring is */
	const struct python_code_info *c;
	struct python_codes *codes;

	as_table(data, size);
	if (size > sizeof(ev) || python_codes_new(forgotten, NULL, &codes) < 0)
		return 0;
	memcpy(&ev, data, size);
	if (python_codes_add(codes, &ev, size) == 0) {
		c = python_codes_get(codes, ev.code);
		if (!c || !*c->name || !text_is_utf8(c->name, strlen(c->name)) ||
		    !text_is_utf8(c->file, strlen(c->file)) || c->first_line < 0)
			abort();
		for (uint32_t unit = 0; unit < 300; unit += 7)
			if (python_code_line(c, unit) < 0)
				abort();
	}
	python_codes_free(codes);
	return 0;
}
