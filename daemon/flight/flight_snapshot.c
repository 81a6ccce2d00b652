/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_snapshot.c - snapshots on their way: a child writes one into memory, source lines
 * are added, and its owner takes it piece by piece, as slowly as it likes.
 *
 * One child at a time: who asks meanwhile gets what there is when the next can begin.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "flight/flight_impl.h"
#include "flight/flight_places.h"
#include "log.h"
#include "session_manager.h"
#include "symbolize/symbolizer.h"
#include "trace_lines.h"
#include "trace_meta.h"

/* A child that takes longer has got stuck. */
#define CHILD_LIMIT_NS (60 * NS_PER_SEC)
/* As a recording's end waits for them. */
#define LINES_WAIT_NS (3 * NS_PER_SEC)
/* However slowly it is taken, the memory is wanted back. */
#define SEND_LIMIT_NS (600 * NS_PER_SEC)

#define SEND_INTERVAL_NS (40 * NS_PER_MS)
#define PIECE_BYTES	 (64 << 10)
#define TURN_BYTES	 (2 << 20) /* then others get theirs */

enum state { WAITS, CHILD, SENDS };

struct flight_snapshot {
	struct flight *flight;
	struct flight_snapshot *next;
	struct flight_request request;
	enum state state;
	uint64_t since_ns; /* in this state */
	struct flight_info info;

	pid_t child;
	int result_fd, fd; /* -1: none */
	struct event_source *result, *timer;

	struct flight_places places; /* of the frames in it */
	struct lines_query *lines;
	struct trace_lines told;
	struct trace_writer *writer; /* of the lines */
	bool is_whole;		     /* nothing is added any more */
	uint64_t sent;
};

/* ---- what was asked for ---- */

static void request_done(struct flight_request *r)
{
	for (size_t i = 0; i < r->n_marks; i++) {
		free((char *)r->marks[i].name);
		free((char *)r->marks[i].detail);
		free((char *)r->marks[i].by);
		free((char *)r->marks[i].comm);
	}
	free((void *)r->marks);
	free((char *)r->command_line);
}

/* NULL stays NULL. */
static bool copy_text(const char *from, const char **to)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static int request_copy(struct flight_request *to, const struct flight_request *from)
{
	struct flight_mark *marks = calloc(from->n_marks + 1, sizeof(*marks));
	bool ok = marks != NULL;

	*to = *from;
	to->marks = marks;
	to->n_marks = 0;
	ok = copy_text(from->command_line, &to->command_line) && ok;
	for (size_t i = 0; ok && i < from->n_marks; i++) {
		const struct flight_mark *mark = &from->marks[i];

		marks[i] = *mark;
		ok = copy_text(mark->name, &marks[i].name);
		ok = copy_text(mark->detail, &marks[i].detail) && ok;
		ok = copy_text(mark->by, &marks[i].by) && ok;
		ok = copy_text(mark->comm, &marks[i].comm) && ok;
		to->n_marks++;
	}
	if (!ok)
		request_done(to);
	return ok ? 0 : -ENOMEM;
}

/* ---- life ---- */

/* `is_over`: it has closed its end, and exits. */
static void end_child(struct flight_snapshot *s, bool is_over)
{
	int status = 0;

	event_source_free(s->result);
	s->result = NULL;
	if (s->result_fd >= 0)
		close(s->result_fd);
	s->result_fd = -1;
	if (s->child <= 0)
		return;
	if (!is_over)
		kill(s->child, SIGKILL);
	while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
		;
	if (is_over && WIFSIGNALED(status))
		log_warn("flight recorder: the process that made a snapshot died of signal %d",
			 WTERMSIG(status));
	s->child = 0;
	session_manager_child(s->flight->env.sessions, 0);
}

static void snapshot_free(struct flight_snapshot *s)
{
	struct flight_snapshot **link = &s->flight->snapshots;

	while (*link && *link != s)
		link = &(*link)->next;
	if (*link)
		*link = s->next;
	end_child(s, false);
	event_source_free(s->timer);
	lines_query_free(s->lines);
	trace_lines_done(&s->told);
	trace_writer_free(s->writer);
	flight_places_done(&s->places);
	if (s->fd >= 0)
		close(s->fd);
	request_done(&s->request);
	free(s);
}

static void finish(struct flight_snapshot *s, int err, const char *why)
{
	s->request.done(s->request.ctx, err, why, &s->info);
	snapshot_free(s);
}

static int begin_next(struct flight *f);

/* ---- source lines ---- */

/* The trace_sink_fn of what comes behind the child's. */
static int append(void *ctx, const void *data, size_t len, bool essential)
{
	struct flight_snapshot *s = ctx;
	const uint8_t *p = data;

	(void)essential;
	while (len > 0) {
		ssize_t n = pwrite(s->fd, p, len, (off_t)s->info.bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		s->info.bytes += (uint64_t)n;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static void on_places(void *ctx, const struct source_place *places, size_t n)
{
	struct flight_snapshot *s = ctx;

	/* A file without some lines is as good otherwise. */
	(void)trace_lines_put(&s->told, s->writer, places, n);
}

/* Those that the child has found in its segments. */
static int keep_used(struct flight_snapshot *s)
{
	size_t n_used = s->places.n;
	uint8_t *used = malloc(n_used + 1);
	int r = -EIO;

	if (!used)
		return -ENOMEM;
	if (pread(s->fd, used, n_used, (off_t)s->info.bytes) == (ssize_t)n_used) {
		flight_places_keep(&s->places, used);
		r = 0;
	}
	free(used);
	return r;
}

static int begin_lines(struct flight_snapshot *s)
{
	int r = trace_writer_new(append, s, &s->writer);

	if (r == 0)
		r = keep_used(s);
	if (r == 0 && s->places.n)
		r = lines_query_new(s->flight->env.symbolizer, s->places.list, s->places.n,
				    on_places, s, &s->lines);
	flight_places_done(&s->places);
	return r;
}

static int end_lines(struct flight_snapshot *s)
{
	struct trace_attribute attrs[] = {
		{ .key = "lines.found", .is_number = true, .number = (int64_t)s->told.n },
		{ .key = "lines.missed",
		  .is_number = true,
		  .number = s->lines ? (int64_t)lines_query_missed(s->lines) : 0 },
	};
	int r = trace_meta_attributes(s->writer, attrs, sizeof(attrs) / sizeof(attrs[0]));

	if (r == 0)
		r = trace_writer_flush(s->writer);
	lines_query_free(s->lines);
	s->lines = NULL;
	s->is_whole = true;
	return r;
}

/* ---- sending ---- */

/* 0: all of it is sent, -EAGAIN: not yet. */
static int send_some(struct flight_snapshot *s)
{
	static uint8_t piece[PIECE_BYTES];
	uint64_t turn = s->sent + TURN_BYTES;

	while (s->sent < s->info.bytes && s->sent < turn) {
		uint64_t left = s->info.bytes - s->sent;
		ssize_t n = pread(s->fd, piece, left < sizeof(piece) ? left : sizeof(piece),
				  (off_t)s->sent);
		int r;

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = s->request.sink(s->request.ctx, piece, (size_t)n);
		if (r < 0)
			return r;
		s->sent += (uint64_t)n;
	}
	return s->sent == s->info.bytes && s->is_whole ? 0 : -EAGAIN;
}

static int on_send(void *ctx, uint32_t events)
{
	struct flight_snapshot *s = ctx;
	uint64_t now_ns = boot_ns();
	int r = 0;

	(void)events;
	if (!s->is_whole &&
	    (!s->lines || lines_query_done(s->lines) || now_ns > s->since_ns + LINES_WAIT_NS))
		r = end_lines(s);
	if (r == 0)
		r = send_some(s);
	if (r == 0)
		finish(s, 0, "");
	else if (r == -EAGAIN && now_ns > s->since_ns + SEND_LIMIT_NS)
		finish(s, -ETIMEDOUT, "the snapshot was not taken within 10 minutes");
	else if (r != -EAGAIN)
		finish(s, r, strerror(-r));
	return 0;
}

static int begin_send(struct flight_snapshot *s, const struct flight_result *result)
{
	int r;

	s->state = SENDS;
	s->since_ns = boot_ns();
	s->info.bytes = result->bytes;
	r = begin_lines(s);
	if (r == 0)
		r = event_loop_add_timer(s->flight->env.loop, SEND_INTERVAL_NS, on_send, s,
					 &s->timer);
	if (r == 0)
		s->flight->n_snapshots++;
	return r;
}

static int on_result(void *ctx, uint32_t events)
{
	struct flight_snapshot *s = ctx;
	struct flight *f = s->flight;
	struct flight_result result = { 0 };
	ssize_t n = read(s->result_fd, &result, sizeof(result));
	int r;

	(void)events;
	end_child(s, true);
	if (n != sizeof(result))
		r = -EIO;
	else if (result.err < 0)
		r = result.err;
	else
		r = begin_send(s, &result);
	if (r < 0) {
		log_warn("flight recorder: a snapshot has failed: %s", strerror(-r));
		finish(s, r,
		       r == -EIO ? "the process that makes the snapshot has ended early: is "
				   "memory short?"
				 : strerror(-r));
	}
	return begin_next(f);
}

/* ---- the child ---- */

/* The newest segment that is as old as was asked for, or the oldest there is. */
static struct flight_segment *first_segment(const struct flight *f, uint64_t end_ns,
					    uint64_t last_ns)
{
	struct flight_segment *first = f->ring.first;

	if (last_ns == 0 || last_ns > end_ns)
		return first;
	for (struct flight_segment *s = first; s; s = s->next)
		if (s->begin_ns <= end_ns - last_ns)
			first = s;
	return first;
}

static int start_child(struct flight_snapshot *s, struct flight_job *job)
{
	int fds[2], r;

	s->fd = memfd_create("tracer-snapshot", MFD_CLOEXEC);
	if (s->fd < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	s->result_fd = fds[0];
	job->fd = s->fd;
	job->result_fd = fds[1];
	s->child = fork();
	r = -errno;
	if (s->child == 0)
		flight_child(job);
	close(fds[1]);
	if (s->child < 0)
		return r;
	session_manager_child(s->flight->env.sessions, s->child);
	return event_loop_add(s->flight->env.loop, s->result_fd, EPOLLIN, on_result, s, &s->result);
}

static int begin(struct flight_snapshot *s)
{
	struct flight *f = s->flight;
	struct session *session = flight_session(f);
	struct flight_job job = { .flight = f, .request = &s->request };
	int r;

	if (!session)
		return -ENOENT;
	(void)session_manager_catch_up(f->env.sessions);
	r = session_flush(session, boot_ns());
	if (r < 0)
		return r;
	job.end_ns = boot_ns();
	job.first = first_segment(f, job.end_ns, s->request.last_ns);
	if (!job.first || !job.first->mark)
		return -ENOENT;
	session_cost_since(session, job.first->mark, &job.cost);
	s->info.begin_ns = job.first->begin_ns;
	s->info.end_ns = job.end_ns;
	s->state = CHILD;
	s->since_ns = job.end_ns;
	r = flight_places_collect(&s->places, job.first, session);
	job.places = s->places.list;
	job.n_places = s->places.n;
	return r < 0 ? r : start_child(s, &job);
}

static bool has_child(const struct flight *f)
{
	for (const struct flight_snapshot *s = f->snapshots; s; s = s->next)
		if (s->state == CHILD)
			return true;
	return false;
}

/* Those that wait, as far as there is no child; the event_fn's 0. */
static int begin_next(struct flight *f)
{
	for (struct flight_snapshot *s = f->snapshots, *next; s && !has_child(f); s = next) {
		int r = s->state == WAITS ? begin(s) : 0;

		next = s->next;
		if (r < 0)
			finish(s, r,
			       r == -ENOENT ? "the flight recorder has stopped" : strerror(-r));
	}
	return 0;
}

/* ---- from outside ---- */

static int refuse(const struct flight *f, char why[WHY_LEN])
{
	unsigned n = 0;

	for (const struct flight_snapshot *s = f->snapshots; s; s = s->next)
		n++;
	if (!f->env.config.enabled) {
		snprintf(why, WHY_LEN,
			 "the flight recorder is off: set enabled = yes in the section [flight] of "
			 "/etc/tracer/tracerd.conf and restart tracer.service");
		return -ENOENT;
	}
	if (!flight_session(f)) {
		snprintf(why, WHY_LEN, "the flight recorder does not record: %.*s", WHY_LEN - 60,
			 f->why);
		return -ENOENT;
	}
	if (n >= FLIGHT_MAX_SNAPSHOTS) {
		snprintf(why, WHY_LEN,
			 "%u snapshots are being taken, and each needs memory: try again when one "
			 "is done",
			 n);
		return -EBUSY;
	}
	return 0;
}

int flight_snapshot(struct flight *f, const struct flight_request *request, char why[WHY_LEN],
		    struct flight_snapshot **ret)
{
	struct flight_snapshot *s, **end = &f->snapshots;
	int r = refuse(f, why);

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s || request_copy(&s->request, request) < 0) {
		free(s);
		snprintf(why, WHY_LEN, "out of memory");
		return -ENOMEM;
	}
	s->flight = f;
	s->fd = s->result_fd = -1;
	s->state = WAITS;
	if (!has_child(f))
		r = begin(s);
	if (r < 0) {
		snprintf(why, WHY_LEN, "cannot take a snapshot: %s", strerror(-r));
		snapshot_free(s);
		return r;
	}
	while (*end)
		end = &(*end)->next;
	*end = s;
	*ret = s;
	return 0;
}

void flight_snapshot_cancel(struct flight_snapshot *s)
{
	struct flight *f = s->flight;

	snapshot_free(s);
	begin_next(f);
}

void flight_snapshots_cancel(struct flight *f, int err, const char *why)
{
	while (f->snapshots)
		finish(f->snapshots, err, why);
}

void flight_snapshots_tick(struct flight *f, uint64_t now_ns)
{
	for (struct flight_snapshot *s = f->snapshots, *next; s; s = next) {
		next = s->next;
		if (s->state == CHILD && now_ns > s->since_ns + CHILD_LIMIT_NS)
			finish(s, -ETIMEDOUT, "the process that makes the snapshot is stuck");
	}
	begin_next(f);
}

uint64_t flight_snapshots_bytes(const struct flight *f)
{
	uint64_t bytes = 0;

	for (const struct flight_snapshot *s = f->snapshots; s; s = s->next)
		bytes += s->info.bytes;
	return bytes;
}
