/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - a command that runs while it is recorded. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(char **argv, int start_fd, int error_fd)
{
	sigset_t none;
	char byte;

	/* Until the session has begun, or tracectl has given up. */
	while (read(start_fd, &byte, 1) < 0 && errno == EINTR)
		;
	close(start_fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	/* A pipe's buffer takes it whole; if not, the command has failed without a word. */
	(void)!write(error_fd, &errno, sizeof(errno));
	_exit(127);
}

int child_prepare(struct child *c, char **argv)
{
	int start[2], error[2];

	if (pipe2(start, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(error, O_CLOEXEC) < 0) {
		close(start[0]);
		close(start[1]);
		return -errno;
	}
	fflush(NULL);
	c->pid = fork();
	if (c->pid == 0) {
		close(start[1]);
		run(argv, start[0], error[1]);
	}
	close(start[0]);
	close(error[1]);
	c->start_fd = start[1];
	c->error_fd = error[0];
	if (c->pid < 0) {
		c->pid = 0;
		return -errno;
	}
	return 0;
}

void child_run(struct child *c)
{
	if (c->start_fd >= 0)
		close(c->start_fd);
	c->start_fd = -1;
}

bool child_has_ended(struct child *c)
{
	if (!c->pid || waitpid(c->pid, NULL, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	return true;
}

int child_error(const struct child *c)
{
	int error;

	return read(c->error_fd, &error, sizeof(error)) == sizeof(error) ? error : 0;
}

void child_kill_waiting(struct child *c)
{
	if (c->pid && c->start_fd >= 0)
		kill(c->pid, SIGKILL);
}

void child_done(struct child *c)
{
	if (c->error_fd >= 0)
		close(c->error_fd);
	if (c->pid > 0 && c->start_fd < 0)
		(void)waitpid(c->pid, NULL, WNOHANG);
	c->error_fd = -1;
}
