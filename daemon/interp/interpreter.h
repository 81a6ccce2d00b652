/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.h - the frames of interpreters in stacks: what the walkers in BPF
 * programs (bpf/python.bpf.h, bpf/frames.bpf.h) need to know, and what their frames are
 * called.
 *
 * Which processes run an interpreter is followed all the time; the BPF maps are
 * there while a program uses them. Runs in the event loop, single-threaded.
 */
#ifndef INTERPRETER_H
#define INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct interpreter;
struct location;
struct process_table;
struct symbolizer;

int interpreter_new(struct symbolizer *sym, struct process_table *processes,
		    struct interpreter **ret);
/* Takes NULL. After the process table and the symbolizer, which may call back while they end. */
void interpreter_free(struct interpreter *in);

/*
 * For a BPF object that includes python.bpf.h: _reuse() between its open and
 * load, so that all objects share maps, _use() when it is loaded, _unuse() at its
 * end. After a failure the object works, without Python frames.
 */
int interpreter_reuse(struct interpreter *in, struct bpf_object *obj);
int interpreter_use(struct interpreter *in, struct bpf_object *obj);
void interpreter_unuse(struct interpreter *in);

/*
 * The location of a word that the walker has given (python.h, frames.h), ready now or
 * before long. NULL: out of memory.
 */
struct location *interpreter_locate(struct interpreter *in, uint64_t word);

/* In place of frames that are further out and were not walked. NULL: out of memory. */
struct location *interpreter_gap(struct interpreter *in);

/* About once a second. */
void interpreter_collect(struct interpreter *in);

struct interpreter_stats {
	uint64_t n_processes, n_functions; /* now */
	uint64_t n_unknown_versions;	   /* files whose version is not known, since the start */
	uint64_t n_unnamed;		   /* frames whose function was not described, likewise */
	/* The same of V8; functions that could not be read; the last unknown version, or "". */
	uint64_t n_v8_processes, n_v8_functions, n_v8_unknown, n_v8_missed;
	const char *v8_why;
};
void interpreter_stats(const struct interpreter *in, struct interpreter_stats *ret);

#endif
