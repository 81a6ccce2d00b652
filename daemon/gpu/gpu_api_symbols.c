/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_symbols.c - the functions of the table by the symbols that libraries have. */
#include "gpu_api_symbols.h"

#include <string.h>

#define MAX_SYMBOLS    1024
#define MAX_NAME_BYTES 32768

static struct {
	struct lib_function functions[MAX_SYMBOLS]; /* by API */
	size_t n, first[N_APIS + 1];
	char names[MAX_NAME_BYTES];
	size_t n_bytes;
} all;

static void add(size_t function, const char *name, size_t len)
{
	char *copy = all.names + all.n_bytes;

	if (all.n == MAX_SYMBOLS || len >= MAX_NAME_BYTES - all.n_bytes)
		return; /* a test says that all have room */
	memcpy(copy, name, len);
	all.n_bytes += len + 1;
	all.functions[all.n++] = (struct lib_function){
		.name = copy,
		.cookie = (uint16_t)function,
		.group = gpu_api_functions[function].class,
	};
}

static void add_all(size_t function)
{
	const struct gpu_api_function *f = &gpu_api_functions[function];
	const char *names = f->symbols ? f->symbols : f->name;
	size_t len;

	for (; *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		add(function, names, len);
	}
}

static void fill(void)
{
	for (int api = 0; api < N_APIS; api++) {
		all.first[api] = all.n;
		for (size_t i = 0; i < gpu_api_n_functions; i++)
			if (gpu_api_functions[i].api == api)
				add_all(i);
		all.first[api + 1] = all.n;
	}
}

const struct lib_function *gpu_api_symbols(enum gpu_api api, size_t *ret_n)
{
	if (all.n == 0)
		fill();
	*ret_n = all.first[api + 1] - all.first[api];
	return all.functions + all.first[api];
}

int gpu_api_by_symbol(const char *name)
{
	if (all.n == 0)
		fill();
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.functions[i].name, name) == 0)
			return all.functions[i].cookie;
	/* The name that a program asks for, where the symbol has a version. */
	for (size_t i = 0; i < gpu_api_n_functions; i++)
		if (strcmp(gpu_api_functions[i].name, name) == 0)
			return (int)i;
	return -1;
}

const struct lib_function *gpu_api_symbol(size_t function)
{
	for (size_t i = 0; i < all.n; i++)
		if (all.functions[i].cookie == function)
			return &all.functions[i];
	return NULL;
}
