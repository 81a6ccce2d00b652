/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_encode.c - the encoder of probes: which probe a record is of, and what of it
 * counts. What becomes of its hits is in probes_pairs.c and probes_write.c.
 *
 * Probes come and go while a session lasts: one that was removed is known until what it has
 * begun is over.
 */
#include "probe/probes_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/stack_encode.h"
#include "hash.h"
#include "probe/probes_encode_impl.h"

/* What is gone is looked for that often; a removed probe's last hits have come by then. */
#define SWEEP_NS NS_PER_SEC
#define GONE_NS	 (5 * NS_PER_SEC)

/* ---- probes ---- */

static bool is_kernel(const struct probe_place *place)
{
	return place->kind != PROBE_UPROBE && place->kind != PROBE_URETPROBE &&
	       place->kind != PROBE_USDT;
}

static bool is_call(const struct probe_def *def)
{
	enum probe_kind at = def->at.kind, end = def->end.kind;

	return def->has_end && def->at.offset == 0 &&
	       strcmp(def->at.symbol, def->end.symbol) == 0 &&
	       strcmp(def->at.path, def->end.path) == 0 &&
	       ((at == PROBE_UPROBE && end == PROBE_URETPROBE) ||
		((at == PROBE_FENTRY || at == PROBE_KPROBE) && end == PROBE_FEXIT));
}

static const char *text(struct probes_encoder *enc, const char *s)
{
	return s[0] ? markers_key(enc->texts, s, strlen(s)) : NULL;
}

static void learn(struct probes_encoder *enc, struct probe *p, struct probes_known *known)
{
	const struct probe_def *def = &p->def;

	known->probe = p;
	known->name = text(enc, def->name);
	known->counter = text(enc, def->counter.name);
	for (size_t i = 0; i < def->n_args; i++)
		known->args[i] = text(enc, def->args[i].name);
	known->is_kernel = is_kernel(&def->at) || (def->has_end && is_kernel(&def->end));
	known->is_call = is_call(def);
	known->own_track = known->is_kernel && !known->is_call;
}

/* NULL: it is not this session's, or not known any more. */
static struct probes_known *known_of(struct probes_encoder *enc, uint32_t id)
{
	struct probes_known *known = hash_get_u64(enc->known, id);
	struct probe *p;

	if (known)
		return known;
	p = probes_find(enc->env.probes, id);
	if (!p)
		enc->counts.unknown++;
	if (!p || (p->slot != PROBES_EVERY && p->slot != (int)enc->env.slot))
		return NULL;
	known = calloc(1, sizeof(*known));
	if (!known || hash_set_u64(enc->known, id, known) < 0) {
		free(known);
		return NULL;
	}
	learn(enc, p, known);
	probe_hold(p);
	return known;
}

static void known_free(struct probes_known *known)
{
	probe_release(known->probe);
	free(known);
}

/* Probes come and go while a session lasts. */
static void forget_removed(struct probes_encoder *enc, uint64_t now_ns)
{
	size_t pos = 0;
	void *value;

	while (hash_next(enc->known, &pos, NULL, NULL, &value)) {
		struct probes_known *known = value;

		if (!known->probe->is_removed)
			continue;
		if (!known->removed_ns)
			known->removed_ns = now_ns;
		if (known->n_users || now_ns < known->removed_ns + GONE_NS)
			continue;
		(void)hash_remove_u64(enc->known, known->probe->id);
		known_free(known);
	}
}

/* ---- records ---- */

static int on_hit(struct probes_encoder *enc, struct probes_known *known,
		  const struct probes_event *ev)
{
	bool has_counter = ev->flags & PROBES_HAS_COUNTER && known->counter;
	/* One that counts and has nothing else to say. */
	bool counts = has_counter && ev->point == PROBES_SINGLE && ev->n_values == 0 &&
		      !(ev->flags & (PROBES_HAS_STACK | PROBES_LIMITED));
	int r = has_counter ? probes_write_counter(enc, known, ev, counts) : 0;

	if (r < 0 || counts)
		return r;
	if (ev->flags & PROBES_HAS_KEY && ev->point != PROBES_SINGLE)
		return probes_keyed_hit(enc, known, ev);
	return probes_thread_hit(enc, known, ev);
}

/* While it is away, so are the ends of what has begun. */
static int on_pause(struct probes_encoder *enc, struct probes_known *known,
		    const struct probes_event *ev)
{
	int r = probes_pairs_end_of(enc, known, ev->hdr.time_ns);

	if (r < 0)
		return r;
	return probes_tell(enc, ev->hdr.time_ns, "paused: its hits cost too much", known, 0, 1);
}

/* ---- the end of a session ---- */

static int tell_counts(struct probes_encoder *enc, uint64_t time_ns)
{
	const struct {
		const char *what;
		uint64_t n;
	} all[] = {
		{ "ends without a begin", enc->counts.ends_without_begin },
		{ "nested too deep, or too many at a time", enc->counts.too_deep },
		{ "hits of probes that are gone", enc->counts.unknown },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].n)
			r = probes_tell(enc, time_ns, all[i].what, NULL, all[i].n, 0);
	return r;
}

static int on_stop(struct probes_encoder *enc, uint64_t stop_ns)
{
	int r;

	if (enc->is_stopped)
		return 0;
	enc->is_stopped = true;
	r = probes_pairs_end_all(enc, stop_ns);
	return r < 0 ? r : tell_counts(enc, stop_ns);
}

int probes_encode(void *encoder, const struct event_hdr *hdr)
{
	const struct probes_event *ev = (const void *)hdr;
	struct probes_encoder *enc = encoder;
	struct probes_known *known;

	if (hdr->type == PROBES_STOP)
		return on_stop(enc, hdr->time_ns);
	known = hdr->time_ns < enc->env.start_ns ? NULL : known_of(enc, ev->probe);
	if (!known) {
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	if (hdr->type == PROBES_PAUSE)
		return on_pause(enc, known, ev);
	if (hdr->type == PROBES_RESUME)
		return probes_tell(enc, hdr->time_ns, "resumed", known, 0, 1);
	return on_hit(enc, known, ev);
}

/* A session that fails has no stop. */
int probes_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct probes_encoder *enc = encoder;
	int r = 0;

	if (final) {
		r = on_stop(enc, now_ns);
	} else if (now_ns > enc->swept_ns + SWEEP_NS) {
		enc->swept_ns = now_ns;
		r = probes_pairs_end_gone(enc, now_ns);
		forget_removed(enc, now_ns);
	}
	return r < 0 ? r : stack_encoder_flush(enc->stacks, now_ns, final);
}

bool probes_encoder_pending(void *encoder)
{
	struct probes_encoder *enc = encoder;

	return stack_encoder_pending(enc->stacks);
}

const uint64_t *probes_encoder_stack_ends(void *encoder)
{
	struct probes_encoder *enc = encoder;

	return stack_encoder_ends(enc->stacks);
}

bool probes_is_machine_wide(const struct event_hdr *hdr)
{
	return hdr->type != PROBES_HIT;
}

/* ---- life ---- */

int probes_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct probes_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = markers_keys_new(&enc->texts);
	if (r == 0)
		r = hash_new(&enc->known);
	if (r == 0)
		r = hit_stacks_init(&enc->threads);
	if (r == 0)
		r = hit_stacks_init(&enc->keyed);
	if (r == 0)
		r = hash_new(&enc->lanes);
	if (r == 0)
		r = probes_stacks_new(enc);
	if (r < 0) {
		probes_encoder_free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void probes_encoder_free(void *encoder)
{
	struct probes_encoder *enc = encoder;
	size_t pos = 0;
	void *known;

	if (!enc)
		return;
	stack_encoder_free(enc->stacks);
	hit_stacks_done(&enc->threads);
	hit_stacks_done(&enc->keyed);
	probes_lanes_free(enc);
	while (enc->known && hash_next(enc->known, &pos, NULL, NULL, &known))
		known_free(known);
	hash_free(enc->known);
	markers_keys_free(enc->texts);
	free(enc);
}
