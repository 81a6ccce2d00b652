/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - `tracectl snapshot`: what the flight recorder has, into a file, now or when
 * something has happened.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean.h"
#include "client.h"
#include "command.h"
#include "io.h"
#include "output.h"
#include "stop.h"
#include "text.h"

/* No recorder holds more. */
#define MAX_LAST_NS (7 * 86400 * 1000000000ull)

/* Of one request. */
#define MAX_ON	     16
#define MAX_AFTER_NS (86400 * 1000000000ull)

struct snapshot {
	uint64_t last_ns, after_ns;
	char *on[MAX_ON];
	size_t n_on;
	const char *output;
	bool force, quiet;

	char path[PATH_MAX];
	int fd;
	struct stop stop;
	uint64_t bytes;
	bool has_fired;
};

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl snapshot [--last TIME] [--on SPEC]... [--after TIME] [-o FILE]\n"
	      "\n"
	      "Copies what the flight recorder has into a file, while it goes on. It is switched "
	      "on\n"
	      "in the section [flight] of /etc/tracer/tracerd.conf; 'tracectl status' says how "
	      "far\n"
	      "back it reaches.\n"
	      "\n"
	      "  --last TIME          no more than that: 30s, 2m; in whole segments of some "
	      "seconds\n"
	      "  --on SPEC            when that happens, or one of several: slice:NAME>10ms,\n"
	      "                       late-frame, http:status>=500, http:latency>200ms,\n"
	      "                       exit:COMM=CODE, signal:COMM=SIGSEGV, psi:cpu>30%, "
	      "probe:NAME,\n"
	      "                       marker:NAME, sigusr2: see TRIGGERS in tracectl(1)\n"
	      "  --after TIME         and then go on for so long\n"
	      "  -o, --output FILE    default HOST-DATE.perfetto-trace; - is standard output\n"
	      "  -f, --force          overwrite FILE\n"
	      "  -q, --quiet          say nothing unless something is wrong\n"
	      "\n"
	      "Exit status: 0, 1 there is none or it has failed, 2 usage, 4 tracerd went away.\n",
	      out);
	return status;
}

/* A time that is not 0. */
static int take_time(const char *option, const char *text, uint64_t max_ns, uint64_t *ret)
{
	if (text_duration_ns(text, max_ns, ret) == 0 && *ret)
		return 0;
	fprintf(stderr, "tracectl: %s '%s': want a time such as 30s or 2m\n", option, clean(text));
	return -EINVAL;
}

static int take_on(struct snapshot *s, char *spec)
{
	if (s->n_on == MAX_ON) {
		fprintf(stderr, "tracectl: there is room for %d --on\n", MAX_ON);
		return -EINVAL;
	}
	s->on[s->n_on++] = spec;
	return 0;
}

/* Whether the options fit together. */
static int check_options(const struct snapshot *s, int argc, char **argv)
{
	if (optind < argc) {
		fprintf(stderr, "tracectl: snapshot takes no argument '%s'\n", clean(argv[optind]));
		return -EINVAL;
	}
	if (s->after_ns && !s->n_on) {
		fputs("tracectl: --after is for what follows a trigger: --on SPEC\n", stderr);
		return -EINVAL;
	}
	return 0;
}

/* -ECANCELED: help was printed. */
static int parse_options(int argc, char **argv, struct snapshot *s)
{
	static const struct option options[] = {
		{ "last", required_argument, NULL, 'l' },
		{ "on", required_argument, NULL, 'O' },
		{ "after", required_argument, NULL, 'a' },
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	optind = 1;
	while (r == 0 && (c = getopt_long(argc, argv, "o:fqh", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			r = take_time("--last", optarg, MAX_LAST_NS, &s->last_ns);
			break;
		case 'O':
			r = take_on(s, optarg);
			break;
		case 'a':
			r = take_time("--after", optarg, MAX_AFTER_NS, &s->after_ns);
			break;
		case 'o':
			s->output = optarg;
			break;
		case 'f':
			s->force = true;
			break;
		case 'q':
			s->quiet = true;
			break;
		case 'h':
			usage(stdout, 0);
			return -ECANCELED;
		default:
			usage(stderr, 0);
			return -EINVAL;
		}
	}
	return r < 0 ? r : check_options(s, argc, argv);
}

static void print_done(const struct snapshot *s, const Snapshot *msg)
{
	fprintf(stderr, "%s: the last %.1f s, %.1f MB\n", clean(s->path),
		(double)(msg->end_ns - msg->begin_ns) / 1e9, (double)s->bytes / 1e6);
}

/* While triggers are waited for: that they are, and each that fires. */
static void print_progress(struct snapshot *s, const Progress *msg)
{
	if (msg->trigger) {
		fprintf(stderr, "tracectl: fired: %s", clean(msg->trigger));
		if (s->after_ns && !s->has_fired)
			fprintf(stderr, "; the snapshot comes %.1f s later",
				(double)s->after_ns / 1e9);
		fputc('\n', stderr);
		s->has_fired = true;
		return;
	}
	fputs("tracectl: waiting for ", stderr);
	for (size_t i = 0; i < s->n_on; i++)
		fprintf(stderr, "%s%s", i ? ", or " : "", clean(s->on[i]));
	fputs("; ^C ends it\n", stderr);
}

/* -1: goes on; else the exit status. */
static int on_message(struct snapshot *s, const struct client_message *msg)
{
	int r;

	if (msg->trace) {
		s->bytes += msg->trace_len;
		r = io_write_all(s->fd, msg->trace, msg->trace_len);
		if (r == 0)
			return -1;
		fprintf(stderr, "tracectl: cannot write %s: %s\n", clean(s->path), strerror(-r));
		return EXIT_FAILED;
	}
	if (msg->reply->error) {
		fprintf(stderr, "tracectl: %s\n",
			msg->reply->error->message ? clean(msg->reply->error->message)
						   : strerror((int)msg->reply->error->code));
		return EXIT_FAILED;
	}
	if (msg->reply->progress && !s->quiet)
		print_progress(s, msg->reply->progress);
	if (!msg->reply->snapshot)
		return -1;
	if (!s->quiet)
		print_done(s, msg->reply->snapshot);
	return EXIT_OK;
}

/* All that has come. -1: goes on; else the exit status. */
static int read_daemon(struct snapshot *s, struct client *client)
{
	struct client_message msg;
	int r, status = -1;

	while (status < 0 && (r = client_next(client, 0, &msg)) != 0) {
		if (r < 0) {
			fprintf(stderr, "tracectl: %s\n",
				r == -EPIPE ? "tracerd is gone"
					    : "tracerd does not speak the protocol");
			return EXIT_DAEMON_GONE;
		}
		status = on_message(s, &msg);
		client_message_done(&msg);
	}
	return status;
}

static int receive(struct snapshot *s, struct client *client)
{
	struct pollfd fds[] = {
		{ .fd = client_fd(client), .events = POLLIN },
		{ .fd = s->stop.fd, .events = POLLIN },
	};
	int status = -1;

	while (status < 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (fds[1].revents) {
			fprintf(stderr, "tracectl: interrupted%s; there is no file\n",
				s->n_on && !s->has_fired ? ": nothing has fired" : "");
			return EXIT_FAILED;
		}
		if (fds[0].revents)
			status = read_daemon(s, client);
	}
	return status;
}

static int take(struct snapshot *s, struct client *client, char *line)
{
	Request req = REQUEST__INIT;
	SnapshotRequest ask = SNAPSHOT_REQUEST__INIT;
	int r;

	ask.has_last_ns = s->last_ns != 0;
	ask.last_ns = s->last_ns;
	ask.command_line = line;
	ask.on = s->on;
	ask.n_on = s->n_on;
	ask.has_after_ns = s->after_ns != 0;
	ask.after_ns = s->after_ns;
	req.snapshot = &ask;
	r = client_send(client, &req);
	/* Who has closed may have said why. */
	if (r == 0 || r == -EPIPE)
		return receive(s, client);
	fprintf(stderr, "tracectl: tracerd: %s\n", strerror(-r));
	return EXIT_FAILED;
}

/* What is not whole is no snapshot. */
static int close_output(const struct snapshot *s, int status)
{
	if (s->fd < 0 || s->fd == STDOUT_FILENO)
		return status;
	if (close(s->fd) < 0 && status == EXIT_OK) {
		fprintf(stderr, "tracectl: %s: %s\n", clean(s->path), strerror(errno));
		status = EXIT_FAILED;
	}
	if (status != EXIT_OK)
		unlink(s->path);
	return status;
}

int cmd_snapshot(int argc, char **argv)
{
	char *line = output_command_line(argc, argv), err[512];
	struct snapshot s = { .fd = -1, .stop = STOP_NONE };
	struct client *client = NULL;
	int status = EXIT_FAILED, r = parse_options(argc, argv, &s);

	if (r < 0) {
		free(line);
		return r == -ECANCELED ? EXIT_OK : EXIT_USAGE;
	}
	if (client_open(&client, err, sizeof(err)) < 0)
		fprintf(stderr, "tracectl: %s\n", clean(err));
	else if (client_is_private(client))
		fprintf(stderr, "tracectl: no tracerd is running, which would have a flight "
				"recorder: set enabled = yes in the section [flight] of "
				"/etc/tracer/tracerd.conf, then 'systemctl start tracer'\n");
	else if (stop_catch(&s.stop, false) < 0)
		fprintf(stderr, "tracectl: %s\n", strerror(errno));
	else if (output_open(s.output, s.force, s.path, &s.fd) == 0)
		status = take(&s, client, line);
	client_close(client);
	stop_done(&s.stop);
	free(line);
	return close_output(&s, status);
}
