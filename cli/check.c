/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `tracectl check`: says what is wrong with a trace.
 *
 * The knowledge is in trace_check.h; here are only options and output. What
 * comes from the file is printable by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "json.h"
#include "text.h"
#include "trace_check.h"

/* A file that cannot be read is as bad as a command line that cannot. */
enum { EXIT_FINDINGS = EXIT_FAILED, EXIT_UNREADABLE = EXIT_USAGE };

struct options {
	bool quiet, json, verbose;
};

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl check [-q|-v] [--json] FILE...\n"
	      "\n"
	      "Verifies that traces are as a viewer needs them and that their own account of\n"
	      "what was recorded and lost is true. FILE may be - for standard input.\n"
	      "\n"
	      "  -q, --quiet    only the exit status\n"
	      "  -v, --verbose  up to 20 places for each kind of finding\n"
	      "      --json     one JSON object a line and file\n"
	      "\n"
	      "Exit status: 0 good (recorded loss is good), 1 something is wrong, 2 usage or a\n"
	      "file that cannot be read.\n",
	      out);
	return status;
}

/* ---- text ---- */

static void print_example(const struct trace_summary *s, const struct check_example *ex)
{
	fputs(ex->text, stdout);
	if (ex->offset != UINT64_MAX)
		printf(" (offset %" PRIu64, ex->offset);
	if (ex->time_ns)
		printf("%s%.6f s", ex->offset != UINT64_MAX ? ", " : " (",
		       ((double)ex->time_ns - (double)s->start_ns) / (double)NS_PER_SEC);
	if (ex->offset != UINT64_MAX || ex->time_ns)
		fputs(")", stdout);
}

static void print_findings(const struct options *o, const struct trace_check *c,
			   const struct trace_summary *s)
{
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++) {
		const struct check_finding *f = trace_check_finding(c, k);

		if (f->count == 0)
			continue;
		printf("%s %s: ", check_kinds[k].section, check_kinds[k].name);
		print_example(s, &f->examples[0]);
		if (f->count > 1)
			printf(", %" PRIu64 " times", f->count);
		printf("; %s\n", check_kinds[k].remedy);
		for (size_t i = 1; o->verbose && i < f->n_examples; i++) {
			fputs("     ", stdout);
			print_example(s, &f->examples[i]);
			fputs("\n", stdout);
		}
	}
}

static void print_summary(const char *name, const struct trace_check *c,
			  const struct trace_summary *s)
{
	char loss[512];

	printf("%s: %" PRIu64 " packets, %" PRIu64 " samples, %" PRIu64 " switches, %" PRIu64
	       " slices, %.3f s, ",
	       name, s->n_packets, s->n_samples, s->n_switches, s->n_slices,
	       (double)(s->end_ns - s->start_ns) / (double)NS_PER_SEC);
	if (s->cut)
		printf("cut in the last packet (offset %" PRIu64 "), ", s->cut_offset);
	if (!s->complete)
		fputs("not complete: no end of recording, ", stdout);
	else if (!s->cut)
		fputs("complete, ", stdout);
	if (trace_check_loss(c, loss, sizeof(loss)) > 0)
		printf("recorded loss: %s, ", loss);
	else if (s->has_ledger)
		fputs("no loss, ", stdout);
	if (s->n_findings)
		printf("%" PRIu64 " %s of findings\n", s->n_findings,
		       s->n_findings == 1 ? "kind" : "kinds");
	else
		fputs("good\n", stdout);
}

/* ---- JSON ---- */

static void json_finding(struct json *j, const struct check_kind_info *kind,
			 const struct check_finding *f)
{
	json_object(j, NULL);
	json_string(j, "section", kind->section);
	json_string(j, "name", kind->name);
	json_u64(j, "count", f->count);
	json_string(j, "remedy", kind->remedy);
	json_array(j, "examples");
	for (size_t i = 0; i < f->n_examples; i++) {
		const struct check_example *ex = &f->examples[i];

		json_object(j, NULL);
		json_string(j, "text", ex->text);
		if (ex->offset != UINT64_MAX)
			json_u64(j, "offset", ex->offset);
		if (ex->time_ns)
			json_u64(j, "time_ns", ex->time_ns);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void print_json(const char *name, const struct trace_check *c, const struct trace_summary *s)
{
	struct json j = { .out = stdout };

	json_object(&j, NULL);
	json_string(&j, "file", name);
	json_bool(&j, "good", s->n_findings == 0);
	json_bool(&j, "complete", s->complete);
	json_bool(&j, "cut", s->cut);
	if (s->cut)
		json_u64(&j, "cut_offset", s->cut_offset);
	json_u64(&j, "bytes", s->n_bytes);
	json_u64(&j, "packets", s->n_packets);
	json_u64(&j, "samples", s->n_samples);
	json_u64(&j, "switches", s->n_switches);
	json_u64(&j, "wakings", s->n_wakings);
	json_u64(&j, "slices", s->n_slices);
	json_u64(&j, "start_ns", s->start_ns);
	json_u64(&j, "end_ns", s->end_ns);
	json_bool(&j, "ledger", s->has_ledger);
	json_u64(&j, "lost", s->n_lost);
	json_u64(&j, "dropped", s->n_dropped);
	json_array(&j, "findings");
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++)
		if (trace_check_finding(c, k)->count)
			json_finding(&j, &check_kinds[k], trace_check_finding(c, k));
	json_end(&j);
	json_end(&j);
	fputs("\n", stdout);
}

/* ---- files ---- */

static int open_input(const char *path, int *ret)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					: open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* Nothing in it that could be a packet, not even a damaged one. */
static bool is_no_trace(const struct trace_check *c, const struct trace_summary *s)
{
	uint64_t n_garbage = trace_check_finding(c, CHECK_GARBAGE)->count;

	return s->n_packets == 0 && !s->cut && (n_garbage > 0 || s->n_findings == 0);
}

static int check_fd(int fd, struct trace_check *c)
{
	struct trace_file *f;
	int r = trace_file_open(fd, &f);

	if (r < 0)
		return r;
	r = trace_check_file(c, f);
	trace_file_free(f);
	return r;
}

static void complain(const char *name, int error)
{
	const char *why = error == -E2BIG     ? "too many events to check"
			  : error == -ENOEXEC ? "is no Perfetto trace"
			  : error == -ENODATA ? "is empty"
					      : strerror(-error);

	fprintf(stderr, "tracectl check: %s: %s\n", name, why);
}

static int check_file(const struct options *o, const char *path)
{
	struct trace_check *c = NULL;
	struct trace_summary s;
	char name[256];
	int fd = -1, status = EXIT_UNREADABLE;
	int r;

	text_printable(name, sizeof(name), path, strlen(path));
	r = open_input(path, &fd);
	if (r == 0)
		r = trace_check_new(&c);
	if (r == 0)
		r = check_fd(fd, c);
	if (r < 0)
		goto out;
	trace_check_summary(c, &s);
	if (is_no_trace(c, &s)) {
		r = s.n_bytes ? -ENOEXEC : -ENODATA;
		goto out;
	}
	status = s.n_findings ? EXIT_FINDINGS : EXIT_OK;
	if (o->quiet)
		goto out;
	if (o->json) {
		print_json(name, c, &s);
	} else {
		print_findings(o, c, &s);
		print_summary(name, c, &s);
	}
out:
	if (r < 0)
		complain(name, r);
	trace_check_free(c);
	if (fd >= 0)
		close(fd);
	return status;
}

int cmd_check(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct options o = { 0 };
	int status = EXIT_OK;
	int opt;

	optind = 0; /* another command may have parsed its own */
	while ((opt = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (opt) {
		case 'q':
			o.quiet = true;
			break;
		case 'v':
			o.verbose = true;
			break;
		case 'j':
			o.json = true;
			break;
		case 'h':
			return usage(stdout, EXIT_OK);
		default:
			return usage(stderr, EXIT_UNREADABLE);
		}
	}
	if (optind == argc)
		return usage(stderr, EXIT_UNREADABLE);
	for (; optind < argc; optind++) {
		int s = check_file(&o, argv[optind]);

		if (s > status)
			status = s;
	}
	return status;
}
