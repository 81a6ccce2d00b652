/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.c - what `tracectl record` tells the person. */
#include "record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "clock.h"
#include "io.h"
#include "stack_end.h"
#include "text.h"

static void human_bytes(char dst[32], uint64_t n)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	double v = (double)n;
	size_t i = 0;

	while (v >= 1000 && i + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1000;
		i++;
	}
	snprintf(dst, 32, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}

/* 1234567 as "1,234,567". */
static void human_number(char dst[32], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), out = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			dst[out++] = ',';
		dst[out++] = digits[i];
	}
	dst[out] = '\0';
}

int record_await_started(struct client *c, int fd, uint64_t *bytes, Reply **ret, char *err,
			 size_t err_size)
{
	struct client_message msg;
	int r;

	while ((r = client_next(c, 1, &msg)) == 1) {
		if (msg.trace) {
			r = io_write_all(fd, msg.trace, msg.trace_len);
			if (r < 0) {
				snprintf(err, err_size, "cannot write the trace: %s", strerror(-r));
				return r;
			}
			*bytes += msg.trace_len;
			continue;
		}
		if (msg.reply->started) {
			*ret = msg.reply;
			return 0;
		}
		if (msg.reply->error) {
			r = msg.reply->error->code ? -(int)msg.reply->error->code : -EIO;
			snprintf(err, err_size, "%s",
				 msg.reply->error->message ? msg.reply->error->message
							   : strerror(-r));
			client_message_done(&msg);
			return r;
		}
		client_message_done(&msg);
	}
	snprintf(err, err_size, "tracerd: %s%s",
		 r == -EPIPE ? "it ended before the recording began" : strerror(-r),
		 r == -EPIPE ? client_end(c) : "");
	return r < 0 ? r : -EPIPE;
}

static bool says_the_same(const SourceState *a, const SourceState *b)
{
	return a->name && a->why && a->on == b->on && strcmp(a->why, b->why) == 0;
}

void record_print_sources(const Started *msg, bool quiet)
{
	SourceState **all = msg->sources;
	char why[512];

	for (size_t i = 0, n = 0, k; i < msg->n_sources; i++, n = 0) {
		const SourceState *s = all[i];

		if (!s->name || !s->why || !s->why[0] || (quiet && s->on))
			continue;
		for (k = 0; k < i && !says_the_same(all[k], s); k++)
			;
		if (k < i) /* it stands in that one's line */
			continue;
		fputs("tracectl: ", stderr);
		for (k = i; k < msg->n_sources; k++)
			if (says_the_same(all[k], s))
				fprintf(stderr, "%s%s", n++ ? ", " : "", clean(all[k]->name));
		text_printable(why, sizeof(why), s->why, strlen(s->why));
		fprintf(stderr, "%s: %s\n", s->on ? "" : n > 1 ? " are off" : " is off", why);
	}
}

void record_print_started(const Started *msg, const char *path, bool ends_by_itself)
{
	fprintf(stderr, "recording%s%s to %s%s\n", msg->sampling && msg->sampling[0] ? " " : "",
		msg->sampling ? msg->sampling : "", path, ends_by_itself ? "" : ", Ctrl-C stops");
}

void record_print_progress(const Progress *msg)
{
	char bytes[32], events[32], lost[32];

	human_bytes(bytes, msg->bytes);
	human_number(events, msg->events);
	human_number(lost, msg->lost);
	fprintf(stderr, "\r\033[K%.1f s  %s  %s events%s%s", (double)msg->elapsed_ns / 1e9, bytes,
		events, msg->lost ? "  LOST " : "", msg->lost ? lost : "");
	fflush(stderr);
}

static const char *what_of(const char *source)
{
	static const struct {
		const char *source, *what;
	} names[] = { { "cpu", "samples" },	      { "sched", "scheduler events" },
		      { "syscalls", "system calls" }, { "counters", "counter readings" },
		      { "offcpu", "waits" },	      { "alloc", "allocation samples" },
		      { "gpu", "GPU events" },	      { "gpu-api", "GPU API events" },
		      { "net", "network events" },    { "proc", "process events" },
		      { "markers", "markers" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].source, source) == 0)
			return names[i].what;
	return source;
}

static void print_counts(const Stopped *msg)
{
	const char *sep = "  ";
	char n[32];

	for (size_t i = 0; i < msg->n_ledger; i++) {
		const SourceLedger *l = msg->ledger[i];

		if (!l->name || !l->written)
			continue;
		human_number(n, l->written);
		fprintf(stderr, "%s%s %s", sep, n, what_of(l->name));
		sep = ", ";
	}
	human_number(n, msg->processes);
	fprintf(stderr, "%s%s processes\n", sep, n);
}

#define MAX_REASONS 4

static int more_samples_first(const void *a, const void *b)
{
	const StackEnd *ea = *(StackEnd *const *)a, *eb = *(StackEnd *const *)b;

	return (ea->samples < eb->samples) - (ea->samples > eb->samples);
}

/* Whole or not, and the most frequent reasons. */
static void print_stacks(const SourceLedger *l)
{
	const char *sep = "; the others end: ";
	char reason[64], n[32];
	unsigned n_told = 0;

	if (!l->name || !l->stacks)
		return;
	fprintf(stderr, "  stacks of %s: %.1f %% whole", what_of(l->name),
		100.0 * (double)l->whole_stacks / (double)l->stacks);
	qsort(l->stack_ends, l->n_stack_ends, sizeof(l->stack_ends[0]), more_samples_first);
	for (size_t i = 0; i < l->n_stack_ends && n_told < MAX_REASONS; i++) {
		const char *why = l->stack_ends[i]->reason;

		if (!why || stack_end_of(why) != STACK_ENDS)
			continue;
		text_printable(reason, sizeof(reason), why, strlen(why));
		human_number(n, l->stack_ends[i]->samples);
		fprintf(stderr, "%s%s %s", sep, n, reason);
		sep = ", ";
		n_told++;
	}
	fputc('\n', stderr);
}

bool record_print_losses(const Stopped *msg)
{
	bool any = false;

	for (size_t i = 0; i < msg->n_ledger; i++) {
		const SourceLedger *l = msg->ledger[i];
		char lost[32], dropped[32], produced[32];

		if (!l->name || !(l->lost || l->dropped || l->malformed))
			continue;
		any = true;
		human_number(lost, l->lost);
		human_number(dropped, l->dropped);
		human_number(produced, l->produced);
		fprintf(stderr, "  LOST of %s %s:", produced, what_of(l->name));
		if (l->lost)
			fprintf(stderr, " %s, the kernel's ring was full (raise ring_size)", lost);
		if (l->dropped)
			fprintf(stderr, "%s %s, the output was too slow", l->lost ? ";" : "",
				dropped);
		if (l->malformed)
			fprintf(stderr, " %" PRIu64 " malformed", l->malformed);
		fputc('\n', stderr);
	}
	return any;
}

/* Some are always missing: a virtual machine does not run all the time. */
#define FEW_SAMPLES 500
static void print_due(const Stopped *msg)
{
	if (msg->samples_due > msg->samples_taken + FEW_SAMPLES &&
	    msg->samples_taken / 9 < msg->samples_due / 10)
		fprintf(stderr,
			"  only %.1f %% of the samples that were due were taken: the machine has "
			"no "
			"time for so many, lower --freq\n",
			100.0 * (double)msg->samples_taken / (double)msg->samples_due);
}

static void print_cost(const Stopped *msg)
{
	double seconds = (double)msg->elapsed_ns / 1e9;

	if (seconds <= 0)
		return;
	if (!msg->has_daemon_cpu_ns) /* that is not for every user */
		return;
	fprintf(stderr, "  cost: %.1f %% of one CPU for tracerd, %.1f %% for its BPF programs\n",
		(double)msg->daemon_cpu_ns / 1e7 / seconds,
		(double)msg->bpf_cpu_ns / 1e7 / seconds);
	if (msg->unsampled_ns >= 100 * NS_PER_MS)
		fprintf(stderr,
			"  no samples of %.1f s of that: the kernel takes none while programs on "
			"its tracepoints run\n",
			(double)msg->unsampled_ns / 1e9);
}

bool record_print_stopped(const Stopped *msg, const char *path, uint64_t bytes, bool quiet)
{
	char size[32], reason[256];
	bool lost;

	human_bytes(size, bytes);
	if (msg->reason && msg->reason[0]) {
		text_printable(reason, sizeof(reason), msg->reason, strlen(msg->reason));
		fprintf(stderr, "tracectl: the recording ended early: %s\n", reason);
	}
	if (!quiet) {
		fprintf(stderr, "%s: %.1f s, %s\n", path, (double)msg->elapsed_ns / 1e9, size);
		print_counts(msg);
		for (size_t i = 0; i < msg->n_ledger; i++)
			print_stacks(msg->ledger[i]);
	}
	lost = record_print_losses(msg);
	if (quiet)
		return lost;
	if (!lost)
		fputs("  nothing was lost\n", stderr);
	if (msg->kernel_hidden)
		fputs("  kernel functions have no names: kernel.kptr_restrict hides them from "
		      "tracerd (needs CAP_SYSLOG)\n",
		      stderr);
	print_due(msg);
	print_cost(msg);
	if (strcmp(path, "-") != 0)
		fprintf(stderr, "  to see it: open https://ui.perfetto.dev and drop the file on "
				"the page\n");
	return lost;
}
