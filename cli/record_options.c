/* SPDX-License-Identifier: Apache-2.0 */
/* record_options.c - the command lines of `tracectl record` and `tracectl watch`. */
#include "record_options.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "clean.h"
#include "text.h"

#define MAX_DURATION_NS (30ull * 24 * 3600 * 1000000000ull)
#define CGROUP2_MAGIC	0x63677270

/* Before what both have, and behind it. */
static const char record_usage[] =
	"Usage: tracectl record [OPTIONS] [-- COMMAND ARGS...]\n"
	"Records the whole machine until Ctrl-C, or while COMMAND runs.\n"
	"\n"
	"  -o, --output FILE      default HOST-DATE-TIME.perfetto-trace; - is standard output\n"
	"  -f, --force            overwrite FILE\n"
	"  -q, --quiet            neither progress nor summary\n"
	"What is sampled:\n"
	"  -F, --freq HZ          samples per second and CPU (default 999)\n"
	"  -e, --event EVENT      what to sample: cpu-clock (default), cycles, page-faults, ...,\n"
	"                         SYSTEM:NAME (a tracepoint); EVENT@N: every Nth; given again:\n"
	"                         beside the others, with samples of its own; 'help' lists them\n"
	"      --period N         a sample every N events, instead of --freq\n"
	"      --alloc-bytes N    of source alloc: a sample each so many (default 512K)\n";

static const char record_usage_end[] =
	"\n"
	"Scheduling, interrupts, counters and process names concern the machine and are\n"
	"always recorded whole.\n"
	"\n"
	"Exit status: 0 complete; 1 failed; 2 usage; 3 complete but events were lost;\n"
	"4 the daemon went away, FILE holds what came before.\n";

static const char watch_usage[] =
	"Usage: tracectl watch [OPTIONS] [-- COMMAND ARGS...]\n"
	"Prints what happens as it happens, each event as one line of JSON, until Ctrl-C, until\n"
	"nobody reads any more, or while COMMAND runs.\n"
	"\n"
	"  -q, --quiet            not a word beside the lines, but of what went wrong\n"
	"Which events (what fits one of these; without any all do):\n"
	"  -e, --events SPEC      a pattern of their names, category:PATTERN or source:NAME; may\n"
	"                         be given again\n"
	"      --probe NAME|ID    hits of one that is there ('tracectl probe list')\n"
	"      --min TIME         slices that last as long, and nothing else\n";

static const char watch_usage_end[] =
	"\n"
	"tracectl(1) says what is in a line.\n"
	"\n"
	"Exit status: 0 complete; 1 failed; 2 usage; 3 events were lost; 4 the daemon went away.\n";

static const char usage[] =
	"What is recorded:\n"
	"  -d, --duration TIME    stop after that: 10s, 500ms, 2m\n"
	"  -s, --sources LIST     these sources only: net,gpu,... (see tracectl status)\n"
	"      --no LIST          all but these\n"
	"      --counters TIME    how often counters are read (default 1s)\n"
	"      --offcpu-min TIME  of source offcpu: waits that last as long (default 1ms)\n"
	"      --gpu-api[=LIST]   calls of CUDA, HIP, OpenCL, Vulkan and GL too; of the classes\n"
	"                         launch,submit,present,copy,memory,sync,build,setup\n"
	"                         (default), draw, all\n"
	"      --probe TEXT       hits of a probe, of this session alone: NAME at SPEC\n"
	"                         [end SPEC] [arg NAME=EXPR]... and more ('tracectl probe "
	"--help')\n"
	"      --probe-file FILE  probes of a file\n"
	"      --probe-set NAME   probes that are installed; 'tracectl probe sets' lists them\n"
	"      --net LEVEL        of the network: health (what TCP does), waterfall (default:\n"
	"                         names, requests and their phases too), syscalls (calls too)\n"
	"      --query HOW        of URLs' queries: hide (default: ?…), keep, keys (names, no\n"
	"                         values), drop\n"
	"      --names hash       hosts and paths are told apart, not told\n"
	"      --tls-plaintext WHOSE  requests inside TLS too, of pid:N, comm:GLOB, lib:PATH;\n"
	"                         may be given again\n"
	"Whose samples, calls, connections, markers (all given must match):\n"
	"  -p, --pid PID,...      of these processes and their descendants\n"
	"      --comm GLOB        of processes with such a name\n"
	"      --cgroup PATH      of this cgroup (v2) and those below it\n"
	"  -u, --user USER        of this user\n"
	"  -a, --all              of the whole machine: the default without COMMAND,\n"
	"                         which else means COMMAND and its descendants\n";

enum {
	OPT_NO = 256,
	OPT_PERIOD,
	OPT_COUNTERS,
	OPT_ALLOC_BYTES,
	OPT_OFFCPU_MIN,
	OPT_GPU_API,
	OPT_NET,
	OPT_QUERY,
	OPT_NAMES,
	OPT_PLAINTEXT,
	OPT_COMM,
	OPT_CGROUP,
	OPT_EVENTS,
	OPT_MIN,
	OPT_HELP
};

struct command_line {
	const char *name, *usage, *usage_end, *letters;
	const struct option *options;
};

static int bad(const char *what, const char *value, const char *want)
{
	fprintf(stderr, "tracectl: %s '%s': %s\n", what, clean(value), want);
	return -EINVAL;
}

static int split(const char *what, char *list, char **names, size_t *n)
{
	size_t before = *n;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		if (*n == MAX_NAMES)
			return bad(what, name, "that is one too many: 32 at most");
		names[(*n)++] = name;
	}
	/* A variable of a script that is empty must not mean everything. */
	return *n > before ? 0 : bad(what, list, "want names: 'tracectl status' lists them");
}

static int parse_pids(char *list, struct record_options *o)
{
	for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		uint64_t pid;

		if (text_u64(s, 1, INT32_MAX, &pid) < 0)
			return bad("--pid", s, "not a process id");
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			return bad("--pid", s, "no such process");
		if (o->n_pids == MAX_PIDS)
			return bad("--pid", s, "at most 64 processes");
		o->pids[o->n_pids++] = (uint32_t)pid;
	}
	return o->n_pids ? 0 : bad("--pid", list, "want process ids");
}

/* The kernel keeps 15 bytes of a name: a longer one without a pattern would fit nobody. */
static int parse_comm(const char *glob, struct record_options *o)
{
	char want[64];

	if (!*glob)
		return bad("--comm", glob, "want a name, or a pattern of names");
	snprintf(want, sizeof(want), "names have at most 15 bytes: want '%.15s'", glob);
	if (strlen(glob) > 15 && !strpbrk(glob, "*?[\\"))
		return bad("--comm", glob, clean(want));
	o->comm = glob;
	return 0;
}

/* The inode number of its directory is a cgroup's id. */
static int parse_cgroup(const char *path, struct record_options *o)
{
	char full[4096];
	struct statfs fs;
	struct stat st;

	snprintf(full, sizeof(full), "%s", path);
	if (stat(full, &st) < 0)
		snprintf(full, sizeof(full), "/sys/fs/cgroup/%s", path);
	if (stat(full, &st) < 0 || statfs(full, &fs) < 0)
		return bad("--cgroup", path, strerror(errno));
	if (fs.f_type != CGROUP2_MAGIC || !S_ISDIR(st.st_mode))
		return bad("--cgroup", path, "not the directory of a cgroup (v2)");
	o->has_cgroup = true;
	o->cgroup_id = st.st_ino;
	return 0;
}

static int parse_user(const char *name, struct record_options *o)
{
	const struct passwd *pw = getpwnam(name);
	uint64_t uid;

	if (pw)
		uid = pw->pw_uid;
	else if (text_u64(name, 0, UINT32_MAX - 1, &uid) < 0)
		return bad("--user", name, "no such user");
	o->has_uid = true;
	o->uid = (uint32_t)uid;
	return 0;
}

static int add_event(struct record_options *o, const char *event)
{
	if (!o->event) {
		o->event = event;
		return 0;
	}
	if (o->n_more_events == MAX_MORE_EVENTS)
		return bad("--event", event, "that is one too many: 8 at most");
	o->more_events[o->n_more_events++] = event;
	return 0;
}

static int one_of(const char *what, const char *value, const char *const *words, const char *want,
		  const char **ret)
{
	for (size_t i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		*ret = words[i];
		return 0;
	}
	return bad(what, value, want);
}

/* What is not there cannot be meant. */
static const char *is_not_there(const char *whose)
{
	uint64_t pid;

	if (strncmp(whose, "lib:", 4) == 0 && access(whose + 4, F_OK) < 0)
		return strerror(errno);
	if (strncmp(whose, "pid:", 4) == 0 && text_u64(whose + 4, 1, INT32_MAX, &pid) < 0)
		return "not a process id";
	if (strncmp(whose, "pid:", 4) == 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return "no such process";
	return NULL;
}

static int add_plaintext(struct record_options *o, const char *whose)
{
	const char *why = is_not_there(whose);

	if (strncmp(whose, "pid:", 4) != 0 && strncmp(whose, "comm:", 5) != 0 &&
	    strncmp(whose, "lib:/", 5) != 0)
		return bad("--tls-plaintext", whose, "want pid:N, comm:GLOB or lib:/PATH");
	if (why)
		return bad("--tls-plaintext", whose, why);
	if (o->n_plaintext == MAX_PLAINTEXT)
		return bad("--tls-plaintext", whose, "that is one too many: 8 at most");
	o->plaintext[o->n_plaintext++] = whose;
	return 0;
}

static int parse_net_option(int c, const char *arg, struct record_options *o)
{
	static const char *const levels[] = { "health", "waterfall", "syscalls", NULL };
	static const char *const queries[] = { "hide", "keep", "keys", "drop", NULL };
	static const char *const names[] = { "plain", "hash", NULL };

	switch (c) {
	case OPT_NET:
		return one_of("--net", arg, levels, "want health, waterfall or syscalls", &o->net);
	case OPT_QUERY:
		return one_of("--query", arg, queries, "want hide, keep, keys or drop", &o->query);
	case OPT_NAMES:
		return one_of("--names", arg, names, "want hash or plain", &o->names);
	default:
		return add_plaintext(o, arg);
	}
}

static int parse_filter(int c, char *arg, struct record_options *o)
{
	switch (c) {
	case 'p':
		return parse_pids(arg, o);
	case 'u':
		return parse_user(arg, o);
	case OPT_CGROUP:
		return parse_cgroup(arg, o);
	default:
		return parse_comm(arg, o);
	}
}

/* How much, how long, how often. */
static int parse_amount(int c, const char *arg, struct record_options *o)
{
	uint64_t n;

	switch (c) {
	case 'F':
		if (text_u64(arg, 1, 100000, &n) < 0)
			return bad("--freq", arg, "want 1 to 100000");
		o->freq_hz = (uint32_t)n;
		return 0;
	case OPT_PERIOD:
		if (text_u64(arg, 1, INT64_MAX, &o->period) < 0)
			return bad("--period", arg, "want a number of events");
		return 0;
	case OPT_COUNTERS:
		if (text_duration_ns(arg, 3600000000000ull, &n) < 0 || n < 10000000)
			return bad("--counters", arg, "want 10ms to 1h");
		o->counters_interval_ms = (uint32_t)(n / 1000000);
		return 0;
	case OPT_ALLOC_BYTES:
		if (text_bytes(arg, 1ull << 40, &o->alloc_bytes) < 0 || !o->alloc_bytes)
			return bad("--alloc-bytes", arg, "want a size such as 64K or 1M");
		return 0;
	default: /* OPT_OFFCPU_MIN */
		if (text_duration_ns(arg, 3600000000000ull, &o->offcpu_min_ns) < 0)
			return bad("--offcpu-min", arg, "want a time such as 1ms, up to 1h");
		o->has_offcpu_min = true;
		return 0;
	}
}

static int add_events(struct record_options *o, const char *spec)
{
	if (o->n_events == MAX_NAMES)
		return bad("--events", spec, "that is one too many: 32 at most");
	o->events[o->n_events++] = spec;
	return 0;
}

/* What `watch` has for itself. */
static int parse_watch_option(int c, const char *arg, struct record_options *o)
{
	if (c == OPT_EVENTS)
		return add_events(o, arg);
	if (text_duration_ns(arg, MAX_DURATION_NS, &o->min_ns) < 0 || !o->min_ns)
		return bad("--min", arg, "want a time such as 10ms or 1s");
	return 0;
}

/* What has no blank in it cannot be a probe of one's own: it is the name of one that is there. */
static int add_probe(const struct command_line *line, int c, const char *arg,
		     struct record_options *o)
{
	if (c != OPT_PROBE || line->usage != watch_usage || strpbrk(arg, " \t\n"))
		return probe_option(c, arg, &o->probes);
	if (o->n_chosen == MAX_NAMES)
		return bad("--probe", arg, "that is one too many: 32 at most");
	o->chosen[o->n_chosen++] = arg;
	return 0;
}

static int parse_option(const struct command_line *line, int c, char *arg, struct record_options *o)
{
	switch (c) {
	case 'd':
		if (text_duration_ns(arg, MAX_DURATION_NS, &o->duration_ns) < 0 || !o->duration_ns)
			return bad("--duration", arg, "want a time such as 10s or 500ms");
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'a':
		o->whole_machine = true;
		return 0;
	case 's':
		return split("--sources", arg, o->sources, &o->n_sources);
	case OPT_NO:
		return split("--no", arg, o->without, &o->n_without);
	case 'e':
		return add_event(o, arg);
	case OPT_GPU_API:
		o->gpu_api = arg ? arg : "default";
		return 0;
	case OPT_NET:
	case OPT_QUERY:
	case OPT_NAMES:
	case OPT_PLAINTEXT:
		return parse_net_option(c, arg, o);
	case 'F':
	case OPT_PERIOD:
	case OPT_COUNTERS:
	case OPT_ALLOC_BYTES:
	case OPT_OFFCPU_MIN:
		return parse_amount(c, arg, o);
	case 'p':
	case 'u':
	case OPT_COMM:
	case OPT_CGROUP:
		return parse_filter(c, arg, o);
	case OPT_EVENTS:
	case OPT_MIN:
		return parse_watch_option(c, arg, o);
	case OPT_PROBE:
	case OPT_PROBE_FILE:
	case OPT_PROBE_SET:
		return add_probe(line, c, arg, o);
	case OPT_HELP:
		printf("%s%s%s", line->usage, usage, line->usage_end);
		return -ECANCELED;
	default:
		fprintf(stderr, "Try 'tracectl %s --help'.\n", line->name);
		return -EINVAL;
	}
}

static int parse(const struct command_line *line, int argc, char **argv, struct record_options *ret)
{
	int c, r;

	*ret = (struct record_options){ 0 };
	optind = 0; /* getopt starts anew */
	while ((c = getopt_long(argc, argv, line->letters, line->options, NULL)) != -1) {
		if (c == 'e' && line->usage == watch_usage)
			c = OPT_EVENTS;
		r = parse_option(line, c == 'h' ? OPT_HELP : c, optarg, ret);
		if (r < 0)
			return r;
	}
	/* The first event has the period then, the others the rate. */
	if (ret->freq_hz && ret->period && !ret->n_more_events)
		return bad("--period", "", "not beside --freq: one or the other");
	if (optind < argc)
		ret->command = argv + optind;
	return 0;
}

#define SHARED_OPTIONS                                                                             \
	{ "duration", required_argument, NULL, 'd' }, { "quiet", no_argument, NULL, 'q' },         \
		{ "all", no_argument, NULL, 'a' }, { "sources", required_argument, NULL, 's' },    \
		{ "no", required_argument, NULL, OPT_NO },                                         \
		{ "counters", required_argument, NULL, OPT_COUNTERS },                             \
		{ "offcpu-min", required_argument, NULL, OPT_OFFCPU_MIN },                         \
		{ "pid", required_argument, NULL, 'p' },                                           \
		{ "gpu-api", optional_argument, NULL, OPT_GPU_API },                               \
		{ "net", required_argument, NULL, OPT_NET },                                       \
		{ "query", required_argument, NULL, OPT_QUERY },                                   \
		{ "names", required_argument, NULL, OPT_NAMES },                                   \
		{ "tls-plaintext", required_argument, NULL, OPT_PLAINTEXT },                       \
		{ "comm", required_argument, NULL, OPT_COMM },                                     \
		{ "cgroup", required_argument, NULL, OPT_CGROUP }, PROBE_OPTIONS,                  \
		{ "user", required_argument, NULL, 'u' }, { "help", no_argument, NULL, OPT_HELP }, \
	{                                                                                          \
		NULL, 0, NULL, 0                                                                   \
	}

/* Letters begin with '+': options end at the command. */
int record_options_parse(int argc, char **argv, struct record_options *ret)
{
	static const struct option options[] = { { "output", required_argument, NULL, 'o' },
						 { "force", no_argument, NULL, 'f' },
						 { "freq", required_argument, NULL, 'F' },
						 { "period", required_argument, NULL, OPT_PERIOD },
						 { "event", required_argument, NULL, 'e' },
						 { "alloc-bytes", required_argument, NULL,
						   OPT_ALLOC_BYTES },
						 SHARED_OPTIONS };
	const struct command_line line = { "record", record_usage, record_usage_end,
					   "+d:o:fqas:F:e:p:u:h", options };

	return parse(&line, argc, argv, ret);
}

int watch_options_parse(int argc, char **argv, struct record_options *ret)
{
	static const struct option options[] = { { "events", required_argument, NULL, OPT_EVENTS },
						 { "min", required_argument, NULL, OPT_MIN },
						 SHARED_OPTIONS };
	const struct command_line line = { "watch", watch_usage, watch_usage_end, "+d:qas:e:p:u:h",
					   options };

	return parse(&line, argc, argv, ret);
}
