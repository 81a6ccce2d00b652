/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h - call frame information: the entries of a section (cfi_parse.c) and
 * what their programs say (cfi_program.c).
 *
 * Formats: DWARF 5 section 6.4, and the Linux Standard Base's differences for
 * .eh_frame. Every byte may be hostile. Of the registers only those are followed
 * that an unwind table can hold.
 */
#ifndef CFI_H
#define CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_reader.h"

struct hash;

/* Numbers of registers are DWARF's, of the machine's ABI. */
struct cfi_machine {
	uint16_t elf_machine;
	uint8_t sp, fp, ra;
	uint8_t bx; /* CFI_NO_REG: this machine needs no further one */
};

#define CFI_NO_REG 0xff

/* NULL: none that we know. */
const struct cfi_machine *cfi_machine_find(uint16_t elf_machine);
/* The one this program was built for. */
const struct cfi_machine *cfi_machine_native(void);

struct cfi_section {
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;			/* of the first byte */
	uint64_t text_vaddr, got_vaddr; /* what DW_EH_PE_textrel and _datarel are relative to */
	bool is_eh;			/* .eh_frame; else .debug_frame */
	bool is_open;			/* ends with an empty entry, `len` is only a bound */
};

/* A pointer in `encoding` (DW_EH_PE_*) at the reader's place in the section. */
uint64_t cfi_read_pointer(const struct cfi_section *s, struct cfi_reader *r, uint8_t encoding);

/* ---- what a program says of one place in the code ---- */

enum cfi_column { CFI_SP, CFI_FP, CFI_BX, CFI_RA, CFI_COLUMNS };

enum cfi_where {
	CFI_UNSET,     /* nothing was said: what the ABI says */
	CFI_SAME,      /* as in this frame */
	CFI_UNDEF,     /* gone */
	CFI_AT_OFFSET, /* in memory, at CFA + offset */
	CFI_OFFSET,    /* CFA + offset itself */
	CFI_REGISTER,  /* in register `offset` */
	CFI_AT_EXPR,   /* in memory, where an expression says */
	CFI_EXPR,      /* what an expression says */
};

struct cfi_value {
	uint8_t where; /* enum cfi_where */
	uint32_t len;  /* of the expression, in the section's bytes */
	union {
		int64_t offset;
		const uint8_t *expr;
	};
};

struct cfi_state {
	struct cfi_value cfa; /* CFI_UNSET, CFI_OFFSET (the two below) or CFI_EXPR */
	uint64_t cfa_reg;
	int64_t cfa_offset;
	struct cfi_value columns[CFI_COLUMNS];
};

/* ---- entries ---- */

/* A common information entry: what functions share. */
struct cfi_cie {
	const struct cfi_section *section;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t pointer_encoding;
	uint8_t segment_size;
	bool has_augmentation_data;
	bool is_signal_frame;
	struct cfi_state initial;
};

/* A frame description entry: one piece of code. */
struct cfi_fde {
	uint64_t start, end; /* vaddr; start < end */
	const struct cfi_cie *cie;
	uint32_t program, program_len; /* in the section */
};

/* Walks the FDEs of a section in the order in which they lie there. */
struct cfi_walk {
	const struct cfi_machine *machine;
	const struct cfi_section *section;
	struct hash *cies; /* by their offset + 1 */
	const struct cfi_cie *last_cie;
	uint64_t last_cie_offset;
	size_t pos;
	size_t n_damaged; /* entries that could not be read */
};

/* Machine and section stay the caller's and have to outlive what is found. */
int cfi_walk_init(struct cfi_walk *w, const struct cfi_machine *m, const struct cfi_section *s);
/* Frees the CIEs too. Takes what is zeroed. */
void cfi_walk_done(struct cfi_walk *w);
/* 1: `*ret` is one; 0: that was all; -ENOMEM. */
int cfi_walk_next(struct cfi_walk *w, struct cfi_fde *ret);

/* ---- programs ---- */

/* States put aside. Compilers use one or two. */
#define CFI_STACK_MAX 32

struct cfi_run {
	const struct cfi_machine *machine;
	const struct cfi_cie *cie;
	struct cfi_reader program;
	uint64_t next, end;
	/* From `start` up to the next one's `start`, or the FDE's end, this holds. */
	uint64_t start;
	struct cfi_state state;
	unsigned depth;
	struct cfi_state stack[CFI_STACK_MAX];
};

void cfi_run_begin(struct cfi_run *run, const struct cfi_machine *m, const struct cfi_fde *fde);
/*
 * 1: `start` and `state` are those of the next row; 0: that was all. -EBADMSG:
 * the program is broken, nothing is known from `start` on.
 */
int cfi_run_next(struct cfi_run *run);

/* Runs a CIE's own program into its `initial`. -EBADMSG. */
int cfi_run_initial(const struct cfi_machine *m, struct cfi_cie *cie,
		    const struct cfi_reader *program);

#endif
