/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_worker.h - the process without privileges that reads traced files.
 *
 * Nothing is called from here: a program that links files_worker.c and is
 * executed under one of the names below, with a socket of its parent as
 * descriptor FILES_WORKER_FD, is the worker before main() begins. So every
 * program with a symbolizer can start one by executing itself: it gets an
 * address space of its own, without the rings, maps and secrets of the daemon,
 * and with a new layout each time.
 */
#ifndef FILES_WORKER_H
#define FILES_WORKER_H

/* They do not delay each other: a file with many symbols does not hold up tables. */
enum files_worker_kind {
	FILES_WORKER_SYMBOLS, /* "tracer-files": names of functions */
	FILES_WORKER_TABLES,  /* "tracer-tables": unwind tables (files_tables.h) */
	FILES_WORKER_LINES,   /* "tracer-lines": source lines; only while they are asked for */
	FILES_WORKER_JIT,     /* "tracer-jit": names of generated code (files_jit.h) */
	FILES_WORKER_KINDS
};

/*
 * In files_worker.c: whoever starts the worker by this name has it linked, from
 * an archive too. Without it a program would execute itself as itself, and so on
 * without an end.
 */
const char *files_worker_name(enum files_worker_kind kind);

#define FILES_WORKER_FD 3

/* The worker ends itself when it is busy with one request for longer. */
#define FILES_DEADLINE_S 5

/* Room for tables; what was used longest ago goes first. */
#define FILES_KEEP_BYTES (128u << 20)

#endif
