/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_encode.h - who is who, as packets: a ProcessTree of all that live when
 * the recording begins, and of every change; beside it ftrace events that say
 * when tasks begin and end.
 */
#ifndef PROC_ENCODE_H
#define PROC_ENCODE_H

#include "collector.h"

bool proc_event_valid(const struct event_hdr *ev, size_t len);

int proc_encoder_new(const struct encoder_env *env, void **ret_encoder);
void proc_encoder_free(void *encoder);
struct process_table;
/* Tells the table of a valid event. */
void proc_apply(struct process_table *pt, const struct event_hdr *ev);

/* The event is applied to the process table, and no younger one is. */
int proc_encode(void *encoder, const struct event_hdr *ev);
int proc_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool proc_encoder_pending(void *encoder);
void proc_encoder_lost(void *encoder, int cpu);

#endif
