/* SPDX-License-Identifier: Apache-2.0 */
/* proc_tree.c - ProcessTree packets. */
#include "proc_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/process_table.h"
#include "text.h"
#include "trace_writer.h"

#define MAX_ENTRIES 500
#define MAX_ARGS    64 /* of one command line; the rest is left out */

/* Room for names; that of one entry is always left. */
#define TEXT_BYTES  (256 * 1024)
#define ENTRY_BYTES (3 * 2048 + MAX_ARGS + CLEAN_COMM)

struct proc_tree {
	struct trace_writer *writer;
	uint64_t time_ns;
	unsigned n_events;
	ProcessTree msg;
	ProcessTree__Process processes[MAX_ENTRIES];
	ProcessTree__Process *process_ptrs[MAX_ENTRIES];
	ProcessTree__Thread threads[MAX_ENTRIES];
	ProcessTree__Thread *thread_ptrs[MAX_ENTRIES];
	char *args[MAX_ENTRIES][MAX_ARGS];
	int32_t nspids[2 * MAX_ENTRIES][MAX_PID_NS];
	size_t n_text;
	char text[TEXT_BYTES];
};

int proc_tree_new(struct trace_writer *w, struct proc_tree **ret)
{
	struct proc_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->writer = w;
	process_tree__init(&tree->msg);
	*ret = tree;
	return 0;
}

void proc_tree_free(struct proc_tree *tree)
{
	free(tree);
}

int proc_tree_put(struct proc_tree *tree)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	int r = 0;

	tree->msg.processes = tree->process_ptrs;
	tree->msg.threads = tree->thread_ptrs;
	pkt.has_timestamp = 1;
	pkt.timestamp = tree->time_ns;
	pkt.process_tree = &tree->msg;
	if (tree->msg.n_processes || tree->msg.n_threads)
		r = trace_writer_put(tree->writer, SEQ_PROCESSES, &pkt, tree->n_events);
	process_tree__init(&tree->msg);
	tree->n_text = 0;
	tree->n_events = 0;
	return r;
}

/* Makes room for one entry at `time_ns`. */
static int begin(struct proc_tree *tree, uint64_t time_ns)
{
	int r = 0;

	if (tree->time_ns != time_ns ||
	    tree->msg.n_processes + tree->msg.n_threads >= MAX_ENTRIES ||
	    tree->n_text + ENTRY_BYTES > TEXT_BYTES)
		r = proc_tree_put(tree);
	tree->time_ns = time_ns;
	return r;
}

static char *add_text(struct proc_tree *tree, const char *text, size_t len)
{
	char *dst = tree->text + tree->n_text;

	tree->n_text += text_utf8(dst, TEXT_BYTES - tree->n_text, text, len) + 1;
	return dst;
}

void proc_clean_comm(char dst[CLEAN_COMM], const char comm[COMM_LEN])
{
	_Static_assert(CLEAN_COMM == 3 * COMM_LEN, "each byte may become U+FFFD");

	if (text_utf8(dst, CLEAN_COMM, comm, strnlen(comm, COMM_LEN)) == 0)
		strcpy(dst, "[no name]");
}

static char *add_comm(struct proc_tree *tree, const char comm[COMM_LEN])
{
	char *dst = tree->text + tree->n_text;

	proc_clean_comm(dst, comm);
	tree->n_text += strlen(dst) + 1;
	return dst;
}

static size_t add_args(struct proc_tree *tree, char **args, const struct process *p)
{
	const char *arg = p->cmdline, *end = p->cmdline + p->cmdline_len;
	size_t n = 0;

	for (; arg < end && n < MAX_ARGS; n++) {
		size_t len = strnlen(arg, (size_t)(end - arg));

		args[n] = add_text(tree, arg, len);
		arg += len + 1;
	}
	return n;
}

static size_t fill_nspid(int32_t dst[MAX_PID_NS], const uint32_t src[MAX_PID_NS])
{
	size_t n = 0;

	for (; n < MAX_PID_NS && src[n]; n++)
		dst[n] = (int32_t)src[n];
	return n;
}

int proc_tree_add_process(struct proc_tree *tree, uint64_t time_ns, const struct process *p,
			  unsigned n_events)
{
	ProcessTree__Process *msg;
	char **args;
	size_t i;
	int r;

	r = begin(tree, time_ns);
	if (r < 0)
		return r;
	i = tree->msg.n_processes++;
	msg = tree->process_ptrs[i] = &tree->processes[i];
	args = tree->args[i];
	process_tree__process__init(msg);
	tree->n_events += n_events;

	msg->has_pid = 1;
	msg->pid = (int32_t)p->tgid;
	/* 0 is the parent of init and kthreadd, and of those whose parent is not known. */
	msg->has_ppid = p->ppid != 0 || p->tgid <= 2;
	msg->ppid = (int32_t)p->ppid;
	msg->has_uid = 1;
	msg->uid = (int32_t)p->uid;
	msg->has_process_start_from_boot = p->start_ns != 0;
	msg->process_start_from_boot = p->start_ns;
	msg->has_is_kthread = p->is_kthread;
	msg->is_kthread = p->is_kthread;
	msg->nspid = tree->nspids[i];
	msg->n_nspid = fill_nspid(msg->nspid, p->nspid);

	/* An entry without a command line is ignored; one without a name is nobody. */
	msg->cmdline = args;
	if (p->cmdline && p->cmdline[0]) {
		msg->n_cmdline = add_args(tree, args, p);
	} else {
		args[0] = add_comm(tree, p->comm);
		msg->n_cmdline = 1;
		msg->has_cmdline_is_comm = msg->cmdline_is_comm = 1;
	}
	return 0;
}

int proc_tree_add_thread(struct proc_tree *tree, uint64_t time_ns, const struct thread *t)
{
	ProcessTree__Thread *msg;
	size_t i;
	int r;

	r = begin(tree, time_ns);
	if (r < 0)
		return r;
	i = tree->msg.n_threads++;
	msg = tree->thread_ptrs[i] = &tree->threads[i];
	process_tree__thread__init(msg);
	msg->has_tid = msg->has_tgid = 1;
	msg->tid = (int32_t)t->tid;
	msg->tgid = (int32_t)t->tgid;
	msg->name = add_comm(tree, t->comm);
	msg->nstid = tree->nspids[MAX_ENTRIES + i];
	msg->n_nstid = fill_nspid(msg->nstid, t->nstid);
	return 0;
}
