/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - `tracectl report`: where a trace's samples lie.
 *
 * The knowledge is in trace_index.h and stack_tree.h, each way to report in a
 * file of its own; here is the table of these ways.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clean.h"
#include "command.h"
#include "report_slices.h"

/* A file that cannot be read is as bad as a command line that cannot. */
enum { EXIT_NO_SAMPLES = EXIT_FAILED, EXIT_UNREADABLE = EXIT_USAGE };

const struct report_mode report_modes[] = {
	{ .needs_tree = true, .run = report_tables },
	{ .option = "flame",
	  .help = "a flame graph, as wide as the terminal",
	  .needs_tree = true,
	  .run = report_flame },
	{ .option = "callers",
	  .arg = "FUNCTION",
	  .help = "who calls it (a glob), up to the threads",
	  .needs_tree = true,
	  .turns_tree = true,
	  .run = report_callers },
	{ .option = "folded",
	  .help = "a line for each stack: comm;caller;callee COUNT",
	  .needs_tree = true,
	  .run = report_folded },
	{ .option = "json",
	  .help = "all of it for programs, as one object",
	  .needs_tree = true,
	  .run = report_json },
	{ .option = "completeness",
	  .help = "how many stacks are whole, and why the others end",
	  .run = report_completeness },
	{ .option = "why",
	  .arg = "THREAD",
	  .help = "what it (tid or name) waited for, and who ended that",
	  .needs_waits = true,
	  .run = report_why },
	{ .option = "gpu",
	  .help = "GPU time of each process and ring, and who submitted it",
	  .needs_gpu = true,
	  .has_json = true,
	  .run = report_gpu },
	{ .option = "frames",
	  .help = "frames of each display: how many a second, which were late, why",
	  .needs_gpu = true,
	  .has_json = true,
	  .run = report_frames },
	{ .option = "network",
	  .help = "requests, lookups and connections of each process: a waterfall",
	  .needs_network = true,
	  .has_json = true,
	  .run = report_network },
	{ 0 },
};

int report_on(const struct report_options *o, const struct trace_index *ix)
{
	struct report r = { .o = o, .ix = ix };
	int error = 0;

	if (o->mode->needs_waits || o->mode->needs_gpu || o->mode->needs_network)
		return o->mode->run(&r);
	error = report_select(&r);
	if (error == 0 && r.n_samples == 0) {
		if (r.slices)
			report_slices_complain(&r);
		else
			fprintf(stderr, "tracectl: none of the samples in %s is one of those\n",
				clean(o->file));
		error = -ENOENT;
	}
	if (error == 0 && o->mode->needs_tree)
		error = report_build_tree(&r);
	if (error == 0)
		error = o->mode->run(&r);
	report_done(&r);
	return error;
}

/* ---- the file ---- */

static int open_input(const char *path, int *ret)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					: open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int read_index(int fd, struct trace_index *ix)
{
	const struct trace_facts *facts = trace_index_facts(ix);
	struct trace_file *f;
	int r = trace_file_open(fd, &f);

	if (r < 0)
		return r;
	r = trace_index_read(ix, f);
	trace_file_free(f);
	if (r == -E2BIG)
		return -EFBIG;
	if (r == 0 && facts->n_packets == 0 && facts->n_zstd)
		return -EPROTONOSUPPORT;
	if (r == 0 && facts->n_packets == 0 && !facts->cut)
		r = facts->n_bytes ? -ENOEXEC : -ENODATA;
	return r;
}

static void complain(const char *path, int error)
{
	const char *why =
		error == -EFBIG	  ? "more than this can hold"
		: error == -E2BIG ? "too many different stacks; fewer are named by "
				    "--from, --to or --pid"
		: error == -EPROTONOSUPPORT
			? "is compressed with zstd, which this does not know; zlib it does"
		: error == -ENOEXEC ? "is no Perfetto trace"
		: error == -ENODATA ? "is empty"
				    : strerror(-error);

	fprintf(stderr, "tracectl: %s: %s\n", clean(path), why);
}

int cmd_report(int argc, char **argv)
{
	struct report_options o;
	struct trace_index *ix = NULL;
	int fd = -1, r;

	r = report_options_parse(argc, argv, &o);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_OK;
	r = open_input(o.file, &fd);
	if (r == 0)
		r = trace_index_new(&ix);
	if (r == 0 && o.mode->needs_waits)
		r = trace_index_want_waits(ix);
	if (r == 0 && o.mode->needs_gpu)
		r = trace_index_want_gpu(ix);
	if (r == 0 && o.mode->needs_network)
		r = trace_index_want_network(ix);
	if (r == 0 && o.slice)
		r = trace_index_want_slices(ix, o.slice);
	if (r == 0)
		r = read_index(fd, ix);
	if (r == 0)
		r = report_on(&o, ix);
	/* Said where it was found. */
	if (r < 0 && (r != -ENOENT || !ix))
		complain(o.file, r);
	trace_index_free(ix);
	if (fd >= 0)
		close(fd);
	return r == 0 ? EXIT_OK : r == -ENOENT && ix ? EXIT_NO_SAMPLES : EXIT_UNREADABLE;
}
