/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_abi.h - where the parameters of a function are when it begins, and what it returns
 * when it ends, by the calling convention of C.
 *
 * "System V Application Binary Interface, AMD64", 3.2.3; "Procedure Call Standard for the Arm
 * 64-bit Architecture", 6.8. Runs in the unprivileged worker only.
 */
#ifndef DWARF_ABI_H
#define DWARF_ABI_H

#include <elfutils/libdw.h>

#include "probe/probe_types.h"

/* Zero-initialised for the first parameter. */
struct dwarf_abi {
	unsigned n_whole, n_vector; /* registers that are taken */
	uint64_t stack;		    /* bytes */
	bool is_lost;		    /* from here on nobody can tell */
	bool by_reference;	    /* as Rust does it: what is large is passed by its address */
};

/* What is returned in memory has an address that is passed as a first parameter. */
void dwarf_abi_begin(struct dwarf_abi *abi, Dwarf_Die *return_type);
/* The next parameter; `type` NULL: not known. */
void dwarf_abi_next(struct dwarf_abi *abi, Dwarf_Die *type, struct probe_location *ret);
/* `*ret_is_address`: what is returned is where it is. */
void dwarf_abi_return(Dwarf_Die *type, struct probe_location *ret, bool *ret_is_address);

#endif
