/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_process.c - the worker's process: how it is started, how long it may be
 * silent, how often it is replaced.
 */
#include "files_process.h"

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
#include "files_protocol.h"

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

/* Processes that do not die: a read that a FUSE server has taken on cannot be killed. */
#define MAX_ORPHANS 16

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

struct files_process {
	enum files_worker_kind kind;
	const struct files_process_owner *owner;
	void *ctx;
	struct event_loop *loop; /* NULL before the start */

	pid_t pid; /* 0: no worker */
	int pidfd, sock;
	struct event_source *pid_source, *sock_source;
	bool is_ready;	    /* has sent its first message */
	bool is_killed;	    /* by us */
	bool is_distrusted; /* and not for what it is busy with */

	uint64_t now_ns, second_ns;
	uint64_t age_ns; /* of the oldest request, or of the start */
	uint32_t age_request;

	unsigned n_failed_starts;
	unsigned restarts_left;
	bool gave_up, has_warned;
	uint64_t retry_ns;
	uint64_t n_restarts;

	int orphans[MAX_ORPHANS]; /* pidfds, or -1 */
};

static void start_worker(struct files_process *p);

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the end of one ---- */

/* Lets go of the process without waiting for its end. */
static void detach(struct files_process *p)
{
	event_source_free(p->sock_source);
	event_source_free(p->pid_source);
	p->sock_source = p->pid_source = NULL;
	close_fd(&p->sock);
	close_fd(&p->pidfd);
	p->pid = 0;
	p->is_ready = p->is_killed = p->is_distrusted = false;
	p->age_ns = 0;
}

/*
 * Without CAP_KILL another user's process is out of reach. It ends all the
 * same: at its own deadline, or when it finds its socket closed.
 */
void files_process_kill(struct files_process *p)
{
	p->is_killed = true;
	p->age_ns = 0;
	(void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
}

static void give_up(struct files_process *p)
{
	if (!p->has_warned)
		log_warn("%s: the worker that reads files does not start; %s", texts[p->kind].who,
			 texts[p->kind].consequence);
	p->has_warned = true;
	p->retry_ns = p->now_ns + RETRY_NS;
	p->gave_up = true;
	p->owner->gave_up(p->ctx);
}

/* The worker is no more, or as good as. */
static void worker_lost(struct files_process *p, enum files_process_end end)
{
	if (!p->is_ready)
		p->n_failed_starts++;
	detach(p);
	p->n_restarts++;
	p->owner->lost(p->ctx, end);
	start_worker(p);
}

static int on_worker_exit(void *ctx, uint32_t events)
{
	struct files_process *p = ctx;
	enum files_process_end end = FILES_PROCESS_ENDED;
	siginfo_t si = { 0 };

	(void)events;
	/* What it said before its end counts, as long as it makes sense. */
	while (p->owner->read(p->ctx))
		;
	if (waitid(P_PIDFD, (id_t)p->pidfd, &si, WEXITED | WNOHANG) < 0)
		si.si_code = 0; /* somebody else has collected it: no word about the cause */
	else if (si.si_pid == 0)
		return 0;

	if (p->is_distrusted)
		end = FILES_PROCESS_DISTRUSTED;
	else if (si.si_code == CLD_KILLED && si.si_status == SIGKILL && !p->is_killed)
		end = FILES_PROCESS_KILLED;
	log_debug("%s: worker %d ended (%s %d)", texts[p->kind].who, (int)p->pid,
		  si.si_code == CLD_EXITED ? "exit status" : "signal", si.si_status);
	worker_lost(p, end);
	return 0;
}

static int on_readable(void *ctx, uint32_t events)
{
	struct files_process *p = ctx;

	(void)events;
	(void)p->owner->read(p->ctx);
	return 0;
}

/* ---- the start of one ---- */

static int watch(struct files_process *p)
{
	int r;

	r = event_loop_add(p->loop, p->sock, EPOLLIN, on_readable, p, &p->sock_source);
	if (r == 0)
		r = event_loop_add(p->loop, p->pidfd, EPOLLIN, on_worker_exit, p, &p->pid_source);
	return r;
}

static int spawn(struct files_process *p)
{
	char *const argv[] = { (char *)files_worker_name(p->kind), NULL };
	posix_spawn_file_actions_t actions;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	p->sock = pair[0];
	/* A system's default may be too small for an answer full of long names. */
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &(int){ 2 * FILES_REPLY_MAX },
			 sizeof(int));
	r = -posix_spawn_file_actions_init(&actions);
	if (r < 0)
		goto fail;
	/* Also right when the number is the same: then it only stays open. */
	r = -posix_spawn_file_actions_adddup2(&actions, pair[1], FILES_WORKER_FD);
	if (r == 0)
		r = -posix_spawn(&p->pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r < 0) {
		p->pid = 0;
		goto fail;
	}
	close(pair[1]);
	p->pidfd = pidfd_open(p->pid, 0);
	return p->pidfd < 0 ? -errno : 0;

fail:
	close(pair[1]);
	return r;
}

static bool has_room_for_orphans(const struct files_process *p)
{
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		if (p->orphans[i] < 0)
			return true;
	return false;
}

static void start_worker(struct files_process *p)
{
	pid_t pid;
	int r;

	while (p->n_failed_starts < MAX_FAILED_STARTS && has_room_for_orphans(p)) {
		if (p->restarts_left == 0)
			return; /* files_process_collect() gives more */
		p->restarts_left--;
		r = spawn(p);
		if (r == 0 && p->loop)
			r = watch(p);
		if (r == 0)
			return;
		log_debug("%s: cannot start the worker: %s", texts[p->kind].who, strerror(-r));
		p->n_failed_starts++;
		pid = p->pid;
		detach(p);
		if (pid)
			(void)waitpid(pid, NULL, 0); /* it ends with its socket */
	}
	give_up(p);
}

/* ---- for the owner ---- */

int files_process_new(enum files_worker_kind kind, const struct files_process_owner *owner,
		      void *ctx, struct files_process **ret)
{
	struct files_process *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->kind = kind;
	p->owner = owner;
	p->ctx = ctx;
	p->pidfd = p->sock = -1;
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		p->orphans[i] = -1;
	p->restarts_left = MAX_RESTARTS;
	*ret = p;
	start_worker(p);
	return 0;
}

int files_process_start(struct files_process *p, struct event_loop *loop)
{
	p->loop = loop;
	return p->pid ? watch(p) : 0;
}

/* True: the process has ended. */
static bool reap(int pidfd)
{
	siginfo_t si = { 0 };

	return waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG) < 0 || si.si_pid != 0;
}

void files_process_stop(struct files_process *p)
{
	if (p->pidfd >= 0) {
		struct pollfd end = { .fd = p->pidfd, .events = POLLIN };

		files_process_kill(p);
		close_fd(&p->sock);
		(void)poll(&end, 1, STOP_WAIT_MS);
		(void)reap(p->pidfd); /* else it hangs in the kernel, and init will do it */
	}
	detach(p);
	p->gave_up = true;
}

void files_process_free(struct files_process *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		close_fd(&p->orphans[i]);
	free(p);
}

pid_t files_process_pid(const struct files_process *p)
{
	return p->pid;
}

int files_process_socket(const struct files_process *p)
{
	return p->is_killed ? -1 : p->sock;
}

bool files_process_gave_up(const struct files_process *p)
{
	return p->gave_up;
}

uint64_t files_process_restarts(const struct files_process *p)
{
	return p->n_restarts;
}

void files_process_set_ready(struct files_process *p)
{
	p->is_ready = true;
	p->n_failed_starts = 0;
	p->has_warned = false;
}

bool files_process_ready(const struct files_process *p)
{
	return p->is_ready && !p->is_killed;
}

void files_process_ignore(struct files_process *p)
{
	event_source_free(p->sock_source);
	p->sock_source = NULL;
}

void files_process_distrust(struct files_process *p)
{
	if (!p->pid || p->is_killed)
		return;
	p->is_distrusted = true;
	files_process_ignore(p);
	files_process_kill(p);
}

bool files_process_wait(struct files_process *p, int timeout_ms)
{
	struct pollfd readable = { .fd = p->sock, .events = POLLIN };

	/* Without its source it is on its way out: the event loop has to do with that. */
	if (!p->sock_source)
		return false;
	(void)poll(&readable, 1, timeout_ms);
	return true;
}

/* ---- once a second ---- */

static void abandon(struct files_process *p)
{
	for (size_t i = 0; i < MAX_ORPHANS; i++) {
		if (p->orphans[i] >= 0)
			continue;
		p->orphans[i] = p->pidfd;
		p->pidfd = -1;
		break;
	}
	log_warn("%s: worker %d does not end; going on with another one", texts[p->kind].who,
		 (int)p->pid);
	worker_lost(p, p->is_distrusted ? FILES_PROCESS_DISTRUSTED : FILES_PROCESS_ENDED);
}

/* How long the worker has been at one thing. */
static void check_progress(struct files_process *p, uint64_t step_ns, const uint32_t *request)
{
	if (!p->pid)
		return;
	if (p->is_killed) {
		p->age_ns += step_ns;
		if (p->age_ns > KILL_NS)
			abandon(p);
		return;
	}
	if (p->is_ready && (!request || *request != p->age_request)) {
		p->age_ns = 0;
		p->age_request = request ? *request : p->age_request;
		return;
	}
	p->age_ns += step_ns;
	if (p->age_ns > (p->is_ready ? HANG_NS : START_NS))
		files_process_kill(p);
}

void files_process_collect(struct files_process *p, uint64_t now_ns, const uint32_t *request)
{
	uint64_t step_ns = now_ns > p->now_ns ? now_ns - p->now_ns : 0;

	if (step_ns > MAX_STEP_NS)
		step_ns = MAX_STEP_NS;
	p->now_ns = now_ns;
	for (size_t i = 0; i < MAX_ORPHANS; i++)
		if (p->orphans[i] >= 0 && reap(p->orphans[i]))
			close_fd(&p->orphans[i]);

	p->second_ns += step_ns;
	if (p->second_ns >= NS_PER_SEC) {
		p->second_ns = 0;
		p->restarts_left += p->restarts_left < MAX_RESTARTS;
	}
	check_progress(p, step_ns, request);

	if (p->gave_up && now_ns >= p->retry_ns) {
		p->gave_up = false;
		p->n_failed_starts = 0;
	}
	if (!p->pid && !p->gave_up)
		start_worker(p);
}
