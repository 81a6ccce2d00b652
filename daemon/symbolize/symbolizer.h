/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer.h - from an address to a name, off the hot path.
 *
 * User code: a file is handed over once as a descriptor and becomes a `module`;
 * an address in it becomes a `location`. The content of files is parsed only
 * in a worker process without privileges (files_worker.c); locations of a file
 * become ready when the worker has answered. Kernel code: kallsyms, at once.
 *
 * The daemon's side is single-threaded: replies arrive through the event loop.
 */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_loop;
struct symbolizer;

#define BUILD_ID_MIN 8 /* bytes; what is shorter or longer is not a build id */
#define BUILD_ID_MAX 40

/* One file of code, or a stand-in for one: "kernel", "[vdso]", "[anon:exec]". */
struct module {
	uint64_t id; /* never reused within the daemon's life */
	char *path;  /* as the traced process sees it; for display only, never opened */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none, or not read yet */
};

enum location_kind {
	LOCATION_NATIVE = 1,
	LOCATION_KERNEL = 2,
	LOCATION_INTERPRETED = 3,
	LOCATION_JIT = 4,
};

/* One address of a module. Content changes only from not ready to ready. */
struct location {
	uint64_t id; /* never reused within the daemon's life */
	const struct module *module;
	uint64_t rel_pc;      /* ELF virtual address, as addr2line takes it */
	const char *function; /* demangled; never NULL once ready: "[module+0x123]" at worst */
	const char *file;     /* of the source; NULL: not known */
	uint32_t line;	      /* 0: not known */
	bool ready;
	bool has_symbol; /* `function` is a real name */
	bool has_lines;	 /* of its module there is DWARF: lines_query_new() */
	uint8_t kind;	 /* enum location_kind */
};

/*
 * Starts the worker: this program, executed anew under the name "tracer-files"
 * (files_worker.c). Fails only for lack of memory or descriptors.
 */
int symbolizer_new(struct symbolizer **ret);
/* From here on answers arrive; the worker is restarted when it dies. */
int symbolizer_start(struct symbolizer *sym, struct event_loop *loop);
void symbolizer_free(struct symbolizer *sym);
/* Looks for debug files below `root` in place of "/": for tests. */
int symbolizer_set_root(struct symbolizer *sym, const char *root);
/* To leave it out of traces. Another one after each restart; 0: none now. */
pid_t symbolizer_worker_pid(const struct symbolizer *sym);
/* The same of the one that goes on while a file keeps the first one busy; 0: not needed now. */
pid_t symbolizer_second_worker_pid(const struct symbolizer *sym);
/* The same of the one that reads files of generated code (jit_question.h). */
pid_t symbolizer_jit_worker_pid(const struct symbolizer *sym);

/*
 * The module behind an open file. Takes over `fd` (always, also on failure).
 * The same file (device, inode, change time, size) gives the same module. What
 * is not a regular file is never read: it becomes a pseudo module by its path.
 * Fails with -ENOMEM, or -ENOSPC when there are too many modules.
 */
int symbolizer_module(struct symbolizer *sym, int fd, const char *path, struct module **ret);
/*
 * A module without a file, known by its name. It has one location, which reads
 * like the name. NULL: out of memory, or too many modules.
 */
struct module *symbolizer_pseudo_module(struct symbolizer *sym, const char *name);
struct module *symbolizer_vdso(struct symbolizer *sym);

/* Is there a file behind it that could be read, now or once? */
bool module_is_file(const struct module *module);
/* A descriptor of its file, the caller's own; -ENOENT: there is none any more. */
int symbolizer_open(struct symbolizer *sym, const struct module *module);

/*
 * Who keeps modules for long (the mappings of processes) holds them: a module
 * that has been held may go, and its file be closed, some time after the last
 * release, once it has no locations. One that was never held stays for good.
 */
void module_hold(struct module *module);
void module_release(struct module *module);

/*
 * The location of `file_offset` in `module`; its name is asked for by symbolizer_ask().
 * Valid until symbolizer_collect() has let go of it: hold an id, or a reference.
 * NULL: out of memory.
 */
struct location *symbolizer_locate(struct symbolizer *sym, struct module *module,
				   uint64_t file_offset);
/*
 * Asks for the names that are waited for. Some times a second: a question to the worker
 * takes longer than the names in it.
 */
void symbolizer_ask(struct symbolizer *sym);
/*
 * A line of an interpreted function, ready at once. `code` tells the functions of
 * `module`, a pseudo module, apart; `name` and `file` (which may be empty) are
 * copied. NULL: out of memory.
 */
struct location *symbolizer_locate_line(struct symbolizer *sym, struct module *module,
					uint32_t code, const char *name, const char *file,
					uint32_t line);
/*
 * Kernel text as it was at `time_ns`, ready at once. "[kernel]" when kallsyms hides
 * addresses.
 */
struct location *symbolizer_locate_kernel(struct symbolizer *sym, uint64_t addr, uint64_t time_ns);
/* Tells apart times at which something else was at this address; 0: nothing ever is. */
uint64_t symbolizer_kernel_version(struct symbolizer *sym, uint64_t addr, uint64_t time_ns);
/* Kernel code has come or gone; in the order of time (kernel_code.h). */
struct kernel_change;
void symbolizer_kernel_change(struct symbolizer *sym, const struct kernel_change *change);
/* From here on all changes are told. Takes some 50 ms: what is there now is read. */
void symbolizer_kernel_told(struct symbolizer *sym);
/* Some were missed; from here on all are told again. */
void symbolizer_kernel_missed(struct symbolizer *sym);

/*
 * Generated code, ready at once: a function, or a line of one, under its name.
 * Two that read the same are the same. NULL: out of memory.
 */
struct jit_name;
struct location *symbolizer_locate_generated(struct symbolizer *sym, const struct jit_name *name);
/* The same of an interpreted function, of `module`, a pseudo module. */
struct location *symbolizer_locate_interpreted(struct symbolizer *sym, struct module *module,
					       const struct jit_name *name);
/*
 * Stands for code at `pc` whose name is not read yet; held for the caller, who
 * makes it the same as another one (ready) before long. NULL: out of memory.
 */
struct location *symbolizer_promise(struct symbolizer *sym, uint64_t pc);
void symbolizer_keep_promise(struct location *promise, struct location *loc);
/* May there be generated code in it: memory without a file, or a memfd? */
bool module_may_be_generated(const struct module *module);

void location_hold(struct location *loc);
void location_release(struct location *loc);

/*
 * Nobody records any more, and symbolizer_collect() may not be called for long:
 * what is kept for the next question about lines goes.
 */
void symbolizer_rest(struct symbolizer *sym);
/* About once a second: forgets what is unused beyond the caps, restarts what hangs. */
void symbolizer_collect(struct symbolizer *sym, uint64_t now_ns);

/*
 * Where variables of the module's file are, and what is in them before the
 * program runs; at most FILES_OBJECTS_MAX of them. `objects` is NULL when the
 * file cannot be read. May be called before symbolizer_ask_objects() returns.
 */
struct files_objects;
typedef void symbolizer_objects_fn(void *ctx, const struct module *module,
				   const struct files_objects *objects);
void symbolizer_ask_objects(struct symbolizer *sym, struct module *module, const char *const *names,
			    size_t n, symbolizer_objects_fn *fn, void *ctx);

/*
 * Where in the module's file functions begin, at most FILES_FUNCTIONS_MAX of them; 0:
 * it has none such. `offsets` is NULL when the file cannot be read. May be called
 * before symbolizer_ask_functions() returns.
 */
typedef void symbolizer_functions_fn(void *ctx, const uint64_t *offsets, size_t n);
void symbolizer_ask_functions(struct symbolizer *sym, struct module *module,
			      const char *const *names, size_t n, symbolizer_functions_fn *fn,
			      void *ctx);
/*
 * Which of these offsets, at most FILES_BATCH_MAX, functions begin at, by symbols and call
 * frame information: told as above, with the others 0.
 */
void symbolizer_ask_starts(struct symbolizer *sym, struct module *module, const uint64_t *offsets,
			   size_t n, symbolizer_functions_fn *fn, void *ctx);
/*
 * The places of a probe in the module's file (files_places.h), and the types of one of them
 * (probe_types_decode(); nothing: the file has no DWARF about it). `bytes` are valid during
 * the call, which may be before the question returns; NULL but for SYMBOLIZER_PROBE_OK.
 */
enum symbolizer_probe_result {
	SYMBOLIZER_PROBE_OK,
	SYMBOLIZER_PROBE_BROKEN,    /* the file cannot be read */
	SYMBOLIZER_PROBE_GONE,	    /* it cannot be reached, or there is no worker */
	SYMBOLIZER_PROBE_TOO_LARGE, /* for the worker, or the answer */
	SYMBOLIZER_PROBE_KILLER,    /* the worker died of it, or hung */
};
struct files_probe;
typedef void symbolizer_probe_fn(void *ctx, enum symbolizer_probe_result result,
				 const uint8_t *bytes, size_t len);
void symbolizer_ask_places(struct symbolizer *sym, struct module *module,
			   const struct files_probe *probe, symbolizer_probe_fn *fn, void *ctx);
void symbolizer_ask_types(struct symbolizer *sym, struct module *module,
			  const struct files_probe *probe, symbolizer_probe_fn *fn, void *ctx);
/* As symbolizer_wait(), of those two; what other questions it takes is waited for, too. */
bool symbolizer_probes_wait(struct symbolizer *sym, uint64_t max_ns);
/* What the worker said was wrong: another one takes over. */
void symbolizer_probes_distrust(struct symbolizer *sym);
pid_t symbolizer_probes_worker_pid(const struct symbolizer *sym); /* 0: none now */
/* What the module's file says of the V8 in it. `facts` is NULL when the file cannot be read. */
struct v8_facts;
typedef void symbolizer_v8_fn(void *ctx, const struct module *module, const struct v8_facts *facts);
void symbolizer_ask_v8(struct symbolizer *sym, struct module *module, symbolizer_v8_fn *fn,
		       void *ctx);
/* Waits until all that was asked so far is answered, at most so long. False: there is nobody. */
bool symbolizer_wait(struct symbolizer *sym, uint64_t max_ns);

/* ---- source lines and inlined functions: asked for when a recording ends ---- */

pid_t symbolizer_lines_worker_pid(const struct symbolizer *sym); /* 0: none now */

/* Not NUL-terminated, and not known when empty; nor is line 0. */
struct source_frame {
	const char *function, *source;
	size_t function_len, source_len;
	uint32_t line;
};

/* What is at a location: inlined functions, the innermost one first, then the function itself. */
struct source_place {
	struct location *location;
	const struct source_frame *frames;
	size_t n; /* 0: nothing is known */
};

struct lines_query;

/* Some places of one module. Valid during the call only. */
typedef void lines_fn(void *ctx, const struct source_place *places, size_t n);

/*
 * Asks for the lines of those of `locs` that have some; they are held until the
 * end of the query. Takes a worker of its own. `fn` may be called before this
 * returns.
 */
int lines_query_new(struct symbolizer *sym, struct location *const *locs, size_t n, lines_fn *fn,
		    void *ctx, struct lines_query **ret);
/* Also when it is not done: then nothing more comes. Takes NULL. */
void lines_query_free(struct lines_query *q);

bool lines_query_done(const struct lines_query *q);
/* Locations that were asked for in vain: the file could not be read, or there was no time yet. */
size_t lines_query_missed(const struct lines_query *q);

struct symbolizer_stats {
	uint64_t n_files;	 /* modules with a file behind them, now */
	uint64_t n_files_failed; /* not readable as code, or cost a worker; since the start */
	uint64_t n_locations;	 /* now */
	uint64_t n_worker_restarts;
	uint64_t n_over_cap; /* locations left without a name since too many were waiting */
	bool kernel_hidden;  /* kptr_restrict or no CAP_SYSLOG */
};
void symbolizer_stats(const struct symbolizer *sym, struct symbolizer_stats *ret);

#endif
