/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_protocol.h - what the daemon and its worker say to each other.
 *
 * One request, one reply, in order, each one message of a SOCK_SEQPACKET socket
 * pair, in the byte order of the machine. A request carries the files as
 * descriptors, so the worker need not remember anything: what it has kept only
 * saves time. Who makes unwind tables gets as second descriptor a memfd
 * to write the table to, and no offsets. The worker reads hostile files and may have been taken
 * over: the daemon checks each reply as a whole before it looks inside.
 */
#ifndef FILES_PROTOCOL_H
#define FILES_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "demangle.h"
#include "elf_debug.h"
#include "symbolizer.h"
#include "v8/v8_layout.h"

#define FILES_BATCH_MAX	  64  /* offsets in one request */
#define FILES_SOURCE_MAX  512 /* bytes of a source file's path; of a longer one the end */
#define FILES_FRAMES_MAX  16  /* functions at one place; the outermost ones of more */
#define FILES_REQUEST_MAX sizeof(struct files_request)
#define FILES_REPLY_MAX                    \
	(sizeof(struct files_reply_head) + \
	 FILES_BATCH_MAX * (sizeof(struct files_entry_head) + DEMANGLE_MAX))

#define FILES_OBJECTS_MAX     12  /* variables in one request */
#define FILES_OBJECT_NAME_MAX 64  /* bytes, with the NUL */
#define FILES_OBJECT_BYTES    576 /* of their content */

#define FILES_FUNCTIONS_MAX	64 /* in one request */
#define FILES_FUNCTION_NAME_MAX 48 /* bytes, with the NUL */

enum files_kind {
	FILES_NAMES = 0,      /* what is the function at these offsets called? */
	FILES_OBJECTS = 1,    /* where are these variables, and what is in them at first? */
	FILES_TABLE = 2,      /* make the unwind table */
	FILES_DEBUG = 3,      /* what does the file say about its debug files? */
	FILES_LINES = 4,      /* which functions and lines are at these addresses (rel_pc)? */
	FILES_GENERATED = 5,  /* read on about generated code (jit_question.h) */
	FILES_V8_FACTS = 6,   /* what does the file say of the V8 in it? */
	FILES_V8_NAMES = 7,   /* which functions are these? The file is /proc/PID/mem */
	FILES_FUNCTIONS = 8,  /* where in the file do these functions begin? */
	FILES_STARTS = 9,     /* do functions begin at these offsets? */
	FILES_JVM_NAMES = 10, /* which methods are these? The file is /proc/PID/mem */
	FILES_PLACES = 11,    /* where is it that is to be probed? */
	FILES_TYPES = 12,     /* what does the DWARF say of the place that is probed? */
};

/* See struct jit_read. */
struct files_generated {
	uint64_t format; /* enum jit_format */
	uint64_t now_ns, since_ns;
	int64_t boot_offset_ns;
	uint64_t known; /* version of the table that is there already; 0: none */
	uint64_t symbols[FILES_OBJECTS_MAX]; /* of JIT_HOTSPOT: enum hotspot_symbol */
};

#define FILES_V8_MAX 16 /* functions in one request */

struct files_v8 {
	struct v8_layout layout;
	struct {
		uint64_t object, identity; /* v8_function_read() */
	} functions[FILES_V8_MAX];
};

struct files_jvm {
	uint64_t symbols[FILES_OBJECTS_MAX]; /* enum hotspot_symbol */
	uint64_t methods[FILES_V8_MAX];
};

#define FILES_PROBE_SYMBOL 256
#define FILES_PROBE_GROUP  64
#define FILES_PROBE_WORDS  4608 /* of all expressions of a probe */

/* files_probe.flags */
#define FILES_PROBE_USDT 1

struct files_probe {
	uint64_t offset; /* in the function */
	uint64_t vaddr;	 /* TYPES: where the function begins */
	uint32_t flags;
	uint32_t words_len;
	char symbol[FILES_PROBE_SYMBOL]; /* function, or name of a USDT probe; may be a glob */
	char group[FILES_PROBE_GROUP];	 /* the provider */
	char words[FILES_PROBE_WORDS];	 /* TYPES: of probe_expr_words() */
};

/* Which descriptors come along, in this order. */
enum files_fds {
	FILES_FD_MAIN = 1, /* the file; for LINES, TYPES the one with the DWARF */
	/*
	 * NAMES, DEBUG, PLACES: its debug file, or what may be it; LINES, TYPES: the file that it
	 * shares with others; TABLE, GENERATED: a memfd to write to
	 */
	FILES_FD_SECOND = 2,
};
#define FILES_MAX_FDS 2

/* LINES: whoever asks has the names of symbol tables already, which take long to read. */
#define FILES_DWARF_ONLY 1

/* Sent without the offsets that are not used. */
struct files_request {
	uint64_t file_id;
	uint32_t seq;
	uint32_t n;	/* offsets, variables, or functions */
	uint32_t kind;	/* enum files_kind */
	uint32_t fds;	/* enum files_fds, or-ed */
	uint32_t flags; /* FILES_DWARF_ONLY, or 0 */
	uint32_t zero;
	union {
		uint64_t offsets[FILES_BATCH_MAX]; /* in the file; of LINES addresses */
		char objects[FILES_OBJECTS_MAX][FILES_OBJECT_NAME_MAX];
		struct files_generated generated;
		char functions[FILES_FUNCTIONS_MAX][FILES_FUNCTION_NAME_MAX];
		struct files_v8 v8;
		struct files_jvm jvm;
		struct files_probe probe;
	};
};

enum files_status {
	FILES_READY = 1,     /* the worker's first message, with nothing in it */
	FILES_OK = 2,	     /* one entry for each offset; of LINES as many as there is room for */
	FILES_BROKEN = 3,    /* not a file that can be read; no entries */
	FILES_GONE = 4,	     /* came without a descriptor, and is not kept; no entries */
	FILES_TOO_LARGE = 5, /* beyond what the worker may use, or a reply hold; no entries */
};

struct files_reply_head {
	uint64_t file_id;
	uint32_t seq;
	uint32_t n;
	uint8_t status;
	uint8_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t kind; /* of the request */
	uint8_t zero[5];
};

#define FILES_HAS_VADDR	 1
#define FILES_HAS_SYMBOL 2

/* The name follows, without a NUL. */
struct files_entry_head {
	uint64_t vaddr;	 /* 0 without FILES_HAS_VADDR */
	uint64_t symbol; /* its start; 0 without FILES_HAS_SYMBOL */
	uint16_t name_len;
	uint8_t flags;
	uint8_t zero[5];
};

struct files_object {
	uint64_t vaddr; /* 0: there is no such variable */
	uint32_t len;	/* of its content, as far as it is in the file */
	uint32_t zero;
	uint8_t bytes[FILES_OBJECT_BYTES];
};

/* What follows the head in place of entries when variables were asked for. */
struct files_objects {
	uint64_t text_offset, text_size, text_vaddr; /* the segment of code */
	struct files_object objects[FILES_OBJECTS_MAX];
};

/* The answer to DEBUG, instead of entries; names are ended and filled up by zeroes. */
struct files_debug {
	struct elf_debug info; /* of the debug file, if that came along and fits */
	uint8_t fits;
};

/* An entry of LINES; so many frames follow, the innermost one first. */
struct files_lines_head {
	uint16_t n_frames;
	uint8_t zero[6];
};

/* The two strings follow, without a NUL. */
struct files_frame_head {
	uint32_t line; /* 0: not known */
	uint16_t function_len, source_len;
};

_Static_assert(sizeof(struct files_reply_head) == 64, "no holes");
_Static_assert(sizeof(struct files_lines_head) == 8, "no holes");
_Static_assert(sizeof(struct files_frame_head) == 8, "no holes");
_Static_assert(sizeof(struct files_objects) == 24 + FILES_OBJECTS_MAX * (16 + FILES_OBJECT_BYTES),
	       "no holes");
_Static_assert(sizeof(struct files_entry_head) == 24, "no holes");
_Static_assert(FILES_FUNCTIONS_MAX <= FILES_BATCH_MAX, "as all replies");

/* How long a request is when sent; 0: it asks for too much, or for nothing that we know. */
size_t files_request_len(const struct files_request *req);

/* ---- worker ---- */

struct files_writer {
	uint8_t bytes[FILES_REPLY_MAX];
	size_t len;
};

void files_reply_begin(struct files_writer *w, const struct files_reply_head *head);
/* Fits as often as a request has offsets. `name_len` <= DEMANGLE_MAX, 0 = no symbol. */
void files_reply_add(struct files_writer *w, const struct files_entry_head *entry,
		     const char *name);
void files_reply_objects(struct files_writer *w, const struct files_objects *objects);

/* Of FUNCTIONS and STARTS: offsets in the file; 0: it has none such. */
void files_reply_functions(struct files_writer *w, const uint64_t *offsets, size_t n);
void files_reply_debug(struct files_writer *w, const struct files_debug *debug);
void files_reply_facts(struct files_writer *w, const struct v8_facts *facts);
/*
 * Also of V8_NAMES and JVM_NAMES: one frame for each function, none where it was not to be had, and
 * one without a function where there is no name. False, and nothing is written: it
 * would not fit.
 */
bool files_reply_lines(struct files_writer *w, const struct source_frame *frames, size_t n);

/* Of PLACES and TYPES, which have a form of their own; it fits. */
void files_reply_bytes(struct files_writer *w, const void *bytes, size_t len);

/* ---- daemon ---- */

struct files_reply {
	struct files_reply_head head;
	const uint8_t *entries; /* in the message */
	size_t len;
	struct files_objects objects; /* of a reply to FILES_OBJECTS with status FILES_OK */
};

struct files_entry {
	struct files_entry_head head;
	const char *name; /* in the message; head.name_len bytes */
};

/*
 * 0, or -EBADMSG: too short or long, counts that do not fit, unknown status or
 * flags, a build id or name that cannot be.
 */
int files_reply_decode(const void *msg, size_t len, struct files_reply *ret);
/* The entries of NAMES one after the other, head.n times. */
void files_reply_next(struct files_reply *reply, struct files_entry *ret);
void files_reply_get_debug(const struct files_reply *reply, struct files_debug *ret);
/* The offsets of FUNCTIONS and STARTS, head.n of them. */
void files_reply_get_functions(const struct files_reply *reply, uint64_t ret[FILES_FUNCTIONS_MAX]);
void files_reply_get_facts(const struct files_reply *reply, struct v8_facts *ret);
/* The entries of LINES, V8_NAMES and JVM_NAMES, head.n times. Returns how many frames it has. */
size_t files_reply_next_lines(struct files_reply *reply, struct source_frame ret[FILES_FRAMES_MAX]);

#endif
