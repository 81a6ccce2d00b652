/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_rules.h - from what a program of call frame information says to a rule of an unwind table. */
#ifndef CFI_RULES_H
#define CFI_RULES_H

#include "cfi.h"
#include "unwind.h"

/* What a row cannot hold becomes one of the rules that say so (UNWIND_CFA_BAD_EXPR, ...). */
void cfi_rule(const struct cfi_machine *m, const struct cfi_cie *cie, const struct cfi_state *s,
	      struct unwind_rule *ret);

#endif
