/* SPDX-License-Identifier: Apache-2.0 */
/* v8_functions.c - the functions of V8 that walkers have met. */
#include "v8_functions.h"

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
	struct v8_question q;	 /* first */
	struct v8_functions *vf; /* NULL: free */
	uint32_t tgid;
	uint64_t proc_id;
	uint32_t numbers[FILES_V8_MAX];
};

struct v8_functions {
	struct v8_functions_config config;
	struct hash *by_number;
	struct functions used; /* longest unused first */
	struct functions waiting, missed;
	struct hash *distrusted; /* tgid -> who: processes that are not asked about any more */
	struct module *module;
	struct location *nameless; /* held */
	struct question questions[MAX_QUESTIONS];
	uint64_t n_missed;
};

int v8_functions_new(const struct v8_functions_config *config, struct v8_functions **ret)
{
	struct v8_functions *vf = calloc(1, sizeof(*vf));
	int r;

	if (!vf)
		return -ENOMEM;
	vf->config = *config;
	TAILQ_INIT(&vf->used);
	TAILQ_INIT(&vf->waiting);
	TAILQ_INIT(&vf->missed);
	r = hash_new(&vf->by_number);
	if (r == 0)
		r = hash_new(&vf->distrusted);
	if (r < 0) {
		v8_functions_free(vf);
		return r;
	}
	*ret = vf;
	return 0;
}

/* ---- states ---- */

struct location *v8_functions_nameless(struct v8_functions *vf)
{
	if (!vf->module)
		vf->module = symbolizer_pseudo_module(vf->config.sym, "[v8]");
	if (!vf->nameless && vf->module) {
		vf->nameless = symbolizer_locate(vf->config.sym, vf->module, 0);
		if (vf->nameless)
			location_hold(vf->nameless);
	}
	return vf->nameless;
}

static void leave_list(struct v8_functions *vf, struct function *f)
{
	if (f->state == WAITING)
		TAILQ_REMOVE(&vf->waiting, f, link);
	else if (f->state == MISSED)
		TAILQ_REMOVE(&vf->missed, f, link);
}

/* A promise that was given is kept. `loc` NULL: it has no name. */
static void settle(struct v8_functions *vf, struct function *f, enum state state,
		   struct location *loc)
{
	struct location *said = loc ? loc : v8_functions_nameless(vf);

	leave_list(vf, f);
	f->state = state;
	if (state == MISSED) {
		vf->n_missed++;
		TAILQ_INSERT_TAIL(&vf->missed, f, link);
	}
	if (f->loc && said)
		symbolizer_keep_promise(f->loc, said);
	else if (!f->loc && loc) {
		location_hold(loc);
		f->loc = loc;
	}
}

static void forget(struct v8_functions *vf, struct function *f)
{
	if (f->state == WAITING || f->state == ASKED)
		settle(vf, f, MISSED, NULL);
	leave_list(vf, f);
	TAILQ_REMOVE(&vf->used, f, used);
	(void)hash_remove_u64(vf->by_number, f->number);
	if (f->loc)
		location_release(f->loc);
	free(f);
}

void v8_functions_clear(struct v8_functions *vf)
{
	struct function *f, *next;

	for (f = TAILQ_FIRST(&vf->used); f; f = next) {
		next = TAILQ_NEXT(f, used);
		forget(vf, f);
	}
}

void v8_functions_free(struct v8_functions *vf)
{
	struct function *f, *next;

	if (!vf)
		return;
	/* Their locations have gone with the symbolizer. */
	for (f = TAILQ_FIRST(&vf->used); f; f = next) {
		next = TAILQ_NEXT(f, used);
		free(f);
	}
	hash_free(vf->by_number);
	hash_free(vf->distrusted);
	free(vf);
}

/* ---- records ---- */

int v8_functions_add(struct v8_functions *vf, const void *record, size_t len)
{
	const struct frames_event *ev = record;
	struct function *f, *old;

	if (len != sizeof(*ev) || ev->number == 0)
		return -EBADMSG;
	if (hash_get_u64(vf->by_number, ev->number))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct function){ .number = ev->number,
				.tgid = ev->tgid,
				.address = ev->address,
				.identity = ev->identity,
				.state = WAITING };
	if (hash_set_u64(vf->by_number, f->number, f) < 0) {
		free(f);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&vf->used, f, used);
	TAILQ_INSERT_TAIL(&vf->waiting, f, link);
	while (hash_count(vf->by_number) > MAX_FUNCTIONS && (old = TAILQ_FIRST(&vf->used)) != f) {
		vf->config.forget(vf->config.ctx, old->tgid, old->address);
		forget(vf, old);
	}
	return 0;
}

/* ---- questions ---- */

static void take_name(struct v8_functions *vf, struct function *f, const struct source_frame *frame,
		      bool is_jvm)
{
	const struct jit_name name = { .function = frame->function,
				       .function_len = (uint32_t)frame->function_len,
				       .file = frame->source,
				       .file_len = (uint32_t)frame->source_len,
				       .line = frame->line };
	struct location *loc = NULL;

	if (frame->function_len == 0) {
		settle(vf, f, NAMELESS, NULL);
		return;
	}
	if (is_jvm) /* as those that are compiled */
		loc = symbolizer_locate_generated(vf->config.sym, &name);
	else if (v8_functions_nameless(vf))
		loc = symbolizer_locate_interpreted(vf->config.sym, vf->module, &name);
	settle(vf, f, loc ? NAMED : MISSED, loc);
}

static void distrust(struct v8_functions *vf, const struct question *q)
{
	if (hash_get_u64(vf->distrusted, q->tgid) != who(q->proc_id) &&
	    hash_set_u64(vf->distrusted, q->tgid, who(q->proc_id)) == 0)
		log_warn("v8: the worker that read the memory of process %u died or hung; its "
			 "functions stay without names",
			 q->tgid);
}

static void on_done(struct v8_question *question, enum files_result result,
		    struct files_reply *reply)
{
	struct question *q = (struct question *)question;
	struct v8_functions *vf = q->vf;
	struct source_frame frames[FILES_FRAMES_MAX];

	if (result == FILES_RESULT_KILLER)
		distrust(vf, q);
	for (uint32_t i = 0; i < q->q.batch.n; i++) {
		struct function *f = hash_get_u64(vf->by_number, q->numbers[i]);
		size_t n = reply ? files_reply_next_lines(reply, frames) : 0;

		if (!f || f->state != ASKED)
			continue;
		if (n > 0)
			take_name(vf, f, &frames[0], q->q.batch.kind == FILES_JVM_NAMES);
		else
			settle(vf, f, MISSED, NULL);
	}
	close(q->q.batch.fd);
	q->vf = NULL;
	if (result != FILES_RESULT_NO_WORKER)
		v8_functions_ask(vf);
}

/* -1: it is gone, or out of reach. */
static int open_memory(struct v8_functions *vf, uint32_t tgid, uint64_t proc_id)
{
	char name[32];
	int fd;

	if (hash_get_u64(vf->distrusted, tgid) == who(proc_id))
		return -1;
	snprintf(name, sizeof(name), "%u/mem", tgid);
	fd = openat(vf->config.proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT && errno != ESRCH &&
	    hash_set_u64(vf->distrusted, tgid, who(proc_id)) == 0)
		log_info("v8: the memory of process %u is not to be read: %s; its functions stay "
			 "without names",
			 tgid, strerror(errno));
	return fd;
}

/* NULL: all are on their way. */
static struct question *free_question(struct v8_functions *vf)
{
	for (int i = 0; i < MAX_QUESTIONS; i++)
		if (!vf->questions[i].vf)
			return &vf->questions[i];
	return NULL;
}

/* What is to be asked of the process, and who it is; 0: nothing. */
static uint64_t describe(struct v8_functions *vf, uint32_t tgid, struct files_batch *batch)
{
	const struct v8_proc *proc = v8_procs_get(vf->config.procs, tgid);

	if (proc) {
		batch->kind = FILES_V8_NAMES;
		batch->v8.layout = *proc->layout;
		return proc->id;
	}
	batch->kind = FILES_JVM_NAMES;
	return vf->config.jvm ? vf->config.jvm(vf->config.ctx, tgid, batch->jvm.symbols) : 0;
}

/* False: the process cannot be asked about. */
static bool begin_question(struct v8_functions *vf, struct question *q, uint32_t tgid)
{
	uint64_t id;
	int fd;

	*q = (struct question){ .q.done = on_done, .tgid = tgid };
	id = describe(vf, tgid, &q->q.batch);
	fd = id ? open_memory(vf, tgid, id) : -1;
	if (fd < 0)
		return false;
	q->q.batch.fd = fd;
	q->q.batch.file_id = FILE_ID(id);
	q->proc_id = id;
	q->vf = vf;
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
static void fill(struct v8_functions *vf, struct question *q)
{
	struct function *f, *next;

	for (f = TAILQ_FIRST(&vf->waiting); f && q->q.batch.n < FILES_V8_MAX; f = next) {
		next = TAILQ_NEXT(f, link);
		if (f->tgid != q->tgid)
			continue;
		leave_list(vf, f);
		f->state = ASKED;
		q->numbers[q->q.batch.n] = f->number;
		add_to(&q->q.batch, f);
	}
}

void v8_functions_ask(struct v8_functions *vf)
{
	struct question *q;
	struct function *f;

	while ((f = TAILQ_FIRST(&vf->waiting)) && (q = free_question(vf))) {
		if (!begin_question(vf, q, f->tgid)) {
			settle(vf, f, MISSED, NULL);
			continue;
		}
		fill(vf, q);
		symbolizer_ask_v8_names(vf->config.sym, &q->q);
	}
}

struct location *v8_functions_locate(struct v8_functions *vf, uint32_t number)
{
	struct function *f = hash_get_u64(vf->by_number, number);

	if (!f)
		return NULL;
	TAILQ_REMOVE(&vf->used, f, used);
	TAILQ_INSERT_TAIL(&vf->used, f, used);
	if (!f->loc && (f->state == WAITING || f->state == ASKED))
		f->loc = symbolizer_promise(vf->config.sym, number);
	return f->loc ? f->loc : v8_functions_nameless(vf);
}

/* ---- time passes ---- */

void v8_functions_emptied(struct v8_functions *vf, uint32_t tgid)
{
	struct function *f;

	(void)hash_remove_u64(vf->distrusted, tgid);
	TAILQ_FOREACH(f, &vf->used, used)
	{
		if (f->tgid != tgid)
			continue;
		if (f->state == WAITING || f->state == ASKED)
			settle(vf, f, MISSED, NULL);
		if (f->state != TOLD)
			vf->config.forget(vf->config.ctx, tgid, f->address);
		if (f->state == MISSED) {
			leave_list(vf, f);
			f->state = TOLD;
		}
	}
}

void v8_functions_collect(struct v8_functions *vf)
{
	struct function *f;

	while ((f = TAILQ_FIRST(&vf->missed))) {
		vf->config.forget(vf->config.ctx, f->tgid, f->address);
		leave_list(vf, f);
		f->state = TOLD;
	}
	v8_functions_ask(vf);
}

size_t v8_functions_count(const struct v8_functions *vf)
{
	return hash_count(vf->by_number);
}

uint64_t v8_functions_missed(const struct v8_functions *vf)
{
	return vf->n_missed;
}
