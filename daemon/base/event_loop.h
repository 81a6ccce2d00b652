/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_loop.h - one thread, one epoll set, everything is a file descriptor.
 *
 * BPF rings, perf rings, sockets, timers (timerfd) and signals (signalfd) all
 * come in through event_loop_add(); there is no second kind of event.
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include <stdint.h>

struct event_loop;
struct event_source;

/* `events` are EPOLL* bits. A negative return ends event_loop_run() with it. */
typedef int event_fn(void *ctx, uint32_t events);

int event_loop_new(struct event_loop **ret);
void event_loop_free(struct event_loop *loop);

/* Watches `fd`, which stays the caller's to close, after event_source_free(). */
int event_loop_add(struct event_loop *loop, int fd, uint32_t events, event_fn *fn, void *ctx,
		   struct event_source **ret);
int event_source_set(struct event_source *src, uint32_t events);

/* Calls `fn` every `interval_ns` (its `events` are 0 then). Owns its timerfd. */
int event_loop_add_timer(struct event_loop *loop, uint64_t interval_ns, event_fn *fn, void *ctx,
			 struct event_source **ret);

/* Safe from inside any callback: `fn` is not called again after this. Takes NULL. */
void event_source_free(struct event_source *src);

/* Runs until event_loop_stop(), also one before it, or a failing callback. May run again. */
int event_loop_run(struct event_loop *loop);
void event_loop_stop(struct event_loop *loop);

#endif
