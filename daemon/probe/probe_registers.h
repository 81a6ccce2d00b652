/* SPDX-License-Identifier: Apache-2.0 */
/* probe_registers.h - registers by their names, and where the first arguments are. */
#ifndef PROBE_REGISTERS_H
#define PROBE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_arch {
	PROBE_X86_64,
	PROBE_ARM64,
};

#if defined(__aarch64__)
#define PROBE_ARCH PROBE_ARM64
#else
#define PROBE_ARCH PROBE_X86_64
#endif

struct nearest;

/* Part of struct pt_regs. */
struct probe_register {
	uint16_t offset;
	uint8_t size;  /* 1, 2, 4 or 8 bytes */
	uint8_t shift; /* the part begins at this bit: %ah */
};

/* Without "$" or "%". False: there is none; `near` (or NULL) gets the names that there are. */
bool probe_register_find(enum probe_arch arch, const char *name, struct probe_register *ret,
			 struct nearest *near);
/* By its number in DWARF. UINT16_MAX: it is none that a probe sees. */
uint16_t probe_register_dwarf(enum probe_arch arch, unsigned number);

/* Whole numbers and pointers: so many are in registers, the next ones on the stack. */
unsigned probe_arch_n_args(enum probe_arch arch);
uint16_t probe_arch_arg(enum probe_arch arch, unsigned i);
uint16_t probe_arch_retval(enum probe_arch arch, unsigned i); /* 0 or 1 */
uint16_t probe_arch_stack(enum probe_arch arch);
uint16_t probe_arch_pc(enum probe_arch arch);
/* What is between the stack pointer and the first argument there, where a function begins. */
unsigned probe_arch_stack_skip(enum probe_arch arch);

#endif
