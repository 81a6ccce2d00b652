/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * unwind.h - unwind tables, as they lie in BPF maps, and why a walk ends.
 *
 * Shared by three: the worker makes tables of a file's call frame information
 * (daemon/unwind/eh_frame.c), the daemon lays them into maps
 * (daemon/unwind/unwind_maps.c), and the walker finds its way by them
 * (unwind_step.h; in BPF, and in the daemon for stacks that were copied).
 *
 * A table covers the executable segments of one file, by offset in the file, so
 * that a mapping's start and offset are all that is needed to look a pc up:
 *
 *   page:  one u32 for each 4 KiB of the file, the index of its first row; one
 *          more at the end. A page that has rows begins with a row at offset 0.
 *   row:   from this offset in the page on, this rule holds.
 *   rule:  where the caller's registers are.
 */
#ifndef UNWIND_H
#define UNWIND_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define UNWIND_PAGE_SHIFT 12
#define UNWIND_PAGE_SIZE  (1u << UNWIND_PAGE_SHIFT)

/* A row: the rule's number above the offset in the page. */
#define UNWIND_ROW(offset, rule) ((__u32)(rule) << 16 | (__u32)(offset))
#define UNWIND_ROW_OFFSET(row)	 ((row)&0xffff)
#define UNWIND_ROW_RULE(row)	 ((row) >> 16)
#define UNWIND_MAX_RULES	 65536

/* How the canonical frame address (CFA) is had. What is not named uses cfa_off alone. */
enum unwind_cfa {
	UNWIND_CFA_NONE,     /* nothing is known: between functions, or code without CFI */
	UNWIND_CFA_SP,	     /* sp + cfa_off */
	UNWIND_CFA_FP,	     /* fp + cfa_off */
	UNWIND_CFA_REG,	     /* DWARF register cfa_reg + cfa_off */
	UNWIND_CFA_DEREF_SP, /* *(sp + cfa_off) + cfa_add */
	UNWIND_CFA_DEREF_FP, /* *(fp + cfa_off) + cfa_add */
	UNWIND_CFA_PLT,	     /* x86-64: sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0) */
	UNWIND_CFA_SIGNAL,   /* the kernel's signal frame is at sp */
	UNWIND_CFA_END,	     /* the thread's first frame: no caller */
	UNWIND_CFA_BAD_EXPR, /* an expression, but none of those above */
	UNWIND_CFA_BAD_RA,   /* the return address is somewhere else */
	UNWIND_CFA_KINDS
};

/* Where a register of the caller is. */
enum unwind_reg {
	UNWIND_REG_SAME,     /* unchanged. For the return address: in its register (arm64) */
	UNWIND_REG_CFA_OFF,  /* *(CFA + off) */
	UNWIND_REG_DEREF_FP, /* *(fp + off), fp being this frame's: an interpreter's */
	UNWIND_REG_REG,	     /* in DWARF register `off` */
	UNWIND_REG_UNDEF,    /* gone */
	UNWIND_REG_BAD,	     /* an expression, or too far away */
	UNWIND_REG_KINDS
};

/*
 * x86-64: sp is rsp, fp is rbp, bx is rbx; the return address is always at
 * CFA - 8 unless `ra` is UNWIND_REG_REG or _DEREF_FP. arm64: fp is x29, ra is x30,
 * no bx.
 */
struct unwind_rule {
	__u8 cfa;     /* enum unwind_cfa */
	__u8 cfa_reg; /* UNWIND_CFA_REG */
	__u8 fp;      /* enum unwind_reg; UNWIND_REG_REG is written as _BAD */
	__u8 ra;      /* enum unwind_reg: _CFA_OFF, _REG, _DEREF_FP, or _SAME (arm64) */
	__s32 cfa_off;
	__s16 cfa_add;
	__s16 fp_off;
	__s16 ra_off; /* x86-64: -8, or the register */
	__s16 bx_off; /* *(CFA + bx_off); 0: unchanged; UNWIND_BX_GONE: not to be had */
};

#define UNWIND_BX_GONE 1

_Static_assert(sizeof(struct unwind_rule) == 16, "as unwinding.md has it");

/*
 * Why a walk ended. The names (unwind_end_name()) are what users see; a stack is
 * whole with the first two, and there was no user stack to walk with the last
 * five.
 */
enum unwind_end {
	UNWIND_COMPLETE,     /* the thread's first frame was reached */
	UNWIND_APPROX,	     /* so it was, by frame pointers where nothing better was known */
	UNWIND_DEPTH,	     /* deeper than UNWIND_MAX_FRAMES */
	UNWIND_NOPROC,	     /* the process is not known yet */
	UNWIND_NOMAP,	     /* no mapping is known at this address */
	UNWIND_PENDING,	     /* the file's table is being made */
	UNWIND_NO_CFI,	     /* no rule here, and no frame pointer either */
	UNWIND_BAD_CFA_EXPR, /* a rule beyond what a row can hold */
	UNWIND_BAD_CFA_REG,  /* a register whose value is not known here */
	UNWIND_BAD_RA,
	UNWIND_READ_STACK, /* memory that could not be read: paged out, or no stack */
	UNWIND_READ_FP,
	UNWIND_JIT_NOFP,    /* generated code that keeps no frame pointer */
	UNWIND_SP_BACKWARD, /* the next frame would be below this one: a wrong rule */
	UNWIND_BAD_PC,	    /* a return address that is none */
	UNWIND_TABLE_FULL,  /* the maps are full: this file has no table */
	UNWIND_NO_STATE,    /* the walker itself had no room */
	UNWIND_COPY_SHORT,  /* finished in the daemon; the copied piece of stack was too short */
	UNWIND_FP_ONLY, /* walked by the kernel, by frame pointers: whole or not, nobody knows */
	UNWIND_EXITING, /* the address space is being taken down */
	UNWIND_EXECVE,	/* or replaced */
	UNWIND_KTHREAD,
	UNWIND_COMPAT32, /* a 32-bit program */
	UNWIND_ASLEEP,	 /* it has slept since before anybody looked */
	UNWIND_ENDS
};

#define UNWIND_MAX_FRAMES 512

/* ---- what lies in the maps; the daemon writes it, programs read it ---- */

/*
 * In the maps a page's entry is the number of its first row over all shards, and
 * that row, whose offset is 0, has in place of the offset the number of rows.
 * The rows of a page lie in one shard.
 */
#define UNWIND_NO_ROWS	   0xffffffffu
#define UNWIND_SHARD_SHIFT 20
#define UNWIND_SHARD_ROWS  (1u << UNWIND_SHARD_SHIFT) /* 4 MiB */
#define UNWIND_MAX_SHARDS  64

/* All powers of two. */
#define UNWIND_PAGES	(1u << 20) /* 4 GiB of text */
#define UNWIND_MAPPINGS (1u << 17)
#define UNWIND_TABLES	(1u << 14)

enum unwind_table_state {
	UNWIND_TABLE_FREE,
	UNWIND_TABLE_PENDING, /* being made */
	UNWIND_TABLE_READY,
	UNWIND_TABLE_NONE, /* the file has no CFI, or cannot be read: frame pointers */
	UNWIND_TABLE_NO_ROOM,
};

struct unwind_table_ref {
	__u32 state; /* enum unwind_table_state */
	__u32 first; /* index in `pages` of the table's first page */
	__u32 n_pages;
	__u32 first_page; /* the number of that page in the file */
};

enum unwind_mapping_kind {
	UNWIND_MAPPING_FILE, /* see its table */
	UNWIND_MAPPING_JIT,  /* generated code: no file */
	/* Generated code with a table: where that has no rule, it will have one soon. */
	UNWIND_MAPPING_JIT_TABLE,
};

struct unwind_mapping {
	__u64 start, end;
	__u64 delta; /* pc + delta is the offset in the file */
	__u32 table; /* index in `tables` */
	__u32 kind;  /* enum unwind_mapping_kind */
};

struct unwind_data {
	__u32 pages[UNWIND_PAGES];
	struct unwind_rule rules[UNWIND_MAX_RULES];
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
	struct unwind_table_ref tables[UNWIND_TABLES];
};

/*
 * The mappings of a process, by tgid. They hold for one program in one process:
 * another one that has got the same pid, or the same one after exec, differs in
 * `start_ns` or `exec_id`.
 */
struct unwind_proc {
	__u32 first, n; /* in `mappings`, sorted */
	__u64 start_ns; /* the leader's start, BOOTTIME */
	__u64 exec_id;	/* task_struct.self_exec_id */
};

#define UNWIND_MAX_PROCS 16384

/* ---- a walk that goes on in the daemon ---- */

/* Most stacks are shorter; the rest gets a large copy as long as there is room for it. */
#define UNWIND_COPY_BYTES	16384
#define UNWIND_LARGE_COPY_BYTES 57344 /* a record's size has 16 bits */
#define UNWIND_REGS		32    /* by DWARF number; x86-64 has 16 */

/*
 * Below sp, a function that calls none may keep what it likes, and one that is
 * about to return has what it has just restored: rules go on pointing there.
 */
#define UNWIND_RED_ZONE 128

/*
 * Where a walk stopped for want of a mapping or a table, and the stack from
 * there on. The last frame recorded is the one at `pc`.
 */
struct unwind_copy {
	__u64 pc, sp, fp;
	__u64 from;	/* address of the first byte copied */
	__u64 bx;	/* value of rbx there, if has_bx */
	__u64 start_ns; /* as in struct unwind_proc */
	__u64 exec_id;
	__u16 len;     /* of the stack copied; 0: there is no copy */
	__u16 missing; /* pages that could not be read: bit 0 is the one of `from` */
	__u8 is_exact; /* pc is where it runs, and regs are its registers */
	__u8 has_bx;
	__u8 is_approx;
	__u8 pad;
	__u64 regs[UNWIND_REGS];
};

#endif
