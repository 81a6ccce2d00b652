/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_functions.h - the functions of V8 that walkers have met: their names and lines; and
 * the methods that HotSpot interprets.
 *
 * A walker describes a function once (bpf/frames.h), with a number by which frames
 * name it. What it is called is read in the memory of its process, by the worker;
 * until that has answered, a number's location is a promise. Of a function that cannot be read,
 * since the process is gone or the garbage collector has just moved it, nothing
 * is shown; it is described, and asked for, anew a second later.
 */
#ifndef V8_FUNCTIONS_H
#define V8_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct location;
struct symbolizer;
struct v8_functions;
struct v8_procs;

struct v8_functions_config {
	struct symbolizer *sym;
	const struct v8_procs *procs;
	int proc_fd; /* of /proc */
	/*
	 * An id of a process that runs HotSpot, and where its variables are; 0: it does
	 * not. May be NULL.
	 */
	uint64_t (*jvm)(void *ctx, uint32_t tgid, uint64_t *ret_symbols);
	/* The walkers shall describe it anew when they meet it again. */
	void (*forget)(void *ctx, uint32_t tgid, uint64_t address);
	void *ctx;
};

int v8_functions_new(const struct v8_functions_config *config, struct v8_functions **ret);
/* After the symbolizer's last answer, or v8_functions_clear(). Takes NULL. */
void v8_functions_free(struct v8_functions *vf);
/* The walkers are gone: what is waited for comes no more. */
void v8_functions_clear(struct v8_functions *vf);

/* Takes a record of frames_ring. -EBADMSG: not one. -ENOMEM. */
int v8_functions_add(struct v8_functions *vf, const void *record, size_t len);
/* Asks about those that were added. */
void v8_functions_ask(struct v8_functions *vf);

/*
 * The location of a number; ready now or before long. It has no symbol if the
 * function has no name here. NULL: never described, or forgotten.
 */
struct location *v8_functions_locate(struct v8_functions *vf, uint32_t number);

/* What has no name, and no symbol. NULL: out of memory. */
struct location *v8_functions_nameless(struct v8_functions *vf);

/* The process has another program, or none. */
void v8_functions_emptied(struct v8_functions *vf, uint32_t tgid);
/* About once a second. */
void v8_functions_collect(struct v8_functions *vf);

size_t v8_functions_count(const struct v8_functions *vf);
uint64_t v8_functions_missed(const struct v8_functions *vf); /* that could not be read */

#endif
