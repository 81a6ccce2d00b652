/* SPDX-License-Identifier: Apache-2.0 */
/* flight_base.c - who lived when a ring of segments begins. */
#include "flight_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight_block.h"
#include "hash.h"
#include "trace_writer.h"

#define CLONE_THREAD 0x00010000

/* Entries of one packet. */
#define MAX_ENTRIES 500

/* What an entry takes beside its bytes: of the allocator, and its place in a hash. */
#define ENTRY_BYTES 96

enum kind { SET_PROCESS, SET_THREAD, FREE_TASK };

/* One process or thread, as a packed message of ProcessTree. */
struct entry {
	int32_t owner; /* of a process the parent, of a thread its process */
	uint32_t len;
	uint32_t round; /* that it was set in */
	uint8_t data[];
};

struct change {
	uint64_t time_ns;
	uint32_t order;
	enum kind kind;
	int32_t id;	     /* pid or tid */
	struct entry *entry; /* NULL with FREE_TASK */
};

struct flight_base {
	struct hash *processes, *threads; /* id -> struct entry */
	struct change *changes;
	size_t n_changes, cap;
	GpuInfo *gpus; /* NULL: there was no word of them */
	size_t bytes;
	uint32_t round; /* how often changes were applied */
};

int flight_base_new(struct flight_base **ret)
{
	struct flight_base *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (hash_new(&b->processes) < 0 || hash_new(&b->threads) < 0) {
		flight_base_free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

static void free_entries(struct hash *h)
{
	size_t pos = 0;
	void *entry;

	while (h && hash_next(h, &pos, NULL, NULL, &entry))
		free(entry);
	hash_free(h);
}

void flight_base_free(struct flight_base *b)
{
	if (!b)
		return;
	free_entries(b->processes);
	free_entries(b->threads);
	for (size_t i = 0; i < b->n_changes; i++)
		free(b->changes[i].entry);
	free(b->changes);
	if (b->gpus)
		gpu_info__free_unpacked(b->gpus, NULL);
	free(b);
}

bool flight_base_has_process(const struct flight_base *b, int32_t pid)
{
	return hash_get_u64(b->processes, (uint32_t)pid) != NULL;
}

bool flight_base_has_thread(const struct flight_base *b, int32_t tid)
{
	return hash_get_u64(b->threads, (uint32_t)tid) != NULL;
}

size_t flight_base_bytes(const struct flight_base *b)
{
	return b->bytes;
}

size_t flight_base_n_threads(const struct flight_base *b)
{
	return hash_count(b->threads);
}

/* ---- what a segment says ---- */

static void *unpack(const ProtobufCMessageDescriptor *type, const struct entry *e)
{
	return protobuf_c_message_unpack(type, NULL, e->len, e->data);
}

static struct entry *entry_new(const ProtobufCMessage *msg, int32_t owner)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	struct entry *e = malloc(sizeof(*e) + len);

	if (!e)
		return NULL;
	*e = (struct entry){ .owner = owner, .len = (uint32_t)len };
	protobuf_c_message_pack(msg, e->data);
	return e;
}

static int add_change(struct flight_base *b, uint64_t time_ns, enum kind kind, int32_t id,
		      struct entry *entry)
{
	if (kind != FREE_TASK && !entry)
		return -ENOMEM;
	if (b->n_changes == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 64;
		struct change *grown = reallocarray(b->changes, cap, sizeof(*grown));

		if (!grown) {
			free(entry);
			return -ENOMEM;
		}
		b->changes = grown;
		b->cap = cap;
	}
	b->changes[b->n_changes] = (struct change){ .time_ns = time_ns,
						    .order = (uint32_t)b->n_changes,
						    .kind = kind,
						    .id = id,
						    .entry = entry };
	b->n_changes++;
	return 0;
}

static int note_tree(struct flight_base *b, uint64_t time_ns, const ProcessTree *tree)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tree->n_processes; i++) {
		const ProcessTree__Process *p = tree->processes[i];

		r = add_change(b, time_ns, SET_PROCESS, p->pid, entry_new(&p->base, p->ppid));
	}
	for (size_t i = 0; r == 0 && i < tree->n_threads; i++) {
		const ProcessTree__Thread *t = tree->threads[i];

		r = add_change(b, time_ns, SET_THREAD, t->tid, entry_new(&t->base, t->tgid));
	}
	return r;
}

/* Of a thread there is no entry when it begins: its process is that of its creator. */
static int note_newtask(struct flight_base *b, const FtraceEvent *ev)
{
	const TaskNewtaskFtraceEvent *task = ev->task_newtask;
	ProcessTree__Thread thread = PROCESS_TREE__THREAD__INIT;

	if (!(task->clone_flags & CLONE_THREAD))
		return 0;
	thread.has_tid = 1;
	thread.tid = task->pid;
	thread.name = task->comm;
	/* Whose it is, is known when it is applied: the creator may be new, too. */
	return add_change(b, ev->timestamp, SET_THREAD, task->pid,
			  entry_new(&thread.base, -(int32_t)ev->pid));
}

static int note_events(struct flight_base *b, const FtraceEventBundle *bundle)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < bundle->n_event; i++) {
		const FtraceEvent *ev = bundle->event[i];

		if (ev->task_newtask)
			r = note_newtask(b, ev);
		else if (ev->sched_process_free)
			r = add_change(b, ev->timestamp, FREE_TASK, ev->sched_process_free->pid,
				       NULL);
	}
	return r;
}

static int note_packet(struct flight_base *b, TracePacket *pkt)
{
	int r = 0;

	if (pkt->process_tree)
		r = note_tree(b, pkt->timestamp, pkt->process_tree);
	if (r == 0 && pkt->ftrace_events)
		r = note_events(b, pkt->ftrace_events);
	if (r == 0 && pkt->gpu_info) {
		if (b->gpus)
			gpu_info__free_unpacked(b->gpus, NULL);
		b->gpus = pkt->gpu_info;
		pkt->gpu_info = NULL;
	}
	return r;
}

int flight_base_note(struct flight_base *b, const struct buf *packets)
{
	struct wire_field f;
	struct wire w;
	int r;

	wire_init(&w, packets->data, packets->len);
	while ((r = flight_block_next(&w, &f)) == 1) {
		TracePacket *pkt = trace_packet__unpack(NULL, f.len, f.data);

		if (!pkt)
			return -EBADMSG;
		r = note_packet(b, pkt);
		trace_packet__free_unpacked(pkt, NULL);
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- what holds ---- */

static int by_time(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void drop(struct flight_base *b, struct hash *h, int32_t id)
{
	struct entry *e = hash_remove_u64(h, (uint32_t)id);

	if (e)
		b->bytes -= ENTRY_BYTES + e->len;
	free(e);
}

/* The thread of a newtask: its creator's process is its own. NULL: no memory, or nobody knows. */
static struct entry *with_owner(struct flight_base *b, struct entry *e)
{
	const struct entry *creator = hash_get_u64(b->threads, (uint32_t)-e->owner);
	ProcessTree__Thread *t = unpack(&process_tree__thread__descriptor, e);
	struct entry *whole = NULL;

	if (t && creator) {
		t->has_tgid = 1;
		t->tgid = creator->owner;
		whole = entry_new(&t->base, creator->owner);
	}
	if (t)
		protobuf_c_message_free_unpacked(&t->base, NULL);
	free(e);
	return whole;
}

static int set(struct flight_base *b, const struct change *c)
{
	struct hash *h = c->kind == SET_PROCESS ? b->processes : b->threads;
	struct entry *e = c->entry;

	if (c->kind == SET_THREAD && e->owner < 0)
		e = with_owner(b, e);
	if (!e)
		return 0;
	drop(b, h, c->id);
	e->round = b->round;
	if (hash_set_u64(h, (uint32_t)c->id, e) < 0) {
		free(e);
		return -ENOMEM;
	}
	b->bytes += ENTRY_BYTES + e->len;
	return 0;
}

/*
 * The leader is freed last: threads that are left then were missed. What is said of a process
 * may lie in the next segment.
 */
static void drop_orphans(struct flight_base *b)
{
	const struct entry *e;
	size_t pos = 0, len;
	const void *key;
	void *value;
	uint64_t tid;

	while (hash_next(b->threads, &pos, &key, &len, &value)) {
		e = value;
		if (b->round - e->round < 2 || flight_base_has_process(b, e->owner))
			continue;
		memcpy(&tid, key, sizeof(tid));
		drop(b, b->threads, (int32_t)tid);
	}
}

int flight_base_apply(struct flight_base *b)
{
	int r = 0;

	b->round++;
	if (b->n_changes)
		qsort(b->changes, b->n_changes, sizeof(*b->changes), by_time);
	for (size_t i = 0; i < b->n_changes; i++) {
		struct change *c = &b->changes[i];

		if (c->kind == FREE_TASK) {
			drop(b, b->threads, c->id);
			drop(b, b->processes, c->id);
		} else if (set(b, c) < 0) {
			r = -ENOMEM; /* one that is missing; the others are told */
		}
	}
	b->n_changes = 0;
	drop_orphans(b);
	return r;
}

/* ---- told ---- */

static int put_tree(struct trace_writer *w, uint64_t time_ns, ProcessTree *tree)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.process_tree = tree;
	return trace_writer_put(w, SEQ_PROCESSES, &pkt, 0);
}

/*
 * A reader takes a parent that is gone for another process, without a name: who has lost it
 * is a child of init, who takes such in.
 */
static void adopt(const struct flight_base *b, ProcessTree__Process *p)
{
	if (p->ppid > 1 && !flight_base_has_process(b, p->ppid))
		p->ppid = 1;
}

/* As many of `h` as one packet takes, from `*pos` on. Returns how many; 0: that was all. */
static size_t next_entries(const struct hash *h, size_t *pos,
			   const ProtobufCMessageDescriptor *type, void *list[MAX_ENTRIES])
{
	size_t n = 0;
	void *value;

	while (n < MAX_ENTRIES && hash_next(h, pos, NULL, NULL, &value)) {
		list[n] = unpack(type, value);
		n += list[n] != NULL; /* without memory one is missing */
	}
	return n;
}

static void free_list(void *list[MAX_ENTRIES], size_t n)
{
	for (size_t i = 0; i < n; i++)
		protobuf_c_message_free_unpacked(list[i], NULL);
}

static int write_processes(const struct flight_base *b, struct trace_writer *w, uint64_t time_ns)
{
	ProcessTree tree = PROCESS_TREE__INIT;
	void *list[MAX_ENTRIES];
	size_t pos = 0, n;
	int r = 0;

	tree.processes = (ProcessTree__Process **)list;
	while (r == 0 && (n = next_entries(b->processes, &pos, &process_tree__process__descriptor,
					   list)) > 0) {
		for (size_t i = 0; i < n; i++)
			adopt(b, list[i]);
		tree.n_processes = n;
		r = put_tree(w, time_ns, &tree);
		free_list(list, n);
	}
	return r;
}

static int write_threads(const struct flight_base *b, struct trace_writer *w, uint64_t time_ns)
{
	ProcessTree tree = PROCESS_TREE__INIT;
	void *list[MAX_ENTRIES];
	size_t pos = 0, n;
	int r = 0;

	tree.threads = (ProcessTree__Thread **)list;
	while (r == 0 &&
	       (n = next_entries(b->threads, &pos, &process_tree__thread__descriptor, list)) > 0) {
		tree.n_threads = n;
		r = put_tree(w, time_ns, &tree);
		free_list(list, n);
	}
	return r;
}

int flight_base_write(const struct flight_base *b, struct trace_writer *w, uint64_t time_ns)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	int r = 0;

	pkt.gpu_info = b->gpus;
	if (b->gpus)
		r = trace_writer_put(w, SEQ_META, &pkt, 0);
	if (r == 0)
		r = write_processes(b, w, time_ns);
	return r < 0 ? r : write_threads(b, w, time_ns);
}
