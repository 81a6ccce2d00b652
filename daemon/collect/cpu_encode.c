/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_encode.c - samples to StackSample packets, once their frames have names.
 *
 * A sample's addresses become locations as soon as it arrives, while the
 * process table still knows the mappings. Names may come later, from the
 * symbolizer's worker: until then the sample waits, in order, within bounds of
 * time and number; then it goes out with "[module+0x...]" frames.
 *
 * Most samples of a busy thread have a stack that was written before: those are
 * known by a hash of their addresses, and cost neither of the two.
 */
#include "cpu_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "cpu_events.h"
#include "cpus.h"
#include "hash.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "trace_writer.h"

/* How long a sample may wait for names. A large file takes the worker about 0.2 s. */
#define MAX_WAIT_NS (3 * NS_PER_SEC)
/* 30 s of two busy CPUs at 999 Hz; about 250 bytes each. */
#define MAX_WAITING 65536

/* Remembered stacks, a power of two: 200 KB. */
#define KNOWN_STACKS 4096

/* Two hashes of the addresses with independent seeds: 128 bits never meet by chance. */
struct known_stack {
	uint64_t hash[2];
	uint64_t maps_version; /* of the process; 0: entry is free */
	uint64_t callstack_iid;
	unsigned generation; /* of the writer */
};

struct sample {
	struct sample *next;
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint16_t cpu;
	bool in_kernel;
	struct known_stack stack; /* callstack_iid 0: it is not known yet */
	unsigned n;		  /* locations, outermost first; none when the stack is known */
	struct location *locations[];
};

struct cpu_encoder {
	struct trace_writer *writer;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct cpu_sampling sampling;
	struct sample *first, *last; /* waiting, in order of arrival */
	unsigned n_waiting;
	uint64_t seeds[2];
	struct known_stack known[KNOWN_STACKS];
};

int cpu_sampling_plan(const struct trace_config *config, struct cpu_sampling *ret)
{
	int r = perf_event_parse(config->event, &ret->spec);

	if (r < 0)
		return r;
	if (config->period)
		ret->period = config->period;
	else
		ret->period = perf_event_period(&ret->spec, config->freq_hz, cpus_max_hz());
	ret->period = perf_event_real_period(&ret->spec, ret->period);
	if (ret->spec.rate_hz && !config->period)
		snprintf(ret->name, sizeof(ret->name), "%s %u Hz", config->event, config->freq_hz);
	else
		snprintf(ret->name, sizeof(ret->name), "%s every %llu", config->event,
			 (unsigned long long)ret->period);
	return 0;
}

bool cpu_sample_valid(const struct event_hdr *ev, size_t len)
{
	const struct cpu_sample_event *s = (const void *)ev;
	size_t n;

	if (ev->type != CPU_SAMPLE || len < CPU_SAMPLE_HEAD || ev->size > len)
		return false;
	n = (size_t)s->n_kernel + s->n_user;
	return n > 0 && s->n_kernel <= CPU_MAX_KERNEL_FRAMES + 1 &&
	       s->n_user <= CPU_MAX_USER_FRAMES + 1 && n <= CPU_MAX_FRAMES &&
	       ev->size == CPU_SAMPLE_HEAD + n * sizeof(uint64_t) && ev->cpu < MAX_CPUS;
}

int cpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	TracePacketDefaults defaults = TRACE_PACKET_DEFAULTS__INIT;
	StackSampleDefaults samples = STACK_SAMPLE_DEFAULTS__INIT;
	StackSample__CounterDescriptor counter = STACK_SAMPLE__COUNTER_DESCRIPTOR__INIT;
	struct cpu_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->writer = env->writer;
	e->processes = env->processes;
	e->symbolizer = env->symbolizer;
	/* A program that chooses its addresses must not choose a hash. */
	if (getrandom(e->seeds, sizeof(e->seeds), 0) != sizeof(e->seeds)) {
		r = -errno;
		goto fail;
	}
	r = cpu_sampling_plan(env->config, &e->sampling);
	if (r < 0)
		goto fail;

	/* This source's name makes the UI title the tracks "Perf" and put them first. */
	samples.source = "linux.perf";
	samples.primary_descriptor = &counter;
	counter.name = e->sampling.name;
	counter.has_unit = 1;
	counter.unit = e->sampling.spec.unit;
	defaults.stack_sample_defaults = &samples;
	r = trace_writer_set_defaults(e->writer, SEQ_SAMPLES, &defaults);
	if (r < 0)
		goto fail;
	*ret_encoder = e;
	return 0;

fail:
	cpu_encoder_free(e);
	return r;
}

static void sample_free(struct sample *s)
{
	for (unsigned i = 0; i < s->n; i++)
		location_release(s->locations[i]);
	free(s);
}

void cpu_encoder_free(void *encoder)
{
	struct cpu_encoder *e = encoder;

	if (!e)
		return;
	while (e->first) {
		struct sample *next = e->first->next;

		sample_free(e->first);
		e->first = next;
	}
	free(e);
}

/* A return address points behind the call: at the next line, even the next function. */
static uint64_t call_site(uint64_t ip, bool innermost)
{
	return innermost || ip == 0 ? ip : ip - 1;
}

static bool add_location(struct sample *s, struct location *loc)
{
	if (!loc)
		return false;
	location_hold(loc);
	s->locations[s->n++] = loc;
	return true;
}

static struct known_stack *known_slot(struct cpu_encoder *e, const struct known_stack *stack)
{
	return &e->known[stack->hash[0] & (KNOWN_STACKS - 1)];
}

static bool same_stack(const struct known_stack *a, const struct known_stack *b)
{
	return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] &&
	       a->maps_version == b->maps_version && a->generation == b->generation;
}

/* What identifies the stack of `ev`, and its id if it was written before. */
static void recognize(struct cpu_encoder *e, const struct cpu_sample_event *ev,
		      struct known_stack *ret)
{
	size_t len = ((size_t)ev->n_kernel + ev->n_user) * sizeof(ev->ips[0]);
	const struct known_stack *known;

	*ret = (struct known_stack){
		.maps_version =
			process_table_maps_version(e->processes, ev->hdr.tgid, ev->hdr.time_ns),
		.generation = trace_writer_generation(e->writer),
	};
	for (int i = 0; i < 2; i++)
		ret->hash[i] = hash_bytes(ev->ips, len, e->seeds[i] ^ ev->n_kernel);
	known = known_slot(e, ret);
	if (ret->maps_version && same_stack(known, ret))
		ret->callstack_iid = known->callstack_iid;
}

/* Outermost first, as the trace wants it: the user's frames from the far end, then the kernel's. */
static bool locate_stack(struct cpu_encoder *e, const struct cpu_sample_event *ev, struct sample *s)
{
	const __u64 *user = ev->ips + ev->n_kernel;
	bool ok = true;

	for (unsigned i = ev->n_user; i-- > 0 && ok;)
		ok = add_location(s, process_table_locate(e->processes, s->tgid,
							  call_site(user[i], i == 0), s->time_ns));
	for (unsigned i = ev->n_kernel; i-- > 0 && ok;)
		ok = add_location(
			s, symbolizer_locate_kernel(e->symbolizer, call_site(ev->ips[i], i == 0)));
	return ok;
}

static struct sample *sample_new(struct cpu_encoder *e, const struct cpu_sample_event *ev)
{
	struct known_stack stack;
	unsigned n = (unsigned)ev->n_kernel + ev->n_user;
	struct sample *s;

	recognize(e, ev, &stack);
	/* Behind others it would wait, and its id could go down with a dropped block. */
	if (e->first)
		stack.callstack_iid = 0;
	if (stack.callstack_iid)
		n = 0;
	s = calloc(1, sizeof(*s) + n * sizeof(s->locations[0]));
	if (!s)
		return NULL;
	s->time_ns = ev->hdr.time_ns;
	s->tgid = ev->hdr.tgid;
	s->tid = ev->hdr.tid;
	s->cpu = ev->hdr.cpu;
	s->in_kernel = ev->in_kernel;
	s->stack = stack;
	if (n && !locate_stack(e, ev, s)) {
		sample_free(s);
		return NULL;
	}
	return s;
}

static bool sample_ready(const struct sample *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!s->locations[i]->ready)
			return false;
	return true;
}

static uint64_t intern_stack(struct cpu_encoder *e, struct sample *s)
{
	uint64_t frames[CPU_MAX_FRAMES];
	bool ready = sample_ready(s);

	for (unsigned i = 0; i < s->n; i++) {
		frames[i] = trace_intern_frame(e->writer, SEQ_SAMPLES, s->locations[i]);
		if (!frames[i])
			return 0;
	}
	s->stack.callstack_iid = trace_intern_callstack(e->writer, SEQ_SAMPLES, frames, s->n);
	s->stack.generation = trace_writer_generation(e->writer);
	/* With names still missing it would stay without them for good. */
	if (ready && s->stack.maps_version && s->stack.callstack_iid)
		*known_slot(e, &s->stack) = s->stack;
	return s->stack.callstack_iid;
}

static int sample_write(struct cpu_encoder *e, struct sample *s)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	StackSample msg = STACK_SAMPLE__INIT;

	msg.has_callstack_iid = msg.has_task_context_iid = msg.has_execution_context_iid = 1;
	msg.has_primary_weight = 1;
	msg.callstack_iid = s->n ? intern_stack(e, s) : s->stack.callstack_iid;
	msg.task_context_iid = trace_intern_task(e->writer, SEQ_SAMPLES, s->tgid, s->tid);
	msg.execution_context_iid =
		trace_intern_execution(e->writer, SEQ_SAMPLES, s->cpu, s->in_kernel);
	msg.primary_weight = e->sampling.period;
	if (!msg.callstack_iid || !msg.task_context_iid || !msg.execution_context_iid)
		return -ENOMEM;
	pkt.has_timestamp = 1;
	pkt.timestamp = s->time_ns;
	pkt.stack_sample = &msg;
	return trace_writer_put(e->writer, SEQ_SAMPLES, &pkt, 1);
}

/* Writes from the head of the queue while names are there, or will not be waited for. */
static int write_ready(struct cpu_encoder *e, uint64_t now_ns, bool all)
{
	while (e->first) {
		struct sample *s = e->first;
		bool late = now_ns > s->time_ns + MAX_WAIT_NS || e->n_waiting > MAX_WAITING;
		int r;

		if (!all && !late && !sample_ready(s))
			return 0;
		r = sample_write(e, s);
		if (r < 0)
			return r;
		e->first = s->next;
		if (!e->first)
			e->last = NULL;
		e->n_waiting--;
		sample_free(s);
	}
	return 0;
}

int cpu_encode(void *encoder, const struct event_hdr *ev)
{
	struct cpu_encoder *e = encoder;
	struct sample *s = sample_new(e, (const void *)ev);

	if (!s)
		return -ENOMEM;
	if (e->last)
		e->last->next = s;
	else
		e->first = s;
	e->last = s;
	e->n_waiting++;
	return write_ready(e, s->time_ns, false);
}

int cpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	return write_ready(encoder, now_ns, final);
}

bool cpu_encoder_pending(void *encoder)
{
	const struct cpu_encoder *e = encoder;

	return e->first != NULL;
}
