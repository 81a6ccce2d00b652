/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as two readings of an open DRM file's fdinfo, cut in two by the first NUL. */
#include <stdint.h>
#include <string.h>

#include "gpu/gpu_fdinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names are ended within their arrays, and can be shown. */
static void check_name(const char name[GPU_NAME_LEN])
{
	if (!name[0] || !memchr(name, 0, GPU_NAME_LEN))
		__builtin_trap();
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			__builtin_trap();
}

static void check_info(const struct gpu_fdinfo *info)
{
	check_name(info->driver);
	if (info->n_engines > GPU_MAX_ENGINES || info->n_regions > GPU_MAX_REGIONS)
		__builtin_trap();
	for (size_t i = 0; i < info->n_engines; i++) {
		check_name(info->engines[i].name);
		if (!info->engines[i].capacity)
			__builtin_trap();
		for (size_t j = 0; j < i; j++)
			if (!strcmp(info->engines[i].name, info->engines[j].name))
				__builtin_trap();
	}
	for (size_t i = 0; i < info->n_regions; i++)
		check_name(info->regions[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *cut = size ? memchr(text, 0, size) : NULL;
	size_t len = cut ? (size_t)(cut - text) : size;
	static struct gpu_fdinfo then, now;
	int64_t busy;

	if (gpu_fdinfo_parse(text, len, &then) == 0)
		check_info(&then);
	if (!cut || gpu_fdinfo_parse(cut + 1, size - len - 1, &now) < 0)
		return 0;
	check_info(&now);
	for (size_t i = 0; i < then.n_engines && i < now.n_engines; i++)
		if (gpu_engine_busy(&then.engines[i], &now.engines[i], 1000000000, &busy) == 0 &&
		    (busy < 0 || busy > 100000))
			__builtin_trap();
	return 0;
}
