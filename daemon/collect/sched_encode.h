/* SPDX-License-Identifier: Apache-2.0 */
/* sched_encode.h - scheduler records to FtraceEventBundles, one per CPU and block. */
#ifndef SCHED_ENCODE_H
#define SCHED_ENCODE_H

#include "collector.h"

/* The importer refuses a trace with a bundle of CPU 1024 or more. */
#define SCHED_MAX_CPUS 1024

int sched_encoder_new(const struct encoder_env *env, void **ret_encoder);
void sched_encoder_free(void *encoder);
int sched_encode(void *encoder, const struct event_hdr *ev);
int sched_encoder_flush(void *encoder, uint64_t now_ns, bool final);
void sched_encoder_lost(void *encoder, int cpu);

#endif
