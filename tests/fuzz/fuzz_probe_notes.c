/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the arguments of a USDT probe's note, on both architectures. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_usdt.h"
#include "probe_code_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool symbol(void *ctx, const char *name, int64_t *ret)
{
	(void)ctx;
	*ret = (int64_t)strlen(name);
	return name[0] == 'c';
}

static void read_note(enum probe_arch arch, const char *note)
{
	struct probe_def def = { .name = "p",
				 .at = { .kind = PROBE_USDT, .path = "a", .symbol = "s" },
				 .n_args = 1,
				 .args = { { .name = "x" } } };
	struct probe_types *types, *there;
	uint8_t bytes[8192];
	ssize_t len;

	if (probe_types_new(&types) < 0)
		return;
	if (probe_usdt_args(arch, note, symbol, NULL, types) < 0 || types->n_args > PROBE_USDT_ARGS)
		abort();
	len = probe_types_encode(types, bytes, sizeof(bytes));
	if (len < 0 || probe_types_decode(bytes, (size_t)len, &there) < 0)
		abort();
	for (unsigned i = 0; i <= types->n_args; i++) {
		memcpy(def.args[0].expr, "arg0", 5);
		def.args[0].expr[3] = (char)('0' + i % 10);
		probe_code_fuzz(&def, there);
	}
	probe_types_free(there);
	probe_types_free(types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *note = malloc(size + 1);

	if (!note)
		return 0;
	memcpy(note, data, size);
	note[size] = '\0';
	read_note(PROBE_X86_64, note);
	read_note(PROBE_ARM64, note);
	free(note);
	return 0;
}
