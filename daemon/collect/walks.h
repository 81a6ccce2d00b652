/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walks.h - what a collector's BPF object that walks stacks needs of the daemon:
 * the maps of the walker (unwinder.h) and of Python frames (interp/interpreter.h).
 *
 * walks_prepare() between the skeleton's open and load, walks_begin() after load,
 * walks_update() before each drain, walks_end() once the object is gone.
 */
#ifndef WALKS_H
#define WALKS_H

#include <stdbool.h>

#include "collector.h"

struct bpf_object;

/* Zero-initialised: nothing is taken. */
struct walks {
	struct unwinder *unwinder;	 /* NULL: stacks are walked by frame pointers */
	struct interpreter *interpreter; /* NULL: no Python frames */
};

/*
 * `by_tables` and `python` are the object's constants of that meaning (true at
 * first). Where the kernel cannot loop so long, or has no room for the maps, they
 * become false and it is said in the log: stacks by frame pointers alone. May be
 * called again for another try with the object opened anew.
 */
int walks_prepare(struct walks *w, const struct collector_env *env, const char *collector,
		  struct bpf_object *obj, bool *by_tables, bool *python);
int walks_begin(struct walks *w, const struct collector_env *env, struct bpf_object *obj,
		bool python);
void walks_update(struct walks *w);
void walks_end(struct walks *w);

#endif
