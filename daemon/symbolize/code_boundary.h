/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_boundary.h - where instructions begin: a probe in the middle of one would make another
 * of it.
 *
 * Runs in the unprivileged worker: every byte may be hostile.
 */
#ifndef CODE_BOUNDARY_H
#define CODE_BOUNDARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The last instruction that begins at or before `offset`, when they are decoded one after the
 * other from the first of `len` bytes; UINT64_MAX: these are none.
 */
uint64_t code_boundary(const uint8_t *code, size_t len, uint64_t offset);

#endif
