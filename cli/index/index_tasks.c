/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_tasks.c - who was called what, and when.
 *
 * Names are told by many: ProcessTree, events of new and renamed tasks, track
 * descriptors. Each is a claim that holds from its time to the next claim about
 * the same number; before the first one, too. So numbers that were used again
 * and programs that were executed anew get the right name at each sample's time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

struct claim {
	uint64_t time_ns;
	size_t order; /* among those of one time: that of the file */
	int32_t id;   /* pid or tid */
	int32_t pid;  /* of a thread's process, or INDEX_NO_PID */
	uint32_t name;
};

struct pair {
	int32_t pid, tid;
};

/* Of which claims a pair has to choose. */
struct choice {
	size_t thread, n_thread;   /* of `threads`, by tid */
	size_t process, n_process; /* of `threads`, by pid as tid: the main thread's name */
	size_t command, n_command; /* of `commands`, by pid */
	uint32_t only;		   /* thread + 1, when there is no choice */
};

struct index_tasks {
	struct index_list threads, commands; /* claims */
	struct pool *pairs;
	struct index_list choices; /* for each pair */
	struct pool *process_ids, *thread_ids;
};

int index_tasks_new(struct trace_index *ix, struct index_tasks **ret)
{
	struct index_tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (pool_new(&ix->budget, &t->pairs) < 0 || pool_new(&ix->budget, &t->process_ids) < 0 ||
	    pool_new(&ix->budget, &t->thread_ids) < 0) {
		index_tasks_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void index_tasks_free(struct index_tasks *t)
{
	if (!t)
		return;
	free(t->threads.items);
	free(t->commands.items);
	free(t->choices.items);
	pool_free(t->pairs);
	pool_free(t->process_ids);
	pool_free(t->thread_ids);
	free(t);
}

/* ---- claims ---- */

static void claim(struct trace_index *ix, struct index_list *l, uint64_t time_ns, int32_t id,
		  int32_t pid, uint32_t name)
{
	struct claim *c;

	if (name == TRACE_NONE)
		return;
	c = index_add(ix, l, sizeof(*c));
	if (c)
		*c = (struct claim){
			.time_ns = time_ns,
			.order = l->n,
			.id = id,
			.pid = pid,
			.name = name,
		};
}

/* "/usr/bin/python3" is "python3". */
static uint32_t command_name(struct trace_index *ix, const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return index_cstring(ix, slash && slash[1] ? slash + 1 : argv0);
}

void index_tasks_tree(struct trace_index *ix, uint64_t time_ns, const ProcessTree *tree)
{
	struct index_tasks *t = ix->tasks;

	for (size_t i = 0; i < tree->n_processes; i++) {
		const ProcessTree__Process *p = tree->processes[i];

		if (p->n_cmdline)
			claim(ix, &t->commands, time_ns, p->pid, p->pid,
			      command_name(ix, p->cmdline[0]));
	}
	for (size_t i = 0; i < tree->n_threads; i++) {
		const ProcessTree__Thread *th = tree->threads[i];

		claim(ix, &t->threads, time_ns, th->tid, th->has_tgid ? th->tgid : INDEX_NO_PID,
		      index_cstring(ix, th->name));
	}
}

/* For good, whatever is said before or after: so at no time. */
void index_tasks_track(struct trace_index *ix, const TrackDescriptor *d)
{
	if (d->process && d->process->process_name)
		claim(ix, &ix->tasks->commands, 0, d->process->pid, d->process->pid,
		      command_name(ix, d->process->process_name));
	if (d->thread && d->thread->thread_name)
		claim(ix, &ix->tasks->threads, 0, (int32_t)d->thread->tid, d->thread->pid,
		      index_cstring(ix, d->thread->thread_name));
}

/* task_newtask{pid 1, comm 2} or task_rename{pid 1, newcomm 3} */
static void task_event(struct trace_index *ix, uint64_t time_ns, const struct wire_field *event,
		       uint32_t name_field)
{
	uint32_t name = TRACE_NONE;
	bool has_pid = false;
	struct wire_field f;
	struct wire w;
	int32_t tid = 0;

	wire_init(&w, event->data, event->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1 && f.type == WIRE_VARINT) {
			has_pid = true;
			tid = (int32_t)f.value;
		} else if (f.number == name_field && f.type == WIRE_BYTES) {
			name = index_string(ix, f.data, f.len);
		}
	}
	if (has_pid)
		claim(ix, &ix->tasks->threads, time_ns, tid, INDEX_NO_PID, name);
}

static void ftrace_event(struct trace_index *ix, const struct wire_field *event)
{
	struct wire_field f, task = { 0 };
	uint64_t time_ns = 0;
	struct wire w;

	wire_init(&w, event->data, event->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			time_ns = f.value;
		else if ((f.number == 235 || f.number == 236) && f.type == WIRE_BYTES)
			task = f;
	}
	if (task.data)
		task_event(ix, time_ns, &task, task.number == 235 ? 2 : 3);
}

void index_tasks_bundle(struct trace_index *ix, const uint8_t *data, size_t len)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (ix->error == 0 && wire_next(&w, &f) > 0)
		if (f.number == 2 && f.type == WIRE_BYTES)
			ftrace_event(ix, &f);
}

uint32_t index_tasks_pair(struct trace_index *ix, int32_t pid, int32_t tid)
{
	struct pair pair = { .pid = pid, .tid = tid };

	return index_pool_add(ix, ix->tasks->pairs, &pair, sizeof(pair));
}

int32_t index_tasks_tid(const struct trace_index *ix, uint32_t pair)
{
	return ((const struct pair *)pool_get(ix->tasks->pairs, pair, NULL))->tid;
}

/* ---- who it was ---- */

static int by_id_and_time(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The first claim about `id` or a greater one. */
static size_t lower_bound(const struct index_list *l, int64_t id)
{
	const struct claim *c = l->items;
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t find_claims(const struct index_list *l, int32_t id, size_t *ret_n)
{
	size_t first = lower_bound(l, id);

	*ret_n = lower_bound(l, (int64_t)id + 1) - first;
	return first;
}

void index_tasks_sort(struct trace_index *ix)
{
	struct index_tasks *t = ix->tasks;

	if (t->threads.n)
		qsort(t->threads.items, t->threads.n, sizeof(struct claim), by_id_and_time);
	if (t->commands.n)
		qsort(t->commands.items, t->commands.n, sizeof(struct claim), by_id_and_time);
	for (uint32_t i = 0; i < pool_count(t->pairs); i++) {
		const struct pair *p = pool_get(t->pairs, i, NULL);
		struct choice *c = index_add(ix, &t->choices, sizeof(*c));

		if (!c)
			return;
		c->thread = find_claims(&t->threads, p->tid, &c->n_thread);
		if (p->pid == INDEX_NO_PID)
			continue;
		c->process = find_claims(&t->threads, p->pid, &c->n_process);
		c->command = find_claims(&t->commands, p->pid, &c->n_command);
	}
}

/* The latest claim of the `n` from `first` on that is not later; else the first one; NULL: none. */
static const struct claim *at_time(const struct index_list *l, size_t first, size_t n,
				   uint64_t time_ns)
{
	const struct claim *c;
	size_t low = 0, high = n;

	if (n == 0)
		return NULL;
	c = (const struct claim *)l->items + first;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (c[mid].time_ns <= time_ns)
			low = mid;
		else
			high = mid;
	}
	return &c[low];
}

static uint32_t process_of(struct trace_index *ix, int32_t pid, uint32_t name)
{
	struct trace_process key = { .pid = pid, .name = name };

	return index_pool_add(ix, ix->tasks->process_ids, &key, sizeof(key));
}

static uint32_t choose(struct trace_index *ix, const struct pair *p, struct choice *c,
		       uint64_t time_ns)
{
	struct index_tasks *t = ix->tasks;
	const struct claim *thread = at_time(&t->threads, c->thread, c->n_thread, time_ns);
	const struct claim *main_thread, *process;
	struct trace_thread key = { .tid = p->tid };
	int32_t pid = p->pid;

	if (pid == INDEX_NO_PID) {
		pid = thread && thread->pid != INDEX_NO_PID ? thread->pid : p->tid;
		c->process = find_claims(&t->threads, pid, &c->n_process);
		c->command = find_claims(&t->commands, pid, &c->n_command);
	}
	main_thread = at_time(&t->threads, c->process, c->n_process, time_ns);
	process = main_thread ? main_thread
			      : at_time(&t->commands, c->command, c->n_command, time_ns);
	key.process = process_of(ix, pid, process ? process->name : index_string(ix, "", 0));
	if (thread)
		key.name = thread->name;
	else
		key.name = process ? process->name : index_string(ix, "", 0);
	return index_pool_add(ix, t->thread_ids, &key, sizeof(key));
}

uint32_t index_tasks_thread(struct trace_index *ix, uint32_t pair, uint64_t time_ns)
{
	struct choice *c = (struct choice *)ix->tasks->choices.items + pair;
	uint32_t thread;

	if (c->only)
		return c->only - 1;
	thread = choose(ix, pool_get(ix->tasks->pairs, pair, NULL), c, time_ns);
	if (thread != TRACE_NONE && c->n_thread <= 1 && c->n_process <= 1 &&
	    (c->n_process || c->n_command <= 1))
		c->only = thread + 1;
	return thread;
}

uint32_t trace_index_n_processes(const struct trace_index *ix)
{
	return pool_count(ix->tasks->process_ids);
}

const struct trace_process *trace_index_process(const struct trace_index *ix, uint32_t i)
{
	return pool_get(ix->tasks->process_ids, i, NULL);
}

uint32_t trace_index_n_threads(const struct trace_index *ix)
{
	return pool_count(ix->tasks->thread_ids);
}

const struct trace_thread *trace_index_thread(const struct trace_index *ix, uint32_t i)
{
	return pool_get(ix->tasks->thread_ids, i, NULL);
}
