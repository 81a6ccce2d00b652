/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - tracerd: options, configuration, then run. No logic. */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bpf_load.h"
#include "config.h"
#include "control_frame.h"
#include "daemon.h"
#include "log.h"
#include "symbolize/symbolizer.h"
#include "text.h"

/* When both CPUs are flooded, whoever reads the rings must still run. */
#define NICE (-10)

static const char usage[] =
	"Usage: tracerd [OPTIONS]\n"
	"Records the machine on behalf of tracectl(1).\n"
	"\n"
	"  --config FILE     configuration (default " CONFIG_PATH ")\n"
	"  --socket PATH     control socket (default " CONTROL_SOCKET ")\n"
	"  --control-fd N    serve the one client at descriptor N and end with it\n"
	"  --verbose         log details\n"
	"  --version         print the version\n"
	"  --help            print this\n";

struct arguments {
	const char *config, *socket;
	int control_fd;
	bool verbose;
};

static void parse_arguments(int argc, char **argv, struct arguments *args)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "socket", required_argument, NULL, 's' },
		{ "control-fd", required_argument, NULL, 'f' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t fd;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			args->config = optarg;
			break;
		case 's':
			args->socket = optarg;
			break;
		case 'f':
			if (text_u64(optarg, 3, 1 << 20, &fd) < 0) {
				fprintf(stderr, "tracerd: --control-fd wants a descriptor\n");
				exit(2);
			}
			args->control_fd = (int)fd;
			break;
		case 'v':
			args->verbose = true;
			break;
		case 'V':
			puts("tracerd " TRACER_VERSION);
			exit(0);
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* Mappings are pinned by descriptors: take all that may be had. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* as it was, then */
	}
	if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
		log_debug("cannot raise the priority; the unit's CPUWeight= has to do");
}

int main(int argc, char **argv)
{
	struct arguments args = { .config = CONFIG_PATH,
				  .socket = CONTROL_SOCKET,
				  .control_fd = -1 };
	struct daemon_options options;
	struct symbolizer *sym;
	struct daemon *d;
	char err[1024];
	int r;

	parse_arguments(argc, argv, &args);
	log_init("tracerd", args.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	if (args.control_fd >= 0)
		log_shares_stderr();
	/* libdw would ask a server for debug files, and block for minutes. */
	unsetenv("DEBUGINFOD_URLS");
	signal(SIGPIPE, SIG_IGN);
	/* For the daemon alone: workers that get it with all of the service go on. */
	signal(SIGUSR2, SIG_IGN);
	bpf_load_init();

	/* The worker is forked before anything is open that it should not have. */
	r = symbolizer_new(&sym);
	if (r < 0) {
		log_error("cannot start the worker that reads symbols: %s", strerror(-r));
		return 1;
	}
	config_defaults(&options.config);
	if (config_read(args.config, &options.config, err, sizeof(err)) < 0) {
		log_error("%s", err);
		symbolizer_free(sym);
		return 1;
	}
	raise_limits();
	options.socket_path = args.socket;
	options.control_fd = args.control_fd;
	options.notes = "";
	r = daemon_new(&options, sym, &d);
	if (r < 0)
		return 1;
	r = daemon_run(d);
	daemon_free(d);
	return r < 0 ? 1 : 0;
}
