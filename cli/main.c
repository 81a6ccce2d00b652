/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - tracectl: the table of commands; nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clean.h"
#include "client.h"
#include "command.h"

static const struct {
	const char *name, *summary;
	int (*fn)(int argc, char **argv);
} commands[] = {
	{ "record", "record the machine into a file", cmd_record },
	{ "snapshot", "copy what the flight recorder has into a file", cmd_snapshot },
	{ "watch", "print what happens as it happens, as lines of JSON", cmd_watch },
	{ "mark", "put a marker into the recordings that go on", cmd_mark },
	{ "probe", "add, list and remove probes of programs and the kernel", cmd_probe },
	{ "status", "what the daemon does and what works here", cmd_status },
	{ "report", "say where the samples of a trace lie, or what its network did", cmd_report },
	{ "check", "verify trace files", cmd_check },
	{ "symbolize", "add source lines to a trace from debug files", cmd_symbolize },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl [--socket PATH] [--private] COMMAND [OPTIONS]\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  --socket PATH  of the daemon (default " CONTROL_SOCKET ")\n"
	      "  --private      start a daemon of one's own even if one is running (root)\n"
	      "  --version      print the version\n"
	      "\n"
	      "'tracectl COMMAND --help' tells more.\n",
	      out);
	return status;
}

/* What nobody got has not been said: a full disk, a pipe that is closed. */
static int flushed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "tracectl: cannot write to standard output: %s\n", strerror(errno));
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc) {
			client_socket_path = argv[++i];
		} else if (strcmp(argv[i], "--private") == 0) {
			client_private = 1;
		} else if (strcmp(argv[i], "--version") == 0) {
			puts("tracectl " TRACER_VERSION);
			return flushed(EXIT_OK);
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			return flushed(usage(stdout, EXIT_OK));
		} else {
			fprintf(stderr, "tracectl: unknown option '%s'\n", clean(argv[i]));
			return usage(stderr, EXIT_USAGE);
		}
	}
	for (size_t k = 0; i < argc && k < N_COMMANDS; k++)
		if (strcmp(argv[i], commands[k].name) == 0)
			return flushed(commands[k].fn(argc - i, argv + i));
	if (i < argc)
		fprintf(stderr, "tracectl: there is no command '%s'\n", clean(argv[i]));
	return usage(stderr, EXIT_USAGE);
}
