/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - `tracectl record`: start a session, write what arrives to a file
 * that is readable at every moment, say in the end what it holds and what not.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "clean.h"
#include "client.h"
#include "command.h"
#include "io.h"
#include "output.h"
#include "record_options.h"
#include "record_summary.h"
#include "stop.h"

#define PROGRESS_MS 250

struct record {
	struct record_options options;
	struct client *client;
	char path[PATH_MAX]; /* of the output; "-" is stdout */
	int fd;
	uint64_t bytes;
	struct stop stop;
	struct child command;
	bool progress_shown;
	bool useless; /* the command never ran: nobody wants the file */
};

static void end_progress(struct record *rec)
{
	if (rec->progress_shown)
		fputs("\r\033[K", stderr);
	rec->progress_shown = false;
}

/* ---- the session ---- */

static int start_session(struct record *rec, char *line)
{
	const struct record_options *o = &rec->options;
	Request req = REQUEST__INIT;
	StartRequest start = START_REQUEST__INIT;
	char err[512];
	Reply *reply;
	int r;

	record_fill_start(&start, o);
	start.has_progress_interval_ms = !o->quiet && isatty(STDERR_FILENO);
	start.progress_interval_ms = PROGRESS_MS;
	start.command_line = line;
	req.start = &start;
	r = client_send(rec->client, &req);
	/* Who has closed may have said why. */
	if (r == 0 || r == -EPIPE)
		r = record_await_started(rec->client, rec->fd, &rec->bytes, &reply, err,
					 sizeof(err));
	else
		snprintf(err, sizeof(err), "tracerd: %s", strerror(-r));
	if (r < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		return r;
	}
	record_print_sources(reply->started, o->quiet);
	if (!o->quiet)
		record_print_started(reply->started, clean(rec->path),
				     o->duration_ns != 0 || o->command);
	reply__free_unpacked(reply, NULL);
	return 0;
}

/* ---- events ---- */

/* Returns whether to give up at once, which is said. */
static bool on_signal(struct record *rec)
{
	enum stop_next next = stop_read(&rec->stop, rec->client, &rec->command);

	if (next == STOP_GOES_ON)
		return false;
	end_progress(rec);
	rec->useless = next == STOP_NOT_RUN;
	if (rec->useless)
		stop_print_not_run(&rec->stop, rec->options.command[0]);
	else
		fprintf(stderr, "tracectl: interrupted; %s lacks its end\n", clean(rec->path));
	return true;
}

/*
 * 0: goes on; 1: the session has ended, `*status` is the exit status; < 0: it
 * went wrong and was said.
 */
static int on_message(struct record *rec, struct client_message *msg, int *status)
{
	int r;

	if (msg->trace) {
		rec->bytes += msg->trace_len;
		r = io_write_all(rec->fd, msg->trace, msg->trace_len);
		if (r == 0)
			return 0;
		end_progress(rec);
		fprintf(stderr, "tracectl: cannot write %s: %s; what was written before is good\n",
			clean(rec->path), strerror(-r));
		return r;
	}
	if (msg->reply->progress) {
		record_print_progress(msg->reply->progress);
		rec->progress_shown = true;
	} else if (msg->reply->stopped) {
		bool lost;

		end_progress(rec);
		lost = record_print_stopped(msg->reply->stopped, clean(rec->path), rec->bytes,
					    rec->options.quiet);
		*status = lost ? EXIT_LOSS : EXIT_OK;
		if (msg->reply->stopped->reason && msg->reply->stopped->reason[0])
			*status = EXIT_FAILED;
		return 1;
	} else if (msg->reply->error && msg->reply->error->message) {
		end_progress(rec);
		fprintf(stderr, "tracectl: %s\n", clean(msg->reply->error->message));
	}
	return 0;
}

static int read_daemon(struct record *rec, int *status)
{
	struct client_message msg;
	int r;

	while ((r = client_next(rec->client, 0, &msg)) == 1) {
		r = on_message(rec, &msg, status);
		client_message_done(&msg);
		if (r != 0)
			return r;
	}
	if (r < 0) {
		end_progress(rec);
		fprintf(stderr, "tracectl: %s%s; %s holds what came before and can be opened\n",
			r == -EPIPE ? "tracerd is gone" : "tracerd does not speak the protocol",
			r == -EPIPE ? client_end(rec->client) : "", clean(rec->path));
		*status = EXIT_DAEMON_GONE;
		return 1;
	}
	return 0;
}

static int run(struct record *rec)
{
	struct pollfd fds[] = {
		{ .fd = client_fd(rec->client), .events = POLLIN },
		{ .fd = rec->stop.fd, .events = POLLIN },
	};
	int status = EXIT_FAILED, r;

	/* Before the first poll(), too: the answer may have brought all there is to read. */
	while ((r = read_daemon(rec, &status)) == 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (fds[1].revents && on_signal(rec))
			return EXIT_FAILED;
	}
	return r < 0 ? EXIT_FAILED : status;
}

static int list_events(void)
{
	Request req = REQUEST__INIT;
	SourcesRequest ask = SOURCES_REQUEST__INIT;
	struct client *client;
	char err[512];
	Reply *reply;

	req.sources = &ask;
	if (client_open(&client, err, sizeof(err)) < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		return EXIT_FAILED;
	}
	if (client_ask(client, &req, &reply, err, sizeof(err)) < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		client_close(client);
		return EXIT_FAILED;
	}
	for (size_t i = 0; reply->sources && i < reply->sources->n_events; i++)
		puts(reply->sources->events[i]);
	puts("rHEX (a raw code of this CPU's counters)");
	reply__free_unpacked(reply, NULL);
	client_close(client);
	return EXIT_OK;
}

int cmd_record(int argc, char **argv)
{
	struct record rec = { .fd = -1, .stop = STOP_NONE, .command = CHILD_NONE };
	char *line = output_command_line(argc, argv); /* before lists in it are split */
	int status = EXIT_FAILED, r;
	char err[512];

	r = record_options_parse(argc, argv, &rec.options);
	if (r < 0) {
		probe_list_done(&rec.options.probes);
		free(line);
		return r == -ECANCELED ? EXIT_OK : EXIT_USAGE;
	}
	if (rec.options.event && strcmp(rec.options.event, "help") == 0) {
		free(line);
		return list_events();
	}
	if (stop_catch(&rec.stop, true) < 0 ||
	    record_prepare_child(&rec.options, &rec.command) < 0) {
		fprintf(stderr, "tracectl: %s\n", strerror(errno));
		goto done;
	}
	if (client_open(&rec.client, err, sizeof(err)) < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		goto done;
	}
	if (output_open(rec.options.output, rec.options.force, rec.path, &rec.fd) < 0)
		goto done;
	if (start_session(&rec, line) < 0) {
		if (rec.fd != STDOUT_FILENO && rec.bytes == 0)
			unlink(rec.path);
		goto done;
	}
	child_run(&rec.command);
	status = run(&rec);

done:
	child_kill_waiting(&rec.command);
	client_close(rec.client);
	if (rec.fd >= 0 && rec.fd != STDOUT_FILENO && close(rec.fd) < 0 && status != EXIT_FAILED) {
		fprintf(stderr, "tracectl: %s: %s\n", clean(rec.path), strerror(errno));
		status = EXIT_FAILED;
	}
	if (rec.useless && rec.fd != STDOUT_FILENO)
		unlink(rec.path);
	child_done(&rec.command);
	stop_done(&rec.stop);
	probe_list_done(&rec.options.probes);
	free(line);
	return status;
}
