/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_def.h - what a probe shall be, as its author has written it.
 *
 * Where it is (SPEC):
 *
 *   uprobe:PATH:SYMBOL[+OFFSET]   when a function is entered, or an instruction is reached
 *   uretprobe:PATH:SYMBOL         when it returns
 *   usdt:PATH:PROVIDER:NAME       a probe that the program's author has put there
 *   tracepoint:SYSTEM:NAME        of the kernel
 *   fentry:FUNCTION  fexit:FUNCTION  kprobe:FUNCTION   of the kernel, where it has them
 *
 * PATH is absolute, or the name of a library ("libc.so.6", "libpython3.11.so.1.0"): then it is
 * every file of that name that a process has mapped, also in containers. SYMBOL may be a glob.
 *
 * What it says (EXPR): arg0 to arg9, retval, registers ($rdi), names of parameters where there
 * is DWARF or BTF, `->` and `.` for members, `*p`, `p[i]`, casts ("(struct gc *)arg0" by DWARF
 * or BTF name), numbers, strings, arithmetic, comparison, `&&`, `||`, `!`; pid, tid, cpu, uid,
 * time (ns), vmdata (bytes of private writable mappings of the process: VmData of its
 * /proc/PID/status). Of a tracepoint the fields by their names. TYPE: s8 to s64, u8 to u64,
 * x8 to x64, ptr, bool, str, str(N), f32, f64; without one it is that of the expression.
 */
#ifndef PROBE_DEF_H
#define PROBE_DEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes_events.h"

#define PROBE_NAME_LEN 64
#define PROBE_SPEC_LEN 512
#define PROBE_EXPR_LEN 256
#define PROBE_WHY_LEN  512 /* of the buffers behind `why`: one message, with the nearest names */

enum probe_kind {
	PROBE_UPROBE,
	PROBE_URETPROBE,
	PROBE_USDT,
	PROBE_TRACEPOINT,
	PROBE_FENTRY,
	PROBE_FEXIT,
	PROBE_KPROBE,
};

/* A SPEC in its parts. */
struct probe_place {
	enum probe_kind kind;
	char path[PROBE_SPEC_LEN];   /* uprobes and USDT: absolute, or the name of a library */
	char group[PROBE_NAME_LEN];  /* the provider, or the tracepoint's system */
	char symbol[PROBE_EXPR_LEN]; /* function (may be a glob), or the probe's name */
	uint64_t offset;
};

enum probe_type {
	PROBE_TYPE_AUTO, /* as the expression's */
	PROBE_TYPE_SIGNED,
	PROBE_TYPE_UNSIGNED,
	PROBE_TYPE_HEX,
	PROBE_TYPE_POINTER,
	PROBE_TYPE_BOOL,
	PROBE_TYPE_FLOAT,
	PROBE_TYPE_TEXT,
};

struct probe_arg {
	char name[PROBE_NAME_LEN];
	char expr[PROBE_EXPR_LEN];
	enum probe_type type;
	uint16_t size; /* in bytes; of PROBE_TYPE_TEXT the most of it; 0: the default */
	bool at_end;   /* it mentions retval, or is called NAME@end: taken at the end */
};

struct probe_def {
	char name[PROBE_NAME_LEN];
	struct probe_place at, end;
	bool has_end; /* begin and end are a slice; else each hit is an instant */
	size_t n_args;
	struct probe_arg args[PROBES_ARGS];
	char condition[PROBE_EXPR_LEN]; /* "": always */
	char key[PROBE_EXPR_LEN];	/* "": a begin and its end are of one thread, and nest */
	struct probe_arg counter;	/* its name "": none */
	bool with_stack;
	uint32_t
		rate; /* hits per second and CPU that are recorded; 0: all that there is room for */
};

/* "uprobe:libc.so.6:malloc". `why` says what is wrong with it, and where. */
int probe_place_parse(const char *spec, struct probe_place *ret, char why[PROBE_WHY_LEN]);
/*
 * "size=arg0:u64"; "n@end=arg0:u64" is taken at the end. A
 * counter is the same.
 */
int probe_arg_parse(const char *text, struct probe_arg *ret, char why[PROBE_WHY_LEN]);
/* The SPEC again, for lists and messages; cut to `size`. */
void probe_place_text(const struct probe_place *place, char *dst, size_t size);
/* Whether the parts fit together; fills in what follows from them (at_end). */
int probe_def_check(struct probe_def *def, char why[PROBE_WHY_LEN]);

#endif
