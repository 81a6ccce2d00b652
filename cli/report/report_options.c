/* SPDX-License-Identifier: Apache-2.0 */
/* report_options.c - the command line of `tracectl report`. */
#include "report_options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clean.h"
#include "text.h"

#define MAX_MODES   16
#define MAX_TIME_NS (365ull * 24 * 3600 * 1000000000ull)

#define DEFAULT_MIN_PERCENT 1.0
#define DEFAULT_ROWS	    20
#define MIN_WIDTH	    40
#define MAX_WIDTH	    1000

static const char usage_head[] =
	"Usage: tracectl report [OPTIONS] FILE\n"
	"Says where a trace's samples lie: top functions and who calls whom.\n"
	"FILE may be - for standard input.\n"
	"\n"
	"Instead of tables and the call tree:\n";

static const char usage_tail[] =
	"Which samples (all given must match):\n"
	"      --source NAME      of this source or event; else the first of those there are,\n"
	"                         CPU samples before all others. Two are never added up\n"
	"  -p, --pid PID,...      of these processes\n"
	"  -t, --tid TID,...      of these threads\n"
	"      --comm GLOB        of threads, or processes, with such a name\n"
	"      --cpu LIST         on these CPUs: 0-3,8\n"
	"      --from TIME        since TIME, in seconds from the start: 1.5, 250ms\n"
	"      --to TIME          until TIME\n"
	"      --slice NAME       in slices of that name (a glob): calls of the same thread,\n"
	"                         requests, frames or GPU jobs of the same process\n"
	"How:\n"
	"      --by WHAT          function (default), line, module, process, thread or cpu\n"
	"      --self             sort tables by what functions do themselves (default)\n"
	"      --children         by what they do with all they call\n"
	"      --min PERCENT      of the whole, to be in the tree (default 1)\n"
	"      --depth N          of the tree, in functions\n"
	"  -n, --top N            rows of each table (default 20)\n"
	"      --no-inline        not the functions that were inlined into others\n"
	"      --no-kernel        not the kernel's functions: their callers stand for them\n"
	"\n"
	"Exit status: 0 reported, 1 no such samples, 2 usage or a file that cannot be read.\n";

enum {
	OPT_SOURCE = 256,
	OPT_COMM,
	OPT_CPU,
	OPT_FROM,
	OPT_TO,
	OPT_SLICE,
	OPT_BY,
	OPT_SELF,
	OPT_CHILDREN,
	OPT_MIN,
	OPT_DEPTH,
	OPT_INLINE,
	OPT_NO_INLINE,
	OPT_KERNEL,
	OPT_NO_KERNEL,
	OPT_MODE, /* and those behind it, one for each mode */
};

static void usage(FILE *out)
{
	fputs(usage_head, out);
	for (const struct report_mode *m = report_modes; m->run; m++) {
		char option[64];

		if (!m->option)
			continue;
		snprintf(option, sizeof(option), "--%s%s%s", m->option, m->arg ? " " : "",
			 m->arg ? m->arg : "");
		fprintf(out, "      %-18s %s\n", option, m->help);
	}
	fputs(usage_tail, out);
}

static int bad(const char *what, const char *value, const char *want)
{
	fprintf(stderr, "tracectl: %s '%s': %s\n", what, clean(value), want);
	return -EINVAL;
}

static int parse_ids(const char *option, char *list, int32_t *ids, size_t *n)
{
	for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		uint64_t id;

		if (text_u64(s, 0, INT32_MAX, &id) < 0)
			return bad(option, s, "want numbers, with commas between them");
		if (*n == REPORT_MAX_NAMES)
			return bad(option, s, "too many numbers");
		ids[(*n)++] = (int32_t)id;
	}
	return 0;
}

/* "1.5" and "1.5s" are seconds; "250ms" and the like as everywhere. */
static int parse_time(const char *option, const char *s, uint64_t *ret)
{
	char *end;
	double seconds;

	if (text_duration_ns(s, MAX_TIME_NS, ret) == 0)
		return 0;
	seconds = strtod(s, &end);
	if (end == s || (strcmp(end, "") != 0 && strcmp(end, "s") != 0) || !isfinite(seconds) ||
	    seconds < 0 || seconds > (double)MAX_TIME_NS / 1e9)
		return bad(option, s, "want seconds from the start, such as 1.5 or 250ms");
	*ret = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_by(const char *s, enum report_by *ret)
{
	static const char *const names[] = {
		[BY_FUNCTION] = "function", [BY_LINE] = "line",	    [BY_MODULE] = "module",
		[BY_PROCESS] = "process",   [BY_THREAD] = "thread", [BY_CPU] = "cpu",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i], s) == 0) {
			*ret = (enum report_by)i;
			return 0;
		}
	return bad("--by", s, "want function, line, module, process, thread or cpu");
}

static int parse_count(const char *option, const char *s, size_t *ret)
{
	uint64_t n;

	if (text_u64(s, 1, 1000000, &n) < 0)
		return bad(option, s, "want a number from 1 on");
	*ret = (size_t)n;
	return 0;
}

static int parse_percent(const char *s, double *ret)
{
	char *end;

	*ret = strtod(s, &end);
	if (end == s || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) ||
	    !(*ret >= 0 && *ret <= 100))
		return bad("--min", s, "want a percentage, such as 0.5");
	return 0;
}

static int set_mode(struct report_options *o, const struct report_mode *m, const char *arg)
{
	bool json = strcmp(m->option, "json") == 0,
	     had_json = o->json || (o->mode->option && strcmp(o->mode->option, "json") == 0);

	if ((json && o->mode->has_json) || (m->has_json && had_json)) {
		o->json = true;
		if (m->has_json) {
			o->mode = m;
			o->mode_arg = arg;
		}
		return 0;
	}
	if (o->mode->option && o->mode != m) {
		fprintf(stderr, "tracectl: --%s and --%s: one at a time\n", o->mode->option,
			m->option);
		return -EINVAL;
	}
	o->mode = m;
	o->mode_arg = arg;
	return 0;
}

static int parse_filter(int c, char *arg, struct report_options *o)
{
	switch (c) {
	case 'p':
		return parse_ids("--pid", arg, o->pids, &o->n_pids);
	case 't':
		return parse_ids("--tid", arg, o->tids, &o->n_tids);
	case OPT_SOURCE:
		o->source = arg;
		return 0;
	case OPT_COMM:
		if (o->n_comms == REPORT_MAX_NAMES)
			return bad("--comm", arg, "too many of them");
		o->comms[o->n_comms++] = arg;
		return 0;
	case OPT_CPU:
		o->has_cpus = true;
		if (text_cpu_list(arg, o->cpus, MAX_CPUS) <= 0)
			return bad("--cpu", arg, "want a list of CPUs, such as 0-3,8");
		return 0;
	case OPT_SLICE:
		o->slice = arg;
		return 0;
	case OPT_FROM:
		o->has_from = true;
		return parse_time("--from", arg, &o->from_ns);
	default: /* OPT_TO */
		o->has_to = true;
		return parse_time("--to", arg, &o->to_ns);
	}
}

static int parse_option(int c, char *arg, struct report_options *o)
{
	switch (c) {
	case OPT_BY:
		return parse_by(arg, &o->by);
	case OPT_SELF:
	case OPT_CHILDREN:
		o->by_total = c == OPT_CHILDREN;
		return 0;
	case OPT_MIN:
		return parse_percent(arg, &o->min_percent);
	case OPT_DEPTH:
		return parse_count("--depth", arg, &o->max_depth);
	case 'n':
		return parse_count("--top", arg, &o->max_rows);
	case OPT_INLINE:
	case OPT_NO_INLINE:
		o->inlined = c == OPT_INLINE;
		return 0;
	case OPT_KERNEL:
	case OPT_NO_KERNEL:
		o->kernel = c == OPT_KERNEL;
		return 0;
	default:
		if (c >= OPT_MODE)
			return set_mode(o, &report_modes[c - OPT_MODE], arg);
		return parse_filter(c, arg, o);
	}
}

static bool is_unicode(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* How wide the terminal is, and whether it has colours. */
static void look_at_terminal(struct report_options *o)
{
	const char *columns = getenv("COLUMNS"), *term = getenv("TERM");
	struct winsize size;
	uint64_t n;

	if (!isatty(STDOUT_FILENO))
		return;
	if (columns && text_u64(columns, MIN_WIDTH, MAX_WIDTH, &n) == 0)
		o->width = (unsigned)n;
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= MIN_WIDTH)
		o->width = size.ws_col < MAX_WIDTH ? size.ws_col : MAX_WIDTH;
	else
		o->width = 80;
	o->unicode = is_unicode();
	o->colour = !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

/* Are they at one with each other? */
static int check(const struct report_options *o)
{
	const struct report_mode *m = o->mode;

	if (o->has_from && o->has_to && o->from_ns >= o->to_ns) {
		fputs("tracectl: --to is not behind --from\n", stderr);
		return -EINVAL;
	}
	if (o->slice && (m->needs_waits || m->needs_gpu || m->needs_network)) {
		fprintf(stderr, "tracectl: --slice is for samples, of which --%s has none\n",
			m->option);
		return -EINVAL;
	}
	return 0;
}

static const struct option fixed_options[] = {
	{ "source", required_argument, NULL, OPT_SOURCE },
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "comm", required_argument, NULL, OPT_COMM },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "to", required_argument, NULL, OPT_TO },
	{ "slice", required_argument, NULL, OPT_SLICE },
	{ "by", required_argument, NULL, OPT_BY },
	{ "self", no_argument, NULL, OPT_SELF },
	{ "children", no_argument, NULL, OPT_CHILDREN },
	{ "min", required_argument, NULL, OPT_MIN },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "top", required_argument, NULL, 'n' },
	{ "inline", no_argument, NULL, OPT_INLINE },
	{ "no-inline", no_argument, NULL, OPT_NO_INLINE },
	{ "kernel", no_argument, NULL, OPT_KERNEL },
	{ "no-kernel", no_argument, NULL, OPT_NO_KERNEL },
	{ "help", no_argument, NULL, 'h' },
};

#define N_FIXED (sizeof(fixed_options) / sizeof(fixed_options[0]))

/* The options above and those of the modes, as getopt_long() wants them. */
static void all_options(struct option dst[N_FIXED + MAX_MODES + 1])
{
	size_t n = N_FIXED;

	memset(dst, 0, (N_FIXED + MAX_MODES + 1) * sizeof(dst[0]));
	memcpy(dst, fixed_options, sizeof(fixed_options));
	for (int i = 0; i < MAX_MODES && report_modes[i].run; i++)
		if (report_modes[i].option)
			dst[n++] = (struct option){
				.name = report_modes[i].option,
				.has_arg = report_modes[i].arg ? required_argument : no_argument,
				.val = OPT_MODE + i,
			};
}

int report_options_parse(int argc, char **argv, struct report_options *o)
{
	struct option longs[N_FIXED + MAX_MODES + 1];
	int c, r;

	*o = (struct report_options){
		.mode = &report_modes[0],
		.inlined = true,
		.kernel = true,
		.min_percent = DEFAULT_MIN_PERCENT,
		.max_depth = SIZE_MAX,
		.max_rows = DEFAULT_ROWS,
	};
	all_options(longs);
	optind = 0; /* another command may have parsed its own */
	while ((c = getopt_long(argc, argv, "p:t:n:h", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return 1;
		}
		if (c == '?') {
			fputs("'tracectl report --help' tells more.\n", stderr);
			return -EINVAL;
		}
		r = parse_option(c, optarg, o);
		if (r < 0)
			return r;
	}
	if (optind + 1 != argc) {
		fputs(optind == argc ? "tracectl: report of which FILE?\n"
				     : "tracectl: one FILE at a time\n",
		      stderr);
		return -EINVAL;
	}
	o->file = argv[optind];
	look_at_terminal(o);
	return check(o);
}
