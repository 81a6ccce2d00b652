/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.h - the insides of `tracectl symbolize`: which addresses a trace has
 * (symbolize_modules.c), where the debug files are (symbolize_files.c), and what
 * they say (symbolize_worker.c).
 */
#ifndef SYMBOLIZE_H
#define SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "hash.h"
#include "symbolize/files_protocol.h"
#include "trace_index.h"

/* ---- modules and addresses that samples have ---- */

struct module_address {
	uint64_t address;
	bool is_named;
};

struct trace_module {
	const char *path; /* not fit for a terminal */
	const uint8_t *build_id;
	size_t build_id_len;  /* 0: none */
	struct buf addresses; /* struct module_address, going up */
};

struct trace_modules {
	struct buf list;      /* struct trace_module */
	struct hash *numbers; /* of modules in it */
	size_t n_known;	      /* addresses that have lines already */
};

/* Pointers into `ix`, which must outlive it. 0 or -ENOMEM. */
int trace_modules_find(const struct trace_index *ix, struct trace_modules *ret);
void trace_modules_done(struct trace_modules *ms);

size_t trace_modules_count(const struct trace_modules *ms);
struct trace_module *trace_modules_at(const struct trace_modules *ms, size_t i);
size_t trace_module_count(const struct trace_module *m); /* addresses */
const struct module_address *trace_module_address(const struct trace_module *m, size_t i);

/* ---- the worker: reads the files, without the rights of who calls it ---- */

struct symbolize_worker;

int symbolize_worker_new(struct symbolize_worker **ret);
void symbolize_worker_free(struct symbolize_worker *w); /* takes NULL */

/*
 * What `fd` says about its debug files; with `debug_fd` whether that is one, and
 * what it says. -EIO: not readable, or it cost the worker.
 */
int symbolize_worker_debug(struct symbolize_worker *w, int fd, int debug_fd,
			   struct files_debug *ret);

/* Valid during the call only. A negative return ends it all. */
typedef int symbolize_lines_fn(void *ctx, uint64_t address, const struct source_frame *frames,
			       size_t n);
/* -EIO as above, possibly after some. */
int symbolize_worker_lines(struct symbolize_worker *w, int fd, int alt_fd,
			   const struct trace_module *m, symbolize_lines_fn *fn, void *ctx);

/* ---- files ---- */

struct symbolize_files;

struct symbolize_source {
	int fd, alt_fd; /* alt_fd -1: there is none */
};

/* `use_debuginfod`: also ask the servers in $DEBUGINFOD_URLS, with debuginfod-find(1). */
int symbolize_files_new(struct symbolize_worker *w, bool use_debuginfod,
			struct symbolize_files **ret);
void symbolize_files_free(struct symbolize_files *f); /* takes NULL */

/* The file with the symbols of `m`, for the caller to close. -ENOENT: none was found. */
int symbolize_files_find(struct symbolize_files *f, const struct trace_module *m,
			 struct symbolize_source *ret);

#endif
