/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_parse.h - the text files of /proc/PID as structs. Pure functions over
 * bytes: no I/O, nothing kept, any input is survived.
 *
 * Names in them are the traced process's own: bytes without a meaning.
 */
#ifndef PROC_PARSE_H
#define PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_table.h"

/* One line of /proc/PID/maps. */
struct maps_line {
	uint64_t start, end, pgoff, inode;
	uint32_t dev_major, dev_minor;
	bool executable;
	const char *name; /* in the line; not NUL-terminated; may be empty */
	size_t name_len;
};

/* `line` without its newline. -EINVAL: not such a line, or an impossible range. */
int proc_parse_maps_line(const char *line, size_t len, struct maps_line *ret);

/* /proc/PID/stat or /proc/PID/task/TID/stat */
struct proc_stat {
	uint32_t pid, ppid;
	char state;
	bool is_kthread;
	char comm[COMM_LEN];
	uint64_t cpu_ticks; /* spent in user and kernel mode */
	uint64_t n_threads;
	uint64_t start_ticks; /* since boot, suspended time included */
};

int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret);

/* /proc/PID/status, as far as stat does not have it. */
struct proc_status {
	uint32_t tgid, uid, gid;
	bool has_plain_ids; /* real, effective and saved ones are the same; no capabilities */
	uint32_t nstid[MAX_PID_NS]; /* in inner pid namespaces, 0-ended */
};

int proc_parse_status(const char *text, size_t len, struct proc_status *ret);

/* The path in the cgroup v2 hierarchy from /proc/PID/cgroup. -ENOENT: in none. */
int proc_parse_cgroup(const char *text, size_t len, const char **ret_path, size_t *ret_len);

/*
 * One line of /proc/self/mountinfo. Where file systems of `type` are mounted:
 * copied and unescaped. -ENOENT: another type. -EINVAL, -ENAMETOOLONG.
 */
int proc_parse_mount(const char *line, size_t len, const char *type, char *ret_path,
		     size_t path_size);

/*
 * Makes arguments out of `len` bytes of a process's argument area: each ended
 * by NUL, without empty ones at the end. `truncated`: there was more, which
 * the last argument then shows. Returns the length, at most `dst_size`; 0: none.
 */
size_t proc_tidy_cmdline(char *dst, size_t dst_size, const char *args, size_t len, bool truncated);

/* What is behind executable memory of this name. */
enum code_kind {
	CODE_FILE,
	CODE_VDSO,
	CODE_ANON,    /* no file, or one that no symbols can be in */
	CODE_SPECIAL, /* the kernel's own: [vsyscall], [uprobes] */
};

enum code_kind proc_code_kind(const char *name, size_t len, uint64_t inode);

/* Length of a path without the " (deleted)" that the kernel appends. */
size_t proc_path_len(const char *name, size_t len);

#endif
