/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - `tracectl probe`: probes that stay until they are removed, for all recordings. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "client.h"
#include "command.h"
#include "probe_list.h"
#include "probe_text.h"
#include "text.h"

#define MAX_ARGS    64
#define MAX_REMOVED 64

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl probe add NAME --at SPEC [--end SPEC] [--arg NAME=EXPR[:TYPE]]...\n"
	      "                          [--if EXPR] [--key EXPR] [--counter NAME=EXPR]\n"
	      "                          [--stack] [--rate N]\n"
	      "       tracectl probe add {--probe TEXT | --probe-file FILE | --probe-set NAME}...\n"
	      "       tracectl probe list [--json]\n"
	      "       tracectl probe remove {ID | NAME | --all}...\n"
	      "       tracectl probe sets [NAME]\n"
	      "\n"
	      "Probes that are added are in all recordings, also those that go on, until they are\n"
	      "removed or the daemon stops. 'tracectl record --probe' has probes of its own.\n"
	      "\n"
	      "SPEC   uprobe:PATH:FUNCTION[+OFFSET]  uretprobe:PATH:FUNCTION\n"
	      "       usdt:PATH:PROVIDER:NAME  tracepoint:SYSTEM:NAME\n"
	      "       fentry:FUNCTION  fexit:FUNCTION  kprobe:FUNCTION[+OFFSET]\n"
	      "       PATH is absolute or a library's name (libc.so.6); FUNCTION may be a glob\n"
	      "EXPR   arg0 to arg9, retval, $rdi, parameters, fields, p->m, *p, p[i], (TYPE)p,\n"
	      "       numbers, \"text\", operators of C, pid, tid, cpu, uid, time, vmdata\n"
	      "TYPE   s8 to s64, u8 to u64, x8 to x64, ptr, bool, str, str(N), f32, f64\n"
	      "TEXT   NAME at SPEC [end SPEC] [arg NAME=EXPR[:TYPE]]... [if EXPR] [key EXPR]\n"
	      "       [counter NAME=EXPR] [stack] [rate N]; so are files, where each probe begins\n"
	      "       a line, goes on in those that begin with a blank, and # begins a comment\n"
	      "\n"
	      "With an end hits are slices on their thread, or of those with one key; else "
	      "instants.\n"
	      "Arguments are taken at the beginning; those with retval, and NAME@end=EXPR, at the\n"
	      "end.\n"
	      "\n"
	      "Exit status: 0, 1 refused, 2 usage.\n",
	      out);
	return status;
}

static int complain(const char *message)
{
	fprintf(stderr, "tracectl: %s\n", clean(message));
	return EXIT_FAILED;
}

/* A daemon that stays: one that ends with tracectl would keep no probes. */
static int open_daemon(struct client **ret)
{
	char err[512];

	if (client_open(ret, err, sizeof(err)) < 0)
		return complain(err);
	if (!client_is_private(*ret))
		return EXIT_OK;
	client_close(*ret);
	return complain("no daemon is running that could keep probes: start it (systemctl start "
			"tracer), or record them at once with 'tracectl record --probe'");
}

static int ask(Request *req, Reply **ret)
{
	struct client *client;
	char err[1024];
	int status = open_daemon(&client);

	if (status != EXIT_OK)
		return status;
	if (client_ask(client, req, ret, err, sizeof(err)) < 0)
		status = complain(err);
	client_close(client);
	return status;
}

/* ---- add ---- */

/* One that is put together of options. */
struct adding {
	struct probe_list list;
	ProbeDef def;
	char *args[MAX_ARGS];
	bool is_used;
};

static int take_rate(struct adding *a, const char *arg)
{
	if (probe_rate_parse(arg, &a->def.rate) < 0) {
		fprintf(stderr,
			"tracectl: --rate '%s': want hits per second and CPU, such as 1000\n",
			clean(arg));
		return -EINVAL;
	}
	a->def.has_rate = 1;
	return 0;
}

static int take_arg(struct adding *a, char *arg)
{
	if (a->def.n_args == MAX_ARGS) {
		fputs("tracectl: --arg: too many\n", stderr);
		return -EINVAL;
	}
	a->args[a->def.n_args++] = arg;
	return 0;
}

static int take_option(struct adding *a, int c, char *arg)
{
	a->is_used |= c < OPT_PROBE;
	switch (c) {
	case 'a':
		a->def.at = arg;
		return 0;
	case 'e':
		a->def.end = arg;
		return 0;
	case 'g':
		return take_arg(a, arg);
	case 'i':
		a->def.condition = arg;
		return 0;
	case 'k':
		a->def.key = arg;
		return 0;
	case 'c':
		a->def.counter = arg;
		return 0;
	case 's':
		a->def.has_stack = a->def.stack = 1;
		return 0;
	case 'r':
		return take_rate(a, arg);
	default:
		return probe_option(c, arg, &a->list);
	}
}

static int send_probes(struct adding *a)
{
	Request req = REQUEST__INIT;
	ProbeAddRequest add = PROBE_ADD_REQUEST__INIT;
	ProbeDef *defs[MAX_PROBES + 1];
	Reply *reply = NULL;
	int status;

	memcpy(defs, a->list.defs, a->list.n * sizeof(defs[0]));
	add.probes = defs;
	add.n_probes = a->list.n;
	if (a->def.name)
		defs[add.n_probes++] = &a->def;
	req.probe_add = &add;
	status = ask(&req, &reply);
	if (status == EXIT_OK && reply->probe_added)
		probe_list_print(reply->probe_added->probes, reply->probe_added->n_probes, false);
	reply__free_unpacked(reply, NULL);
	return status;
}

static int finish_add(struct adding *a, char **names, int n)
{
	if (n > 1 || (n == 0 && a->is_used) || (n == 1 && !a->def.at)) {
		fputs("tracectl: probe add: want NAME --at SPEC, and quotes around what has "
		      "blanks\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (n == 0 && a->list.n == 0)
		return usage(stderr, EXIT_USAGE);
	a->def.name = n ? names[0] : NULL;
	return send_probes(a);
}

static int probe_add(int argc, char **argv)
{
	static const struct option options[] = {
		{ "at", required_argument, NULL, 'a' },
		{ "end", required_argument, NULL, 'e' },
		{ "arg", required_argument, NULL, 'g' },
		{ "if", required_argument, NULL, 'i' },
		{ "key", required_argument, NULL, 'k' },
		{ "counter", required_argument, NULL, 'c' },
		{ "stack", no_argument, NULL, 's' },
		{ "rate", required_argument, NULL, 'r' },
		PROBE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct adding a = { .def = PROBE_DEF__INIT };
	int c, status = -1;

	a.def.args = a.args;
	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h' || c == '?')
			status = usage(c == 'h' ? stdout : stderr, c == 'h' ? EXIT_OK : EXIT_USAGE);
		else if (take_option(&a, c, optarg) < 0)
			status = EXIT_USAGE;
	}
	if (status < 0)
		status = finish_add(&a, argv + optind, argc - optind);
	probe_list_done(&a.list);
	return status;
}

/* ---- list ---- */

static int probe_list(int argc, char **argv)
{
	bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
	Request req = REQUEST__INIT;
	ProbeListRequest list = PROBE_LIST_REQUEST__INIT;
	Reply *reply = NULL;
	int status;

	if (argc > 1 && !as_json)
		return usage(stderr, EXIT_USAGE);
	req.probe_list = &list;
	status = ask(&req, &reply);
	if (status == EXIT_OK && reply->probes)
		probe_list_print(reply->probes->probes, reply->probes->n_probes, as_json);
	reply__free_unpacked(reply, NULL);
	return status;
}

/* ---- remove ---- */

/* Of all that are nobody's recording's. */
static int list_all(uint32_t ids[MAX_REMOVED], size_t *n)
{
	Request req = REQUEST__INIT;
	ProbeListRequest list = PROBE_LIST_REQUEST__INIT;
	Reply *reply = NULL;
	int status;

	req.probe_list = &list;
	status = ask(&req, &reply);
	for (size_t i = 0; status == EXIT_OK && reply->probes && i < reply->probes->n_probes; i++)
		if (!reply->probes->probes[i]->session && *n < MAX_REMOVED)
			ids[(*n)++] = reply->probes->probes[i]->id;
	reply__free_unpacked(reply, NULL);
	return status;
}

static int probe_remove(int argc, char **argv)
{
	Request req = REQUEST__INIT;
	ProbeRemoveRequest rm = PROBE_REMOVE_REQUEST__INIT;
	uint32_t ids[MAX_REMOVED];
	char *names[MAX_REMOVED];
	Reply *reply = NULL;
	int status = EXIT_OK;
	uint64_t id;

	if (argc < 2 || argc > MAX_REMOVED)
		return usage(stderr, EXIT_USAGE);
	rm.ids = ids;
	rm.names = names;
	if (argc == 2 && strcmp(argv[1], "--all") == 0) {
		status = list_all(ids, &rm.n_ids);
		if (status != EXIT_OK || rm.n_ids == 0)
			return status;
	} else {
		for (int i = 1; i < argc; i++) {
			if (text_u64(argv[i], 1, UINT32_MAX, &id) == 0)
				ids[rm.n_ids++] = (uint32_t)id;
			else if (argv[i][0] == '-')
				return usage(stderr, EXIT_USAGE);
			else
				names[rm.n_names++] = argv[i];
		}
	}
	req.probe_remove = &rm;
	status = ask(&req, &reply);
	reply__free_unpacked(reply, NULL);
	return status;
}

/* ---- sets ---- */

static int is_set(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".probe") == 0;
}

/* The first line of a set's file is a comment that says what it is. */
static void print_set(const char *dir, const char *file)
{
	char path[4096], line[256] = "";
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	in = fopen(path, "re");
	if (in && !fgets(line, sizeof(line), in))
		line[0] = '\0';
	if (in)
		fclose(in);
	line[strcspn(line, "\n")] = '\0';
	printf("  %-18.*s %s\n", (int)(strrchr(file, '.') - file), clean(file),
	       clean(line + strspn(line, "# ")));
}

static int show_set(const char *dir, const char *name)
{
	char path[4096], line[1024];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s.probe", dir, name);
	in = strchr(name, '/') ? NULL : fopen(path, "re");
	if (!in)
		return complain("there is no such set: 'tracectl probe sets' lists them");
	while (fgets(line, sizeof(line), in))
		fputs(line, stdout);
	fclose(in);
	return EXIT_OK;
}

static int probe_sets(int argc, char **argv)
{
	const char *dir = probe_sets_dir();
	struct dirent **entries = NULL;
	int n;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return usage(stderr, EXIT_USAGE);
	if (argc == 2)
		return show_set(dir, argv[1]);
	n = scandir(dir, &entries, is_set, alphasort);
	if (n < 0) {
		fprintf(stderr, "tracectl: no sets of probes in %s: %s\n", clean(dir),
			strerror(errno));
		return EXIT_FAILED;
	}
	for (int i = 0; i < n; i++) {
		print_set(dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return EXIT_OK;
}

/* ---- the command ---- */

int cmd_probe(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(int argc, char **argv);
	} commands[] = {
		{ "add", probe_add },
		{ "list", probe_list },
		{ "remove", probe_remove },
		{ "sets", probe_sets },
	};

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return usage(stdout, EXIT_OK);
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].fn(argc - 1, argv + 1);
	return usage(stderr, EXIT_USAGE);
}
