/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_functions.h - the functions that walkers have met in frames: those of V8 with
 * their names and lines, and the methods that HotSpot interprets.
 *
 * A walker describes a function once (bpf/frames.h), with a number by which frames
 * name it. What it is called is read in the memory of its process, by the worker;
 * until that has answered, a number's location is a promise. Of a function that cannot be read,
 * since the process is gone or the garbage collector has just moved it, nothing
 * is shown; it is described, and asked for, anew a second later.
 */
#ifndef FRAME_FUNCTIONS_H
#define FRAME_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct location;
struct symbolizer;
struct frame_functions;
struct v8_procs;

struct frame_functions_config {
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

int frame_functions_new(const struct frame_functions_config *config, struct frame_functions **ret);
/* After the symbolizer's last answer, or frame_functions_clear(). Takes NULL. */
void frame_functions_free(struct frame_functions *ff);
/* The walkers are gone: what is waited for comes no more. */
void frame_functions_clear(struct frame_functions *ff);

/* Takes a record of frames_ring. -EBADMSG: not one. -ENOMEM. */
int frame_functions_add(struct frame_functions *ff, const void *record, size_t len);
/* Asks about those that were added. */
void frame_functions_ask(struct frame_functions *ff);

/*
 * The location of a number; ready now or before long. It has no symbol if the
 * function has no name here. NULL: never described, or forgotten.
 */
struct location *frame_functions_locate(struct frame_functions *ff, uint32_t number);

/* What has no name, and no symbol. NULL: out of memory. */
struct location *frame_functions_nameless(struct frame_functions *ff);

/* The process has another program, or none. */
void frame_functions_emptied(struct frame_functions *ff, uint32_t tgid);
/* About once a second. */
void frame_functions_collect(struct frame_functions *ff);

size_t frame_functions_count(const struct frame_functions *ff);
uint64_t frame_functions_missed(const struct frame_functions *ff); /* that could not be read */

#endif
