/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_client.c - the daemon's end of the worker: what waits, what is on its
 * way, and what an answer answers. The process is in files_process.c.
 *
 * The worker serves requests in the order sent, so when it dies the oldest
 * unanswered one is to blame; the others are sent again to its successor.
 */
#include "files_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "files_process.h"

/* Requests on their way. Few, so that a batch has time to fill; enough to keep it busy. */
#define MAX_SENT 4

/* Killed by somebody else (the administrator, the kernel for lack of memory). */
#define MAX_KILLS 2

/* Answers read in one go before others have their turn. */
#define MAX_READ 32

TAILQ_HEAD(batches, files_batch);

struct files_client {
	struct files_process *process;
	files_done_fn *done;
	void *ctx;
	bool is_started; /* answers are read */

	struct batches sent, waiting;
	unsigned n_sent, n_waiting;
	uint32_t next_seq;
	uint64_t busy_since_ns; /* the oldest request is the oldest */

	uint8_t reply[FILES_REPLY_MAX];
};

/* ---- batches ---- */

static void finish(struct files_client *c, struct files_batch *b, enum files_result result,
		   struct files_reply *reply)
{
	if (b->is_recalled)
		free(b);
	else
		c->done(c->ctx, b, result, reply);
}

static struct files_batch *take_sent(struct files_client *c)
{
	struct files_batch *b = TAILQ_FIRST(&c->sent);

	if (b) {
		TAILQ_REMOVE(&c->sent, b, link);
		c->n_sent--;
		c->busy_since_ns = boot_ns();
	}
	return b;
}

static void send_again(struct files_client *c)
{
	struct files_batch *b;

	while ((b = TAILQ_LAST(&c->sent, batches))) {
		TAILQ_REMOVE(&c->sent, b, link);
		c->n_sent--;
		if (b->is_recalled) {
			free(b);
			continue;
		}
		TAILQ_INSERT_HEAD(&c->waiting, b, link);
		c->n_waiting++;
	}
}

/* There is no worker: what is submitted meanwhile is done at once. */
static void finish_waiting(struct files_client *c)
{
	struct files_batch *b;

	while ((b = TAILQ_FIRST(&c->waiting))) {
		TAILQ_REMOVE(&c->waiting, b, link);
		c->n_waiting--;
		finish(c, b, FILES_RESULT_NO_WORKER, NULL);
	}
}

/* A file that cost one worker must not cost its successor too. */
static void finish_culprit(struct files_client *c, struct files_batch *culprit)
{
	struct batches more = TAILQ_HEAD_INITIALIZER(more);
	struct files_batch *b, *next;

	for (b = TAILQ_FIRST(&c->waiting); b; b = next) {
		next = TAILQ_NEXT(b, link);
		if (b->file_id != culprit->file_id)
			continue;
		TAILQ_REMOVE(&c->waiting, b, link);
		c->n_waiting--;
		TAILQ_INSERT_TAIL(&more, b, link);
	}
	finish(c, culprit, FILES_RESULT_KILLER, NULL);
	while ((b = TAILQ_FIRST(&more))) {
		TAILQ_REMOVE(&more, b, link);
		finish(c, b, FILES_RESULT_KILLER, NULL);
	}
}

/* ---- requests and answers ---- */

/* The descriptors go along in the order of their bits. */
static void attach(struct msghdr *msg, void *control, const int *fds, size_t n)
{
	struct cmsghdr *cmsg;

	if (n == 0)
		return;
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(n * sizeof(int));
	cmsg = CMSG_FIRSTHDR(msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, n * sizeof(int));
}

static int send_batch(struct files_client *c, struct files_batch *b)
{
	struct files_request req = {
		.file_id = b->file_id,
		.seq = c->next_seq,
		.n = b->n,
		.kind = b->kind,
		.flags = b->flags,
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FILES_MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = &req };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[FILES_MAX_FDS];
	size_t n_fds = 0;

	iov.iov_len = files_request_len(&req);
	memcpy(req.offsets, b->offsets, iov.iov_len - offsetof(struct files_request, offsets));
	if (b->fd >= 0) {
		req.fds |= FILES_FD_MAIN;
		fds[n_fds++] = b->fd;
	}
	if (b->second_fd >= 0) {
		req.fds |= FILES_FD_SECOND;
		fds[n_fds++] = b->second_fd;
	}
	attach(&msg, &control, fds, n_fds);
	if (sendmsg(files_process_socket(c->process), &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	b->seq = c->next_seq++;
	return 0;
}

/* What cannot go now goes after the next answer, or at the next collect(). */
static void send_waiting(struct files_client *c)
{
	struct files_batch *b;

	while (files_process_ready(c->process) && c->n_sent < MAX_SENT &&
	       (b = TAILQ_FIRST(&c->waiting)) && send_batch(c, b) == 0) {
		TAILQ_REMOVE(&c->waiting, b, link);
		c->n_waiting--;
		if (c->n_sent == 0)
			c->busy_since_ns = boot_ns();
		TAILQ_INSERT_TAIL(&c->sent, b, link);
		c->n_sent++;
	}
}

/* Of lines at least one, or asking for the rest would not end. */
static bool has_as_many(const struct files_batch *b, const struct files_reply_head *head)
{
	if (head->status != FILES_OK || b->kind == FILES_DEBUG || b->kind == FILES_V8_FACTS)
		return head->n == 0;
	return b->kind == FILES_LINES ? head->n > 0 && head->n <= b->n : head->n == b->n;
}

static bool answers(const struct files_batch *b, const struct files_reply *reply)
{
	return b && reply->head.seq == b->seq && reply->head.file_id == b->file_id &&
	       reply->head.kind == b->kind && has_as_many(b, &reply->head);
}

/* False: this is no answer to what we asked. */
static bool take_answer(struct files_client *c, struct files_reply *reply)
{
	struct files_batch *b = TAILQ_FIRST(&c->sent);

	if (reply->head.status == FILES_READY) {
		if (files_process_ready(c->process))
			return false;
		files_process_set_ready(c->process);
		return true;
	}
	if (!answers(b, reply))
		return false;
	(void)take_sent(c);
	if (reply->head.status == FILES_OK)
		finish(c, b, FILES_RESULT_OK, reply);
	else if (reply->head.status == FILES_BROKEN)
		finish(c, b, FILES_RESULT_BROKEN, NULL);
	else if (reply->head.status == FILES_TOO_LARGE)
		finish(c, b, FILES_RESULT_TOO_LARGE, NULL);
	else
		finish(c, b, FILES_RESULT_GONE, NULL);
	return true;
}

/* Returns how many messages were there, at most MAX_READ. */
static int read_answers(struct files_client *c)
{
	struct files_reply reply;
	int n_read = 0, sock;

	while (n_read < MAX_READ && (sock = files_process_socket(c->process)) >= 0) {
		struct iovec iov = { .iov_base = c->reply, .iov_len = sizeof(c->reply) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		n_read++;
		if (n > 0 && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		    files_reply_decode(c->reply, (size_t)n, &reply) == 0 && take_answer(c, &reply))
			continue;
		/* It has closed its end, so it is about to exit; or it talks nonsense. */
		files_process_ignore(c->process);
		if (n > 0)
			files_process_kill(c->process);
		break;
	}
	send_waiting(c);
	return n_read;
}

/* ---- the owner of the process ---- */

static bool is_to_blame(struct files_batch *oldest, enum files_process_end end)
{
	if (end == FILES_PROCESS_KILLED && oldest)
		return ++oldest->n_kills >= MAX_KILLS;
	return end != FILES_PROCESS_DISTRUSTED;
}

static void on_lost(void *ctx, enum files_process_end end)
{
	struct files_client *c = ctx;
	struct files_batch *culprit = NULL;

	if (is_to_blame(TAILQ_FIRST(&c->sent), end))
		culprit = take_sent(c);
	send_again(c);
	if (culprit)
		finish_culprit(c, culprit);
}

static void on_gave_up(void *ctx)
{
	finish_waiting(ctx);
}

static bool on_read(void *ctx)
{
	return read_answers(ctx) == MAX_READ;
}

static const struct files_process_owner process_owner = {
	.read = on_read,
	.lost = on_lost,
	.gave_up = on_gave_up,
};

/* ---- */

int files_client_new(enum files_worker_kind kind, files_done_fn *done, void *ctx,
		     struct files_client **ret)
{
	struct files_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->done = done;
	c->ctx = ctx;
	TAILQ_INIT(&c->sent);
	TAILQ_INIT(&c->waiting);
	r = files_process_new(kind, &process_owner, c, &c->process);
	if (r < 0) {
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int files_client_start(struct files_client *c, struct event_loop *loop)
{
	c->is_started = true;
	return files_process_start(c->process, loop);
}

void files_client_free(struct files_client *c)
{
	if (!c)
		return;
	files_process_stop(c->process);
	send_again(c);
	finish_waiting(c);
	files_process_free(c->process);
	free(c);
}

void files_client_submit(struct files_client *c, struct files_batch *batch)
{
	if (files_process_gave_up(c->process)) {
		finish(c, batch, FILES_RESULT_NO_WORKER, NULL);
		return;
	}
	/* Names can wait, and do; frames that nobody looks for are gone. */
	if (batch->kind == FILES_OBJECTS || batch->kind == FILES_FUNCTIONS ||
	    batch->kind == FILES_STARTS || batch->kind == FILES_V8_FACTS)
		TAILQ_INSERT_HEAD(&c->waiting, batch, link);
	else
		TAILQ_INSERT_TAIL(&c->waiting, batch, link);
	c->n_waiting++;
	send_waiting(c);
}

void files_client_distrust(struct files_client *c)
{
	files_process_distrust(c->process);
}

bool files_client_wait(struct files_client *c, uint64_t max_ns)
{
	uint64_t deadline_ns = boot_ns() + max_ns, now_ns;

	while (c->n_sent + c->n_waiting > 0 && (now_ns = boot_ns()) < deadline_ns) {
		int left_ms = (int)((deadline_ns - now_ns) / NS_PER_MS) + 1;

		if (!files_process_wait(c->process, left_ms))
			return false;
		(void)read_answers(c);
	}
	return true;
}

bool files_client_busy(const struct files_client *c)
{
	return c->n_sent + c->n_waiting >= MAX_SENT;
}

uint64_t files_client_busy_since(const struct files_client *c)
{
	return c->n_sent ? c->busy_since_ns : 0;
}

bool files_client_ready(const struct files_client *c)
{
	return files_process_ready(c->process);
}

void files_client_poll(struct files_client *c)
{
	if (c->is_started && files_process_pid(c->process))
		(void)read_answers(c);
}

static bool has(const struct batches *list, uint64_t file_id)
{
	const struct files_batch *b;

	TAILQ_FOREACH(b, list, link)
	{
		if (b->file_id == file_id && !b->is_recalled)
			return true;
	}
	return false;
}

bool files_client_has(const struct files_client *c, uint64_t file_id)
{
	return has(&c->sent, file_id) || has(&c->waiting, file_id);
}

/* What the worker will answer in its place, in the eyes of answers(). NULL: out of memory. */
static struct files_batch *stand_in(const struct files_batch *b)
{
	struct files_batch *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->file_id = b->file_id;
	s->kind = b->kind;
	s->fd = s->second_fd = -1;
	s->n = b->n;
	s->seq = b->seq;
	s->is_recalled = true;
	return s;
}

void files_client_recall(struct files_client *c, files_recall_fn *fn, void *ctx)
{
	const struct files_batch *oldest = TAILQ_FIRST(&c->sent);
	struct batches recalled = TAILQ_HEAD_INITIALIZER(recalled);
	struct files_batch *b, *next, *s;

	for (b = oldest ? TAILQ_NEXT(oldest, link) : NULL; b; b = next) {
		next = TAILQ_NEXT(b, link);
		if (b->is_recalled || b->file_id == oldest->file_id || b->fd < 0)
			continue;
		s = stand_in(b);
		if (!s)
			continue;
		TAILQ_INSERT_BEFORE(b, s, link);
		TAILQ_REMOVE(&c->sent, b, link);
		TAILQ_INSERT_TAIL(&recalled, b, link);
	}
	for (b = oldest ? TAILQ_FIRST(&c->waiting) : NULL; b; b = next) {
		next = TAILQ_NEXT(b, link);
		if (b->file_id == oldest->file_id || b->fd < 0)
			continue;
		TAILQ_REMOVE(&c->waiting, b, link);
		c->n_waiting--;
		TAILQ_INSERT_TAIL(&recalled, b, link);
	}
	while ((b = TAILQ_FIRST(&recalled))) {
		TAILQ_REMOVE(&recalled, b, link);
		fn(ctx, b);
	}
}

void files_client_collect(struct files_client *c, uint64_t now_ns)
{
	const struct files_batch *oldest;

	files_client_poll(c); /* before it is called slow because we were */
	oldest = TAILQ_FIRST(&c->sent);
	files_process_collect(c->process, now_ns, oldest ? &oldest->seq : NULL);
	send_waiting(c);
}

pid_t files_client_pid(const struct files_client *c)
{
	return files_process_pid(c->process);
}

uint64_t files_client_restarts(const struct files_client *c)
{
	return files_process_restarts(c->process);
}
