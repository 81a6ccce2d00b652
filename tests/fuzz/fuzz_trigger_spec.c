/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as what a trigger waits for: what is taken is within bounds and reads the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trigger/trigger_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static void check_spec(const struct trigger_spec *spec)
{
	CHECK(memchr(spec->text, 0, sizeof(spec->text)));
	CHECK(memchr(spec->name, 0, sizeof(spec->name)));
	CHECK(memchr(spec->arg, 0, sizeof(spec->arg)));
	CHECK(memchr(spec->value, 0, sizeof(spec->value)));
	CHECK(memchr(spec->comm, 0, sizeof(spec->comm)));
	CHECK(memchr(spec->category, 0, sizeof(spec->category)));
	CHECK(spec->kind <= TRIGGER_SIGUSR2 && spec->op <= TRIGGER_LE);
	CHECK(spec->resource < TRIGGER_RESOURCES);
	CHECK(!spec->is_number || spec->number == spec->number);
	if (spec->kind == TRIGGER_SLICE || spec->kind == TRIGGER_HTTP_LATENCY)
		CHECK(spec->is_number && spec->number >= 0 && spec->number <= 24 * 3600e9L);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[TRIGGER_WHY_LEN] = "";
	struct trigger_spec *spec = malloc(sizeof(*spec)), *again = malloc(sizeof(*again));
	int r;

	if (!text || !spec || !again)
		abort();
	memset(spec, 0xa5, sizeof(*spec));
	memcpy(text, data, size);
	text[size] = '\0';
	r = trigger_spec_parse(text, spec, why);
	if (r == 0) {
		check_spec(spec);
		CHECK(strcmp(spec->text, text) == 0);
		CHECK(trigger_spec_parse(spec->text, again, why) == 0);
		CHECK(spec->kind == again->kind && spec->op == again->op &&
		      strcmp(spec->name, again->name) == 0);
	} else {
		CHECK(why[0] && memchr(why, 0, sizeof(why)) && strstr(why, "trigger"));
	}
	free(again);
	free(spec);
	free(text);
	return 0;
}
