/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_jit.h - names for the code that a process has generated itself.
 *
 * It comes from the files in which compilers at run time tell of it: a perf map
 * in /tmp, jitdump files; and of a JVM from its memory, with how to unwind from
 * it. They are looked for, and read on, as samples ask for addresses. A sample that is younger than
 * what was read gets a location that becomes ready when that is known; after a second and a half it
 * becomes what is known by then.
 */
#ifndef PROCESS_JIT_H
#define PROCESS_JIT_H

#include <stdbool.h>
#include <stdint.h>

struct jit_frames;
struct location;
struct module;
struct module_pins;
struct process;
struct process_jit;
struct symbolizer;

/* What all processes share: limits, and counts. */
struct jit_pool;

int jit_pool_new(struct symbolizer *sym, struct jit_pool **ret);
/* After the last process_jit. */
void jit_pool_free(struct jit_pool *pool); /* takes NULL */
/* About once a second: what was waited for long enough is settled. */
void jit_pool_collect(struct jit_pool *pool);

struct jit_stats {
	uint64_t n_files;     /* open now */
	uint64_t n_opened;    /* so far */
	uint64_t n_untrusted; /* found, but of somebody else, or no regular file */
	uint64_t n_failed;    /* could not be read, or not to the end */
	uint64_t n_bad;	      /* lines or records in them that make no sense */
	uint64_t n_late;      /* addresses whose name was not there in time */
	uint64_t n_over_cap;  /* files, addresses or names beyond the limits */
};
void jit_pool_stats(const struct jit_pool *pool, struct jit_stats *ret);

/* Where to look: how the files of `p` are reached. */
struct jit_place {
	int proc_fd;
	struct module_pins *pins;
	const struct process *p;
	/* Whose memory it still has: it was forked from it, and neither has executed since. */
	const struct process *parent; /* NULL: nobody's, or not known */
};

struct process_jit *process_jit_new(struct jit_pool *pool); /* NULL: out of memory */
/* What was promised is settled. Takes NULL. */
void process_jit_free(struct process_jit *jit);

/* It has mapped a jitdump file. Takes over `fd`. */
void process_jit_add_dump(struct process_jit *jit, const struct jit_place *place, int fd);

/* It has mapped the library of a JVM, its first byte at `base`. */
void process_jit_add_jvm(struct process_jit *jit, struct module *module, uint64_t base);

/* Where its variables are (enum hotspot_symbol). -ENOENT: it has none, or that is not known. */
int process_jit_jvm(const struct process_jit *jit, uint64_t *ret_symbols);

/*
 * How to unwind from its generated code. 0 and NULL: nobody knows. -EAGAIN: it
 * is not known yet. `*ret_current`: it is that of `time_ns`, else newer ones are asked
 * for. The number stays as long as that which it is about.
 */
int process_jit_frames(struct process_jit *jit, const struct jit_place *place, uint64_t time_ns,
		       const struct jit_frames **ret, uint64_t *ret_version, bool *ret_current);

/*
 * The location of generated code at `pc`. NULL: no file names it, and none is
 * being waited for. A promise, if one is given, becomes `fallback` in that
 * case. `may_wait`: only with that a promise is given.
 */
struct location *process_jit_locate(struct process_jit *jit, const struct jit_place *place,
				    uint64_t pc, uint64_t time_ns, bool may_wait,
				    struct location *fallback);

/*
 * While this number stays, so does what process_jit_locate() says of such
 * times. 0: no such promise.
 */
uint64_t process_jit_version(struct process_jit *jit, const struct jit_place *place,
			     uint64_t time_ns);

#endif
