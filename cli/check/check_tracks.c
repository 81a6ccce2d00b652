/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_tracks.c - TrackDescriptors, and the TrackEvents on them.
 *
 * A TrackEvent whose track is not described, or described later, is either
 * lost or put on a track that nobody made: both without a word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4, TYPE_STATE = 5 };

#define MAX_DEPTH	     100 /* of the importer */
#define MAX_ANNOTATION_DEPTH 16

#define DATA_LOSS_TRACK "Data loss"

struct track {
	uint64_t content; /* hash of what makes it this track */
	unsigned depth;
	bool is_counter, is_state, is_data_loss;
	char *name;
	struct check_slices slices;
};

struct check_tracks {
	struct check_list list;
	struct hash *ids; /* uuid -> index + 1 */
};

int check_tracks_new(struct check_tracks **ret)
{
	struct check_tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (hash_new(&t->ids) < 0) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void check_tracks_free(struct check_tracks *t)
{
	struct track *list;

	if (!t)
		return;
	list = t->list.items;
	for (size_t i = 0; i < t->list.n; i++) {
		check_slices_done(&list[i].slices);
		free(list[i].name);
	}
	check_list_done(&t->list);
	hash_free(t->ids);
	free(t);
}

static struct track *find(const struct check_tracks *t, uint64_t uuid)
{
	size_t i = (uintptr_t)hash_get_u64(t->ids, uuid);

	return i ? (struct track *)t->list.items + (i - 1) : NULL;
}

static const char *name_of(const struct track *t)
{
	return t->name ? t->name : "";
}

/* ---- descriptors ---- */

/* Once per sequence. */
static void shared_sequence(struct trace_check *c)
{
	struct check_sequence *s = c->seq;

	if (!s || s->told_shared || !s->has_events || !s->has_descriptors)
		return;
	s->told_shared = true;
	check_report(c, CHECK_DESCRIPTOR_SEQUENCE, c->time_ns,
		     "sequence %u has thread or process descriptors and events", s->id);
}

static bool well_formed(struct trace_check *c, const TrackDescriptor *d)
{
	const char *wrong = NULL;

	if (!d->has_uuid)
		wrong = "without a uuid";
	else if (d->thread && (!d->thread->has_pid || !d->thread->has_tid))
		wrong = "of a thread without pid or tid";
	else if (d->process && !d->process->has_pid)
		wrong = "of a process without pid";
	else if ((d->thread || d->process) && (d->counter || d->has_parent_uuid))
		wrong = "of a thread or process with a counter or a parent";
	else if (d->thread && d->process)
		wrong = "of a thread and a process";
	if (wrong)
		check_report(c, CHECK_DESCRIPTOR_BAD, c->time_ns, "TrackDescriptor %s", wrong);
	return !wrong;
}

static const char *descriptor_name(const TrackDescriptor *d)
{
	return d->name ? d->name : d->static_name ? d->static_name : "";
}

static uint64_t content_of(const TrackDescriptor *d)
{
	uint64_t parts[] = {
		d->parent_uuid,
		d->process ? (uint64_t)d->process->pid << 1 | 1 : 0,
		d->thread ? (uint64_t)d->thread->pid << 1 | 1 : 0,
		d->thread ? (uint64_t)d->thread->tid : 0,
		d->counter != NULL,
		d->state != NULL,
	};
	const char *name = descriptor_name(d);

	return hash_bytes(parts, sizeof(parts), hash_bytes(name, strlen(name), CONTENT_SEED));
}

static unsigned depth_below(struct trace_check *c, const TrackDescriptor *d)
{
	const struct track *parent;

	if (!d->parent_uuid)
		return 0;
	parent = find(c->tracks, d->parent_uuid);
	if (!parent) {
		check_report(c, CHECK_UNKNOWN_PARENT, c->time_ns,
			     "parent %llu of track \"%s\" is not described so far",
			     (unsigned long long)d->parent_uuid, check_text(descriptor_name(d)).s);
		return 0;
	}
	if (parent->depth == MAX_DEPTH)
		check_report(c, CHECK_TRACK_DEPTH, c->time_ns, "track \"%s\"",
			     check_text(descriptor_name(d)).s);
	return parent->depth < MAX_DEPTH ? parent->depth + 1 : MAX_DEPTH;
}

/* Names of threads and processes come from elsewhere; for our messages this will do. */
static char *name_for_messages(struct trace_check *c, const TrackDescriptor *d)
{
	char text[48];

	if (d->thread)
		snprintf(text, sizeof(text), "thread %lld", (long long)d->thread->tid);
	else if (d->process)
		snprintf(text, sizeof(text), "process %d", d->process->pid);
	else
		return check_strdup(c, descriptor_name(d));
	return check_strdup(c, text);
}

static void new_track(struct trace_check *c, const TrackDescriptor *d)
{
	unsigned depth = depth_below(c, d);
	struct track *t = check_list_add(c, &c->tracks->list, sizeof(*t));

	if (!t)
		return;
	t->content = content_of(d);
	t->depth = depth;
	t->is_counter = d->counter != NULL;
	t->is_state = d->state != NULL;
	t->name = name_for_messages(c, d);
	t->is_data_loss = !d->thread && !d->process && strcmp(name_of(t), DATA_LOSS_TRACK) == 0;
	if (hash_set_u64(c->tracks->ids, d->uuid, (void *)(uintptr_t)c->tracks->list.n) < 0)
		c->error = -ENOMEM;
	if (d->thread)
		check_lives_descriptor(c, false, (int32_t)d->thread->tid, d->uuid);
	if (d->process)
		check_lives_descriptor(c, true, d->process->pid, d->uuid);
}

void check_tracks_descriptor(struct trace_check *c)
{
	const TrackDescriptor *d = c->pkt->track_descriptor;
	const struct track *old;

	if (c->seq && (d->thread || d->process)) {
		c->seq->has_descriptors = true;
		shared_sequence(c);
	}
	if (!well_formed(c, d))
		return;
	old = find(c->tracks, d->uuid);
	if (!old)
		new_track(c, d);
	else if (old->content != content_of(d))
		check_report(c, CHECK_UUID_REUSED, c->time_ns, "track \"%s\" becomes \"%s\"",
			     check_text(name_of(old)).s, check_text(descriptor_name(d)).s);
}

/* ---- events ---- */

struct annotations {
	bool unfinished;
	bool has_count;
	uint64_t count;
};

static void one_annotation(struct trace_check *c, const DebugAnnotation *a, struct annotations *ret,
			   unsigned depth)
{
	uint64_t class = ENTRY_OTHER;

	if (a->name) {
		class = check_name_class(I_ANNOTATION_NAME, a->name, strlen(a->name));
	} else if (a->has_name_iid) {
		const struct check_entry *e = check_ref(c, I_ANNOTATION_NAME, a->name_iid);

		class = e ? e->ref : ENTRY_OTHER;
	}
	if (a->has_string_value_iid)
		check_ref(c, I_ANNOTATION_STRING, a->string_value_iid);
	if (depth == 0 && class == ENTRY_UNFINISHED)
		ret->unfinished = true;
	if (depth == 0 && class == ENTRY_COUNT && (a->has_uint_value || a->has_int_value)) {
		ret->has_count = true;
		ret->count = a->has_uint_value ? a->uint_value : (uint64_t)a->int_value;
	}
	if (depth == MAX_ANNOTATION_DEPTH)
		return;
	for (size_t i = 0; i < a->n_dict_entries; i++)
		one_annotation(c, a->dict_entries[i], ret, depth + 1);
	for (size_t i = 0; i < a->n_array_values; i++)
		one_annotation(c, a->array_values[i], ret, depth + 1);
}

/* Looks up everything that the event refers to. */
static struct annotations references(struct trace_check *c, const TrackEvent *e)
{
	struct annotations ret = { 0 };

	if (e->has_name_iid)
		check_ref(c, I_EVENT_NAME, e->name_iid);
	if (e->has_source_location_iid)
		check_ref(c, I_SOURCE_LOCATION, e->source_location_iid);
	if (e->has_correlation_id_str_iid)
		check_ref(c, I_CORRELATION_STRING, e->correlation_id_str_iid);
	if (e->has_callstack_iid)
		check_stacks_use(c, e->callstack_iid);
	if (e->log_message && e->log_message->has_source_location_iid)
		check_ref(c, I_SOURCE_LOCATION, e->log_message->source_location_iid);
	if (e->log_message && e->log_message->has_body_iid)
		check_ref(c, I_LOG_BODY, e->log_message->body_iid);
	for (size_t i = 0; i < e->n_debug_annotations; i++)
		one_annotation(c, e->debug_annotations[i], &ret, 0);
	return ret;
}

/* Does the ledger count slices of its category? */
static bool has_counted_category(struct trace_check *c, const TrackEvent *e)
{
	bool counted = false;

	for (size_t i = 0; i < e->n_category_iids; i++) {
		const struct check_entry *entry = check_ref(c, I_CATEGORY, e->category_iids[i]);

		counted = counted || (entry && entry->ref == ENTRY_COUNTED);
	}
	for (size_t i = 0; i < e->n_categories; i++)
		counted = counted || check_name_class(I_CATEGORY, e->categories[i],
						      strlen(e->categories[i])) == ENTRY_COUNTED;
	return counted;
}

static bool track_uuid_of(struct trace_check *c, const TrackEvent *e, uint64_t *ret)
{
	if (e->has_track_uuid) {
		*ret = e->track_uuid;
		return true;
	}
	if (c->seq && c->seq->has_track) {
		c->refers = true;
		*ret = c->seq->track;
		return true;
	}
	return false;
}

static struct track *track_of(struct trace_check *c, const TrackEvent *e)
{
	struct track *t;
	uint64_t uuid;

	if (!track_uuid_of(c, e, &uuid)) {
		check_report(c, CHECK_NO_TRACK, c->time_ns, "TrackEvent without a track");
		return NULL;
	}
	t = find(c->tracks, uuid);
	if (!t)
		check_report(c, e->type == TYPE_COUNTER ? CHECK_COUNTER_EARLY : CHECK_UNKNOWN_TRACK,
			     c->time_ns, "track %llu is not described so far",
			     (unsigned long long)uuid);
	return t;
}

static void extra_counters(struct trace_check *c, const TrackEvent *e)
{
	if (e->n_extra_counter_values != e->n_extra_counter_track_uuids ||
	    e->n_extra_double_counter_values != e->n_extra_double_counter_track_uuids)
		check_report(c, CHECK_COUNTER_VALUE, c->time_ns,
			     "as many extra counter values as tracks are needed");
	for (size_t i = 0; i < e->n_extra_counter_track_uuids; i++)
		if (!find(c->tracks, e->extra_counter_track_uuids[i]))
			check_report(c, CHECK_COUNTER_EARLY, c->time_ns,
				     "track %llu is not described so far",
				     (unsigned long long)e->extra_counter_track_uuids[i]);
}

/* False: the event does not belong on a track of this kind. */
static bool fits(struct trace_check *c, const TrackEvent *e, const struct track *t)
{
	const char *wrong = NULL;

	if (e->type == TYPE_COUNTER && !t->is_counter)
		wrong = "a counter value on a track that is no counter";
	else if (e->type != TYPE_COUNTER && t->is_counter)
		wrong = "an event on a counter";
	else if (e->type == TYPE_STATE && !t->is_state)
		wrong = "a state on a track that has none";
	if (wrong)
		check_report(c, CHECK_TRACK_TYPE, c->time_ns, "%s, track \"%s\"", wrong,
			     check_text(name_of(t)).s);
	return !wrong;
}

static void on_track(struct trace_check *c, const TrackEvent *e, struct track *t,
		     const struct annotations *args)
{
	switch (e->type) {
	case TYPE_BEGIN:
		check_slice_begin(c, &t->slices, args->unfinished);
		break;
	case TYPE_END:
		check_slice_end(c, &t->slices, name_of(t));
		break;
	case TYPE_INSTANT:
		if (t->is_data_loss && args->has_count)
			check_ledger_instant(c, args->count);
		break;
	case TYPE_COUNTER:
		if (!e->has_counter_value && !e->has_double_counter_value)
			check_report(c, CHECK_COUNTER_VALUE, c->time_ns,
				     "counter event without a value, track \"%s\"",
				     check_text(name_of(t)).s);
		break;
	}
}

void check_tracks_event(struct trace_check *c)
{
	const TrackEvent *e = c->pkt->track_event;
	struct annotations args;
	struct track *t;
	bool counted;

	if (!c->seq)
		check_report(c, CHECK_SEQUENCE_ZERO, c->time_ns, "TrackEvent without a sequence");
	else
		c->seq->has_events = true;
	shared_sequence(c);
	if (!e->has_type || e->type < TYPE_BEGIN || e->type > TYPE_STATE) {
		check_report(c, CHECK_EVENT_TYPE, c->time_ns, "TrackEvent of type %d", e->type);
		return;
	}
	args = references(c, e);
	counted = has_counted_category(c, e);
	if (counted && e->type == TYPE_BEGIN && !args.unfinished)
		check_ledger_slice(c);
	extra_counters(c, e);
	t = track_of(c, e);
	if (t && c->has_time && fits(c, e, t))
		on_track(c, e, t, &args);
}

void check_tracks_finish(struct trace_check *c)
{
	struct track *list = c->tracks->list.items;

	for (size_t i = 0; i < c->tracks->list.n; i++)
		check_slices_finish(c, &list[i].slices, name_of(&list[i]));
}
