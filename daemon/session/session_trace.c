/* SPDX-License-Identifier: Apache-2.0 */
/* session_trace.c - what a session's trace says about itself: head, tail, cost and loss. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "cpus.h"
#include "net/net_options.h"
#include "process/process_table.h"
#include "session_impl.h"
#include "symbolize/symbolizer.h"
#include "text.h"
#include "trace_meta.h"
#include "unwind/stack_walk.h"
#include "unwind/unwinder.h"

#define MAX_ATTRIBUTES (MAX_COLLECTORS * 8)

struct attributes {
	struct trace_attribute list[MAX_ATTRIBUTES];
	size_t n;
};

static struct trace_attribute *next_attribute(struct attributes *a)
{
	return &a->list[a->n < MAX_ATTRIBUTES ? a->n++ : MAX_ATTRIBUTES - 1];
}

static void add_text(struct attributes *a, const char *key, const char *value)
{
	struct trace_attribute *attr = next_attribute(a);

	snprintf(attr->key, sizeof(attr->key), "%s", key);
	attr->is_number = false;
	text_utf8(attr->string, sizeof(attr->string), value, strlen(value));
}

static void add_number(struct attributes *a, const char *group, const char *name, const char *key,
		       uint64_t value)
{
	struct trace_attribute *attr = next_attribute(a);

	snprintf(attr->key, sizeof(attr->key), "%s%s%s.%s", group, name[0] ? "." : "", name, key);
	attr->is_number = true;
	attr->number = (int64_t)value;
}

/* How much of the network there is, and what was taken away from it. */
static void add_net(struct attributes *a, const struct trace_config *config)
{
	char key[64];

	add_text(a, "tracer.net.level", net_level_name(config->net_level));
	add_text(a, "tracer.net.query", net_query_name(config->net_query));
	add_text(a, "tracer.net.names", config->net_hash_names ? "hash" : "plain");
	for (unsigned i = 0; i < config->n_plaintext; i++) {
		snprintf(key, sizeof(key), "tracer.net.tls_plaintext.%u", i);
		add_text(a, key, config->plaintext[i]);
	}
}

int session_write_attributes(struct session *s)
{
	struct attributes *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	add_text(a, "tracer.version", TRACER_VERSION);
	if (s->config.command_line)
		add_text(a, "tracer.command_line", s->config.command_line);
	if (s->sampling[0])
		add_text(a, "tracer.sampling", s->sampling);
	for (unsigned i = 0; i < s->n_sources; i++) {
		const struct session_source *src = &s->sources[i];
		char key[64], value[WHY_LEN + 16];

		snprintf(key, sizeof(key), "tracer.source.%s", collectors[i]->name);
		if (src->on)
			snprintf(value, sizeof(value), "on%s%s", src->why[0] ? ": " : "", src->why);
		else
			snprintf(value, sizeof(value), "off%s%s", src->why[0] ? ": " : "",
				 src->why[0] ? src->why : ": not asked for");
		add_text(a, key, value);
		if (src->on && strcmp(collectors[i]->name, "net") == 0)
			add_net(a, &s->config);
	}
	r = trace_meta_attributes(s->writer, a->list, a->n);
	free(a);
	return r;
}

int session_write_clocks(struct session *s, uint64_t now_ns)
{
	s->clocks_ns = now_ns;
	s->asleep_ns = asleep_ns();
	return trace_meta_clocks(s->writer);
}

static void read_cost(const struct session *s, struct cost *ret)
{
	pid_t workers[] = { symbolizer_worker_pid(s->env.symbolizer),
			    symbolizer_second_worker_pid(s->env.symbolizer),
			    unwinder_worker_pid(s->env.unwinder),
			    symbolizer_jit_worker_pid(s->env.symbolizer),
			    symbolizer_lines_worker_pid(s->env.symbolizer),
			    symbolizer_probes_worker_pid(s->env.symbolizer) };

	cost_read(ret, workers, sizeof(workers) / sizeof(workers[0]));
}

int session_write_head(struct session *s)
{
	uint64_t none[MAX_CPUS] = { 0 };
	int r;

	trace_writer_source(s->writer, MAX_COLLECTORS - 1, s->start_ns);
	read_cost(s, &s->cost_first);
	s->cost_last = s->cost_first;
	sources_bpf_cost(s->env.sources, &s->bpf_first);
	s->bpf_last_ns = s->bpf_first.ns;

	r = trace_meta_machine(s->writer);
	if (r == 0)
		r = session_write_attributes(s);
	if (r == 0)
		r = trace_meta_milestone(s->writer, TRACE_STARTED, s->start_ns);
	if (r == 0)
		r = trace_meta_ftrace_stats(s->writer, none, s->n_cpus, false, boot_ns());
	return r;
}

/* ---- loss ---- */

static uint64_t loss_track(struct session *s)
{
	const struct trace_track track = {
		.name = "Data loss",
		.description = "Events that are missing here: the ring in the kernel was full, or "
			       "the client did not take the trace fast enough.",
	};

	return trace_track(s->writer, &track);
}

static int write_ring_loss(struct session *s, unsigned i)
{
	struct session_source *src = &s->sources[i];
	struct ledger_loss loss;

	if (!src->on || !ledger_tell(src->ledger, &loss))
		return 0;
	if (collectors[i]->lost && src->encoder)
		collectors[i]->lost(src->encoder, loss.cpu);
	return trace_meta_loss(s->writer, loss_track(s), loss.time_ns, collectors[i]->name,
			       "ring full", loss.cpu, loss.n);
}

/* A source's losses since the last time, as one mark at the last of them. */
int session_write_losses(struct session *s)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];
		struct trace_writer_stats stats;
		uint64_t now = boot_ns();
		int r;

		trace_writer_stats(s->writer, i, &stats);
		trace_writer_source(s->writer, MAX_COLLECTORS - 1, now);
		r = write_ring_loss(s, i);
		if (r == 0 && stats.n_dropped > src->n_dropped_shown)
			r = trace_meta_loss(s->writer, loss_track(s), s->stop_ns ? s->stop_ns : now,
					    collectors[i]->name, "client too slow", -1,
					    stats.n_dropped - src->n_dropped_shown);
		if (r < 0)
			return r;
		src->n_dropped_shown = stats.n_dropped;
	}
	return 0;
}

/* ---- cost ---- */

static int count_cost(struct session *s, const char *name, const char *unit,
		      const char *description, uint64_t time_ns, double value)
{
	const struct trace_track parent = {
		.name = "tracer",
		.description = "What this recording costs the machine.",
	};
	struct trace_track track = {
		.name = name, .is_counter = true, .unit = unit, .description = description
	};
	uint64_t uuid;

	track.parent = trace_track(s->writer, &parent);
	uuid = track.parent ? trace_track(s->writer, &track) : 0;
	return uuid ? trace_counter_double(s->writer, uuid, time_ns, value) : -ENOMEM;
}

int session_write_cost(struct session *s)
{
	uint64_t bytes = trace_writer_bytes(s->writer);
	struct bpf_cost bpf;
	struct cost cost;
	double seconds;
	int r;

	read_cost(s, &cost);
	sources_bpf_cost(s->env.sources, &bpf);
	seconds = (double)(cost.time_ns - s->cost_last.time_ns) / 1e9;
	if (seconds <= 0)
		return 0;
	trace_writer_source(s->writer, MAX_COLLECTORS - 1, cost.time_ns);
	if (s->own) { /* the rest is of all sessions, and what goes on in the machine */
		r = count_cost(s, "trace", "bytes/s", "growth of this trace", cost.time_ns,
			       (double)(bytes - s->bytes_last) / seconds);
		s->cost_last = cost;
		s->bytes_last = bytes;
		return r;
	}
	/* A restarted worker begins at 0 again: no negative cost for that. */
	r = count_cost(s, "daemon CPU", "%", "CPU time of tracerd and its worker; 100 % is one CPU",
		       cost.time_ns,
		       cost.cpu_ns < s->cost_last.cpu_ns
			       ? 0
			       : (double)(cost.cpu_ns - s->cost_last.cpu_ns) / 1e7 / seconds);
	if (r == 0)
		r = count_cost(s, "BPF CPU", "%",
			       "run time of tracerd's BPF programs, of all its sessions",
			       cost.time_ns,
			       bpf.ns < s->bpf_last_ns
				       ? 0
				       : (double)(bpf.ns - s->bpf_last_ns) / 1e7 / seconds);
	if (r == 0)
		r = count_cost(s, "daemon memory", "bytes", "resident memory of tracerd",
			       cost.time_ns, (double)cost.rss_bytes);
	if (r == 0)
		r = count_cost(s, "trace", "bytes/s", "growth of this trace", cost.time_ns,
			       (double)(bytes - s->bytes_last) / seconds);
	s->cost_last = cost;
	s->bpf_last_ns = bpf.ns;
	s->bytes_last = bytes;
	return r;
}

struct own_count {
	const struct trace_owner *owner;
	uint64_t n;
};

/* The process_fn. */
static int count_if_own(void *ctx, const struct process *p)
{
	struct own_count *count = ctx;

	count->n += process_is_users(p, count->owner->uid, count->owner->gid);
	return 0;
}

/* Of the machine as a whole nothing is said. */
static void own_cost(const struct session *s, struct session_cost *ret)
{
	struct own_count count = { .owner = &s->config.owner };

	(void)process_table_each(s->env.processes, count_if_own, &count);
	*ret = (struct session_cost){ .n_processes = count.n };
}

void session_cost(const struct session *s, struct session_cost *ret)
{
	struct process_table_stats processes;
	struct bpf_cost bpf;
	struct cost cost;

	if (s->since) { /* another process reads it */
		session_mark_cost(s->since, ret);
		return;
	}
	if (s->own) {
		own_cost(s, ret);
		return;
	}
	read_cost(s, &cost);
	sources_bpf_cost(s->env.sources, &bpf);
	process_table_stats(s->env.processes, &processes);
	*ret = (struct session_cost){ .n_processes = processes.n_processes };
	/* A restarted worker begins at 0 again. */
	if (cost.cpu_ns > s->cost_first.cpu_ns)
		ret->daemon_cpu_ns = cost.cpu_ns - s->cost_first.cpu_ns;
	ret->bpf_cpu_ns = bpf.ns - s->bpf_first.ns;
	ret->unsampled_ns = bpf.unsampled_ns - s->bpf_first.unsampled_ns;
	ret->n_due = s->due.n_due;
	ret->n_taken = s->due.n_taken;
}

/* ---- tail ---- */

/* How the walks of a source's samples have ended. */
static void add_stack_ends(struct attributes *a, const struct session *s, unsigned i)
{
	const uint64_t *ends = session_stack_ends(s, i);

	for (int end = 0; ends && end < UNWIND_ENDS; end++)
		if (ends[end])
			add_number(a, "stacks", collectors[i]->name,
				   unwind_end_name((enum unwind_end)end), ends[end]);
}

static int write_ledger(struct session *s)
{
	struct attributes *a = calloc(1, sizeof(*a));
	struct session_cost cost;
	int r;

	if (!a)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_sources; i++) {
		const char *name = collectors[i]->name;
		struct session_ledger l;

		if (!s->sources[i].on)
			continue;
		session_ledger(s, i, &l);
		add_number(a, "ledger", name, "produced", l.n_produced);
		add_number(a, "ledger", name, "lost", l.n_lost);
		add_number(a, "ledger", name, "malformed", l.n_malformed);
		add_number(a, "ledger", name, "filtered", l.n_filtered);
		add_number(a, "ledger", name, "dropped", l.n_dropped);
		add_number(a, "ledger", name, "written", l.n_written);
		add_stack_ends(a, s, i);
	}
	if (!s->since) { /* else they are not asked for yet */
		add_number(a, "lines", "", "found", s->told.n);
		add_number(a, "lines", "", "missed", s->n_lines_missed);
	}
	session_cost(s, &cost);
	if (!s->own) {
		add_number(a, "cost", "", "daemon_cpu_ns", cost.daemon_cpu_ns);
		add_number(a, "cost", "", "bpf_cpu_ns", cost.bpf_cpu_ns);
		add_number(a, "cost", "", "unsampled_ns", cost.unsampled_ns);
	}
	if (cost.n_due) {
		add_number(a, "sampling", "", "due", cost.n_due);
		add_number(a, "sampling", "", "taken", cost.n_taken);
	}
	r = trace_meta_attributes(s->writer, a->list, a->n);
	free(a);
	return r;
}

/* Of sources that are ftrace events the kernel's losses count per CPU, of others per source. */
static int write_loss_totals(struct session *s)
{
	uint64_t per_cpu[MAX_CPUS] = { 0 }, per_source[MAX_COLLECTORS] = { 0 };
	int r;

	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_ledger l;

		session_ledger(s, i, &l);
		per_source[i] = l.n_dropped;
		if (!collectors[i]->is_ftrace) {
			per_source[i] += l.n_lost;
			continue;
		}
		for (unsigned cpu = 0; s->sources[i].on && cpu < s->n_cpus; cpu++)
			per_cpu[cpu] += ledger_lost_on(s->sources[i].ledger, cpu);
	}
	r = trace_meta_ftrace_stats(s->writer, per_cpu, s->n_cpus, true, boot_ns());
	return r < 0 ? r : trace_meta_stats(s->writer, per_source, s->n_sources);
}

int session_write_tail(struct session *s)
{
	int r;

	trace_writer_source(s->writer, MAX_COLLECTORS - 1, s->stop_ns);
	r = write_ledger(s);
	if (r == 0)
		r = write_loss_totals(s);
	if (r == 0)
		r = trace_meta_clocks(s->writer);
	if (r == 0)
		r = trace_meta_milestone(s->writer, TRACE_DISABLED, s->stop_ns);
	return r;
}
