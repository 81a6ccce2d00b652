/* SPDX-License-Identifier: Apache-2.0 */
/* probe_code_fuzz.c - compiles a probe, and looks at the code as the kernel's half may. */
#include "probe_code_fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_insn(const struct probe_code *code, uint32_t i)
{
	const struct probes_insn *insn = &code->insns[i];

	if (insn->op >= N_PROBES_OPS || insn->dst >= PROBES_REGISTERS ||
	    insn->a >= PROBES_REGISTERS || insn->b >= PROBES_REGISTERS || insn->pad)
		abort();
	if (insn->op >= PROBES_JUMP && insn->op <= PROBES_JUMP_UNLESS &&
	    (insn->imm < 0 || insn->imm >= code->n - i))
		abort();
	if ((insn->op == PROBES_LOAD || insn->op == PROBES_FIELD || insn->op == PROBES_EXTEND) &&
	    insn->size != 1 && insn->size != 2 && insn->size != 4 && insn->size != 8)
		abort();
	if (insn->op == PROBES_EMIT_TEXT && (insn->imm < 1 || insn->imm > PROBES_TEXT))
		abort();
	if (insn->op == PROBES_TEXT_EQ && (insn->imm < 0 || insn->imm >= PROBES_TEXTS))
		abort();
	if ((insn->op == PROBES_END) != (i + 1 == code->n))
		abort();
}

void probe_code_fuzz(const struct probe_def *def, const struct probe_types *types)
{
	char why[PROBE_WHY_LEN] = "";
	struct probe_code code;

	if (probe_compile(def, PROBES_SINGLE, types, &code, why) < 0) {
		if (!why[0] || !memchr(why, 0, sizeof(why)))
			abort();
		return;
	}
	if (code.n == 0 || code.n > PROBES_CODE || code.n_values > PROBES_ARGS)
		abort();
	for (uint32_t i = 0; i < code.n; i++)
		check_insn(&code, i);
	for (uint32_t i = 0; i < code.n_values; i++)
		if (code.arg[i] >= def->n_args || code.type[i] == PROBE_TYPE_AUTO)
			abort();
}
