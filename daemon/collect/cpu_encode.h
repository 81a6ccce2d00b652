/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_encode.h - samples to StackSample packets, once their frames have names. */
#ifndef CPU_ENCODE_H
#define CPU_ENCODE_H

#include "collector.h"
#include "perf_event_spec.h"

/* What is really sampled: the event and its period, and how a person would call it. */
struct cpu_sampling {
	char event[TRACE_EVENT_LEN]; /* without "@PERIOD" */
	struct perf_event_spec spec;
	uint64_t period;
	char name[96]; /* "cpu-clock 999 Hz" */
};

/* How many events a session samples, and each of them; -ENOENT: no such event. */
unsigned cpu_sampling_count(const struct trace_config *config);
int cpu_sampling_plan(const struct trace_config *config, unsigned i, struct cpu_sampling *ret);

bool cpu_sample_valid(const struct event_hdr *ev, size_t len);
int cpu_encoder_new(const struct encoder_env *env, void **ret_encoder);
void cpu_encoder_free(void *encoder);
int cpu_encode(void *encoder, const struct event_hdr *ev);
int cpu_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool cpu_encoder_pending(void *encoder);
const uint64_t *cpu_encoder_stack_ends(void *encoder);

#endif
