/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a probe: a place, arguments and a condition, a line each. What is refused is
 * explained; what is taken becomes code that stays within its registers and comes to its end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_code_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(const char *line, struct probe_place *ret)
{
	char why[PROBE_WHY_LEN] = "", text[2 * PROBE_SPEC_LEN];
	struct probe_place again;

	if (probe_place_parse(line, ret, why) < 0) {
		if (!why[0] || !memchr(why, 0, sizeof(why)))
			abort();
		*ret = (struct probe_place){ .kind = PROBE_UPROBE, .path = "a", .symbol = "f" };
		return;
	}
	/* What is written of it is the same place. */
	probe_place_text(ret, text, sizeof(text));
	if (strlen(text) < PROBE_SPEC_LEN &&
	    (probe_place_parse(text, &again, why) < 0 || again.kind != ret->kind ||
	     again.offset != ret->offset || strcmp(again.symbol, ret->symbol) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_def def = { .name = "p" };
	char *text = malloc(size + 1), *save = NULL, *line;
	char why[PROBE_WHY_LEN] = "";

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	line = strtok_r(text, "\n", &save);
	check_place(line ? line : "", &def.at);
	while (line && (line = strtok_r(NULL, "\n", &save))) {
		if (strncmp(line, "if ", 3) == 0)
			snprintf(def.condition, sizeof(def.condition), "%s", line + 3);
		else if (def.n_args < PROBES_ARGS &&
			 probe_arg_parse(line, &def.args[def.n_args], why) == 0)
			def.n_args++;
	}
	if (probe_def_check(&def, why) == 0)
		probe_code_fuzz(&def, NULL);
	else if (!why[0])
		abort();
	free(text);
	return 0;
}
