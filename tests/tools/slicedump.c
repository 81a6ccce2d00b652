/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slicedump.c - tracks and track events of a trace as lines of text, for tests.
 *
 *	slicedump FILE
 *
 *	track UUID PARENT PID TID NAME
 *	event TIME_NS TYPE UUID CATEGORY NAME FLOWS STACK ARG=VALUE...
 *	value TIME_NS UUID VALUE
 *
 * Separated by tabs, in the order of the file, names already looked up. TYPE is "begin",
 * "end" or "instant"; FLOWS is a list of hexadecimal numbers with "," between them, one
 * that ends here has "!" behind it; STACK is the functions' names from the outermost to
 * the innermost. What is not there is "-". Names are made printable. What a viewer would
 * not accept is tracectl check's to say: here unknown references are "?".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"
#include "text.h"

enum table { CATEGORIES, NAMES, ARGS, TEXTS, FUNCTIONS, FRAMES, CALLSTACKS, N_TABLES };

/* TrackEvent.type */
enum { BEGIN = 1, END, INSTANT, COUNTER };

struct callstack {
	size_t n;
	uint64_t frames[];
};

/* Of one packet sequence. */
struct sequence {
	struct hash *tables[N_TABLES]; /* iid -> heap object */
	uint64_t track;		       /* of events that name none */
};

static char *printable(const void *data, size_t len)
{
	char text[1024];

	text_printable(text, sizeof(text), data, len);
	return must(strdup(text));
}

static void define(struct sequence *seq, enum table table, uint64_t iid, void *value)
{
	free(hash_remove_u64(seq->tables[table], iid));
	if (hash_set_u64(seq->tables[table], iid, value) < 0)
		must(NULL);
}

static void define_text(struct sequence *seq, enum table table, uint64_t iid, const char *text)
{
	define(seq, table, iid, printable(text ? text : "", text ? strlen(text) : 0));
}

static const char *text_of(const struct sequence *seq, enum table table, uint64_t iid)
{
	const char *text = hash_get_u64(seq->tables[table], iid);

	return text ? text : "?";
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

static void intern_stacks(struct sequence *seq, const InternedData *in)
{
	for (size_t i = 0; i < in->n_function_names; i++) {
		const InternedString *s = in->function_names[i];

		define(seq, FUNCTIONS, s->iid, printable(s->str.data, s->str.len));
	}
	for (size_t i = 0; i < in->n_frames; i++) {
		uint64_t *name = must(malloc(sizeof(*name)));

		*name = in->frames[i]->function_name_id;
		define(seq, FRAMES, in->frames[i]->iid, name);
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
}

static void intern(struct sequence *seq, const InternedData *in)
{
	for (size_t i = 0; i < in->n_event_categories; i++)
		define_text(seq, CATEGORIES, in->event_categories[i]->iid,
			    in->event_categories[i]->name);
	for (size_t i = 0; i < in->n_event_names; i++)
		define_text(seq, NAMES, in->event_names[i]->iid, in->event_names[i]->name);
	for (size_t i = 0; i < in->n_debug_annotation_names; i++)
		define_text(seq, ARGS, in->debug_annotation_names[i]->iid,
			    in->debug_annotation_names[i]->name);
	for (size_t i = 0; i < in->n_debug_annotation_string_values; i++) {
		const InternedString *s = in->debug_annotation_string_values[i];

		define(seq, TEXTS, s->iid, printable(s->str.data, s->str.len));
	}
	intern_stacks(seq, in);
}

/* ---- lines ---- */

static void print_text(const char *text)
{
	char *p = printable(text, strlen(text));

	fputs(p, stdout);
	free(p);
}

static void print_track(const TrackDescriptor *t)
{
	const char *name = t->name ? t->name : t->static_name ? t->static_name : "-";
	int64_t pid = t->thread ? t->thread->pid : t->process ? t->process->pid : -1;

	if (t->process && t->process->process_name)
		name = t->process->process_name;
	else if (t->thread && t->thread->thread_name)
		name = t->thread->thread_name;
	printf("track\t%" PRIx64 "\t%" PRIx64 "\t%" PRId64 "\t%" PRId64 "\t", t->uuid,
	       t->parent_uuid, pid, t->thread ? (int64_t)t->thread->tid : -1);
	print_text(name);
	putchar('\n');
}

static void print_flows(const TrackEvent *e)
{
	const char *sep = "";

	if (!e->n_flow_ids && !e->n_terminating_flow_ids)
		putchar('-');
	for (size_t i = 0; i < e->n_flow_ids; i++, sep = ",")
		printf("%s%" PRIx64, sep, e->flow_ids[i]);
	for (size_t i = 0; i < e->n_terminating_flow_ids; i++, sep = ",")
		printf("%s%" PRIx64 "!", sep, e->terminating_flow_ids[i]);
}

static void print_stack(const struct sequence *seq, const TrackEvent *e)
{
	const struct callstack *stack = hash_get_u64(seq->tables[CALLSTACKS], e->callstack_iid);

	if (!e->has_callstack_iid)
		putchar('-');
	else if (!stack)
		putchar('?');
	for (size_t i = 0; stack && i < stack->n; i++) {
		const uint64_t *name = hash_get_u64(seq->tables[FRAMES], stack->frames[i]);

		printf("%s%s", i ? ";" : "", name ? text_of(seq, FUNCTIONS, *name) : "?");
	}
}

static void print_arg(const struct sequence *seq, const DebugAnnotation *a)
{
	printf("\t%s=", a->name ? a->name : text_of(seq, ARGS, a->name_iid));
	if (a->string_value)
		print_text(a->string_value);
	else if (a->has_string_value_iid)
		fputs(text_of(seq, TEXTS, a->string_value_iid), stdout);
	else if (a->has_bool_value)
		fputs(a->bool_value ? "true" : "false", stdout);
	else if (a->has_int_value)
		printf("%" PRId64, a->int_value);
	else if (a->has_double_value)
		printf("%g", a->double_value);
	else
		printf("%" PRIu64, a->has_uint_value ? a->uint_value : a->pointer_value);
}

static void print_event(const struct sequence *seq, uint64_t time_ns, const TrackEvent *e)
{
	static const char *const types[] = {
		[BEGIN] = "begin", [END] = "end", [INSTANT] = "instant"
	};
	uint64_t track = e->has_track_uuid ? e->track_uuid : seq->track;

	if (e->type == COUNTER) {
		printf("value\t%" PRIu64 "\t%" PRIx64 "\t", time_ns, track);
		if (e->has_double_counter_value)
			printf("%g\n", e->double_counter_value);
		else
			printf("%" PRId64 "\n", e->counter_value);
		return;
	}
	if (e->type < BEGIN || e->type > INSTANT)
		return;
	printf("event\t%" PRIu64 "\t%s\t%" PRIx64 "\t", time_ns, types[e->type], track);
	fputs(e->n_category_iids ? text_of(seq, CATEGORIES, e->category_iids[0])
	      : e->n_categories	 ? e->categories[0]
				 : "-",
	      stdout);
	putchar('\t');
	print_text(e->name ? e->name : e->has_name_iid ? text_of(seq, NAMES, e->name_iid) : "-");
	putchar('\t');
	print_flows(e);
	putchar('\t');
	print_stack(seq, e);
	for (size_t i = 0; i < e->n_debug_annotations; i++)
		print_arg(seq, e->debug_annotations[i]);
	putchar('\n');
}

/* ---- the file ---- */

static void on_packet(struct hash *sequences, const TracePacket *pkt)
{
	struct sequence *seq = sequence_of(sequences, pkt->trusted_packet_sequence_id);

	if (pkt->sequence_flags & 1) /* SEQ_INCREMENTAL_STATE_CLEARED */
		forget(seq);
	if (pkt->trace_packet_defaults && pkt->trace_packet_defaults->track_event_defaults)
		seq->track = pkt->trace_packet_defaults->track_event_defaults->track_uuid;
	if (pkt->interned_data)
		intern(seq, pkt->interned_data);
	if (pkt->track_descriptor)
		print_track(pkt->track_descriptor);
	if (pkt->track_event)
		print_event(seq, pkt->timestamp, pkt->track_event);
}

int main(int argc, char **argv)
{
	return dump_main(argc, argv, "slicedump", on_packet);
}
