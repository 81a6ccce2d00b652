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

struct elf_usdt_probe {
	uint64_t pc;		     /* its address, as the file says */
	uint64_t offset, semaphore;  /* in the file; 0: none, or outside */
	const char *provider, *name; /* strings of the file */
	const char *args;	     /* "8@%rdi -4@$5" */
};

/* Calls `fn` with each. */
typedef void elf_usdt_fn(void *ctx, const struct elf_usdt_probe *probe);
void elf_usdt_each(Elf *elf, elf_usdt_fn *fn, void *ctx);

#endif
