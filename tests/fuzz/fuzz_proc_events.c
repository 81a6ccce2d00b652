/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as process records, up to the packets, with perf's side-band
 * records and what a scan might see in between. Two recordings listen, one from
 * the start and one from the middle; each event must be in their ledgers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/proc_encode.h"
#include "collect/proc_sideband.h"
#include "proc_events.h"
#include "process/process_table_update.h"
#include "symbolize/kallsyms.h"
#include "symbolize/kernel_code.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct recording {
	struct trace_writer *writer;
	void *encoder;
	uint64_t n_encoded;
};

struct input {
	const uint8_t *at;
	size_t left;
};

static int drop(void *ctx, const void *bytes, size_t len, bool essential)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	(void)essential;
	return 0;
}

static void begin(struct recording *r, struct process_table *pt, uint64_t start_ns)
{
	struct encoder_env env = { .processes = pt, .start_ns = start_ns };

	if (trace_writer_new(drop, NULL, &r->writer) < 0)
		abort();
	env.writer = r->writer;
	trace_writer_source(r->writer, 0, start_ns);
	if (proc_encoder_new(&env, &r->encoder) < 0)
		abort();
}

static void end(struct recording *r)
{
	struct trace_writer_stats stats;

	if (!r->writer)
		return;
	trace_writer_source(r->writer, 0, 0);
	if (proc_encoder_flush(r->encoder, 0, true) < 0 || trace_writer_flush(r->writer) < 0)
		abort();
	trace_writer_stats(r->writer, 0, &stats);
	if (stats.n_written + stats.n_skipped != r->n_encoded)
		__builtin_trap();
	proc_encoder_free(r->encoder);
	trace_writer_free(r->writer);
}

/* The next `size` bytes, or what is left with zeros behind it. */
static void take(struct input *in, void *dst, size_t size)
{
	size_t n = size < in->left ? size : in->left;

	memset(dst, 0, size);
	if (n)
		memcpy(dst, in->at, n);
	in->at += n;
	in->left -= n;
}

/* Few tids and few times, so that records have to do with each other. */
static void tame(struct event_hdr *hdr)
{
	hdr->tgid %= 8;
	hdr->tid %= 8;
	hdr->cpu %= 4;
	hdr->time_ns %= 1000;
}

static void happens(struct process_table *pt, struct recording *rec, const struct event_hdr *ev,
		    size_t len)
{
	if (!proc_event_valid(ev, len))
		return;
	proc_apply(pt, ev);
	for (unsigned i = 0; i < 2; i++) {
		if (!rec[i].writer)
			continue;
		trace_writer_source(rec[i].writer, 0, ev->time_ns);
		if (proc_encode(rec[i].encoder, ev) < 0)
			abort();
		rec[i].n_encoded++;
	}
}

static void task_record(struct process_table *pt, struct recording *rec, struct input *in,
			uint8_t type)
{
	struct proc_task_event ev;

	take(in, &ev, sizeof(ev));
	tame(&ev.hdr);
	ev.hdr.type = type;
	ev.hdr.size = sizeof(ev);
	ev.start_ns %= 100;
	ev.process_start_ns %= 100;
	happens(pt, rec, &ev.hdr, sizeof(ev));
}

static void exec_record(struct process_table *pt, struct recording *rec, struct input *in)
{
	struct proc_exec_event ev;

	take(in, &ev, sizeof(ev));
	tame(&ev.hdr);
	ev.hdr.type = PROC_EXEC;
	ev.hdr.size = sizeof(ev);
	ev.start_ns %= 100;
	ev.old_tid %= 8;
	happens(pt, rec, &ev.hdr, sizeof(ev));
}

/* As it is, in memory of its own size. */
static void raw_record(struct process_table *pt, struct recording *rec, struct input *in)
{
	size_t len = in->left < 600 ? in->left : 600;
	struct event_hdr *ev;

	if (len < sizeof(*ev))
		len = sizeof(*ev); /* the ring hands out none without a head */
	ev = malloc(len);
	if (!ev)
		return;
	take(in, ev, len);
	happens(pt, rec, ev, len);
	free(ev);
}

static void ask_kernel_code(const struct kernel_code *kc, uint64_t addr, uint64_t time_ns)
{
	struct kallsyms_symbol s;

	if (kernel_code_find(kc, addr, time_ns, &s) &&
	    (s.start > addr || strlen(s.name) >= KERNEL_CODE_NAME_MAX))
		__builtin_trap();
	if (kernel_code_find_gone(kc, addr, time_ns, &s) && s.start > addr)
		__builtin_trap();
}

static void sideband_record(struct process_table *pt, struct kernel_code *kc, struct input *in)
{
	struct perf_event_header head, *rec;
	struct sideband_record r;

	take(in, &head, sizeof(head));
	if (head.size < sizeof(head))
		return; /* the ring refuses it */
	rec = malloc(head.size);
	if (!rec)
		return;
	take(in, rec, head.size);
	*rec = head;
	if (sideband_decode(rec, &r) && r.type == SIDEBAND_KERNEL) {
		r.kernel.start %= 4096; /* few places, so that they meet */
		r.kernel.len = 1 + r.kernel.len % 256;
		(void)kernel_code_change(kc, &r.kernel);
		ask_kernel_code(kc, r.kernel.start + r.kernel.len / 2, r.time_ns);
	} else if (sideband_decode(rec, &r)) {
		for (size_t i = 0; i < r.code.name_len; i++)
			if (r.code.name[i] == '\0')
				__builtin_trap();
		if (r.type == SIDEBAND_EXEC)
			process_table_exec_maps(pt, r.code.tgid, r.time_ns);
		else
			process_table_mmap(pt, r.code.tgid, r.time_ns,
					   &(struct mapping){ .start = r.code.start,
							      .end = r.code.end,
							      .pgoff = r.pgoff });
	}
	free(rec);
}

static void seen(struct process_table *pt, struct input *in)
{
	char cmdline[64];
	struct process_seen p = { .cmdline = cmdline };

	take(in, &p.leader, sizeof(p.leader));
	take(in, cmdline, sizeof(cmdline));
	p.leader.tgid = 1 + p.leader.tgid % 7;
	p.leader.parent_tgid %= 8;
	p.leader.start_ns %= 100;
	p.leader.is_kthread = p.leader.uid % 2;
	p.leader.is_plain = p.leader.uid / 2 % 2;
	p.cmdline_len = p.leader.tid % sizeof(cmdline);
	p.leader.tid = p.leader.tgid;
	process_table_saw_process(pt, &p);
	p.leader.tid = 1 + (uint32_t)p.leader.cgroup_id % 7;
	if (p.leader.tid != p.leader.tgid)
		process_table_saw_thread(pt, &p.leader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct recording rec[2] = { { 0 } };
	struct process_table *pt;
	struct kernel_code *kc;
	struct module *module;
	uint64_t offset;
	uint32_t root = 1;
	uint8_t what;

	if (kernel_code_new(&kc) < 0 || process_table_new(NULL, &pt) < 0 ||
	    process_table_set_proc(pt, "/proc/self/fd") < 0)
		abort();
	begin(&rec[0], pt, 0);
	while (in.left) {
		take(&in, &what, sizeof(what));
		switch (what % 12) {
		case PROC_NEWTASK:
		case PROC_RENAME:
		case PROC_EXIT:
		case PROC_FREE:
			task_record(pt, rec, &in, what % 12);
			break;
		case PROC_EXEC:
			exec_record(pt, rec, &in);
			break;
		case 6:
			sideband_record(pt, kc, &in);
			break;
		case 7:
			seen(pt, &in);
			break;
		case 8:
			process_table_collect(pt, what % 2 ? UINT64_MAX : 0);
			kernel_code_collect(kc, what % 2 ? UINT64_MAX : 0);
			break;
		case 9:
			process_table_scan_end(pt, what * 7);
			process_table_scan_begin(pt);
			break;
		case 10:
			if (!rec[1].writer)
				begin(&rec[1], pt, 500);
			(void)proc_encoder_flush(rec[0].encoder, 0, false);
			break;
		case 11:
			raw_record(pt, rec, &in);
			break;
		default:
			(void)process_table_resolve(pt, what / 12, 0x1000, UINT64_MAX, &module,
						    &offset);
			(void)process_table_descends(pt, what / 12, &root, 1);
		}
	}
	end(&rec[0]);
	end(&rec[1]);
	process_table_free(pt);
	kernel_code_free(kc);
	return 0;
}
