/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_encode.c - which hits of probes belong together.
 *
 * A hit alone is an instant on its thread. One that begins something and the one that ends
 * it are a slice, written when it ends: of a thread, the innermost one of that probe; or
 * those with the same key, also of different threads, on tracks of their own.
 *
 * Slices of a thread nest in its functions, so within a function that returns nothing is
 * left of those that it called: what has not ended by then was left by longjmp() or an
 * exception, and is drawn to there, unfinished. Other pairs (two USDT probes, two
 * functions) may cross: one that outlives another around it moves to a track of its own,
 * below the thread's. Pairs in the kernel, but for a function's entry and return, have that
 * track from the start: system calls begin and end between them.
 *
 * What is open when its thread, its program or the session ends is drawn to there. What
 * cannot be drawn is counted: at the end an instant on the track "Probes" says how many.
 */
#include "probe/probes_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/stack_encode.h"
#include "hash.h"
#include "probe/probes_encode_impl.h"
#include "process/process_table.h"

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

/* ---- slices that end ---- */

/* `end` NULL: it is not known how. It is forgotten. */
static int write_open(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		      struct open_hit *open, const struct probes_event *end, uint64_t end_ns)
{
	struct probes_where where = { .tgid = stack->tgid,
				      .tid = stack->tid,
				      .start_ns = stack->start_ns };
	int r = 0;

	if (stack->is_keyed)
		where.kind = OF_PROCESS;
	else if (stack->is_one_probes || open->is_crossed)
		where.kind = BELOW_THREAD;
	if (open->ev) {
		r = probes_write_slice(enc, open->known, &where, open->ev, open->begin_ns, end,
				       end_ns > open->begin_ns ? end_ns : open->begin_ns);
	} else {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, end ? 2 : 1);
	}
	open->known->n_users--;
	hit_stack_remove(all, stack, open);
	return r;
}

/* Those of user code alone, if the program is another one now. */
static int end_all(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		   uint64_t end_ns, bool user_only)
{
	struct open_hit *outer;
	int r = 0;

	for (struct open_hit *open = stack->top; r == 0 && open; open = outer) {
		outer = open->outer;
		if (!user_only || !open->known->is_kernel)
			r = write_open(enc, all, stack, open, NULL, end_ns);
	}
	return r;
}

/* What `open`, which ends, has around it or within it. */
static int settle_inner(struct probes_encoder *enc, struct hit_stack *stack,
			const struct open_hit *open, uint64_t end_ns)
{
	struct open_hit *outer;
	int r = 0;

	if (open->is_crossed || stack->is_keyed)
		return 0;
	for (struct open_hit *in = stack->top; r == 0 && in != open; in = outer) {
		outer = in->outer;
		if (in->is_crossed)
			continue;
		if (in->known->is_call && open->known->is_call)
			r = write_open(enc, &enc->threads, stack, in, NULL, end_ns);
		else
			in->is_crossed = true;
	}
	return r;
}

/* ---- threads ---- */

static uint64_t thread_start(const struct probes_encoder *enc, uint32_t tid)
{
	const struct thread *t = process_table_thread(enc->env.processes, tid);

	return t ? t->start_ns : 0;
}

/* Another program, or another thread of the same number. */
static int renew(struct probes_encoder *enc, struct hit_stack *stack, uint64_t start_ns,
		 uint64_t time_ns)
{
	const struct process *p = process_table_get(enc->env.processes, stack->tgid);
	int r = 0;

	if (stack->start_ns != start_ns && start_ns > stack->last_ns) {
		r = end_all(enc, &enc->threads, stack, stack->last_ns, false);
		stack->n_over = 0;
	} else if (p && p->exec_ns > stack->last_ns && p->exec_ns <= time_ns) {
		r = end_all(enc, &enc->threads, stack, p->exec_ns, true);
	}
	return r;
}

/* Whether nothing of the thread may come any more. */
static bool is_gone(void *ctx, const struct hit_stack *stack)
{
	const struct probes_encoder *enc = ctx;
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	if (stack->is_keyed)
		return true;
	return stack->tid && (!t || t->free_ns || t->start_ns != stack->start_ns);
}

/* `*ret` NULL: there are too many. */
static int thread_stack(struct probes_encoder *enc, const struct probes_known *known,
			const struct probes_event *ev, struct hit_stack **ret)
{
	struct hit_stack_key key = { .key = ev->hdr.tid ? ev->hdr.tid : (uint64_t)ev->hdr.cpu << 32,
				     .probe = known->own_track ? known->probe->id : 0 };
	uint64_t start_ns = thread_start(enc, ev->hdr.tid);
	struct hit_stack *stack = hit_stack_of(&enc->threads, &key);
	int r = 0;

	if (!stack) {
		hit_stacks_sweep(&enc->threads, is_gone, enc);
		stack = hit_stack_of(&enc->threads, &key);
	}
	*ret = stack;
	if (!stack)
		return 0;
	if (stack->top)
		r = renew(enc, stack, start_ns, ev->hdr.time_ns);
	if (!stack->last_ns || start_ns)
		stack->start_ns = start_ns;
	stack->tgid = ev->hdr.tgid;
	stack->tid = ev->hdr.tid;
	stack->is_one_probes = known->own_track;
	return r;
}

/* Two hits of a thread never have one time: which came first must show. */
static uint64_t next_time(struct hit_stack *stack, uint64_t time_ns)
{
	if (time_ns <= stack->last_ns)
		time_ns = stack->last_ns + 1;
	stack->last_ns = time_ns;
	return time_ns;
}

static int on_begin(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		    struct probes_known *known, const struct probes_event *ev, uint64_t time_ns)
{
	if (hit_stack_push(all, stack, known, time_ns, ev)) {
		known->n_users++;
		return 0;
	}
	enc->counts.too_deep++;
	trace_writer_skip(enc->env.writer, 1);
	return 0;
}

static int on_end(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		  struct probes_known *known, const struct probes_event *ev, uint64_t time_ns)
{
	struct open_hit *open = hit_stack_find(stack, known);
	int r;

	if (stack->n_over > 0) {
		stack->n_over--;
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	if (!open) {
		enc->counts.ends_without_begin++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	r = settle_inner(enc, stack, open, time_ns);
	return r < 0 ? r : write_open(enc, all, stack, open, ev, time_ns);
}

static int on_single(struct probes_encoder *enc, struct probes_known *known,
		     const struct hit_stack *stack, const struct probes_event *ev, uint64_t time_ns)
{
	const struct probes_where where = { .tgid = ev->hdr.tgid,
					    .tid = ev->hdr.tid,
					    .start_ns = stack->start_ns };

	return probes_write_instant(enc, known, &where, ev, time_ns);
}

static int on_thread_hit(struct probes_encoder *enc, struct probes_known *known,
			 const struct probes_event *ev)
{
	struct hit_stack *stack;
	uint64_t time_ns;
	int r = thread_stack(enc, known, ev, &stack);

	if (r < 0)
		return r;
	if (!stack) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	time_ns = next_time(stack, ev->hdr.time_ns);
	if (ev->point == PROBES_SINGLE)
		return on_single(enc, known, stack, ev, time_ns);
	if (ev->point == PROBES_BEGIN)
		return on_begin(enc, &enc->threads, stack, known, ev, time_ns);
	return on_end(enc, &enc->threads, stack, known, ev, time_ns);
}

/* ---- keys ---- */

/* A key of a program, which is an address mostly, is of that process alone. */
static int on_keyed_hit(struct probes_encoder *enc, struct probes_known *known,
			const struct probes_event *ev)
{
	struct hit_stack_key key = { .key = ev->key,
				     .probe = known->probe->id,
				     .tgid = known->is_kernel ? 0 : ev->hdr.tgid };
	struct hit_stack *stack = hit_stack_of(&enc->keyed, &key);

	if (!stack) {
		hit_stacks_sweep(&enc->keyed, is_gone, enc);
		stack = hit_stack_of(&enc->keyed, &key);
	}
	if (!stack) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	stack->is_keyed = true;
	if (ev->point == PROBES_FINISH)
		return on_end(enc, &enc->keyed, stack, known, ev, ev->hdr.time_ns);
	if (!stack->top) {
		stack->tgid = ev->hdr.tgid;
		stack->tid = ev->hdr.tid;
		stack->n_over = 0;
	}
	return on_begin(enc, &enc->keyed, stack, known, ev, ev->hdr.time_ns);
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
		return on_keyed_hit(enc, known, ev);
	return on_thread_hit(enc, known, ev);
}

/* While it is away, so are the ends of what has begun. */
static int on_pause(struct probes_encoder *enc, struct probes_known *known,
		    const struct probes_event *ev)
{
	struct hit_stacks *const all[] = { &enc->threads, &enc->keyed };
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		size_t pos = 0;
		void *stack;

		while (r == 0 && hash_next(all[i]->all, &pos, NULL, NULL, &stack)) {
			struct open_hit *open;

			while (r == 0 && (open = hit_stack_find(stack, known)) != NULL)
				r = write_open(enc, all[i], stack, open, NULL, ev->hdr.time_ns);
		}
	}
	if (r < 0)
		return r;
	return probes_tell(enc, ev->hdr.time_ns, "paused: its hits cost too much", known, 0, 1);
}

/* ---- the end of a session, of threads ---- */

/* When the thread ended, if it has. */
static uint64_t end_of(const struct probes_encoder *enc, const struct hit_stack *stack,
		       uint64_t stop_ns)
{
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	if (stack->is_keyed || stack->tid == 0)
		return stop_ns;
	if (!t)
		return stack->last_ns;
	return t->free_ns && t->free_ns < stop_ns ? t->free_ns : stop_ns;
}

static int end_stacks(struct probes_encoder *enc, struct hit_stacks *all, uint64_t stop_ns,
		      bool gone_only)
{
	size_t pos = 0;
	void *value;
	int r = 0;

	while (r == 0 && hash_next(all->all, &pos, NULL, NULL, &value)) {
		struct hit_stack *stack = value;

		if (stack->top && (!gone_only || is_gone(enc, stack)))
			r = end_all(enc, all, stack, end_of(enc, stack, stop_ns), false);
	}
	return r;
}

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
	r = end_stacks(enc, &enc->threads, stop_ns, false);
	if (r == 0)
		r = end_stacks(enc, &enc->keyed, stop_ns, false);
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
		r = end_stacks(enc, &enc->threads, now_ns, true);
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
