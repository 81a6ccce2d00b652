/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the worker's table of types: refused, or expressions over it are compiled or
 * explained within its bounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_code_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const exprs[] = {
		"arg0",	       "arg1->a.b",   "a->b->a",	"a.b[1].a",
		"*a",	       "(b *)arg0",   "((a *)arg1)->b", "a[arg1].b",
		"&a->b",       "a == \"x\"",  "a->b - b->a",	"b",
		"str(a, b.a)", "a && b || a", "retval.a",
	};
	static const enum probe_kind kinds[] = { PROBE_UPROBE, PROBE_URETPROBE, PROBE_USDT,
						 PROBE_TRACEPOINT, PROBE_FENTRY };
	struct probe_def def = { .name = "p", .n_args = 1, .args = { { .name = "x" } } };
	struct probe_types *types;

	if (probe_types_decode(data, size, &types) < 0)
		return 0;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		def.at = (struct probe_place){ .kind = kinds[k], .path = "a", .symbol = "f" };
		for (size_t i = 0; i < sizeof(exprs) / sizeof(exprs[0]); i++) {
			snprintf(def.args[0].expr, sizeof(def.args[0].expr), "%s", exprs[i]);
			probe_code_fuzz(&def, types);
		}
	}
	probe_types_free(types);
	return 0;
}
