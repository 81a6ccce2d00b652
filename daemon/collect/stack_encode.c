/* SPDX-License-Identifier: Apache-2.0 */
/* stack_encode.c - stacks on their way into a trace. */
#include "stack_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "interp/interp_stack.h"
#include "process/process_table.h"
#include "python.h"
#include "stack_known.h"
#include "symbolize/symbolizer.h"
#include "unwind/stack_walk.h"
#include "unwind/unwinder.h"

/* How long a sample may wait. A large file takes a worker about 0.2 s. */
#define MAX_WAIT_NS (3 * NS_PER_SEC)
/* 30 s of two busy CPUs at 999 Hz; about 250 bytes each. */
#define MAX_WAITING 65536
/* Those with a copy of their stack: 64 MiB at most. */
#define MAX_COPIES 4096

#define MAX_KERNEL_FRAMES 128
/* And two that say that others are missing. */
#define MAX_FRAMES (MAX_KERNEL_FRAMES + UNWIND_MAX_FRAMES + PYTHON_MAX_FRAMES + 2)

/* Stands for all that is in the kernel where that is hidden; no code is there. */
static const uint64_t hidden_kernel = 1;

/* A walk that is not over, and what it has found. */
struct unfinished {
	struct unwind_copy copy;
	uint32_t n_kernel, n_user, n_words;
	bool words_whole;
	uint64_t kernel[MAX_KERNEL_FRAMES];
	uint64_t user[UNWIND_MAX_FRAMES];
	uint64_t words[PYTHON_MAX_FRAMES];
	uint8_t stack[]; /* copy.len */
};

struct sample {
	struct sample *next;
	uint64_t time_ns;
	uint64_t since_ns;
	uint64_t weight;
	uint32_t tgid, tid;
	uint16_t cpu;
	bool in_kernel;
	bool is_extra;
	uint8_t end;		       /* enum unwind_end */
	struct known_stack stack;      /* callstack_iid 0: it is not known yet */
	struct unfinished *unfinished; /* NULL: the walk is over */
	struct stack_addresses *kept;  /* of a known stack that waits, or NULL */
	unsigned n;		    /* locations, outermost first; none when the stack is known */
	unsigned n_kernel, n_marks; /* of them: the last ones, the first ones */
	struct location **locations;
	struct interp_stack *interp; /* NULL: no interpreted frames */
	void *what;		     /* for done() */
};

struct stack_encoder {
	struct trace_writer *writer;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	enum trace_sequence seq;
	bool hides_kernel; /* from a user who may not see it */
	stack_done_fn *done; /* NULL: they are samples */
	void *done_ctx;
	struct sample *first, *last; /* waiting, in order of arrival */
	unsigned n_waiting, n_unfinished;
	uint64_t news; /* of the unwinder, when walks were tried last */
	struct known_stacks *known;
	uint64_t ends[UNWIND_ENDS];
};

static int set_defaults(struct stack_encoder *e, const struct stack_source *source)
{
	TracePacketDefaults defaults = TRACE_PACKET_DEFAULTS__INIT;
	StackSampleDefaults samples = STACK_SAMPLE_DEFAULTS__INIT;
	StackSample__CounterDescriptor counter = STACK_SAMPLE__COUNTER_DESCRIPTOR__INIT;

	samples.source = (char *)source->source;
	samples.primary_descriptor = &counter;
	counter.name = (char *)source->counter;
	counter.has_unit = source->unit != 0;
	counter.unit = source->unit;
	counter.unit_str = (char *)source->unit_str;
	defaults.stack_sample_defaults = &samples;
	return trace_writer_set_defaults(e->writer, e->seq, &defaults);
}

int stack_encoder_new(const struct encoder_env *env, const struct stack_source *source,
		      struct stack_encoder **ret)
{
	struct stack_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->writer = env->writer;
	e->processes = env->processes;
	e->symbolizer = env->symbolizer;
	e->unwinder = env->unwinder;
	e->interpreter = env->interpreter;
	e->seq = source->seq;
	e->hides_kernel = env->config && env->config->owner.kernel_hidden;
	e->done = source->done;
	e->done_ctx = source->done_ctx;
	r = known_stacks_new(&e->known);
	if (r == 0 && !e->done)
		r = set_defaults(e, source);
	if (r < 0) {
		stack_encoder_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

/* Of a stack there is only what leads back: what else lay on it is nobody's business. */
static void unfinished_free(struct unfinished *u)
{
	if (!u)
		return;
	explicit_bzero(u->stack, u->copy.len);
	free(u);
}

static void sample_free(struct sample *s)
{
	for (unsigned i = 0; i < s->n; i++)
		location_release(s->locations[i]);
	free(s->locations);
	interp_stack_free(s->interp);
	unfinished_free(s->unfinished);
	free(s->kept);
	free(s->what);
	free(s);
}

void stack_encoder_free(struct stack_encoder *e)
{
	if (!e)
		return;
	while (e->first) {
		struct sample *next = e->first->next;

		sample_free(e->first);
		e->first = next;
	}
	known_stacks_free(e->known);
	free(e);
}

const uint64_t *stack_encoder_ends(const struct stack_encoder *e)
{
	return e->ends;
}

/* ---- from addresses to locations ---- */

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

static bool add_user(struct stack_encoder *e, const struct stack_addresses *at, struct sample *s)
{
	struct location **locs = s->locations + s->n;
	uint64_t pcs[UNWIND_MAX_FRAMES];
	uint32_t n = at->n_user;

	if (n == 0)
		return true;
	for (uint32_t i = 0; i < n; i++)
		pcs[i] = call_site(at->user[n - 1 - i], i == n - 1);
	if (!process_table_locate_all(e->processes, s->tgid, pcs, n, s->time_ns, locs))
		return false;
	for (uint32_t i = 0; i < n; i++)
		location_hold(locs[i]);
	s->n += n;
	return true;
}

/* Other code may have been at the same addresses before. */
static uint64_t kernel_version(struct stack_encoder *e, const struct sample *s,
			       const struct stack_addresses *at)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < at->n_kernel; i++) {
		uint64_t one = symbolizer_kernel_version(
			e->symbolizer, call_site(at->kernel[i], i == 0), s->time_ns);

		if (one)
			all = hash_bytes(&one, sizeof(one), all);
	}
	return all;
}

/* What identifies a stack, and its id if it was written before. */
static void recognize(struct stack_encoder *e, const struct sample *s,
		      const struct stack_addresses *at, struct known_stack *ret)
{
	*ret = (struct known_stack){
		.maps_version = process_table_maps_version(e->processes, s->tgid, s->time_ns),
		.generation = trace_writer_generation(e->writer),
	};
	known_stacks_find(e->known, at, s->end ^ kernel_version(e, s, at), ret);
}

/* In place of the frames that are missing, outermost: why they are. */
static struct location *end_mark(struct stack_encoder *e, enum unwind_end end)
{
	char text[64];
	struct module *module;

	snprintf(text, sizeof(text), "[stack ends: %s]", unwind_end_name(end));
	module = symbolizer_pseudo_module(e->symbolizer, text);
	return module ? symbolizer_locate(e->symbolizer, module, 0) : NULL;
}

static struct location *kernel_location(struct stack_encoder *e, const struct stack_addresses *at,
					unsigned i, uint64_t time_ns)
{
	struct module *module;

	if (!e->hides_kernel)
		return symbolizer_locate_kernel(e->symbolizer, call_site(at->kernel[i], i == 0),
						time_ns);
	module = symbolizer_pseudo_module(e->symbolizer, "[kernel]");
	return module ? symbolizer_locate(e->symbolizer, module, 0) : NULL;
}

/* Outermost first, as the trace wants it: the user's frames from the far end, then the kernel's. */
static bool locate_stack(struct stack_encoder *e, const struct stack_addresses *at,
			 struct sample *s)
{
	bool ok = true;

	s->locations = calloc(at->n_user + at->n_kernel + 1, sizeof(s->locations[0]));
	if (!s->locations)
		return false;
	if (at->n_user > 0 && !unwind_end_is_whole(s->end) && unwind_end_has_stack(s->end))
		ok = add_location(s, end_mark(e, s->end));
	s->n_marks = s->n;
	s->n_kernel = at->n_kernel;
	ok = ok && add_user(e, at, s);
	for (unsigned i = at->n_kernel; i-- > 0 && ok;)
		ok = add_location(s, kernel_location(e, at, i, s->time_ns));
	if (ok && at->n_words && e->interpreter)
		ok = interp_stack_new(e->interpreter, at->words, at->n_words, at->words_whole,
				      &s->interp) == 0;
	return ok;
}

/* The walk is over: `at` is all there is. */
static int complete(struct stack_encoder *e, struct sample *s, const struct stack_addresses *at)
{
	recognize(e, s, at, &s->stack);
	if (s->stack.callstack_iid == 0)
		return locate_stack(e, at, s) ? 0 : -ENOMEM;
	/* Behind others it waits, and its id may go down with a dropped block. */
	s->kept = e->first ? stack_addresses_copy(at) : NULL;
	return e->first && !s->kept ? -ENOMEM : 0;
}

/* Is the stack that was known still in the trace? If not, it is as any other. */
static int look_again(struct stack_encoder *e, struct sample *s)
{
	bool ok = true;

	if (s->stack.generation != trace_writer_generation(e->writer)) {
		s->stack.callstack_iid = 0;
		ok = locate_stack(e, s->kept, s);
	}
	free(s->kept);
	s->kept = NULL;
	return ok ? 0 : -ENOMEM;
}

/* ---- walks that are not over ---- */

/* -EAGAIN: not yet. */
static int finish(struct stack_encoder *e, struct sample *s, bool now)
{
	struct unfinished *u = s->unfinished;
	struct unfinished_walk walk = {
		.tgid = s->tgid,
		.time_ns = s->time_ns,
		.copy = &u->copy,
		.stack = u->stack,
	};
	enum unwind_end end = s->end;
	struct stack_addresses at;
	int r;

	r = unwinder_finish(e->unwinder, &walk, now, u->user, &u->n_user, &end);
	if (r < 0)
		return r;
	s->end = (uint8_t)end;
	at = (struct stack_addresses){ u->kernel, u->user,    u->words,	     u->n_kernel,
				       u->n_user, u->n_words, u->words_whole };
	r = complete(e, s, &at);
	unfinished_free(u);
	s->unfinished = NULL;
	return r;
}

static int keep_unfinished(struct sample *s, const struct stack_sample *from)
{
	struct unfinished *u = malloc(sizeof(*u) + from->copy->len);

	if (!u)
		return -ENOMEM;
	u->copy = *from->copy;
	u->n_kernel = from->n_kernel < MAX_KERNEL_FRAMES ? from->n_kernel : MAX_KERNEL_FRAMES;
	u->n_user = from->n_user;
	if (u->n_kernel) /* else there may be no array either */
		memcpy(u->kernel, from->kernel, u->n_kernel * sizeof(*u->kernel));
	memcpy(u->user, from->user, u->n_user * sizeof(*u->user));
	u->n_words = from->n_words;
	u->words_whole = from->words_whole;
	if (u->n_words)
		memcpy(u->words, from->words, u->n_words * sizeof(*u->words));
	memcpy(u->stack, from->stack, from->copy->len);
	s->unfinished = u;
	return 0;
}

/* Tables have come: those that wait for names in the queue ask for them now, not in turn. */
static int retry_walks(struct stack_encoder *e)
{
	uint64_t news = e->n_unfinished ? unwinder_news(e->unwinder) : e->news;

	if (news == e->news)
		return 0;
	e->news = news;
	for (struct sample *s = e->first; s; s = s->next) {
		int r = s->unfinished ? finish(e, s, false) : -EAGAIN;

		if (r == -EAGAIN)
			continue;
		if (r < 0)
			return r;
		e->n_unfinished--;
	}
	return 0;
}

/* ---- samples ---- */

static struct sample *sample_new(struct stack_encoder *e, const struct stack_sample *from)
{
	struct stack_addresses at = { from->kernel, from->user,	   from->words,	     from->n_kernel,
				      from->n_user, from->n_words, from->words_whole };
	struct sample *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		free(from->what);
		return NULL;
	}
	s->time_ns = from->time_ns;
	s->since_ns = from->since_ns ? from->since_ns : from->time_ns;
	s->weight = from->weight;
	s->tgid = from->tgid;
	s->tid = from->tid;
	s->cpu = from->cpu;
	s->in_kernel = from->in_kernel;
	s->is_extra = from->is_extra;
	s->what = from->what;
	s->end = (uint8_t)from->end;
	if (from->copy && e->unwinder) {
		r = keep_unfinished(s, from);
		if (r == 0)
			r = finish(e, s, e->n_unfinished >= MAX_COPIES);
		e->n_unfinished += r == -EAGAIN;
	} else {
		r = complete(e, s, &at);
	}
	if (r < 0 && r != -EAGAIN) {
		sample_free(s);
		return NULL;
	}
	return s;
}

static bool sample_ready(const struct sample *s)
{
	if (s->unfinished)
		return false;
	for (unsigned i = 0; i < s->n; i++)
		if (!s->locations[i]->ready)
			return false;
	return !s->interp || interp_stack_ready(s->interp);
}

/* All frames of a sample, outermost first, the interpreted ones in their places. 0: no memory. */
static size_t all_frames(struct sample *s, struct location *ret[MAX_FRAMES])
{
	size_t n_user = s->n - s->n_kernel - s->n_marks, n = s->n_marks;
	struct location **user = s->locations + s->n_marks;

	if (!s->interp) {
		memcpy(ret, s->locations, s->n * sizeof(*ret));
		return s->n;
	}
	memcpy(ret, s->locations, n * sizeof(*ret));
	n += interp_stack_merge(s->interp, user, n_user, unwind_end_is_whole(s->end), ret + n,
				&s->stack.approx);
	if (n == s->n_marks)
		return 0;
	memcpy(ret + n, user + n_user, s->n_kernel * sizeof(*ret));
	return n + s->n_kernel;
}

static uint64_t intern_stack(struct stack_encoder *e, struct sample *s)
{
	struct location *all[MAX_FRAMES];
	uint64_t frames[MAX_FRAMES];
	bool ready = sample_ready(s);
	size_t n = all_frames(s, all);

	for (size_t i = 0; i < n; i++) {
		frames[i] = trace_intern_frame(e->writer, e->seq, all[i]);
		if (!frames[i])
			return 0;
	}
	s->stack.callstack_iid = trace_intern_callstack(e->writer, e->seq, frames, n);
	s->stack.generation = trace_writer_generation(e->writer);
	/* With names still missing it would stay without them for good. */
	if (ready)
		known_stacks_add(e->known, &s->stack);
	return s->stack.callstack_iid;
}

static int put_sample(struct stack_encoder *e, struct sample *s, uint64_t callstack_iid)
{
	struct trace_sample out = {
		.time_ns = s->time_ns,
		.weight = s->weight,
		.callstack_iid = callstack_iid,
		.task_iid = trace_intern_task(e->writer, e->seq, s->tgid, s->tid),
		.execution_iid = trace_intern_execution(e->writer, e->seq, s->cpu, s->in_kernel),
	};

	if (!out.task_iid || !out.execution_iid)
		return -ENOMEM;
	if (s->end != UNWIND_COMPLETE)
		out.error = unwind_end_name(s->end);
	return trace_writer_put_sample(e->writer, e->seq, &out, !s->is_extra);
}

static int sample_write(struct stack_encoder *e, struct sample *s)
{
	uint64_t callstack_iid = s->n ? intern_stack(e, s) : s->stack.callstack_iid;

	if (!callstack_iid)
		return -ENOMEM;
	if (s->stack.approx && s->end == UNWIND_COMPLETE)
		s->end = UNWIND_APPROX;
	e->ends[s->end]++;
	return e->done ? e->done(e->done_ctx, s->what, callstack_iid)
		       : put_sample(e, s, callstack_iid);
}

static void drop_first(struct stack_encoder *e)
{
	struct sample *s = e->first;

	e->first = s->next;
	if (!e->first)
		e->last = NULL;
	e->n_waiting--;
	sample_free(s);
}

/* It has waited long enough. */
static int write_as_it_is(struct stack_encoder *e, struct sample *s)
{
	if (s->unfinished) {
		int r = finish(e, s, true);

		e->n_unfinished--;
		if (r < 0)
			return r;
	}
	return sample_write(e, s);
}

/* Writes from the head of the queue while all is there, or will not be waited for. */
static int write_ready(struct stack_encoder *e, uint64_t now_ns, bool all)
{
	int r = retry_walks(e);

	while (r == 0 && e->first) {
		struct sample *s = e->first;
		bool late = now_ns > s->since_ns + MAX_WAIT_NS || e->n_waiting > MAX_WAITING;

		if (s->kept)
			r = look_again(e, s);
		if (r < 0)
			return r;
		if (sample_ready(s))
			r = sample_write(e, s);
		else if (all || late)
			r = write_as_it_is(e, s);
		else
			return 0;
		if (r == 0)
			drop_first(e);
	}
	return r;
}

int stack_encoder_add(struct stack_encoder *e, const struct stack_sample *sample)
{
	struct stack_sample open = *sample;
	struct sample *s;

	if (e->hides_kernel && open.n_kernel) {
		open.kernel = &hidden_kernel;
		open.n_kernel = 1;
	}
	s = sample_new(e, &open);
	if (!s)
		return -ENOMEM;
	if (e->last)
		e->last->next = s;
	else
		e->first = s;
	e->last = s;
	e->n_waiting++;
	return write_ready(e, s->since_ns, false);
}

int stack_encoder_flush(struct stack_encoder *e, uint64_t now_ns, bool final)
{
	return write_ready(e, now_ns, final);
}

bool stack_encoder_pending(const struct stack_encoder *e)
{
	return e->first != NULL;
}
