/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_symbols.h - the functions of the table by the symbols that libraries have. */
#ifndef GPU_API_SYMBOLS_H
#define GPU_API_SYMBOLS_H

#include "collect/lib_probes.h"
#include "gpu_api_table.h"

/* Of an API, for lib_probes_in_all(): groups are classes, cookies index the table. */
const struct lib_function *gpu_api_symbols(enum gpu_api api, size_t *ret_n);

/* The function of the table that is called so, by any of its symbols; -1: none. */
int gpu_api_by_symbol(const char *name);
/* One that stands for it. */
const struct lib_function *gpu_api_symbol(size_t function);

#endif
