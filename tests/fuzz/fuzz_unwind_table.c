/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an unwind table: refused, or every look-up stays inside. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct unwind_table *t)
{
	struct unwind_rule rule;

	for (uint64_t page = 0; page <= t->head.n_pages + 1ull; page++) {
		uint64_t base = (t->head.first_page + page - 1) << UNWIND_PAGE_SHIFT;

		for (uint64_t off = 0; off < UNWIND_PAGE_SIZE; off += 64) {
			unwind_table_find(t, base + off, &rule);
			if (rule.cfa >= UNWIND_CFA_KINDS || rule.fp >= UNWIND_REG_KINDS ||
			    rule.ra >= UNWIND_REG_KINDS)
				abort();
		}
	}
	unwind_table_find(t, UINT64_MAX, &rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table t;
	uint8_t *bytes = malloc(size + 1); /* aligned, and bounded for the sanitizer */

	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	if (unwind_table_decode(bytes, size, &t) == 0) {
		if (size > UNWIND_TABLE_MAX_BYTES)
			abort();
		if (t.head.n_pages < 1000)
			look_up(&t);
	}
	free(bytes);
	return 0;
}
