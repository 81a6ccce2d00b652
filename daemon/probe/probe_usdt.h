/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_usdt.h - where the arguments of a USDT probe are, by its note: "8@%rdi -4@$5
 * 8@-16(%rbp)", of arm64 "8@x0 -4@[sp, 60]".
 *
 * Runs in the unprivileged worker: every byte may be hostile.
 */
#ifndef PROBE_USDT_H
#define PROBE_USDT_H

#include "probe/probe_registers.h"
#include "probe/probe_types.h"

#define PROBE_USDT_ARGS 12 /* sys/sdt.h has no more */

/* Where a variable of the program is, relative to the probe. False: it has none such. */
typedef bool probe_usdt_symbol_fn(void *ctx, const char *name, int64_t *ret);

/*
 * Adds a value for each argument to `t`. One that cannot be understood is nowhere; 0,
 * -ENOSPC or -ENOMEM.
 */
int probe_usdt_args(enum probe_arch arch, const char *note, probe_usdt_symbol_fn *symbol, void *ctx,
		    struct probe_types *t);

#endif
