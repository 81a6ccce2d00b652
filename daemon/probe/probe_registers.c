/* SPDX-License-Identifier: Apache-2.0 */
/* probe_registers.c - registers of x86-64 and arm64, as they lie in struct pt_regs. */
#include "probe/probe_registers.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define NONE UINT16_MAX

/* The order of struct pt_regs of x86-64. */
enum {
	R15 = 0,
	R14 = 8,
	R13 = 16,
	R12 = 24,
	RBP = 32,
	RBX = 40,
	R11 = 48,
	R10 = 56,
	R9 = 64,
	R8 = 72,
	RAX = 80,
	RCX = 88,
	RDX = 96,
	RSI = 104,
	RDI = 112,
	RIP = 128,
	EFLAGS = 144,
	RSP = 152,
};

/* All sizes of one: rax, eax, ax, al. */
static const struct {
	const char *names[4];
	uint16_t offset;
} x86[] = {
	{ { "rax", "eax", "ax", "al" }, RAX },
	{ { "rbx", "ebx", "bx", "bl" }, RBX },
	{ { "rcx", "ecx", "cx", "cl" }, RCX },
	{ { "rdx", "edx", "dx", "dl" }, RDX },
	{ { "rsi", "esi", "si", "sil" }, RSI },
	{ { "rdi", "edi", "di", "dil" }, RDI },
	{ { "rbp", "ebp", "bp", "bpl" }, RBP },
	{ { "rsp", "esp", NULL, "spl" }, RSP },
	{ { "r8", "r8d", "r8w", "r8b" }, R8 },
	{ { "r9", "r9d", "r9w", "r9b" }, R9 },
	{ { "r10", "r10d", "r10w", "r10b" }, R10 },
	{ { "r11", "r11d", "r11w", "r11b" }, R11 },
	{ { "r12", "r12d", "r12w", "r12b" }, R12 },
	{ { "r13", "r13d", "r13w", "r13b" }, R13 },
	{ { "r14", "r14d", "r14w", "r14b" }, R14 },
	{ { "r15", "r15d", "r15w", "r15b" }, R15 },
	{ { "rip", "eip", "ip", NULL }, RIP },
	{ { "rflags", "eflags", "flags", NULL }, EFLAGS },
};

/* As debuggers call them. */
static const struct {
	const char *name;
	uint16_t offset;
} x86_others[] = { { "sp", RSP }, { "pc", RIP }, { "fp", RBP } };

static const struct {
	const char *name;
	uint16_t offset;
} x86_high[] = { { "ah", RAX }, { "bh", RBX }, { "ch", RCX }, { "dh", RDX } };

#define N(a) (sizeof(a) / sizeof((a)[0]))

static bool find_x86(const char *name, struct probe_register *ret, struct nearest *near)
{
	for (size_t i = 0; i < N(x86); i++) {
		for (unsigned k = 0; k < 4; k++) {
			if (!x86[i].names[k])
				continue;
			if (strcmp(x86[i].names[k], name) == 0) {
				*ret = (struct probe_register){ .offset = x86[i].offset,
								.size = (uint8_t)(8 >> k) };
				return true;
			}
			if (near)
				nearest_offer(near, x86[i].names[k]);
		}
	}
	for (size_t i = 0; i < N(x86_others); i++) {
		if (strcmp(x86_others[i].name, name) != 0)
			continue;
		*ret = (struct probe_register){ x86_others[i].offset, 8, 0 };
		return true;
	}
	for (size_t i = 0; i < N(x86_high); i++) {
		if (strcmp(x86_high[i].name, name) != 0)
			continue;
		*ret = (struct probe_register){ x86_high[i].offset, 1, 8 };
		return true;
	}
	return false;
}

/* struct user_pt_regs: x0 to x30, sp, pc, pstate. */
static bool find_arm64(const char *name, struct probe_register *ret, struct nearest *near)
{
	static const struct {
		const char *name;
		uint16_t number;
	} others[] = { { "fp", 29 }, { "lr", 30 }, { "sp", 31 }, { "wsp", 31 }, { "pc", 32 } };
	char other[8];

	for (unsigned i = 0; i <= 30; i++) {
		for (unsigned is_half = 0; is_half < 2; is_half++) {
			snprintf(other, sizeof(other), "%c%u", is_half ? 'w' : 'x', i);
			if (near)
				nearest_offer(near, other);
			if (strcmp(other, name) != 0)
				continue;
			*ret = (struct probe_register){ (uint16_t)(8 * i), is_half ? 4 : 8, 0 };
			return true;
		}
	}
	for (size_t i = 0; i < N(others); i++) {
		if (near)
			nearest_offer(near, others[i].name);
		if (strcmp(others[i].name, name) != 0)
			continue;
		*ret = (struct probe_register){ (uint16_t)(8 * others[i].number),
						name[0] == 'w' ? 4 : 8, 0 };
		return true;
	}
	return false;
}

bool probe_register_find(enum probe_arch arch, const char *name, struct probe_register *ret,
			 struct nearest *near)
{
	return arch == PROBE_X86_64 ? find_x86(name, ret, near) : find_arm64(name, ret, near);
}

uint16_t probe_register_dwarf(enum probe_arch arch, unsigned number)
{
	/* System V ABI AMD64, figure 3.36. */
	static const uint16_t order[] = { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8,
					  R9,  R10, R11, R12, R13, R14, R15, RIP };

	if (arch == PROBE_X86_64)
		return number < N(order) ? order[number] : NONE;
	return number <= 32 ? (uint16_t)(8 * number) : NONE;
}

static const uint16_t x86_args[] = { RDI, RSI, RDX, RCX, R8, R9 };

unsigned probe_arch_n_args(enum probe_arch arch)
{
	return arch == PROBE_X86_64 ? N(x86_args) : 8;
}

uint16_t probe_arch_arg(enum probe_arch arch, unsigned i)
{
	return arch == PROBE_X86_64 ? x86_args[i] : (uint16_t)(8 * i);
}

uint16_t probe_arch_retval(enum probe_arch arch, unsigned i)
{
	if (arch == PROBE_X86_64)
		return i == 0 ? RAX : RDX;
	return (uint16_t)(8 * i);
}

uint16_t probe_arch_stack(enum probe_arch arch)
{
	return arch == PROBE_X86_64 ? RSP : 8 * 31;
}

uint16_t probe_arch_pc(enum probe_arch arch)
{
	return arch == PROBE_X86_64 ? RIP : 8 * 32;
}

unsigned probe_arch_stack_skip(enum probe_arch arch)
{
	return arch == PROBE_X86_64 ? 8 : 0; /* the address to return to */
}
