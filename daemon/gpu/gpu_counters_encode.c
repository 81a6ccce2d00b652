/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters_encode.c - values of GPUs as counter tracks: those of a process
 * below the process, those of a device below "GPU driver device".
 */
#include "gpu/gpu_counters_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_counters_events.h"
#include "hash.h"
#include "process/process_table.h"
#include "trace_writer.h"

#define MAX_TRACKS 16384 /* of one trace; beyond that nobody finds anything */

struct gpu_counters_encoder {
	struct encoder_env env;
	struct gpu_card_item cards[GPU_MAX_CARDS]; /* by number; no driver: not known */
	struct hash *used;			   /* what has been more than 0, see `track_key` */
};

/* What a track is of, without padding: compared as bytes. */
struct track_key {
	uint64_t owner;
	struct gpu_card_item card;
	char name[GPU_NAME_LEN];
	uint64_t kind;
};

/* How kinds look: what is around the name, the unit, and how many make one of it. */
static const struct {
	const char *before, *after, *unit;
	double scale;
} kinds[N_GPU_VALUE_KINDS] = {
	[GPU_BUSY] = { "", " busy", "%", 1000 },
	[GPU_RESIDENT] = { "memory ", "", "bytes", 1 },
	[GPU_TOTAL] = { "memory ", " allocated", "bytes", 1 },
	[GPU_SENSOR_BUSY] = { "", " (its own account)", "%", 1000 },
	[GPU_SENSOR_BYTES] = { "", "", "bytes", 1 },
	[GPU_SENSOR_HZ] = { "", "", "MHz", 1000000 },
	[GPU_SENSOR_MILLIDEGREES] = { "", "", "degrees Celsius", 1000 },
	[GPU_SENSOR_MICROWATTS] = { "", "", "W", 1000000 },
	[GPU_AWAKE] = { "", "", "count", 1 },
};

int gpu_counters_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct gpu_counters_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = hash_new(&enc->used);
	if (r < 0) {
		free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void gpu_counters_encoder_free(void *encoder)
{
	struct gpu_counters_encoder *enc = encoder;

	if (!enc)
		return;
	hash_free(enc->used);
	free(enc);
}

static void take_cards(struct gpu_counters_encoder *enc, const struct gpu_counters_record *rec)
{
	memset(enc->cards, 0, sizeof(enc->cards));
	for (size_t i = 0; i < rec->n; i++)
		enc->cards[rec->items.cards[i].card] = rec->items.cards[i];
}

/*
 * The track of the value's process or of none: 0 with `*ret_known` false when it is one
 * that the trace does not know as alive: the UI would make up a second one.
 */
static uint64_t owner_track(struct gpu_counters_encoder *enc, uint32_t tgid, uint64_t time_ns,
			    bool *ret_known)
{
	const struct process *p;

	*ret_known = true;
	if (!tgid)
		return 0;
	p = process_table_get(enc->env.processes, tgid);
	*ret_known = p && p->start_ns <= time_ns && (!p->free_ns || p->free_ns > time_ns);
	return *ret_known ? trace_process_track(enc->env.writer, tgid, p->start_ns) : 0;
}

static uint64_t value_track(struct gpu_counters_encoder *enc, const struct gpu_value *v,
			    uint64_t owner)
{
	const struct gpu_card_item *card = &enc->cards[v->card];
	char group_name[16 + GPU_NAME_LEN + GPU_CARD_DEVICE_LEN], name[GPU_NAME_LEN + 32];
	struct trace_track group = { .name = group_name, .parent = owner };
	struct trace_track track = { .name = name, .is_counter = true };

	snprintf(group_name, sizeof(group_name), "GPU %s %s", card->driver, card->device);
	snprintf(name, sizeof(name), "%s%s%s", kinds[v->kind].before, v->name,
		 kinds[v->kind].after);
	track.unit = kinds[v->kind].unit;
	track.parent = trace_track(enc->env.writer, &group);
	return track.parent ? trace_track(enc->env.writer, &track) : 0;
}

/*
 * Most engines of most processes do nothing: what has been 0 all the time gets no row
 * in the UI. < 0: out of memory.
 */
static int is_used(struct gpu_counters_encoder *enc, const struct gpu_value *v, uint64_t owner)
{
	struct track_key key;

	memset(&key, 0, sizeof(key));
	key.owner = owner;
	key.card = enc->cards[v->card];
	memcpy(key.name, v->name, sizeof(key.name));
	key.kind = v->kind;
	if (hash_get(enc->used, &key, sizeof(key)))
		return 1;
	if ((!v->value && v->kind != GPU_AWAKE) || hash_count(enc->used) == MAX_TRACKS)
		return 0;
	return hash_set(enc->used, &key, sizeof(key), enc) < 0 ? -ENOMEM : 1;
}

/* 1: `*ret_track` is where it belongs; 0: nowhere. */
static int find_track(struct gpu_counters_encoder *enc, const struct gpu_value *v, uint64_t time_ns,
		      uint64_t *ret_track)
{
	uint64_t owner;
	bool known;
	int r;

	if (!enc->cards[v->card].driver[0])
		return 0; /* its introduction was lost */
	owner = owner_track(enc, v->tgid, time_ns, &known);
	if (!known)
		return 0;
	if (v->tgid && !owner)
		return -ENOMEM;
	r = is_used(enc, v, owner);
	if (r <= 0)
		return r;
	*ret_track = value_track(enc, v, owner);
	return *ret_track ? 1 : -ENOMEM;
}

static int put(struct gpu_counters_encoder *enc, uint64_t time_ns, uint64_t track,
	       const struct gpu_value *v, unsigned n_events)
{
	double scaled = (double)v->value / kinds[v->kind].scale;
	bool is_double = kinds[v->kind].scale != 1;
	uint64_t bits = (uint64_t)v->value;

	if (is_double)
		memcpy(&bits, &scaled, sizeof(bits));
	return trace_counter_event(enc->env.writer, track, time_ns, is_double, bits, n_events);
}

/* The last packet completes the record. */
static int encode_values(struct gpu_counters_encoder *enc, const struct gpu_counters_record *rec)
{
	const struct gpu_value *last = NULL;
	uint64_t time_ns = rec->hdr.time_ns, last_track = 0, track;
	int r;

	for (size_t i = 0; i < rec->n; i++) {
		const struct gpu_value *v = &rec->items.values[i];

		r = find_track(enc, v, time_ns, &track);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (last) {
			r = put(enc, time_ns, last_track, last, 0);
			if (r < 0)
				return r;
		}
		last = v;
		last_track = track;
	}
	if (last)
		return put(enc, time_ns, last_track, last, 1);
	trace_writer_skip(enc->env.writer, 1);
	return 0;
}

int gpu_counters_encode(void *encoder, const struct event_hdr *ev)
{
	const struct gpu_counters_record *rec = (const struct gpu_counters_record *)ev;
	struct gpu_counters_encoder *enc = encoder;

	if (ev->type == GPU_COUNTERS_VALUES)
		return encode_values(enc, rec);
	take_cards(enc, rec);
	trace_writer_skip(enc->env.writer, 1); /* it is in the names of the tracks */
	return 0;
}
