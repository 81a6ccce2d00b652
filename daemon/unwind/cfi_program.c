/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_program.c - runs the programs of call frame information.
 *
 * A program moves forward through the code and says between two places where
 * the caller's registers are. Its size bounds its run.
 */
#include <errno.h>

#include "cfi.h"

enum cfa_op {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_MIPS_advance_loc8 = 0x1d,
	DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	DW_CFA_AARCH64_negate_ra_state = 0x2d, /* DW_CFA_GNU_window_save elsewhere */
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,

	/* In the two highest bits, with an operand below. */
	DW_CFA_advance_loc = 0x40,
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
};

/* NULL: nobody asks for this register. */
static struct cfi_value *column(struct cfi_run *run, struct cfi_state *s, uint64_t reg)
{
	const struct cfi_machine *m = run->machine;

	if (reg == run->cie->ra_reg)
		return &s->columns[CFI_RA];
	if (reg == m->fp)
		return &s->columns[CFI_FP];
	if (reg == m->sp)
		return &s->columns[CFI_SP];
	if (reg == m->bx && m->bx != CFI_NO_REG)
		return &s->columns[CFI_BX];
	return NULL;
}

static void set(struct cfi_run *run, uint64_t reg, enum cfi_where where, uint64_t offset)
{
	struct cfi_value *v = column(run, &run->state, reg);

	if (v)
		*v = (struct cfi_value){ .where = (uint8_t)where, .offset = (int64_t)offset };
}

static void restore(struct cfi_run *run, uint64_t reg)
{
	struct cfi_value *v = column(run, &run->state, reg);

	if (v)
		*v = run->cie->initial.columns[v - run->state.columns];
}

static struct cfi_value read_expr(struct cfi_run *run, enum cfi_where where)
{
	uint64_t len = cfi_uleb(&run->program);

	return (struct cfi_value){
		.where = (uint8_t)where,
		.expr = cfi_skip(&run->program, len),
		.len = (uint32_t)len, /* fits, or the program is bad */
	};
}

static void set_expr(struct cfi_run *run, enum cfi_where where)
{
	struct cfi_value *v = column(run, &run->state, cfi_uleb(&run->program));
	struct cfi_value expr = read_expr(run, where);

	if (v)
		*v = expr;
}

/*
 * What hand-written CFI relies on, as libgcc has it: after an expression an
 * offset alone is only remembered, and a register goes with the last offset.
 */
static void set_cfa_offset(struct cfi_run *run, uint64_t offset)
{
	run->state.cfa_offset = (int64_t)offset;
}

static void set_cfa_reg(struct cfi_run *run, uint64_t reg)
{
	run->state.cfa_reg = reg;
	run->state.cfa = (struct cfi_value){ .where = CFI_OFFSET };
}

/* Wraps as the machine would: a distance that makes no sense is found when it is used. */
static uint64_t scaled(const struct cfi_run *run, uint64_t factored)
{
	return factored * (uint64_t)run->cie->data_align;
}

/* Factors beyond any code would wrap around to look like less. */
static int advance(struct cfi_run *run, uint64_t delta)
{
	if (__builtin_mul_overflow(delta, run->cie->code_align, &delta) ||
	    __builtin_add_overflow(run->next, delta, &run->next))
		return -EBADMSG;
	return 0;
}

static int set_loc(struct cfi_run *run)
{
	uint64_t to =
		cfi_read_pointer(run->cie->section, &run->program, run->cie->pointer_encoding);

	if (to < run->next)
		return -EBADMSG;
	run->next = to;
	return 0;
}

static int remember(struct cfi_run *run)
{
	if (run->depth == CFI_STACK_MAX)
		return -EBADMSG;
	run->stack[run->depth++] = run->state;
	return 0;
}

static int recall(struct cfi_run *run)
{
	if (run->depth == 0)
		return -EBADMSG;
	run->state = run->stack[--run->depth];
	return 0;
}

/* Operands are read in order, hence the statements of their own. */
static int extended(struct cfi_run *run, uint8_t op)
{
	struct cfi_reader *p = &run->program;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state:
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
		return 0; /* of signed return addresses the signature is cut off anyway */
	case DW_CFA_GNU_args_size:
		(void)cfi_uleb(p);
		return 0;
	case DW_CFA_set_loc:
		return set_loc(run);
	case DW_CFA_advance_loc1:
		return advance(run, cfi_uint(p, 1));
	case DW_CFA_advance_loc2:
		return advance(run, cfi_uint(p, 2));
	case DW_CFA_advance_loc4:
		return advance(run, cfi_uint(p, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(run, cfi_uint(p, 8));
	case DW_CFA_remember_state:
		return remember(run);
	case DW_CFA_restore_state:
		return recall(run);
	case DW_CFA_def_cfa:
		set_cfa_reg(run, cfi_uleb(p));
		set_cfa_offset(run, cfi_uleb(p));
		return 0;
	case DW_CFA_def_cfa_sf:
		set_cfa_reg(run, cfi_uleb(p));
		set_cfa_offset(run, scaled(run, (uint64_t)cfi_sleb(p)));
		return 0;
	case DW_CFA_def_cfa_register:
		set_cfa_reg(run, cfi_uleb(p));
		return 0;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(run, cfi_uleb(p));
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(run, scaled(run, (uint64_t)cfi_sleb(p)));
		return 0;
	case DW_CFA_def_cfa_expression:
		run->state.cfa = read_expr(run, CFI_EXPR);
		return 0;
	case DW_CFA_undefined:
		set(run, cfi_uleb(p), CFI_UNDEF, 0);
		return 0;
	case DW_CFA_same_value:
		set(run, cfi_uleb(p), CFI_SAME, 0);
		return 0;
	case DW_CFA_restore_extended:
		restore(run, cfi_uleb(p));
		return 0;
	case DW_CFA_register:
		reg = cfi_uleb(p);
		set(run, reg, CFI_REGISTER, cfi_uleb(p));
		return 0;
	case DW_CFA_offset_extended:
		reg = cfi_uleb(p);
		set(run, reg, CFI_AT_OFFSET, scaled(run, cfi_uleb(p)));
		return 0;
	case DW_CFA_offset_extended_sf:
		reg = cfi_uleb(p);
		set(run, reg, CFI_AT_OFFSET, scaled(run, (uint64_t)cfi_sleb(p)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_uleb(p);
		set(run, reg, CFI_AT_OFFSET, -scaled(run, cfi_uleb(p)));
		return 0;
	case DW_CFA_val_offset:
		reg = cfi_uleb(p);
		set(run, reg, CFI_OFFSET, scaled(run, cfi_uleb(p)));
		return 0;
	case DW_CFA_val_offset_sf:
		reg = cfi_uleb(p);
		set(run, reg, CFI_OFFSET, scaled(run, (uint64_t)cfi_sleb(p)));
		return 0;
	case DW_CFA_expression:
		set_expr(run, CFI_AT_EXPR);
		return 0;
	case DW_CFA_val_expression:
		set_expr(run, CFI_EXPR);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int step(struct cfi_run *run)
{
	uint8_t op = *run->program.p++, operand = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(run, operand);
	case DW_CFA_offset:
		set(run, operand, CFI_AT_OFFSET, scaled(run, cfi_uleb(&run->program)));
		return 0;
	case DW_CFA_restore:
		restore(run, operand);
		return 0;
	default:
		return extended(run, op);
	}
}

void cfi_run_begin(struct cfi_run *run, const struct cfi_machine *m, const struct cfi_fde *fde)
{
	const uint8_t *program = fde->cie->section->bytes + fde->program;

	run->machine = m;
	run->cie = fde->cie;
	run->program = (struct cfi_reader){ .p = program, .end = program + fde->program_len };
	run->next = fde->start;
	run->end = fde->end;
	run->state = fde->cie->initial;
	run->depth = 0;
}

int cfi_run_next(struct cfi_run *run)
{
	if (run->next >= run->end)
		return 0;
	run->start = run->next;
	while (cfi_more(&run->program)) {
		if (step(run) < 0 || run->program.bad)
			return -EBADMSG;
		if (run->next != run->start)
			return 1;
	}
	run->next = run->end;
	return 1;
}

int cfi_run_initial(const struct cfi_machine *m, struct cfi_cie *cie,
		    const struct cfi_reader *program)
{
	struct cfi_run run = { .machine = m, .cie = cie, .program = *program };

	while (cfi_more(&run.program))
		if (step(&run) < 0 || run.program.bad || run.next != 0)
			return -EBADMSG;
	cie->initial = run.state;
	return 0;
}
