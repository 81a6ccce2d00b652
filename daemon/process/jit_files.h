/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_files.h - finds the files in which a process tells what code it has
 * generated, and opens them.
 *
 * The process, or anybody who may write to its /tmp, decides what lies there:
 * a file is opened only within the root of the process, without following a
 * link, and only if it is a regular one of the process's own user or of root.
 * Nothing is read here, and nobody is waited for.
 */
#ifndef JIT_FILES_H
#define JIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct module;
struct module_pins;
struct process;

/* What makes a file the same with the same content, as far as can be seen from outside. */
struct jit_file_state {
	uint64_t dev, ino, size;
	int64_t mtime_s;
	uint32_t mtime_ns;
};

/*
 * The perf map of a process that lives: perf-PID.map in its /tmp, under its pid
 * in its own namespace, or else under ours. -ENOENT: there is none, or one
 * that an earlier process of this pid has left; -EPERM: one that is not to be
 * trusted; other errors of open().
 */
int jit_files_open_map(struct module_pins *pins, int proc_fd, const struct process *p, int *ret_fd,
		       struct jit_file_state *ret);
/* As it is now, without asking a server. */
int jit_files_state(int fd, struct jit_file_state *ret);

/* Its memory, for reading, as it is now: after an exec there is nothing in it. */
int jit_files_open_memory(int proc_fd, const struct process *p, int *ret_fd);

/* The name of a jitdump file: "/any/where/jit-123.dump"? */
bool jit_files_is_dump(const char *path);

/* How far the CLOCK_MONOTONIC of the process is ahead of ours, in ns: it may have a time namespace.
 */
int64_t jit_files_timens(int proc_fd, uint32_t tgid);
int64_t jit_files_parse_timens(const char *text); /* from /proc/PID/timens_offsets; 0: none */

#endif
