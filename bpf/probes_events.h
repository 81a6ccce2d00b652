/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * probes_events.h - records of bpf/probes.bpf.c, and the code that it runs for each probe;
 * read and made by daemon/collect/probes.c and daemon/probe/.
 *
 * A probe's expressions are compiled (daemon/probe/probe_compile.c) into code of a small
 * register machine: 64-bit registers, loads from the probed thread's memory, jumps that only
 * go forward. A load that fails ends the expression it is in, up to the next PROBES_FILTER,
 * _EMIT, _EMIT_TEXT, _KEY or _COUNTER: its value is "unreadable", a condition is false.
 */
#ifndef PROBES_EVENTS_H
#define PROBES_EVENTS_H

#include "event.h"
#include "user_stack.h"

#define PROBES_MAX	 128 /* places that are probed at a time: an index each */
#define PROBES_CODE	 96  /* instructions of one place */
#define PROBES_REGISTERS 8
#define PROBES_ARGS	 8   /* values that a hit carries, beside key and counter */
#define PROBES_TEXT	 256 /* bytes of a string, by default and at most */
#define PROBES_TEXTS	 4   /* strings that the code of one place compares with */
#define PROBES_COMPARED	 64  /* bytes of one, with the NUL */
#define PROBES_ROOM	 2304

enum probes_op {
	PROBES_END,	 /* of the code */
	PROBES_CONST,	 /* dst = imm */
	PROBES_REGISTER, /* dst = 8 bytes at offset imm of struct pt_regs */
	PROBES_FIELD,	 /* dst = `size` bytes at offset imm of the record of a tracepoint, or of
			    the arguments of fentry and fexit; PROBES_SIGNED */
	PROBES_RECORD,	 /* dst = where that record is, in memory of the kernel, + imm */
	PROBES_TASK,	 /* dst = tgid (imm 0), tid (1), CPU (2), time in ns (3), uid (4), pages of
			    private writable mappings (5) */
	PROBES_LOAD,	 /* dst = `size` bytes at a + imm; PROBES_SIGNED, PROBES_KERNEL */
	PROBES_ADD,	 /* dst = a op b: these up to PROBES_GE; b is `imm` with PROBES_IMM */
	PROBES_SUB,
	PROBES_MUL,
	PROBES_DIV, /* by 0: 0; PROBES_SIGNED, also of the rest */
	PROBES_MOD,
	PROBES_AND,
	PROBES_OR,
	PROBES_XOR,
	PROBES_SHL,
	PROBES_SHR, /* PROBES_SIGNED: arithmetic */
	PROBES_EQ,  /* 1 or 0 */
	PROBES_NE,
	PROBES_LT, /* PROBES_SIGNED, also those that follow */
	PROBES_LE,
	PROBES_GT,
	PROBES_GE,
	PROBES_EXTEND,	/* dst = the low `size` bytes of a; PROBES_SIGNED */
	PROBES_JUMP,	/* over `imm` instructions */
	PROBES_JUMP_IF, /* likewise if a is not 0 */
	PROBES_JUMP_UNLESS,
	PROBES_TEXT_EQ, /* dst = whether the string at a is texts[imm], of struct probe_code, or
			   begins with it: PROBES_PREFIX, _KERNEL, _SIZED */
	/* What becomes of values: */
	PROBES_FILTER,	  /* the hit is not wanted if a is 0, or was not to be read */
	PROBES_EMIT,	  /* the next argument is a */
	PROBES_EMIT_TEXT, /* the next argument is the string at a, of at most imm bytes;
			     PROBES_KERNEL, PROBES_SIZED */
	PROBES_KEY,	  /* the hit's key is a: of a begin and its end */
	PROBES_COUNTER,	  /* the value of the probe's counter is a */
	N_PROBES_OPS
};

/* probes_insn.flags */
#define PROBES_SIGNED 1
#define PROBES_KERNEL 2 /* memory of the kernel or of the process: the address tells */
#define PROBES_IMM    4
#define PROBES_PREFIX 8
#define PROBES_SIZED  16 /* the string has no more than b bytes, NUL or not */

struct probes_insn {
	__u8 op; /* enum probes_op */
	__u8 dst, a, b;
	__u8 size; /* 1, 2, 4 or 8 */
	__u8 flags;
	__u16 pad;
	__s64 imm;
};

/* probes_place.flags */
#define PROBES_FILTERS 1 /* there is a PROBES_FILTER in the code */
#define PROBES_PAIRS   2 /* an end is recorded if its begin was */
#define PROBES_KEYED   4 /* and they are of one key, not of one thread */

/*
 * One in the map `places`: what happens where its number is the low half of the attach
 * cookie. The high half is probes_event.site.
 */
struct probes_place {
	__u32 probe; /* its id */
	__u8 point;  /* enum probes_point */
	__u8 flags;
	__u16 pad;
	/* One hit each interval, with so much ahead; 0: as many as there are. */
	__u64 interval_ns, ahead_ns;
	struct probes_insn insns[PROBES_CODE];
	char texts[PROBES_TEXTS][PROBES_COMPARED];
};

/* What became of a place's hits, by CPU; hits = n_hits + n_over + n_unwanted + n_lost. */
struct probes_counts {
	__u64 n_hits; /* recorded */
	__u64 n_over;
	__u64 n_unwanted;
	__u64 n_lost;	 /* the ring was full, or too many hits at once on a CPU */
	__u64 n_own;	 /* of our own processes: none, but they cost as much */
	__u64 n_to_tell; /* of n_over, since the last record */
	__u64 next_ns;	 /* when the interval of the last one is over */
};

/* What a probe's begins have opened: of a thread, or of a key. */
struct probes_open_key {
	__u64 key; /* or tid */
	__u32 probe;
	__u32 is_keyed;
};

struct probes_open {
	__u64 recorded; /* bit 0: the innermost one was */
	__u32 depth;
	__u32 pad;
};

enum probes_event_type {
	PROBES_HIT = 1,
	/* Hits of `probe` take too much of a CPU: from hdr.time_ns on they are not seen, until ...
	 */
	PROBES_PAUSE,
	PROBES_RESUME,
	PROBES_STOP, /* a session stops at hdr.time_ns: no event of the ledger */
};

/* probes_event.point */
enum probes_point {
	PROBES_SINGLE,
	PROBES_BEGIN,
	PROBES_FINISH,
};

/* probes_event.flags */
#define PROBES_HAS_KEY	   0x01
#define PROBES_HAS_COUNTER 0x02
#define PROBES_HAS_STACK   0x04 /* a struct user_stack is the record's end */
#define PROBES_LIMITED	   0x08 /* `n_over` hits of this probe were not recorded before this one */

/*
 * A value of a hit: `len` bytes follow, then what is missing to 8. A number has 8; a string
 * no NUL.
 */
struct probes_value {
	__u16 len;
	__u8 is_text;
	__u8 is_unreadable; /* then there are 0 bytes */
	__u8 is_cut;	    /* the string was longer */
	__u8 pad[3];
};

/*
 * Only as much of it is transferred as there is. A stack lies behind the values, also
 * where these need all of `bytes`.
 */
struct probes_event {
	struct event_hdr hdr;
	__u32 probe; /* its id, never reused within the daemon's life */
	__u8 point;  /* enum probes_point */
	__u8 flags;
	__u8 n_values;
	__u8 pad;
	__u16 len;  /* of the values, a multiple of 8 */
	__u16 site; /* index in probe.functions, if its symbol is a glob */
	__u32 n_over;
	__u64 key;
	__u64 counter;
	__u64 sp; /* the stack pointer of a thread that runs into a probe; 0: of the kernel's */
	__u8 bytes[PROBES_ROOM]; /* values */
};

#define PROBES_HEAD (sizeof(struct event_hdr) + 40)

_Static_assert(sizeof(struct probes_insn) == 16, "no padding");
_Static_assert(sizeof(struct probes_value) == 8, "no padding");
_Static_assert(sizeof(struct probes_event) == PROBES_HEAD + PROBES_ROOM, "no padding");

#endif
