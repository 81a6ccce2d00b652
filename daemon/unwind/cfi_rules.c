/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_rules.c - from what a program says to a rule of an unwind table.
 *
 * The machines differ in their registers, and in where the return address is
 * when nothing is said: at CFA - 8, where x86-64's call has put it (and CFI
 * always says so), or in the link register.
 */
#include "cfi_rules.h"

#include <elf.h>

/* Of DW_OP_*, what linkers and assembly code write. */
#define DW_OP_deref	  0x06
#define DW_OP_const1u	  0x08
#define DW_OP_const1s	  0x09
#define DW_OP_and	  0x1a
#define DW_OP_minus	  0x1c
#define DW_OP_plus	  0x22
#define DW_OP_plus_uconst 0x23
#define DW_OP_shl	  0x24
#define DW_OP_ge	  0x2a
#define DW_OP_lit0	  0x30
#define DW_OP_lit31	  0x4f
#define DW_OP_breg0	  0x70
#define DW_OP_breg31	  0x8f

#define MAX_REG 32 /* general registers of both machines, and x86-64's return address */

static const struct cfi_machine machines[] = {
	{ .elf_machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16, .bx = 3 },
	{ .elf_machine = EM_AARCH64, .sp = 31, .fp = 29, .ra = 30, .bx = CFI_NO_REG },
};

const struct cfi_machine *cfi_machine_find(uint16_t elf_machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf_machine == elf_machine)
			return &machines[i];
	return NULL;
}

const struct cfi_machine *cfi_machine_native(void)
{
#if defined(__x86_64__)
	return cfi_machine_find(EM_X86_64);
#elif defined(__aarch64__)
	return cfi_machine_find(EM_AARCH64);
#else
#error "a machine whose registers cfi_rules.c does not know"
#endif
}

static bool fits16(int64_t v)
{
	return v >= INT16_MIN && v <= INT16_MAX;
}

static bool fits32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

/* ---- expressions ---- */

static struct cfi_reader expr_reader(const struct cfi_value *v)
{
	return (struct cfi_reader){ .p = v->expr, .end = v->expr + v->len };
}

/* "register + offset" at the beginning. */
static bool read_breg(struct cfi_reader *e, uint64_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op = (uint8_t)cfi_uint(e, 1);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*ret_reg = op - DW_OP_breg0;
	*ret_offset = cfi_sleb(e);
	return !e->bad;
}

/* "+ n" as it may be written; nothing at all is + 0. */
static bool read_addend(struct cfi_reader *e, int64_t *ret)
{
	uint8_t op, sign;

	*ret = 0;
	if (!cfi_more(e))
		return true;
	op = (uint8_t)cfi_uint(e, 1);
	if (op == DW_OP_plus_uconst) {
		*ret = (int64_t)cfi_uleb(e);
		return !e->bad && !cfi_more(e);
	}
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		*ret = op - DW_OP_lit0;
	else if (op == DW_OP_const1u)
		*ret = (int64_t)cfi_uint(e, 1);
	else if (op == DW_OP_const1s)
		*ret = cfi_int(e, 1);
	else
		return false;
	sign = (uint8_t)cfi_uint(e, 1);
	if (sign == DW_OP_minus)
		*ret = -*ret;
	return (sign == DW_OP_plus || sign == DW_OP_minus) && !e->bad && !cfi_more(e);
}

/*
 * Linkers describe the whole PLT with one FDE. Of each 16 bytes the first
 * instructions jump; from the one that pushes on, the stack is 8 deeper:
 * rsp + 8 + ((rip & 15) >= n) << 3. `n` depends on the kind of stubs.
 */
static bool match_plt(const struct cfi_machine *m, const struct cfi_value *v, int32_t *ret_n)
{
	static const uint8_t head[] = { DW_OP_breg0 + 7, 8,	   DW_OP_breg0 + 16, 0,
					DW_OP_lit0 + 15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus };
	const uint8_t *e = v->expr;

	if (m->elf_machine != EM_X86_64 || v->len != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(e, head, sizeof(head)) != 0 ||
	    memcmp(e + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	*ret_n = e[sizeof(head)] - DW_OP_lit0;
	return *ret_n >= 0 && *ret_n <= 15;
}

/* ---- the CFA ---- */

static bool cfa_from_reg(const struct cfi_machine *m, uint64_t reg, int64_t offset,
			 struct unwind_rule *ret)
{
	if (reg >= MAX_REG || !fits32(offset))
		return false;
	ret->cfa_off = (int32_t)offset;
	if (reg == m->sp) {
		ret->cfa = UNWIND_CFA_SP;
	} else if (reg == m->fp) {
		ret->cfa = UNWIND_CFA_FP;
	} else {
		ret->cfa = UNWIND_CFA_REG;
		ret->cfa_reg = (uint8_t)reg;
	}
	return true;
}

static bool cfa_from_expr(const struct cfi_machine *m, const struct cfi_value *v,
			  struct unwind_rule *ret)
{
	struct cfi_reader e = expr_reader(v);
	int64_t offset, add;
	uint64_t reg;

	if (match_plt(m, v, &ret->cfa_off)) {
		ret->cfa = UNWIND_CFA_PLT;
		return true;
	}
	if (!read_breg(&e, &reg, &offset))
		return false;
	if (!cfi_more(&e) || *e.p != DW_OP_deref)
		return read_addend(&e, &add) && !__builtin_add_overflow(offset, add, &offset) &&
		       cfa_from_reg(m, reg, offset, ret);
	e.p++;
	if (!read_addend(&e, &add) || !fits32(offset) || !fits16(add) ||
	    (reg != m->sp && reg != m->fp))
		return false;
	ret->cfa = reg == m->sp ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_DEREF_FP;
	ret->cfa_off = (int32_t)offset;
	ret->cfa_add = (int16_t)add;
	return true;
}

static bool set_cfa(const struct cfi_machine *m, const struct cfi_state *s, struct unwind_rule *ret)
{
	const struct cfi_value *sp = &s->columns[CFI_SP];

	/* The caller's stack pointer is the CFA: else the next frame could not be found by it. */
	if (sp->where != CFI_UNSET && !(sp->where == CFI_OFFSET && sp->offset == 0))
		return false;
	if (s->cfa.where == CFI_OFFSET)
		return cfa_from_reg(m, s->cfa_reg, s->cfa_offset, ret);
	return s->cfa.where == CFI_EXPR && cfa_from_expr(m, &s->cfa, ret);
}

/* ---- registers ---- */

static bool set_ra(const struct cfi_machine *m, const struct cfi_cie *cie,
		   const struct cfi_value *v, struct unwind_rule *ret)
{
	bool on_stack = m->elf_machine == EM_X86_64;

	if (v->where == CFI_AT_OFFSET && (on_stack ? v->offset == -8 : fits16(v->offset))) {
		ret->ra = UNWIND_REG_CFA_OFF;
		ret->ra_off = (int16_t)v->offset;
		return true;
	}
	if (v->where == CFI_REGISTER && (on_stack || (uint64_t)v->offset != m->ra)) {
		ret->ra = UNWIND_REG_REG;
		ret->ra_off = (int16_t)v->offset;
		return (uint64_t)v->offset < MAX_REG && (uint64_t)v->offset != cie->ra_reg;
	}
	ret->ra = UNWIND_REG_SAME;
	return !on_stack && cie->ra_reg == m->ra &&
	       (v->where == CFI_UNSET || v->where == CFI_SAME || v->where == CFI_REGISTER);
}

static void set_fp(const struct cfi_machine *m, const struct cfi_value *v, struct unwind_rule *ret)
{
	struct cfi_reader e;
	int64_t offset;
	uint64_t reg;

	ret->fp = UNWIND_REG_BAD;
	switch (v->where) {
	case CFI_UNSET:
	case CFI_SAME:
		ret->fp = UNWIND_REG_SAME;
		break;
	case CFI_UNDEF:
		ret->fp = UNWIND_REG_UNDEF;
		break;
	case CFI_REGISTER:
		if ((uint64_t)v->offset == m->fp)
			ret->fp = UNWIND_REG_SAME;
		break;
	case CFI_AT_OFFSET:
		if (!fits16(v->offset))
			break;
		ret->fp = UNWIND_REG_CFA_OFF;
		ret->fp_off = (int16_t)v->offset;
		break;
	case CFI_AT_EXPR:
		e = expr_reader(v);
		if (!read_breg(&e, &reg, &offset) || cfi_more(&e) || reg != m->fp ||
		    !fits16(offset))
			break;
		ret->fp = UNWIND_REG_DEREF_FP;
		ret->fp_off = (int16_t)offset;
		break;
	default:
		break;
	}
}

static void set_bx(const struct cfi_value *v, struct unwind_rule *ret)
{
	if (v->where == CFI_UNSET || v->where == CFI_SAME)
		return;
	ret->bx_off = UNWIND_BX_GONE;
	if (v->where == CFI_AT_OFFSET && fits16(v->offset) && v->offset != 0)
		ret->bx_off = (int16_t)v->offset;
}

void cfi_rule(const struct cfi_machine *m, const struct cfi_cie *cie, const struct cfi_state *s,
	      struct unwind_rule *ret)
{
	struct unwind_rule rule = { 0 };
	uint8_t only = UNWIND_CFA_NONE; /* all that is to be said */

	if (cie->is_signal_frame)
		only = UNWIND_CFA_SIGNAL;
	else if (s->columns[CFI_RA].where == CFI_UNDEF)
		only = UNWIND_CFA_END;
	else if (!set_cfa(m, s, &rule))
		only = UNWIND_CFA_BAD_EXPR;
	else if (!set_ra(m, cie, &s->columns[CFI_RA], &rule))
		only = UNWIND_CFA_BAD_RA;

	if (only == UNWIND_CFA_NONE) {
		set_fp(m, &s->columns[CFI_FP], &rule);
		set_bx(&s->columns[CFI_BX], &rule);
	} else {
		rule = (struct unwind_rule){ .cfa = only };
	}
	*ret = rule;
}
