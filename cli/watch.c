/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - `tracectl watch`: what happens, as lines of JSON on standard output.
 *
 * Whoever reads them may be as slow as he likes: nothing is read from the daemon while
 * lines wait for him, the daemon's queue fills, and it says how many lines are missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean.h"
#include "client.h"
#include "command.h"
#include "output.h"
#include "record_options.h"
#include "record_summary.h"
#include "stop.h"

/* What a pipe takes without a wait when it takes anything. */
#define WRITE_BYTES 4096

struct watch {
	struct record_options options;
	struct client *client;
	struct child command;
	struct stop stop;
	struct buf out; /* lines that standard output has not taken */
	size_t out_pos;
	bool ended; /* the daemon sends no more */
	int status;
};

static int start(struct watch *w, char *line)
{
	Request req = REQUEST__INIT;
	WatchRequest watch = WATCH_REQUEST__INIT;
	StartRequest start = START_REQUEST__INIT;
	char err[512];
	Reply *reply;
	int r;

	record_fill_start(&start, &w->options);
	start.command_line = line;
	watch.start = &start;
	watch.n_events = w->options.n_events;
	watch.events = (char **)w->options.events;
	watch.n_probes = w->options.n_chosen;
	watch.probes = (char **)w->options.chosen;
	watch.has_min_ns = w->options.min_ns != 0;
	watch.min_ns = w->options.min_ns;
	req.watch = &watch;
	r = client_ask(w->client, &req, &reply, err, sizeof(err));
	if (r < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		return r;
	}
	if (reply->started)
		record_print_sources(reply->started, w->options.quiet);
	if (!w->options.quiet)
		fputs("watching\n", stderr);
	reply__free_unpacked(reply, NULL);
	return 0;
}

/* ---- the daemon ---- */

static void on_stopped(struct watch *w, const Stopped *msg)
{
	bool lost = record_print_losses(msg);

	if (msg->lines_lost)
		fprintf(stderr,
			"  LOST beside %" PRIu64 " lines: %" PRIu64
			", standard output was too slow\n",
			msg->lines, msg->lines_lost);
	w->status = lost || msg->lines_lost ? EXIT_LOSS : EXIT_OK;
	if (msg->reason && msg->reason[0]) {
		fprintf(stderr, "tracectl: the watch ended early: %s\n", clean(msg->reason));
		w->status = EXIT_FAILED;
	}
	w->ended = true;
}

static int read_daemon(struct watch *w)
{
	struct client_message msg;
	int r;

	while (w->out_pos == w->out.len && !w->ended &&
	       (r = client_next(w->client, 0, &msg)) != 0) {
		if (r < 0) {
			fprintf(stderr, "tracectl: %s\n",
				r == -EPIPE ? "tracerd is gone"
					    : "tracerd does not speak the protocol");
			w->status = EXIT_DAEMON_GONE;
			w->ended = true;
			return 0;
		}
		w->out.len = w->out_pos = 0;
		if (msg.trace)
			r = buf_append(&w->out, msg.trace, msg.trace_len);
		else if (msg.reply->stopped)
			on_stopped(w, msg.reply->stopped);
		else if (msg.reply->error && msg.reply->error->message)
			fprintf(stderr, "tracectl: %s\n", clean(msg.reply->error->message));
		client_message_done(&msg);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- events ---- */

/* Returns whether to give up at once. */
static bool on_signal(struct watch *w)
{
	enum stop_next next = stop_read(&w->stop, w->client, &w->command);

	if (next == STOP_NOT_RUN)
		stop_print_not_run(&w->stop, w->options.command[0]);
	return next != STOP_GOES_ON;
}

/* Standard output takes something, or will never. 1: nobody reads it any more. */
static int write_some(struct watch *w)
{
	size_t len = w->out.len - w->out_pos;
	ssize_t n = write(STDOUT_FILENO, w->out.data + w->out_pos,
			  len < WRITE_BYTES ? len : WRITE_BYTES);

	if (n >= 0) {
		w->out_pos += (size_t)n;
		return 0;
	}
	if (errno == EINTR || errno == EAGAIN)
		return 0;
	if (errno == EPIPE)
		return 1;
	fprintf(stderr, "tracectl: cannot write the lines: %s\n", strerror(errno));
	return -errno;
}

static int run(struct watch *w)
{
	struct pollfd fds[] = {
		{ .fd = client_fd(w->client), .events = POLLIN },
		{ .fd = w->stop.fd, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};

	for (;;) {
		/* Before the first poll(), too: the answer may have brought all there is. */
		int r = read_daemon(w);
		bool waits = w->out_pos < w->out.len;

		if (r < 0)
			return EXIT_FAILED;
		if (w->ended && !waits)
			return w->status;
		fds[0].fd = waits || w->ended ? -1 : client_fd(w->client);
		fds[2].events = waits ? POLLOUT : 0;
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (fds[1].revents && on_signal(w))
			return EXIT_FAILED;
		if (waits && fds[2].revents)
			r = write_some(w);
		else if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
			r = 1;
		if (r != 0)
			return r > 0 ? EXIT_OK : EXIT_FAILED;
	}
}

int cmd_watch(int argc, char **argv)
{
	struct watch w = { .stop = STOP_NONE, .command = CHILD_NONE, .status = EXIT_FAILED };
	char *line = output_command_line(argc, argv); /* before lists in it are split */
	int status = EXIT_FAILED, r;
	char err[512];

	r = watch_options_parse(argc, argv, &w.options);
	if (r < 0) {
		probe_list_done(&w.options.probes);
		free(line);
		return r == -ECANCELED ? EXIT_OK : EXIT_USAGE;
	}
	if (stop_catch(&w.stop, true) < 0 || record_prepare_child(&w.options, &w.command) < 0) {
		fprintf(stderr, "tracectl: %s\n", strerror(errno));
		goto done;
	}
	if (client_open(&w.client, err, sizeof(err)) < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		goto done;
	}
	if (start(&w, line) < 0)
		goto done;
	child_run(&w.command);
	status = run(&w);

done:
	child_kill_waiting(&w.command);
	client_close(w.client);
	child_done(&w.command);
	stop_done(&w.stop);
	buf_done(&w.out);
	probe_list_done(&w.options.probes);
	free(line);
	return status;
}
