/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer_impl.h - the insides of the symbolizer, shared by symbolizer.c
 * (locations and their names), symbolizer_debug.c (where the names of stripped
 * files are), symbolizer_functions.c (where functions are), symbolizer_probes.c (places of
 * probes), symbolizer_lines.c (source lines), symbolizer_generated.c (code that processes
 * generate) and symbolizer_kernel.c (the kernel's functions).
 */
#ifndef SYMBOLIZER_IMPL_H
#define SYMBOLIZER_IMPL_H

#include "base/log.h"
#include "debug_files.h"
#include "files_client.h"
#include "files_pool.h"
#include "kallsyms.h"
#include "kernel_code.h"
#include "location_store.h"
#include "modules.h"
#include "symbolizer.h"

/* Stacks of the kernel meet in few places; a power of two. */
#define RECENT_KERNEL 4096

struct symbolizer {
	struct modules *modules;
	struct location_store *locations;
	struct files_pool *pool;
	struct files_client *jit_client; /* NULL: there was no need for it yet */
	struct debug_files *debug_files; /* NULL: the root is out of reach */

	struct module_list work; /* modules with waiting locations, next one first */
	size_t n_waiting;
	bool is_asking;

	struct kallsyms *kallsyms; /* NULL: not read yet, or not readable */
	bool kallsyms_tried;
	uint64_t n_kallsyms; /* how often it has changed */
	bool asks_kallsyms;  /* for code that may come and go, in the last second */
	struct kernel_code *kernel_code;
	uint64_t unkept_ns; /* of the last change that it had no room for, in the last second */
	struct code_module *kernel, *vdso;

	/* Kernel addresses asked for lately; each location is held. */
	struct {
		uint64_t addr, version;
		struct location *loc;
	} recent[RECENT_KERNEL];
	uint64_t recent_ns; /* of the last time it was emptied */

	struct event_loop *loop;	   /* NULL before the start */
	struct files_client *lines_client; /* NULL: not needed now */
	TAILQ_HEAD(, lines_query) queries; /* that have something left to ask, first come first */
	TAILQ_HEAD(, lines_question) lines_asked; /* on their way */
	bool is_pumping;
	size_t n_queries;
	uint64_t lines_used_ns;

	struct files_client *probes_client;	 /* NULL: not needed now */
	TAILQ_HEAD(, probe_batch) probe_batches; /* that wait until debug files are known */
	size_t n_probe_batches;			 /* also on their way */
	uint64_t probes_used_ns;

	uint64_t seed; /* names of generated code must not be chosen to collide */
	uint64_t n_files_failed, n_over_cap;
};

/* What was asked in one batch, and for whom. */
struct question {
	struct files_batch batch; /* first */
	struct code_module *module;
	struct location_entry *locations[FILES_BATCH_MAX];
	symbolizer_objects_fn *objects_fn;     /* for FILES_OBJECTS */
	symbolizer_functions_fn *functions_fn; /* for FILES_FUNCTIONS, _STARTS */
	symbolizer_v8_fn *v8_fn;	       /* for FILES_V8_FACTS */
	void *fn_ctx;
};

/* No location of this file gets a name from now on. */
void symbolizer_fail_module(struct symbolizer *sym, struct code_module *m, enum log_level level,
			    const char *why);
/* About `m`, with its descriptor; n_busy is the caller's to count. NULL: out of memory. */
struct question *symbolizer_question(struct code_module *m, enum files_kind kind);
void symbolizer_enqueue(struct symbolizer *sym, struct code_module *m);

/* symbolizer_debug.c: asks what the file has. False: not possible, or not needed. */
bool symbolizer_ask_debug(struct symbolizer *sym, struct code_module *m);
void symbolizer_debug_done(struct symbolizer *sym, struct question *q, enum files_result result,
			   const struct files_reply *reply);
/* The debug file that fits, or -1. The caller closes it. */
int symbolizer_open_debug(const struct symbolizer *sym, const struct code_module *m);
/* The file that the one with the DWARF shares with others, or -1; the same. */
int symbolizer_open_alt(const struct symbolizer *sym, const struct code_module *m);

/* symbolizer_kernel.c: at the first call; about once a second. */
void symbolizer_load_kallsyms(struct symbolizer *sym);
void symbolizer_kernel_collect(struct symbolizer *sym, uint64_t now_ns);

/* symbolizer_functions.c */
void symbolizer_functions_done(struct symbolizer *sym, struct question *q, enum files_result result,
			       const struct files_reply *reply);

/* symbolizer_probes.c: more is known of a module; about once a second; at the end. */
void symbolizer_probes_go(struct symbolizer *sym);
void symbolizer_probes_collect(struct symbolizer *sym, uint64_t now_ns);
void symbolizer_probes_done(struct symbolizer *sym);

/* symbolizer_lines.c: about once a second; and at the end. */
void symbolizer_lines_collect(struct symbolizer *sym, uint64_t now_ns);
void symbolizer_lines_done(struct symbolizer *sym);

#endif
