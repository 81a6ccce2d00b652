/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * python.h - what the daemon tells the walker of Python frames (python.bpf.h),
 * and what that tells the daemon.
 *
 * CPython keeps its frames in a chain of its own, in memory of the process. The
 * walker follows it at each sample and gives a word for each frame; a code
 * object (a function) is described once, in a record of the ring `python_ring`,
 * and known by a number from then on.
 */
#ifndef PYTHON_H
#define PYTHON_H

#include <linux/types.h>

/* Deeper is rare without deep recursion: CPython itself stops at 1000. */
#define PYTHON_MAX_FRAMES 127
#define PYTHON_WORDS_ROOM 128 /* where the walker writes them: a power of two, for the verifier */

#define PYTHON_MAX_LAYOUTS 16
#define PYTHON_MAX_PROCS   8192

/* An address space that runs CPython: value of `python_procs`, by tgid. */
struct python_proc {
	__u64 runtime; /* address of _PyRuntime */
	__u32 layout;  /* index in `python_layouts` */
	__u32 pad;
};

/*
 * Programs that are CPython themselves, rather than their library: value of
 * `python_programs`, by the file. Whoever runs one is known at its first sample.
 */
struct python_program_key {
	__u64 inode;
	__u32 major, minor; /* of the device */
};

struct python_program {
	__u64 runtime; /* _PyRuntime, from where the program's code begins (mm_struct.start_code) */
	__u32 layout;
	__u32 pad;
};

#define PYTHON_MAX_PROGRAMS 256

/*
 * Where things are, in bytes from the start of their structure. Windows are read
 * in one go: what the walker needs of a frame lies in its first PYTHON_FRAME_WINDOW
 * bytes, of a code object in its first PYTHON_CODE_WINDOW; the daemon makes sure.
 */
#define PYTHON_FRAME_WINDOW 80
#define PYTHON_CODE_WINDOW  160

struct python_layout {
	__u32 interpreters; /* in _PyRuntime: the first interpreter */
	__u32 interp_next, interp_threads;
	__u32 thread_next, thread_id, native_id;
	/* To the innermost frame: *(thread + thread_frame), or one step more over the C frame. */
	__u32 thread_frame;
	__u32 cframe_frame; /* PYTHON_NO_CFRAME: none */
	__u16 frame_code, frame_previous, frame_instr;
	__u16 frame_owner, frame_entry; /* one byte each; entry PYTHON_NO_FIELD: by owner */
	__u16 code_size, code_firstline, code_filename, code_name, code_qualname, code_linetable;
	__u16 code_units; /* where the instructions begin */
	__u16 str_length, str_state, str_ascii, str_data;
	__u16 bytes_size, bytes_data;
	__u16 pad;
};

/* The only value of `python_state`: counted by all walkers, on all CPUs. */
struct python_state {
	__u32 n_codes; /* numbers given to code objects so far */
	__u32 pad;
};

/* Code objects known at a time. The daemon makes room when there is little left. */
#define PYTHON_MAX_CODES 32768

#define PYTHON_NO_CFRAME 0xffffffffu
#define PYTHON_NO_FIELD	 0xffffu

/* frame_owner of a frame that is none: it marks where the C stack was entered (3.12 on). */
#define PYTHON_OWNED_BY_CSTACK 3

/*
 * A frame: the number of its code object, which instruction it is at (in units of
 * two bytes), and whether the interpreter's C function was entered with it. Of
 * one that had not begun yet the unit is PYTHON_NO_UNIT.
 */
#define PYTHON_WORD(code, unit, entry) ((__u64)(entry) << 63 | (__u64)(unit) << 32 | (__u32)(code))
#define PYTHON_WORD_CODE(word)	       ((__u32)(word))
#define PYTHON_WORD_UNIT(word)	       ((__u32)((word) >> 32) & 0x7fffffff)
#define PYTHON_WORD_ENTRY(word)	       ((word) >> 63 != 0)
#define PYTHON_NO_UNIT		       0x7fffffff
#define PYTHON_MAX_UNITS	       (1u << 29) /* above are words of other frames (frames.h) */

/* Why a walk of Python frames ended. */
enum python_end {
	PYTHON_NONE,	  /* not Python, or a thread that Python does not know: no frames */
	PYTHON_COMPLETE,  /* the outermost frame was reached */
	PYTHON_DEPTH,	  /* there are more than PYTHON_MAX_FRAMES */
	PYTHON_READ,	  /* memory that could not be read, or a chain that makes no sense */
	PYTHON_NO_THREAD, /* no thread state: too many threads, or memory that could not be read */
	PYTHON_ENDS
};

/*
 * A code object: record of `python_ring`. Strings as CPython has them, of 1, 2
 * or 4 bytes a character, cut to what there is room for. `kind` 0: not readable.
 */
#define PYTHON_MAX_NAME 256 /* bytes of a qualified name */
#define PYTHON_MAX_FILE 512 /* of a file's name */
#define PYTHON_MAX_LINETABLE \
	2048 /* of where the lines are; 97 % of the standard library's fit 1024 */

struct python_string {
	__u32 length; /* characters, also of those that were cut */
	__u16 bytes;  /* that are there */
	__u8 kind;    /* bytes a character: 1, 2, 4; 0: none */
	__u8 ascii;
};

struct python_code_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 address;
	__u32 tgid;
	__u32 code; /* its number; never 0 */
	__s32 first_line;
	__u32 n_units;
	__u32 linetable_len; /* also of what was cut */
	__u32 linetable_bytes;
	struct python_string name, file;
	__u8 name_text[PYTHON_MAX_NAME];
	__u8 file_text[PYTHON_MAX_FILE];
	__u8 linetable[PYTHON_MAX_LINETABLE]; /* linetable_bytes of it are transferred */
};

#define PYTHON_CODE_HEAD (sizeof(struct python_code_event) - PYTHON_MAX_LINETABLE)
_Static_assert(PYTHON_CODE_HEAD == 56 + PYTHON_MAX_NAME + PYTHON_MAX_FILE, "no padding");

#endif
