/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_usdt.h - where the USDT probes of an ELF file are, by its .note.stapsdt.
 *
 * Runs in the unprivileged worker: every byte may be hostile.
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In place of a function's name, elf_functions(): the first place of a probe in the file,
 * and where in it the probe's semaphore is.
 */
#define ELF_USDT_SITE	   "usdt:"	     /* "usdt:PROVIDER:NAME" */
#define ELF_USDT_SEMAPHORE "usdt-semaphore:" /* "usdt-semaphore:PROVIDER:NAME" */

/*
 * Of `n` names, one each `stride` bytes; others are left alone, and those that are not there.
 * Returns how many are names of probes.
 */
size_t elf_usdt(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets);

#endif
