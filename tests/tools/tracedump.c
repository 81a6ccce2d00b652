/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedump.c - samples of a trace as lines of text, for tests.
 *
 *	tracedump FILE
 *
 * A line for each sample: TIME_NS PID TID CPU SOURCE EVENT WEIGHT STACK, separated
 * by tabs; STACK is the functions' names from the outermost to the innermost,
 * with ";" between them. Names are made printable. What a viewer would not
 * accept is tracectl check's to say: here unknown references are "?".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"
#include "text.h"

enum table { FUNCTIONS, FRAMES, CALLSTACKS, TASKS, EXECUTIONS, COUNTERS, N_TABLES };

struct task {
	uint32_t pid, tid;
};

struct callstack {
	size_t n;
	uint64_t frames[];
};

/* Of one packet sequence. */
struct sequence {
	struct hash *tables[N_TABLES]; /* iid -> heap object */
	char source[64], counter[64];
};

static void *copy(const void *data, size_t len)
{
	char *p = must(malloc(len + 1));

	if (len)
		memcpy(p, data, len);
	p[len] = '\0';
	return p;
}

static char *printable(const void *data, size_t len)
{
	char text[512];

	return copy(text, text_printable(text, sizeof(text), data, len));
}

static void forget(struct sequence *seq)
{
	for (int i = 0; i < N_TABLES; i++) {
		size_t pos = 0, len;
		const void *key;
		void *value;

		while (hash_next(seq->tables[i], &pos, &key, &len, &value))
			free(value);
		hash_clear(seq->tables[i]);
	}
}

static void define(struct sequence *seq, enum table table, uint64_t iid, void *value)
{
	free(hash_remove_u64(seq->tables[table], iid));
	if (hash_set_u64(seq->tables[table], iid, value) < 0)
		must(NULL);
}

static struct sequence *sequence_of(struct hash *all, uint32_t id)
{
	struct sequence *seq = hash_get_u64(all, id);

	if (seq)
		return seq;
	seq = must(calloc(1, sizeof(*seq)));
	for (int i = 0; i < N_TABLES; i++)
		if (hash_new(&seq->tables[i]) < 0)
			must(NULL);
	if (hash_set_u64(all, id, seq) < 0)
		must(NULL);
	return seq;
}

/* ---- what packets define ---- */

static void intern(struct sequence *seq, const InternedData *in)
{
	for (size_t i = 0; i < in->n_function_names; i++) {
		const InternedString *s = in->function_names[i];

		define(seq, FUNCTIONS, s->iid, printable(s->str.data, s->str.len));
	}
	for (size_t i = 0; i < in->n_frames; i++) {
		const Frame *f = in->frames[i];

		define(seq, FRAMES, f->iid, copy(&f->function_name_id, sizeof(uint64_t)));
	}
	for (size_t i = 0; i < in->n_callstacks; i++) {
		const Callstack *c = in->callstacks[i];
		size_t size = c->n_frame_ids * sizeof(uint64_t);
		struct callstack *stack = must(malloc(sizeof(*stack) + size));

		stack->n = c->n_frame_ids;
		if (size)
			memcpy(stack->frames, c->frame_ids, size);
		define(seq, CALLSTACKS, c->iid, stack);
	}
	for (size_t i = 0; i < in->n_stack_sample_task_contexts; i++) {
		const StackSample__TaskContext *t = in->stack_sample_task_contexts[i];
		struct task task = { .pid = t->pid, .tid = t->tid };

		define(seq, TASKS, t->iid, copy(&task, sizeof(task)));
	}
	for (size_t i = 0; i < in->n_stack_sample_execution_contexts; i++) {
		const StackSample__ExecutionContext *e = in->stack_sample_execution_contexts[i];

		define(seq, EXECUTIONS, e->iid, copy(&e->cpu, sizeof(e->cpu)));
	}
	for (size_t i = 0; i < in->n_stack_sample_counter_descriptors; i++) {
		const StackSample__CounterDescriptor *c = in->stack_sample_counter_descriptors[i];
		const char *name = c->name ? c->name : "?";

		define(seq, COUNTERS, c->iid, printable(name, strlen(name)));
	}
}

static void take_defaults(struct sequence *seq, const TracePacketDefaults *defaults)
{
	const StackSampleDefaults *d = defaults->stack_sample_defaults;

	if (d && d->source)
		text_printable(seq->source, sizeof(seq->source), d->source, strlen(d->source));
	if (d && d->primary_descriptor && d->primary_descriptor->name)
		text_printable(seq->counter, sizeof(seq->counter), d->primary_descriptor->name,
			       strlen(d->primary_descriptor->name));
}

/* ---- samples ---- */

static void print_stack(const struct sequence *seq, const struct callstack *stack)
{
	for (size_t i = 0; stack && i < stack->n; i++) {
		const uint64_t *name_id = hash_get_u64(seq->tables[FRAMES], stack->frames[i]);
		const char *name = name_id ? hash_get_u64(seq->tables[FUNCTIONS], *name_id) : NULL;

		printf("%s%s", i ? ";" : "", name ? name : "?");
	}
}

static void print_sample(const struct sequence *seq, const TracePacket *pkt)
{
	const StackSample *s = pkt->stack_sample;
	const struct task *task = hash_get_u64(seq->tables[TASKS], s->task_context_iid);
	const uint32_t *cpu = hash_get_u64(seq->tables[EXECUTIONS], s->execution_context_iid);
	const char *counter = hash_get_u64(seq->tables[COUNTERS], s->primary_descriptor_iid);

	printf("%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%d\t%s\t%s\t%" PRIu64 "\t", pkt->timestamp,
	       task ? (int64_t)task->pid : -1, task ? (int64_t)task->tid : -1, cpu ? (int)*cpu : -1,
	       seq->source[0] ? seq->source : "?", counter ? counter : seq->counter,
	       s->primary_weight);
	print_stack(seq, hash_get_u64(seq->tables[CALLSTACKS], s->callstack_iid));
	putchar('\n');
}

static void on_packet(struct hash *sequences, const TracePacket *pkt)
{
	struct sequence *seq = sequence_of(sequences, pkt->trusted_packet_sequence_id);

	if (pkt->sequence_flags & 1) /* SEQ_INCREMENTAL_STATE_CLEARED */
		forget(seq);
	if (pkt->trace_packet_defaults)
		take_defaults(seq, pkt->trace_packet_defaults);
	if (pkt->interned_data)
		intern(seq, pkt->interned_data);
	if (pkt->stack_sample)
		print_sample(seq, pkt);
}

int main(int argc, char **argv)
{
	return dump_main(argc, argv, "tracedump", on_packet);
}
