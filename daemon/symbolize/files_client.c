/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_client.c - the daemon's end of the worker.
 *
 * The worker serves requests in the order sent, so when it dies the oldest
 * unanswered one is to blame; the others are sent again to its successor.
 */
#include "files_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "event_loop.h"
#include "files_worker.h"

/* Requests on their way. Few, so that a batch has time to fill; enough to keep it busy. */
#define MAX_SENT 4

/*
 * The worker keeps its deadline itself; this is for one that is stopped, or
 * taken over. Time is counted only as far as we ran, too: not while the machine
 * was suspended or the daemon stood still.
 */
#define HANG_NS	     ((FILES_DEADLINE_S + 2) * NS_PER_SEC)
#define START_NS     (10 * NS_PER_SEC)
#define KILL_NS	     (2 * NS_PER_SEC) /* between SIGKILL and giving up on the process */
#define MAX_STEP_NS  NS_PER_SEC
#define RETRY_NS     (30 * NS_PER_SEC) /* after the worker could not be started */
#define STOP_WAIT_MS 1000

/* Files made to kill workers cost us this many at once, and one each second after. */
#define MAX_RESTARTS	  16
#define MAX_FAILED_STARTS 3

/* Killed by somebody else (the administrator, the kernel for lack of memory). */
#define MAX_KILLS 2

/* Processes that do not die: a read that a FUSE server has taken on cannot be killed. */
#define MAX_ORPHANS 16

/* Answers read in one go before others have their turn. */
#define MAX_READ 32

TAILQ_HEAD(batches, files_batch);

/* How a worker that does not start is said. */
static const struct {
	const char *who, *consequence;
} texts[FILES_WORKER_KINDS] = {
	[FILES_WORKER_SYMBOLS] = { "symbols", "functions of programs stay without names" },
	[FILES_WORKER_TABLES] = { "unwind",
				  "stacks of programs without frame pointers stay incomplete" },
	[FILES_WORKER_LINES] = { "lines", "the trace has no source lines" },
	[FILES_WORKER_JIT] = { "generated code", "it stays without names" },
};

struct files_client {
	enum files_worker_kind kind;
	files_done_fn *done;
	void *ctx;
	struct event_loop *loop; /* NULL before the start */

	pid_t pid; /* 0: no worker */
	int pidfd, sock;
	struct event_source *pid_source, *sock_source;
	bool is_ready;	    /* has sent its first message */
	bool is_killed;	    /* by us */
	bool is_distrusted; /* and not for what it is busy with */

	struct batches sent, waiting;
	unsigned n_sent, n_waiting;
	uint32_t next_seq;

	uint64_t now_ns, second_ns;
	uint64_t age_ns; /* of the oldest request sent, or of the start */
	uint32_t age_seq;
	uint64_t busy_since_ns; /* the oldest request is the oldest */

	unsigned n_failed_starts;
	unsigned restarts_left;
	bool gave_up, has_warned;
	uint64_t retry_ns;
	uint64_t n_restarts;

	int orphans[MAX_ORPHANS]; /* pidfds, or -1 */
	uint8_t reply[FILES_REPLY_MAX];
};

static void start_worker(struct files_client *c);
static void send_waiting(struct files_client *c);

/* ---- the process ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Lets go of the process without waiting for its end. */
static void detach(struct files_client *c)
{
	event_source_free(c->sock_source);
	event_source_free(c->pid_source);
	c->sock_source = c->pid_source = NULL;
	close_fd(&c->sock);
	close_fd(&c->pidfd);
	c->pid = 0;
	c->is_ready = c->is_killed = c->is_distrusted = false;
	c->age_ns = 0;
}

/*
 * Without CAP_KILL another user's process is out of reach. It ends all the
 * same: at its own deadline, or when it finds its socket closed.
 */
static void kill_worker(struct files_client *c)
{
	c->is_killed = true;
	c->age_ns = 0;
	(void)pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
}

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

static void finish_waiting(struct files_client *c)
{
	struct files_batch *b;

	c->gave_up = true; /* what is submitted meanwhile is done at once */
	while ((b = TAILQ_FIRST(&c->waiting))) {
		TAILQ_REMOVE(&c->waiting, b, link);
		c->n_waiting--;
		finish(c, b, FILES_RESULT_NO_WORKER, NULL);
	}
}

static void give_up(struct files_client *c)
{
	if (!c->has_warned)
		log_warn("%s: the worker that reads files does not start; %s", texts[c->kind].who,
			 texts[c->kind].consequence);
	c->has_warned = true;
	c->retry_ns = c->now_ns + RETRY_NS;
	finish_waiting(c);
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

/* The worker is no more, or as good as. `blame`: for what it was busy with. */
static void worker_lost(struct files_client *c, bool blame)
{
	struct files_batch *culprit = blame ? take_sent(c) : NULL;

	if (!c->is_ready)
		c->n_failed_starts++;
	detach(c);
	send_again(c);
	c->n_restarts++;
	if (culprit)
		finish_culprit(c, culprit);
	start_worker(c);
}

static int read_answers(struct files_client *c);

static int on_worker_exit(void *ctx, uint32_t events)
{
	struct files_client *c = ctx;
	struct files_batch *oldest;
	siginfo_t si = { 0 };
	bool blame = true;

	(void)events;
	/* What it said before its end counts, as long as it makes sense. */
	while (!c->is_killed && read_answers(c) == MAX_READ)
		;
	if (waitid(P_PIDFD, (id_t)c->pidfd, &si, WEXITED | WNOHANG) < 0)
		si.si_code = 0; /* somebody else has collected it: no word about the cause */
	else if (si.si_pid == 0)
		return 0;

	oldest = TAILQ_FIRST(&c->sent);
	if (si.si_code == CLD_KILLED && si.si_status == SIGKILL && !c->is_killed && oldest)
		blame = ++oldest->n_kills >= MAX_KILLS;
	if (c->is_distrusted)
		blame = false;
	log_debug("%s: worker %d ended (%s %d)", texts[c->kind].who, (int)c->pid,
		  si.si_code == CLD_EXITED ? "exit status" : "signal", si.si_status);
	worker_lost(c, blame);
	return 0;
}

static int on_answer(void *ctx, uint32_t events)
{
	struct files_client *c = ctx;

	(void)events;
	(void)read_answers(c);
	return 0;
}

static int watch(struct files_client *c)
{
	int r;

	r = event_loop_add(c->loop, c->sock, EPOLLIN, on_answer, c, &c->sock_source);
	if (r == 0)
		r = event_loop_add(c->loop, c->pidfd, EPOLLIN, on_worker_exit, c, &c->pid_source);
	return r;
}

static int spawn(struct files_client *c)
{
	char *const argv[] = { (char *)files_worker_name(c->kind), NULL };
	posix_spawn_file_actions_t actions;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	c->sock = pair[0];
	/* A system's default may be too small for an answer full of long names. */
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &(int){ 2 * FILES_REPLY_MAX },
			 sizeof(int));
	r = -posix_spawn_file_actions_init(&actions);
	if (r < 0)
		goto fail;
	/* Also right when the number is the same: then it only stays open. */
	r = -posix_spawn_file_actions_adddup2(&actions, pair[1], FILES_WORKER_FD);
	if (r == 0)
		r = -posix_spawn(&c->pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r < 0) {
		c->pid = 0;
		goto fail;
	}
	close(pair[1]);
	c->pidfd = pidfd_open(c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;

fail:
	close(pair[1]);
	return r;
}

static bool has_room_for_orphans(const struct files_client *c)
{
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		if (c->orphans[i] < 0)
			return true;
	return false;
}

static void start_worker(struct files_client *c)
{
	pid_t pid;
	int r;

	while (c->n_failed_starts < MAX_FAILED_STARTS && has_room_for_orphans(c)) {
		if (c->restarts_left == 0)
			return; /* collect() gives more */
		c->restarts_left--;
		r = spawn(c);
		if (r == 0 && c->loop)
			r = watch(c);
		if (r == 0)
			return;
		log_debug("%s: cannot start the worker: %s", texts[c->kind].who, strerror(-r));
		c->n_failed_starts++;
		pid = c->pid;
		detach(c);
		if (pid)
			(void)waitpid(pid, NULL, 0); /* it ends with its socket */
	}
	give_up(c);
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
	if (sendmsg(c->sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	b->seq = c->next_seq++;
	return 0;
}

/* What cannot go now goes after the next answer, or at the next collect(). */
static void send_waiting(struct files_client *c)
{
	struct files_batch *b;

	while (c->is_ready && !c->is_killed && c->n_sent < MAX_SENT &&
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
		if (c->is_ready)
			return false;
		c->is_ready = true;
		c->n_failed_starts = 0;
		c->has_warned = false;
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
	int n_read = 0;

	while (n_read < MAX_READ && c->sock >= 0 && !c->is_killed) {
		struct iovec iov = { .iov_base = c->reply, .iov_len = sizeof(c->reply) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n = recvmsg(c->sock, &msg, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		n_read++;
		if (n > 0 && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		    files_reply_decode(c->reply, (size_t)n, &reply) == 0 && take_answer(c, &reply))
			continue;
		/* It has closed its end, so it is about to exit; or it talks nonsense. */
		event_source_free(c->sock_source);
		c->sock_source = NULL;
		if (n > 0)
			kill_worker(c);
		break;
	}
	send_waiting(c);
	return n_read;
}

/* ---- */

int files_client_new(enum files_worker_kind kind, files_done_fn *done, void *ctx,
		     struct files_client **ret)
{
	struct files_client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->done = done;
	c->ctx = ctx;
	c->pidfd = c->sock = -1;
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		c->orphans[i] = -1;
	TAILQ_INIT(&c->sent);
	TAILQ_INIT(&c->waiting);
	c->restarts_left = MAX_RESTARTS;
	start_worker(c);
	*ret = c;
	return 0;
}

int files_client_start(struct files_client *c, struct event_loop *loop)
{
	c->loop = loop;
	return c->pid ? watch(c) : 0;
}

/* True: the process has ended. */
static bool reap(int pidfd)
{
	siginfo_t si = { 0 };

	return waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG) < 0 || si.si_pid != 0;
}

void files_client_free(struct files_client *c)
{
	if (!c)
		return;
	if (c->pidfd >= 0) {
		struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

		kill_worker(c);
		close_fd(&c->sock);
		(void)poll(&p, 1, STOP_WAIT_MS);
		(void)reap(c->pidfd); /* else it hangs in the kernel, and init will do it */
	}
	detach(c);
	send_again(c);
	finish_waiting(c);
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		close_fd(&c->orphans[i]);
	free(c);
}

void files_client_submit(struct files_client *c, struct files_batch *batch)
{
	if (c->gave_up) {
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
	if (!c->pid || c->is_killed)
		return;
	c->is_distrusted = true;
	event_source_free(c->sock_source);
	c->sock_source = NULL;
	kill_worker(c);
}

bool files_client_wait(struct files_client *c, uint64_t max_ns)
{
	uint64_t deadline_ns = boot_ns() + max_ns, now_ns;

	while (c->n_sent + c->n_waiting > 0 && (now_ns = boot_ns()) < deadline_ns) {
		struct pollfd p = { .fd = c->sock, .events = POLLIN };

		/* Without its source it is on its way out: the event loop has to do with that. */
		if (!c->sock_source)
			return false;
		(void)poll(&p, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1);
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
	return c->is_ready && !c->is_killed;
}

void files_client_poll(struct files_client *c)
{
	if (c->loop && c->pid)
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

static void abandon(struct files_client *c)
{
	for (size_t i = 0; i < MAX_ORPHANS; i++) {
		if (c->orphans[i] >= 0)
			continue;
		c->orphans[i] = c->pidfd;
		c->pidfd = -1;
		break;
	}
	log_warn("%s: worker %d does not end; going on with another one", texts[c->kind].who,
		 (int)c->pid);
	worker_lost(c, !c->is_distrusted);
}

/* How long the worker has been at one thing. */
static void check_progress(struct files_client *c, uint64_t step_ns)
{
	const struct files_batch *b = TAILQ_FIRST(&c->sent);

	if (!c->pid)
		return;
	if (c->is_killed) {
		c->age_ns += step_ns;
		if (c->age_ns > KILL_NS)
			abandon(c);
		return;
	}
	if (c->is_ready && (!b || b->seq != c->age_seq)) {
		c->age_ns = 0;
		c->age_seq = b ? b->seq : c->age_seq;
		return;
	}
	c->age_ns += step_ns;
	if (c->age_ns > (c->is_ready ? HANG_NS : START_NS))
		kill_worker(c);
}

void files_client_collect(struct files_client *c, uint64_t now_ns)
{
	uint64_t step_ns = now_ns > c->now_ns ? now_ns - c->now_ns : 0;

	if (step_ns > MAX_STEP_NS)
		step_ns = MAX_STEP_NS;
	c->now_ns = now_ns;
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		if (c->orphans[i] >= 0 && reap(c->orphans[i]))
			close_fd(&c->orphans[i]);

	c->second_ns += step_ns;
	if (c->second_ns >= NS_PER_SEC) {
		c->second_ns = 0;
		c->restarts_left += c->restarts_left < MAX_RESTARTS;
	}
	files_client_poll(c); /* before it is called slow because we were */
	check_progress(c, step_ns);

	if (c->gave_up && now_ns >= c->retry_ns) {
		c->gave_up = false;
		c->n_failed_starts = 0;
	}
	if (!c->pid && !c->gave_up)
		start_worker(c);
	send_waiting(c);
}

pid_t files_client_pid(const struct files_client *c)
{
	return c->pid;
}

uint64_t files_client_restarts(const struct files_client *c)
{
	return c->n_restarts;
}
