/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * probes_numbers.h - arithmetic of the machine that runs the code of probes
 * (probes_events.h): in BPF, and where the compiler knows both numbers already.
 */
#ifndef PROBES_NUMBERS_H
#define PROBES_NUMBERS_H

#include "probes_events.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The low `size` bytes as a number of 8. */
static __always_inline __u64 probes_extend(__u64 value, __u32 size, _Bool is_signed)
{
	__u32 shift = (64 - 8 * size) & 63;

	value <<= shift;
	return is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

/* BPF has no signed division. */
static __always_inline __u64 probes_divide(__u64 a, __u64 b, _Bool is_signed, _Bool is_mod)
{
	_Bool a_less = is_signed && (__s64)a < 0, b_less = is_signed && (__s64)b < 0;
	__u64 n = a_less ? -a : a, d = b_less ? -b : b, ret;

	if (d == 0)
		return 0;
	ret = is_mod ? n % d : n / d;
	return (is_mod ? a_less : a_less != b_less) ? -ret : ret;
}

static __always_inline _Bool probes_is_less(__u64 a, __u64 b, _Bool is_signed)
{
	return is_signed ? (__s64)a < (__s64)b : a < b;
}

/* `op` is one of PROBES_ADD to PROBES_GE. */
static __always_inline __u64 probes_calculate(__u32 op, __u64 a, __u64 b, _Bool is_signed)
{
	switch (op) {
	case PROBES_ADD:
		return a + b;
	case PROBES_SUB:
		return a - b;
	case PROBES_MUL:
		return a * b;
	case PROBES_DIV:
		return probes_divide(a, b, is_signed, 0);
	case PROBES_MOD:
		return probes_divide(a, b, is_signed, 1);
	case PROBES_AND:
		return a & b;
	case PROBES_OR:
		return a | b;
	case PROBES_XOR:
		return a ^ b;
	case PROBES_SHL:
		return b > 63 ? 0 : a << b;
	case PROBES_SHR:
		if (is_signed)
			return (__u64)((__s64)a >> (b > 63 ? 63 : b));
		return b > 63 ? 0 : a >> b;
	case PROBES_EQ:
		return a == b;
	case PROBES_NE:
		return a != b;
	case PROBES_LT:
		return probes_is_less(a, b, is_signed);
	case PROBES_LE:
		return !probes_is_less(b, a, is_signed);
	case PROBES_GT:
		return probes_is_less(b, a, is_signed);
	default: /* PROBES_GE */
		return !probes_is_less(a, b, is_signed);
	}
}

#endif
