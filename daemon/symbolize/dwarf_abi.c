/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_abi.c - where parameters are, by the calling convention. */
#include "dwarf_abi.h"

#include <dwarf.h>
#include <string.h>

#include "probe/probe_registers.h"

#define N_VECTORS 8
#define MAX_DEPTH 16
#define MAX_ITEMS 64 /* of an array in registers */

#ifndef DW_CC_pass_by_reference
#define DW_CC_pass_by_reference 4
#endif

enum class {
	CLASS_NONE,
	CLASS_WHOLE,
	CLASS_VECTOR,
	CLASS_MEMORY,
};

/* How a value of up to 16 bytes is passed. */
struct passing {
	enum class halves[2];
	uint64_t size;
	bool by_reference; /* C++: its copy is not for everybody to make */
	unsigned n_floats; /* all are such; of arm64 */
	bool has_others;
};

static const struct probe_location nowhere = {
	.kind = PROBE_AT_NOTHING, .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER }
};

static void merge(struct passing *p, uint64_t offset, enum class class)
{
	enum class *half = &p->halves[offset / 8 < 2 ? offset / 8 : 1];

	if (offset >= 16 || class == CLASS_MEMORY)
		p->halves[0] = CLASS_MEMORY;
	else if (*half != CLASS_MEMORY && *half != CLASS_WHOLE)
		*half = class;
	p->n_floats += class == CLASS_VECTOR;
	p->has_others |= class == CLASS_WHOLE;
}

static bool member_type(Dwarf_Die *member, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(member, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset = 0;

	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &offset) == 0)
		return offset;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr) &&
	    dwarf_formudata(&attr, &offset) == 0)
		return offset / 8;
	return 0;
}

static void classify(struct passing *p, Dwarf_Die *type, uint64_t offset, unsigned depth);

static void classify_members(struct passing *p, Dwarf_Die *type, uint64_t offset, unsigned depth)
{
	Dwarf_Attribute attr;
	Dwarf_Word convention;
	Dwarf_Die child, of;

	if (dwarf_attr(type, DW_AT_calling_convention, &attr) &&
	    dwarf_formudata(&attr, &convention) == 0 && convention == DW_CC_pass_by_reference)
		p->by_reference = true;
	if (dwarf_child(type, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    !dwarf_hasattr(&child, DW_AT_external) && member_type(&child, &of))
			classify(p, &of, offset + member_offset(&child), depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void classify_array(struct passing *p, Dwarf_Die *type, uint64_t offset, unsigned depth)
{
	Dwarf_Word size, total;
	Dwarf_Die of;

	if (!member_type(type, &of) || dwarf_aggregate_size(&of, &size) != 0 || size == 0 ||
	    dwarf_aggregate_size(type, &total) != 0) {
		merge(p, offset, CLASS_MEMORY);
		return;
	}
	for (uint64_t at = 0; at < total && at < MAX_ITEMS; at += size)
		classify(p, &of, offset + at, depth + 1);
}

static void classify_base(struct passing *p, Dwarf_Die *type, uint64_t offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;
	int size = dwarf_bytesize(type);

	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding);
	if (encoding == DW_ATE_float) {
		/* A long double of x86 is passed in memory; of arm64 it is a vector. */
		merge(p, offset,
		      size <= 8 || PROBE_ARCH == PROBE_ARM64 ? CLASS_VECTOR : CLASS_MEMORY);
		return;
	}
	if (encoding == DW_ATE_complex_float) {
		merge(p, offset, CLASS_VECTOR);
		if (size > 8)
			merge(p, offset + 8, CLASS_VECTOR);
		return;
	}
	merge(p, offset, CLASS_WHOLE);
	if (size > 8)
		merge(p, offset + 8, CLASS_WHOLE);
}

static void classify(struct passing *p, Dwarf_Die *type, uint64_t offset, unsigned depth)
{
	Dwarf_Die peeled;

	if (depth > MAX_DEPTH || dwarf_peel_type(type, &peeled) != 0) {
		merge(p, offset, CLASS_MEMORY);
		return;
	}
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		classify_members(p, &peeled, offset, depth);
		break;
	case DW_TAG_array_type:
		classify_array(p, &peeled, offset, depth);
		break;
	case DW_TAG_base_type:
		classify_base(p, &peeled, offset);
		break;
	case DW_TAG_ptr_to_member_type:
		merge(p, offset, CLASS_WHOLE);
		if (dwarf_bytesize(&peeled) > 8)
			merge(p, offset + 8, CLASS_WHOLE);
		break;
	default: /* pointers, references, enums */
		merge(p, offset, CLASS_WHOLE);
	}
}

static bool is_memory(const struct passing *p)
{
	if (PROBE_ARCH == PROBE_ARM64 && p->n_floats > 0 && p->n_floats <= 4 && !p->has_others)
		return false;
	return p->size > 16 || p->halves[0] == CLASS_MEMORY || p->halves[1] == CLASS_MEMORY;
}

/* False: nobody can tell how large it is. */
static bool passing_of(Dwarf_Die *type, struct passing *ret)
{
	Dwarf_Die peeled;
	Dwarf_Word size;

	*ret = (struct passing){ 0 };
	if (!type || dwarf_peel_type(type, &peeled) != 0)
		return false;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		size = 8; /* some producers do not say it */
		break;
	default:
		if (dwarf_aggregate_size(&peeled, &size) != 0)
			return false;
	}
	ret->size = size;
	classify(ret, &peeled, 0, 0);
	return true;
}

static void on_stack(struct dwarf_abi *abi, uint64_t size, struct probe_location *ret)
{
	ret->kind = PROBE_AT_MEMORY;
	ret->registers[0] = probe_arch_stack(PROBE_ARCH);
	ret->offset = (int64_t)(probe_arch_stack_skip(PROBE_ARCH) + abi->stack);
	abi->stack += (size + 7) & ~7ull;
}

/* The value itself, or one word: where it is. */
static void by_reference(struct dwarf_abi *abi, struct probe_location *ret)
{
	if (abi->n_whole == probe_arch_n_args(PROBE_ARCH)) {
		abi->stack += 8; /* an address in memory of what is in memory */
		return;
	}
	ret->kind = PROBE_AT_MEMORY;
	ret->registers[0] = probe_arch_arg(PROBE_ARCH, abi->n_whole++);
}

static void in_vectors(struct dwarf_abi *abi, const struct passing *p, unsigned n,
		       struct probe_location *ret)
{
	if (abi->n_vector + n > N_VECTORS) {
		on_stack(abi, p->size, ret);
		return;
	}
	abi->n_vector += n;
	ret->offset = PROBE_IN_VECTOR;
}

static void in_registers(struct dwarf_abi *abi, const struct passing *p, struct probe_location *ret)
{
	unsigned n_halves = p->size > 8 ? 2 : 1, n_whole = 0, n_vector = 0;

	for (unsigned i = 0; i < n_halves; i++) {
		n_vector += p->halves[i] == CLASS_VECTOR;
		n_whole += p->halves[i] != CLASS_VECTOR;
	}
	if (PROBE_ARCH == PROBE_ARM64 && n_vector > 0 && !p->has_others) {
		in_vectors(abi, p, p->n_floats, ret);
		return;
	}
	if (PROBE_ARCH == PROBE_ARM64) {
		n_whole = n_halves;
		n_vector = 0;
	}
	if (abi->n_whole + n_whole > probe_arch_n_args(PROBE_ARCH) ||
	    abi->n_vector + n_vector > N_VECTORS) {
		/* Those of arm64 that come later are on the stack, too. */
		if (PROBE_ARCH == PROBE_ARM64)
			abi->n_whole = probe_arch_n_args(PROBE_ARCH);
		on_stack(abi, p->size, ret);
		return;
	}
	abi->n_vector += n_vector;
	if (n_whole == 0) {
		ret->offset = PROBE_IN_VECTOR;
		return;
	}
	ret->kind = PROBE_AT_REGISTERS;
	for (unsigned i = 0; i < n_halves; i++)
		if (n_vector == 0 || p->halves[i] != CLASS_VECTOR)
			ret->registers[i] = probe_arch_arg(PROBE_ARCH, abi->n_whole++);
}

void dwarf_abi_next(struct dwarf_abi *abi, Dwarf_Die *type, struct probe_location *ret)
{
	struct passing p;

	*ret = nowhere;
	abi->is_lost |= !passing_of(type, &p);
	if (abi->is_lost)
		return;
	if (p.size == 0)
		return; /* nothing is passed */
	if (p.by_reference || (is_memory(&p) && (PROBE_ARCH == PROBE_ARM64 || abi->by_reference)))
		by_reference(abi, ret);
	else if (is_memory(&p))
		on_stack(abi, p.size, ret);
	else
		in_registers(abi, &p, ret);
}

void dwarf_abi_begin(struct dwarf_abi *abi, Dwarf_Die *return_type)
{
	struct passing p;

	/* Of arm64 a register of its own has the address. */
	if (PROBE_ARCH == PROBE_X86_64 && passing_of(return_type, &p) && p.size > 0 &&
	    (p.by_reference || is_memory(&p)))
		abi->n_whole = 1;
}

void dwarf_abi_return(Dwarf_Die *type, struct probe_location *ret, bool *ret_is_address)
{
	unsigned n = 0;
	struct passing p;

	*ret = nowhere;
	*ret_is_address = false;
	if (!passing_of(type, &p))
		return;
	if (p.by_reference || is_memory(&p)) {
		if (PROBE_ARCH == PROBE_X86_64) {
			ret->kind = PROBE_AT_MEMORY;
			ret->registers[0] = probe_arch_retval(PROBE_ARCH, 0);
			*ret_is_address = true;
		}
		return;
	}
	if (p.n_floats > 0 && !p.has_others) {
		ret->offset = PROBE_IN_VECTOR;
		return;
	}
	ret->kind = PROBE_AT_REGISTERS;
	for (unsigned i = 0; i < (p.size > 8 ? 2u : 1u); i++)
		if (p.halves[i] != CLASS_VECTOR || PROBE_ARCH == PROBE_ARM64)
			ret->registers[i] = probe_arch_retval(PROBE_ARCH, n++);
}
