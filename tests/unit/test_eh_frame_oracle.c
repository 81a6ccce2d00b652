/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of the programs on this machine against libdw: from the same
 * registers and the same memory both must find the same caller, at each place
 * where either of them says something new.
 *
 * Memory is made up: what lies at an address is a function of the address. So a
 * wrong offset, register or order of operations gives a wrong value.
 */
#include <check.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "unwind/cfi.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_cfi.h"
#include "unwind/unwind_table.h"

#define N_REGS	  33
#define MAX_STACK 16

/* A frame before the step to its caller, and what the step must find. */
struct frame {
	uint64_t pc, regs[N_REGS];
};

struct caller {
	bool is_end, is_signal;
	bool has_fp, has_bx; /* can be compared */
	uint64_t cfa, ra, fp, bx;
};

enum step { STEP_OK, STEP_NONE /* no CFI here */, STEP_UNABLE };

struct compare {
	const char *path;
	const struct cfi_machine *m;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	GElf_Addr entry;
	struct unwind_table table;
	struct frame frame;
	uint64_t n_rows, n_compared, n_unable;
	unsigned n_padding_run;
};

static uint64_t memory_at(uint64_t address)
{
	address *= 0x9e3779b97f4a7c15;
	return address ^ address >> 29;
}

/* ---- what libdw says ---- */

struct machine {
	uint64_t stack[MAX_STACK];
	unsigned n;
	bool is_value; /* the result is it, not where it lies */
	bool failed;
};

static void push(struct machine *s, uint64_t v)
{
	if (s->n == MAX_STACK)
		s->failed = true;
	else
		s->stack[s->n++] = v;
}

static uint64_t pop(struct machine *s)
{
	if (s->n == 0) {
		s->failed = true;
		return 0;
	}
	return s->stack[--s->n];
}

static uint64_t reg(const struct compare *c, struct machine *s, uint64_t number)
{
	if (number == 16 && c->m->ra == 16)
		return c->frame.pc;
	if (number < N_REGS)
		return c->frame.regs[number];
	s->failed = true;
	return 0;
}

static void operate(struct machine *s, uint8_t op)
{
	uint64_t b = pop(s), a = pop(s);

	switch (op) {
	case DW_OP_plus:
		push(s, a + b);
		break;
	case DW_OP_minus:
		push(s, a - b);
		break;
	case DW_OP_and:
		push(s, a & b);
		break;
	case DW_OP_shl:
		push(s, b < 64 ? a << b : 0);
		break;
	case DW_OP_ge:
		push(s, (int64_t)a >= (int64_t)b);
		break;
	default:
		s->failed = true;
	}
}

static void evaluate_op(const struct compare *c, struct machine *s, const Dwarf_Op *op,
			uint64_t cfa)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(s, op->atom - DW_OP_lit0);
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push(s, reg(c, s, op->atom - DW_OP_breg0) + op->number);
	} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		push(s, reg(c, s, op->atom - DW_OP_reg0));
		s->is_value = true;
	} else {
		switch (op->atom) {
		case DW_OP_bregx:
			push(s, reg(c, s, op->number) + op->number2);
			break;
		case DW_OP_regx:
			push(s, reg(c, s, op->number));
			s->is_value = true;
			break;
		case DW_OP_call_frame_cfa:
			push(s, cfa);
			break;
		case DW_OP_const1u:
		case DW_OP_const1s:
		case DW_OP_const2u:
		case DW_OP_const2s:
		case DW_OP_const4u:
		case DW_OP_const4s:
		case DW_OP_constu:
		case DW_OP_consts:
			push(s, op->number);
			break;
		case DW_OP_plus_uconst:
			push(s, pop(s) + op->number);
			break;
		case DW_OP_deref:
			push(s, memory_at(pop(s)));
			break;
		case DW_OP_stack_value:
			s->is_value = true;
			break;
		default:
			operate(s, op->atom);
		}
	}
}

/* The value that is described, or lies where it is described. */
static bool evaluate(const struct compare *c, const Dwarf_Op *ops, size_t n, uint64_t cfa,
		     bool is_location, uint64_t *ret)
{
	struct machine s = { 0 };

	for (size_t i = 0; i < n; i++)
		evaluate_op(c, &s, &ops[i], cfa);
	*ret = pop(&s);
	if (is_location && !s.is_value)
		*ret = memory_at(*ret);
	return !s.failed;
}

/* False: gone, or beyond this test. */
static bool libdw_register(const struct compare *c, Dwarf_Frame *frame, int number, uint64_t cfa,
			   bool *ret_is_undefined, uint64_t *ret)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	*ret_is_undefined = false;
	if (dwarf_frame_register(frame, number, mem, &ops, &n) != 0)
		return false;
	if (n == 0 && !ops) {
		*ret = c->frame.regs[number];
		return true;
	}
	*ret_is_undefined = n == 0;
	return n > 0 && evaluate(c, ops, n, cfa, true, ret);
}

static Dwarf_Frame *find_frame(struct compare *c, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;

	if (c->eh && dwarf_cfi_addrframe(c->eh, vaddr, &frame) == 0)
		return frame;
	if (c->debug && dwarf_cfi_addrframe(c->debug, vaddr, &frame) == 0)
		return frame;
	return NULL;
}

/* `*ret_end`: up to there libdw says the same. */
static enum step libdw_step(struct compare *c, uint64_t vaddr, struct caller *ret,
			    uint64_t *ret_end)
{
	Dwarf_Frame *frame = find_frame(c, vaddr);
	enum step step = STEP_UNABLE;
	bool is_undefined, signal;
	Dwarf_Op *ops;
	uint64_t sp;
	size_t n;
	int ra;

	if (!frame)
		return STEP_NONE;
	*ret = (struct caller){ 0 };
	ra = dwarf_frame_info(frame, NULL, ret_end, &signal);
	ret->is_signal = signal;
	if (signal) {
		step = STEP_OK;
		goto out;
	}
	if (!libdw_register(c, frame, ra, 0, &is_undefined, &ret->ra) && is_undefined) {
		ret->is_end = true;
		step = STEP_OK;
		goto out;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0 ||
	    !evaluate(c, ops, n, 0, false, &ret->cfa) ||
	    !libdw_register(c, frame, ra, ret->cfa, &is_undefined, &ret->ra) ||
	    !libdw_register(c, frame, c->m->sp, ret->cfa, &is_undefined, &sp) || sp != ret->cfa)
		goto out;
	ret->has_fp = libdw_register(c, frame, c->m->fp, ret->cfa, &is_undefined, &ret->fp);
	step = STEP_OK;
	if (c->m->bx == CFI_NO_REG)
		goto out;
	ret->has_bx = libdw_register(c, frame, c->m->bx, ret->cfa, &is_undefined, &ret->bx);
	if (is_undefined) { /* what the ABI says of rbx, elfutils 0.188 says of rax */
		ret->has_bx = true;
		ret->bx = c->frame.regs[c->m->bx];
	}
out:
	free(frame);
	return step;
}

/* ---- what our table says ---- */

static uint64_t our_cfa(const struct compare *c, const struct unwind_rule *r)
{
	uint64_t sp = c->frame.regs[c->m->sp], fp = c->frame.regs[c->m->fp];

	switch (r->cfa) {
	case UNWIND_CFA_SP:
		return sp + r->cfa_off;
	case UNWIND_CFA_FP:
		return fp + r->cfa_off;
	case UNWIND_CFA_REG:
		return c->frame.regs[r->cfa_reg] + r->cfa_off;
	case UNWIND_CFA_DEREF_SP:
		return memory_at(sp + r->cfa_off) + r->cfa_add;
	case UNWIND_CFA_DEREF_FP:
		return memory_at(fp + r->cfa_off) + r->cfa_add;
	case UNWIND_CFA_PLT:
		return sp + 8 + ((c->frame.pc & 15) >= (uint64_t)r->cfa_off ? 8 : 0);
	default:
		ck_abort_msg("no CFA in rule of kind %d", r->cfa);
		return 0;
	}
}

static enum step our_step(const struct compare *c, const struct unwind_rule *r, struct caller *ret)
{
	*ret = (struct caller){ 0 };
	switch (r->cfa) {
	case UNWIND_CFA_NONE:
		return STEP_NONE;
	case UNWIND_CFA_SIGNAL:
		ret->is_signal = true;
		return STEP_OK;
	case UNWIND_CFA_END:
		ret->is_end = true;
		return STEP_OK;
	case UNWIND_CFA_BAD_EXPR:
	case UNWIND_CFA_BAD_RA:
		return STEP_UNABLE;
	default:
		break;
	}
	ret->cfa = our_cfa(c, r);
	if (r->ra == UNWIND_REG_CFA_OFF)
		ret->ra = memory_at(ret->cfa + r->ra_off);
	else
		ret->ra = c->frame.regs[r->ra == UNWIND_REG_REG ? r->ra_off : c->m->ra];
	ret->has_fp = true;
	if (r->fp == UNWIND_REG_SAME)
		ret->fp = c->frame.regs[c->m->fp];
	else if (r->fp == UNWIND_REG_CFA_OFF)
		ret->fp = memory_at(ret->cfa + r->fp_off);
	else if (r->fp == UNWIND_REG_DEREF_FP)
		ret->fp = memory_at(c->frame.regs[c->m->fp] + r->fp_off);
	else
		ret->has_fp = false;
	if (c->m->bx == CFI_NO_REG)
		return STEP_OK;
	ret->has_bx = r->bx_off != UNWIND_BX_GONE;
	ret->bx = r->bx_off ? memory_at(ret->cfa + r->bx_off) : c->frame.regs[c->m->bx];
	return STEP_OK;
}

/* ---- the comparison ---- */

/* Check's own macros write to a file each time: too much for millions. */
#define REQUIRE(condition, ...)                    \
	do {                                       \
		if (!(condition))                  \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

static bool is_entry(const struct compare *c, uint64_t vaddr)
{
	return vaddr >= c->entry && vaddr < c->entry + 256;
}

static void compare_callers(struct compare *c, uint64_t vaddr, const struct caller *ours,
			    const struct caller *dw)
{
#define SAME(what)                                                                              \
	REQUIRE(ours->what == dw->what,                                                         \
		"%s at 0x%" PRIx64 ": " #what " is 0x%" PRIx64 ", libdw's 0x%" PRIx64, c->path, \
		vaddr, (uint64_t)ours->what, (uint64_t)dw->what)
	SAME(is_signal);
	SAME(is_end);
	if (ours->is_signal || ours->is_end)
		return;
	SAME(cfa);
	SAME(ra);
	if (ours->has_fp) {
		SAME(has_fp);
		SAME(fp);
	}
	if (ours->has_bx) {
		SAME(has_bx);
		SAME(bx);
	}
	if ((!ours->has_fp && dw->has_fp) || (!ours->has_bx && dw->has_bx))
		c->n_unable++;
#undef SAME
}

/* Up to where libdw says the same. In padding after a function it says nothing: byte by byte. */
static uint64_t compare_at(struct compare *c, uint64_t vaddr, uint64_t end,
			   const struct unwind_rule *rule)
{
	struct caller ours, dw;
	enum step our, their;
	uint64_t same_to = end;

	c->frame.pc = vaddr;
	our = our_step(c, rule, &ours);
	their = libdw_step(c, vaddr, &dw, &same_to);
	c->n_compared++;
	if (our == STEP_OK && their == STEP_NONE) {
		if (ours.is_end && is_entry(c, vaddr))
			return end;
		c->n_padding_run++;
		REQUIRE(c->n_padding_run < 64, "%s at 0x%" PRIx64 ": libdw has no rule", c->path,
			vaddr);
		return vaddr + 1;
	}
	c->n_padding_run = 0;
	if (our == STEP_UNABLE || their == STEP_UNABLE)
		c->n_unable++;
	else if (our == STEP_OK && their == STEP_OK)
		compare_callers(c, vaddr, &ours, &dw);
	else
		REQUIRE(our == their, "%s at 0x%" PRIx64 ": only libdw has a rule", c->path, vaddr);
	return same_to < end && same_to > vaddr ? same_to : end;
}

static void compare_row(struct compare *c, uint64_t vaddr, uint64_t end,
			const struct unwind_rule *rule)
{
	c->n_rows++;
	if (rule->cfa == UNWIND_CFA_NONE && end - vaddr > 1)
		(void)compare_at(c, end - 1, end, rule);
	while (vaddr < end) {
		uint64_t next = compare_at(c, vaddr, end, rule);

		if (next - vaddr > 1)
			(void)compare_at(c, vaddr + (next - vaddr) / 2, next, rule);
		vaddr = next;
	}
}

/* The piece of a segment that lies at [offset, end) in the file. */
static void compare_rows_at(struct compare *c, uint64_t offset, uint64_t end,
			    const struct unwind_rule *rule)
{
	size_t n;

	REQUIRE(elf_getphdrnum(c->elf, &n) == 0, "%s: no headers", c->path);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		uint64_t from, to;

		REQUIRE(gelf_getphdr(c->elf, (int)i, &ph), "%s: no header", c->path);
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		from = offset > ph.p_offset ? offset : ph.p_offset;
		to = end < ph.p_offset + ph.p_filesz ? end : ph.p_offset + ph.p_filesz;
		if (from < to)
			compare_row(c, from - ph.p_offset + ph.p_vaddr,
				    to - ph.p_offset + ph.p_vaddr, rule);
	}
}

static void compare_table(struct compare *c)
{
	const struct unwind_table *t = &c->table;

	for (uint32_t p = 0; p < t->head.n_pages; p++) {
		uint64_t base = (t->head.first_page + p) << UNWIND_PAGE_SHIFT;

		c->n_padding_run = 0;
		for (uint32_t i = t->pages[p]; i < t->pages[p + 1]; i++) {
			uint64_t end = UNWIND_PAGE_SIZE;
			struct unwind_rule rule;

			if (i + 1 < t->pages[p + 1])
				end = UNWIND_ROW_OFFSET(t->rows[i + 1]);
			unwind_table_find(t, base + UNWIND_ROW_OFFSET(t->rows[i]), &rule);
			REQUIRE(memcmp(&rule, &t->rules[UNWIND_ROW_RULE(t->rows[i])],
				       sizeof(rule)) == 0,
				"%s: row %u is not found", c->path, i);
			compare_rows_at(c, base + UNWIND_ROW_OFFSET(t->rows[i]), base + end, &rule);
		}
	}
}

static uint32_t last_flags; /* of the table that was compared last */

static void make_frame(struct frame *f)
{
	for (unsigned i = 0; i < N_REGS; i++)
		f->regs[i] = 0x7ffc00000000 + i * 0x10000000ull + memory_at(i) % 0x100000 * 8;
}

/* False: not there, or no program of a machine that we know. */
static bool compare_file(const char *path)
{
	struct compare c = { .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct elf_source src = { .fd = fd };
	GElf_Ehdr eh;
	void *bytes;
	size_t len;
	int r;

	if (fd < 0)
		return false;
	c.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	c.m = gelf_getehdr(c.elf, &eh) ? cfi_machine_find(eh.e_machine) : NULL;
	if (!c.m) { /* a linker script, say */
		elf_end(c.elf);
		close(fd);
		return false;
	}
	r = eh_frame_table_of(c.m, &src, &bytes, &len);
	ck_assert_msg(r == 0, "%s: %s", path, strerror(-r));
	ck_assert_int_eq(unwind_table_decode(bytes, len, &c.table), 0);
	ck_assert_msg(!(c.table.head.flags & (UNWIND_TABLE_CUT | UNWIND_TABLE_DAMAGED)),
		      "%s: flags %u", path, c.table.head.flags);

	last_flags = c.table.head.flags;
	c.entry = eh.e_entry;
	c.eh = dwarf_getcfi_elf(c.elf);
	c.dwarf = dwarf_begin_elf(c.elf, DWARF_C_READ, NULL);
	c.debug = c.dwarf ? dwarf_getcfi(c.dwarf) : NULL;
	make_frame(&c.frame);
	compare_table(&c);
	printf("%s: %u pieces, %u rows, %u rules; %" PRIu64 " rows at %" PRIu64
	       " places compared, %" PRIu64 " beyond a rule\n",
	       path, c.table.head.n_fdes, c.table.head.n_rows, c.table.head.n_rules, c.n_rows,
	       c.n_compared, c.n_unable);
	ck_assert_uint_ge(c.n_compared, c.n_rows);
	/* Expressions and far away registers are of a few functions in assembly code. */
	ck_assert_msg(c.n_unable <= 20 + c.n_compared / 100, "%s: %" PRIu64 " of %" PRIu64, path,
		      c.n_unable, c.n_compared);

	if (c.eh)
		dwarf_cfi_end(c.eh);
	if (c.dwarf)
		dwarf_end(c.dwarf);
	elf_end(c.elf);
	free(bytes);
	close(fd);
	return true;
}

static const char *const programs[] = {
	"/proc/self/exe",
	"/bin/bash",
	"/usr/bin/perl",
	"/usr/bin/python3.[0-9]*",
	"/usr/bin/openssl",
	"/usr/bin/node",
	"/usr/bin/x86_64-linux-gnu-gcc-[0-9]*",
	"/usr/bin/*-linux-gnu-as",
	"/usr/lib/llvm-*/bin/clang",
	"/usr/lib/gcc/*/*/cc1",
	"/lib/*-linux-gnu/ld-linux*.so.*",
	"/lib/*-linux-gnu/libc.so.6",
	"/lib/*-linux-gnu/libm.so.6",
	"/lib/*-linux-gnu/libgcc_s.so.1",
	"/lib/*-linux-gnu/libstdc++.so.6",
	"/usr/lib/*-linux-gnu/libcrypto.so.3",
	"/usr/lib/*-linux-gnu/libssl.so.3",
	"/usr/lib/*-linux-gnu/libgmp.so.10",
	"/usr/lib/jvm/*/lib/server/libjvm.so",
	"/usr/lib/*-linux-gnu/libLLVM-[0-9]*.so.1",
	"/usr/lib/*-linux-gnu/libclang-cpp.so.*",
	/* Of the other machine, where there is a cross compiler. */
	"/usr/aarch64-linux-gnu/lib/*.so*",
	"/usr/x86_64-linux-gnu/lib/*.so*",
};

/* Another name of the one before. */
static bool is_again(const char *path, const char *before)
{
	struct stat a, b;

	return before && stat(path, &a) == 0 && stat(before, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

START_TEST(rules_are_those_of_libdw)
{
	bool is_needed = strstr(programs[_i], "self") || strstr(programs[_i], "/ld-") ||
			 strstr(programs[_i], "libc.so");
	const char *before = NULL;
	unsigned n = 0;
	glob_t found;

	if (glob(programs[_i], 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *path = found.gl_pathv[i];

			if (!is_again(path, before))
				n += compare_file(path);
			before = path;
		}
		globfree(&found);
	}
	if (is_needed)
		ck_assert_uint_gt(n, 0);
}
END_TEST

/* ---- files that have to be made first ---- */

static int memfd_of(const void *bytes, size_t len, char path[64])
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

START_TEST(rules_of_the_vdso_are_those_of_libdw)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)vdso;
	char path[64];
	int fd;

	if (!vdso || eh->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	/* Its section headers are the last of it. */
	fd = memfd_of(vdso, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, path);
	ck_assert(compare_file(path));
	close(fd);
}
END_TEST

/* Without exceptions compilers leave descriptions to the debugger, in .debug_frame. */
START_TEST(rules_of_debug_frame_are_those_of_libdw)
{
	static const char *const flags[] = {
		"-O2 -gz=none",
		"-O2 -gz=zlib",
		"-O0 -gdwarf-4 -gz=none",
		"-O2 -gdwarf-3 -gz=zlib-gnu -fomit-frame-pointer",
	};
	static const char source[] =
		"#include <alloca.h>\n#include <stdlib.h>\n#include <string.h>\n"
		"int leaf(int x) { return x * 3; }\n"
		"int calls(int x) { return abs(leaf(x)) + 1; }\n"
		"int moves(int n) { char *p = alloca(n); memset(p, n, n); return p[n / 2] + "
		"calls(n); }\n"
		"int aligns(int n) { __attribute__((aligned(64))) char b[256]; memset(b, n, 256);\n"
		"	return b[n & 255] + moves(n); }\n"
		"int recurses(int n) { return n ? recurses(n - 1) * calls(n) + aligns(n) : 1; }\n"
		"int main(int argc, char **argv) { (void)argv; return recurses(argc) & 1; }\n";
	char dir[] = "/tmp/eh-frame-XXXXXX", path[64], command[256];
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(source, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	snprintf(command, sizeof(command),
		 "cc -g %s -fno-asynchronous-unwind-tables -fno-unwind-tables -o %s/a %s",
		 flags[_i], dir, path);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/a", dir);
	ck_assert(compare_file(path));
	ck_assert_uint_ne(last_flags & UNWIND_TABLE_DEBUG_FRAME, 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_table_is_the_same_without_section_headers)
{
	struct buf file = { 0 };
	void *with, *without;
	size_t with_len, without_len;
	char path[64];
	Elf64_Ehdr *eh;
	int fd;

	ck_assert_int_eq(io_read_all("/bin/bash", 1u << 30, &file), 0);
	ck_assert_int_eq(eh_frame_table_image(file.data, file.len, &with, &with_len), 0);
	eh = (Elf64_Ehdr *)file.data;
	eh->e_shoff = 0;
	eh->e_shnum = 0;
	fd = memfd_of(file.data, file.len, path);
	ck_assert_int_eq(eh_frame_table(fd, &without, &without_len), 0);
	ck_assert_uint_eq(with_len, without_len);
	ck_assert_int_eq(memcmp(with, without, with_len), 0);
	free(with);
	free(without);
	buf_done(&file);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("eh_frame_oracle");
	TCase *tc = tcase_create("eh_frame_oracle");
	SRunner *sr;
	int failed;

	(void)elf_version(EV_CURRENT);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, rules_are_those_of_libdw, 0,
			    sizeof(programs) / sizeof(programs[0]));
	tcase_add_test(tc, rules_of_the_vdso_are_those_of_libdw);
	tcase_add_loop_test(tc, rules_of_debug_frame_are_those_of_libdw, 0, 4);
	tcase_add_test(tc, a_table_is_the_same_without_section_headers);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
