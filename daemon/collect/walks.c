/* SPDX-License-Identifier: Apache-2.0 */
/* walks.c - what a collector's BPF object that walks stacks needs of the daemon. */
#include "walks.h"

#include <errno.h>
#include <string.h>

#include "bpf_load.h"
#include "interp/interpreter.h"
#include "log.h"
#include "unwind/unwinder.h"

static int take_unwinder(struct walks *w, const struct collector_env *env, const char *collector)
{
	int r;

	if (!env->unwinder)
		return -ENODEV; /* tests */
	r = bpf_can_loop() ? unwinder_acquire(env->unwinder, env->loop) : -ENOSYS;
	if (r == 0)
		w->unwinder = env->unwinder;
	else
		log_warn("%s: stacks by frame pointers: %s", collector,
			 r == -ENOSYS ? "this kernel has no bpf_loop (Linux 5.17)" : strerror(-r));
	return r;
}

int walks_prepare(struct walks *w, const struct collector_env *env, const char *collector,
		  struct bpf_object *obj, bool *by_tables, bool *python)
{
	int r;

	if (!w->unwinder && take_unwinder(w, env, collector) < 0) {
		*by_tables = *python = false;
		return 0;
	}
	r = unwinder_reuse(w->unwinder, obj);
	return r < 0 ? r : interpreter_reuse(env->interpreter, obj);
}

int walks_begin(struct walks *w, const struct collector_env *env, struct bpf_object *obj,
		bool python)
{
	int r = python ? interpreter_use(env->interpreter, obj) : 0;

	if (python && r == 0)
		w->interpreter = env->interpreter;
	return r;
}

void walks_update(struct walks *w)
{
	if (w->unwinder)
		unwinder_update(w->unwinder);
}

void walks_end(struct walks *w)
{
	if (w->unwinder)
		unwinder_release(w->unwinder);
	if (w->interpreter)
		interpreter_unuse(w->interpreter);
	*w = (struct walks){ 0 };
}
