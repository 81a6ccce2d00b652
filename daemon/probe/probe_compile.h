/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_compile.h - from expressions to code for bpf/probes.bpf.c.
 *
 * A pure function of the probe and of what is known about the place: types of a program come
 * from its DWARF by way of the worker (probe_types.h), those of the kernel from its BTF,
 * arguments of a USDT probe from its note. Everything is checked here, before anything is
 * attached.
 */
#ifndef PROBE_COMPILE_H
#define PROBE_COMPILE_H

#include "probe/probe_def.h"

struct probe_types; /* what is known of one place; probe_types.h */

struct probe_code {
	uint32_t n; /* the last one is PROBES_END */
	struct probes_insn insns[PROBES_CODE];
	char texts[PROBES_TEXTS][PROBES_COMPARED]; /* for PROBES_TEXT_EQ */
	uint32_t n_values;
	/* For the encoder: which argument of the def each value is, and what its type became. */
	uint8_t arg[PROBES_ARGS];
	enum probe_type type[PROBES_ARGS];
	uint8_t size[PROBES_ARGS];
	enum probe_type counter_type;
};

/*
 * For one of the two points of a probe, at one site (functions of a glob and sites of a USDT
 * probe are compiled each for itself). `types` NULL: none are known.
 */
int probe_compile(const struct probe_def *def, enum probes_point point,
		  const struct probe_types *types, struct probe_code *ret, char why[PROBE_WHY_LEN]);

#endif
