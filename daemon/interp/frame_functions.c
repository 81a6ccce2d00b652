/* SPDX-License-Identifier: Apache-2.0 */
/* frame_functions.c - the functions that walkers have met in frames. */
#include "frame_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "frames.h"
#include "jit/jit_table.h"
#include "symbolize/jit_question.h"
#include "symbolize/symbolizer.h"
#include "v8_procs.h"

/* The walkers forget those that are forgotten here, and must have room for what comes until then.
 */
#define MAX_FUNCTIONS (FRAMES_MAX_OBJECTS / 4 * 3)

/* Asked about at a time, of all processes: each question holds a descriptor. */
#define MAX_QUESTIONS 16

/* The worker has files of others, too, whose numbers are small. */
#define FILE_ID(proc_id) (1ull << 62 | (proc_id))

enum state {
	WAITING, /* to be asked about */
	ASKED,
	NAMED,
	NAMELESS, /* a builtin function, which has its name by its code */
	MISSED,	  /* could not be read */
	TOLD,	  /* the same, and the walkers have been told to describe it anew */
};

struct function {
	TAILQ_ENTRY(function) used, link; /* link: of those WAITING, or MISSED */
	uint32_t number, tgid;
	uint64_t address, identity;
	enum state state;
	struct location *loc; /* held; NULL: none yet, or the nameless one */
};

TAILQ_HEAD(functions, function);

/* By its id, as a pointer that is never followed. */
static void *who(uint64_t proc_id)
{
	return (void *)(uintptr_t)proc_id;
}

struct question {
	struct v8_question q;	    /* first */
	struct frame_functions *ff; /* NULL: free */
	uint32_t tgid;
	uint64_t proc_id;
	uint32_t numbers[FILES_V8_MAX];
};

struct frame_functions {
	struct frame_functions_config config;
	struct hash *by_number;
	struct functions used; /* longest unused first */
	struct functions waiting, missed;
	struct hash *distrusted; /* tgid -> who: processes that are not asked about any more */
	struct module *module;
	struct location *nameless; /* held */
	struct question questions[MAX_QUESTIONS];
	uint64_t n_missed;
};

int frame_functions_new(const struct frame_functions_config *config, struct frame_functions **ret)
{
	struct frame_functions *ff = calloc(1, sizeof(*ff));
	int r;

	if (!ff)
		return -ENOMEM;
	ff->config = *config;
	TAILQ_INIT(&ff->used);
	TAILQ_INIT(&ff->waiting);
	TAILQ_INIT(&ff->missed);
	r = hash_new(&ff->by_number);
	if (r == 0)
		r = hash_new(&ff->distrusted);
	if (r < 0) {
		frame_functions_free(ff);
		return r;
	}
	*ret = ff;
	return 0;
}

/* ---- states ---- */

struct location *frame_functions_nameless(struct frame_functions *ff)
{
	if (!ff->module)
		ff->module = symbolizer_pseudo_module(ff->config.sym, "[v8]");
	if (!ff->nameless && ff->module) {
		ff->nameless = symbolizer_locate(ff->config.sym, ff->module, 0);
		if (ff->nameless)
			location_hold(ff->nameless);
	}
	return ff->nameless;
}

static void leave_list(struct frame_functions *ff, struct function *f)
{
	if (f->state == WAITING)
		TAILQ_REMOVE(&ff->waiting, f, link);
	else if (f->state == MISSED)
		TAILQ_REMOVE(&ff->missed, f, link);
}

/* A promise that was given is kept. `loc` NULL: it has no name. */
static void settle(struct frame_functions *ff, struct function *f, enum state state,
		   struct location *loc)
{
	struct location *said = loc ? loc : frame_functions_nameless(ff);

	leave_list(ff, f);
	f->state = state;
	if (state == MISSED) {
		ff->n_missed++;
		TAILQ_INSERT_TAIL(&ff->missed, f, link);
	}
	if (f->loc && said)
		symbolizer_keep_promise(f->loc, said);
	else if (!f->loc && loc) {
		location_hold(loc);
		f->loc = loc;
	}
}

static void forget(struct frame_functions *ff, struct function *f)
{
	if (f->state == WAITING || f->state == ASKED)
		settle(ff, f, MISSED, NULL);
	leave_list(ff, f);
	TAILQ_REMOVE(&ff->used, f, used);
	(void)hash_remove_u64(ff->by_number, f->number);
	if (f->loc)
		location_release(f->loc);
	free(f);
}

void frame_functions_clear(struct frame_functions *ff)
{
	struct function *f, *next;

	for (f = TAILQ_FIRST(&ff->used); f; f = next) {
		next = TAILQ_NEXT(f, used);
		forget(ff, f);
	}
}

void frame_functions_free(struct frame_functions *ff)
{
	struct function *f, *next;

	if (!ff)
		return;
	/* Their locations have gone with the symbolizer. */
	for (f = TAILQ_FIRST(&ff->used); f; f = next) {
		next = TAILQ_NEXT(f, used);
		free(f);
	}
	hash_free(ff->by_number);
	hash_free(ff->distrusted);
	free(ff);
}

/* ---- records ---- */

int frame_functions_add(struct frame_functions *ff, const void *record, size_t len)
{
	const struct frames_event *ev = record;
	struct function *f, *old;

	if (len != sizeof(*ev) || ev->number == 0)
		return -EBADMSG;
	if (hash_get_u64(ff->by_number, ev->number))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct function){ .number = ev->number,
				.tgid = ev->tgid,
				.address = ev->address,
				.identity = ev->identity,
				.state = WAITING };
	if (hash_set_u64(ff->by_number, f->number, f) < 0) {
		free(f);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&ff->used, f, used);
	TAILQ_INSERT_TAIL(&ff->waiting, f, link);
	while (hash_count(ff->by_number) > MAX_FUNCTIONS && (old = TAILQ_FIRST(&ff->used)) != f) {
		ff->config.forget(ff->config.ctx, old->tgid, old->address);
		forget(ff, old);
	}
	return 0;
}

/* ---- questions ---- */

static void take_name(struct frame_functions *ff, struct function *f,
		      const struct source_frame *frame, bool is_jvm)
{
	const struct jit_name name = { .function = frame->function,
				       .function_len = (uint32_t)frame->function_len,
				       .file = frame->source,
				       .file_len = (uint32_t)frame->source_len,
				       .line = frame->line };
	struct location *loc = NULL;

	if (frame->function_len == 0) {
		settle(ff, f, NAMELESS, NULL);
		return;
	}
	if (is_jvm) /* as those that are compiled */
		loc = symbolizer_locate_generated(ff->config.sym, &name);
	else if (frame_functions_nameless(ff))
		loc = symbolizer_locate_interpreted(ff->config.sym, ff->module, &name);
	settle(ff, f, loc ? NAMED : MISSED, loc);
}

static void distrust(struct frame_functions *ff, const struct question *q)
{
	if (hash_get_u64(ff->distrusted, q->tgid) != who(q->proc_id) &&
	    hash_set_u64(ff->distrusted, q->tgid, who(q->proc_id)) == 0)
		log_warn("v8: the worker that read the memory of process %u died or hung; its "
			 "functions stay without names",
			 q->tgid);
}

static void on_done(struct v8_question *question, enum files_result result,
		    struct files_reply *reply)
{
	struct question *q = (struct question *)question;
	struct frame_functions *ff = q->ff;
	struct source_frame frames[FILES_FRAMES_MAX];

	if (result == FILES_RESULT_KILLER)
		distrust(ff, q);
	for (uint32_t i = 0; i < q->q.batch.n; i++) {
		struct function *f = hash_get_u64(ff->by_number, q->numbers[i]);
		size_t n = reply ? files_reply_next_lines(reply, frames) : 0;

		if (!f || f->state != ASKED)
			continue;
		if (n > 0)
			take_name(ff, f, &frames[0], q->q.batch.kind == FILES_JVM_NAMES);
		else
			settle(ff, f, MISSED, NULL);
	}
	close(q->q.batch.fd);
	q->ff = NULL;
	if (result != FILES_RESULT_NO_WORKER)
		frame_functions_ask(ff);
}

/* -1: it is gone, or out of reach. */
static int open_memory(struct frame_functions *ff, uint32_t tgid, uint64_t proc_id)
{
	char name[32];
	int fd;

	if (hash_get_u64(ff->distrusted, tgid) == who(proc_id))
		return -1;
	snprintf(name, sizeof(name), "%u/mem", tgid);
	fd = openat(ff->config.proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT && errno != ESRCH &&
	    hash_set_u64(ff->distrusted, tgid, who(proc_id)) == 0)
		log_info("v8: the memory of process %u is not to be read: %s; its functions stay "
			 "without names",
			 tgid, strerror(errno));
	return fd;
}

/* NULL: all are on their way. */
static struct question *free_question(struct frame_functions *ff)
{
	for (int i = 0; i < MAX_QUESTIONS; i++)
		if (!ff->questions[i].ff)
			return &ff->questions[i];
	return NULL;
}

/* What is to be asked of the process, and who it is; 0: nothing. */
static uint64_t describe(struct frame_functions *ff, uint32_t tgid, struct files_batch *batch)
{
	const struct v8_proc *proc = v8_procs_get(ff->config.procs, tgid);

	if (proc) {
		batch->kind = FILES_V8_NAMES;
		batch->v8.layout = *proc->layout;
		return proc->id;
	}
	batch->kind = FILES_JVM_NAMES;
	return ff->config.jvm ? ff->config.jvm(ff->config.ctx, tgid, batch->jvm.symbols) : 0;
}

/* False: the process cannot be asked about. */
static bool begin_question(struct frame_functions *ff, struct question *q, uint32_t tgid)
{
	uint64_t id;
	int fd;

	*q = (struct question){ .q.done = on_done, .tgid = tgid };
	id = describe(ff, tgid, &q->q.batch);
	fd = id ? open_memory(ff, tgid, id) : -1;
	if (fd < 0)
		return false;
	q->q.batch.fd = fd;
	q->q.batch.file_id = FILE_ID(id);
	q->proc_id = id;
	q->ff = ff;
	return true;
}

static void add_to(struct files_batch *batch, const struct function *f)
{
	if (batch->kind == FILES_JVM_NAMES) {
		batch->jvm.methods[batch->n++] = f->address;
		return;
	}
	batch->v8.functions[batch->n].object = f->address;
	batch->v8.functions[batch->n++].identity = f->identity;
}

/* Up to a question's worth of those of this process. */
static void fill(struct frame_functions *ff, struct question *q)
{
	struct function *f, *next;

	for (f = TAILQ_FIRST(&ff->waiting); f && q->q.batch.n < FILES_V8_MAX; f = next) {
		next = TAILQ_NEXT(f, link);
		if (f->tgid != q->tgid)
			continue;
		leave_list(ff, f);
		f->state = ASKED;
		q->numbers[q->q.batch.n] = f->number;
		add_to(&q->q.batch, f);
	}
}

void frame_functions_ask(struct frame_functions *ff)
{
	struct question *q;
	struct function *f;

	while ((f = TAILQ_FIRST(&ff->waiting)) && (q = free_question(ff))) {
		if (!begin_question(ff, q, f->tgid)) {
			settle(ff, f, MISSED, NULL);
			continue;
		}
		fill(ff, q);
		symbolizer_ask_v8_names(ff->config.sym, &q->q);
	}
}

struct location *frame_functions_locate(struct frame_functions *ff, uint32_t number)
{
	struct function *f = hash_get_u64(ff->by_number, number);

	if (!f)
		return NULL;
	TAILQ_REMOVE(&ff->used, f, used);
	TAILQ_INSERT_TAIL(&ff->used, f, used);
	if (!f->loc && (f->state == WAITING || f->state == ASKED))
		f->loc = symbolizer_promise(ff->config.sym, number);
	return f->loc ? f->loc : frame_functions_nameless(ff);
}

/* ---- time passes ---- */

void frame_functions_emptied(struct frame_functions *ff, uint32_t tgid)
{
	struct function *f;

	(void)hash_remove_u64(ff->distrusted, tgid);
	TAILQ_FOREACH(f, &ff->used, used)
	{
		if (f->tgid != tgid)
			continue;
		if (f->state == WAITING || f->state == ASKED)
			settle(ff, f, MISSED, NULL);
		if (f->state != TOLD)
			ff->config.forget(ff->config.ctx, tgid, f->address);
		if (f->state == MISSED) {
			leave_list(ff, f);
			f->state = TOLD;
		}
	}
}

void frame_functions_collect(struct frame_functions *ff)
{
	struct function *f;

	while ((f = TAILQ_FIRST(&ff->missed))) {
		ff->config.forget(ff->config.ctx, f->tgid, f->address);
		leave_list(ff, f);
		f->state = TOLD;
	}
	frame_functions_ask(ff);
}

size_t frame_functions_count(const struct frame_functions *ff)
{
	return hash_count(ff->by_number);
}

uint64_t frame_functions_missed(const struct frame_functions *ff)
{
	return ff->n_missed;
}
