/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_vblanks.c - the beat of each display. */
#include "gpu_vblanks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define N_RECENT   (sizeof(((struct gpu_beat *)0)->recent) / sizeof(uint64_t))
#define MAX_STEP   64		   /* vblanks between two that measure the period */
#define PERIOD_MIN (1 * NS_PER_MS) /* 1,000 Hz */
#define PERIOD_MAX (1 * NS_PER_SEC)
#define TELL_NS	   (250 * NS_PER_MS) /* a client is told of a vblank within this */

static int by_value(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* The median of the last few: one late timestamp does not count. */
void gpu_beat_measure(struct gpu_beat *b, uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
	uint64_t sorted[N_RECENT], period;
	size_t len;

	if (n == 0 || n > MAX_STEP || to_ns <= from_ns)
		return;
	period = (to_ns - from_ns) / n;
	if (period < PERIOD_MIN || period > PERIOD_MAX)
		return;
	b->recent[b->n_recent++ % N_RECENT] = period;
	len = b->n_recent < N_RECENT ? b->n_recent : N_RECENT;
	memcpy(sorted, b->recent, len * sizeof(*sorted));
	qsort(sorted, len, sizeof(*sorted), by_value);
	b->period_ns = sorted[len / 2];
}

/* How far off from where the beat would have it; UINT64_MAX: it cannot be the same beat. */
static uint64_t distance(const struct gpu_beat *b, uint32_t seq, uint64_t time_ns)
{
	uint32_t steps = seq - b->seq; /* counts wrap */
	uint64_t expected, d;

	if (steps > INT32_MAX) /* an older one, which an interrupt has overtaken */
		return (uint32_t)-steps <= 2 ? NS_PER_MS : UINT64_MAX;
	if (time_ns < b->time_ns)
		return steps <= 1 ? b->time_ns - time_ns : UINT64_MAX;
	if (!b->period_ns)
		return steps <= MAX_STEP ? (time_ns - b->time_ns) / 16 : UINT64_MAX;
	expected = b->time_ns + steps * b->period_ns;
	d = time_ns > expected ? time_ns - expected : expected - time_ns;
	/* A period that is slightly wrong grows into a large error. */
	return d <= b->period_ns * 3 / 4 + steps * (b->period_ns / 64) ? d : UINT64_MAX;
}

static struct gpu_beat *closest(struct gpu_vblanks *v, uint32_t crtc, uint32_t seq,
				uint64_t time_ns)
{
	struct gpu_beat *best = NULL;
	uint64_t best_distance = UINT64_MAX;

	for (size_t i = 0; i < GPU_MAX_BEATS; i++) {
		struct gpu_beat *b = &v->beats[i];
		uint64_t d;

		if (!b->used || b->crtc != crtc)
			continue;
		d = distance(b, seq, time_ns);
		if (d < best_distance) {
			best = b;
			best_distance = d;
		}
	}
	return best;
}

/* A free place, or that of the beat not heard of for longest. */
static struct gpu_beat *place(struct gpu_vblanks *v)
{
	struct gpu_beat *oldest = &v->beats[0];

	for (size_t i = 0; i < GPU_MAX_BEATS; i++) {
		if (!v->beats[i].used)
			return &v->beats[i];
		if (v->beats[i].time_ns < oldest->time_ns)
			oldest = &v->beats[i];
	}
	return oldest;
}

struct gpu_beat *gpu_vblanks_add(struct gpu_vblanks *v, uint32_t crtc, uint32_t seq,
				 uint64_t time_ns)
{
	struct gpu_beat *b = closest(v, crtc, seq, time_ns);

	if (!b) {
		b = place(v);
		*b = (struct gpu_beat){ .used = true, .crtc = crtc };
	} else if ((int32_t)(seq - b->seq) <= 0) {
		return b;
	} else {
		gpu_beat_measure(b, b->time_ns, time_ns, seq - b->seq);
	}
	b->seq = seq;
	b->time_ns = time_ns;
	return b;
}

/* Told of it just before its event, or some time after. */
static bool fits(const struct gpu_beat *b, uint32_t crtc, uint32_t seq, uint64_t time_ns)
{
	uint32_t steps = seq - b->seq;

	return b->used && b->crtc == crtc && steps <= 1 && time_ns + TELL_NS > b->time_ns &&
	       time_ns < b->time_ns + TELL_NS + b->period_ns;
}

void gpu_vblanks_learn(struct gpu_vblanks *v, uint32_t device, uint32_t crtc, uint32_t seq,
		       uint64_t time_ns)
{
	struct gpu_beat *found = NULL;

	for (size_t i = 0; i < GPU_MAX_BEATS; i++) {
		struct gpu_beat *b = &v->beats[i];

		if (!fits(b, crtc, seq, time_ns))
			continue;
		if (b->device == device)
			return;
		if (b->device)
			continue;
		if (found)
			return; /* two that look alike: another time */
		found = b;
	}
	if (!found)
		return;
	/* The card was switched off and on: its count began anew. */
	for (size_t i = 0; i < GPU_MAX_BEATS; i++)
		if (v->beats[i].device == device && v->beats[i].crtc == crtc)
			v->beats[i].used = false;
	found->device = device;
}

const struct gpu_beat *gpu_vblanks_of(const struct gpu_vblanks *v, uint32_t device, uint32_t crtc)
{
	for (size_t i = 0; i < GPU_MAX_BEATS; i++)
		if (v->beats[i].used && v->beats[i].device == device && v->beats[i].crtc == crtc)
			return &v->beats[i];
	return NULL;
}
