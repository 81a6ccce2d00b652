/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - signals and a command's end, for the commands that wait for the daemon. */
#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clean.h"

int stop_catch(struct stop *s, bool children)
{
	sigset_t set;

	/* A script's "tracectl record &" starts with SIGINT ignored, and signalfd would not see it.
	 */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* a write says EFBIG instead */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (children)
		sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

void stop_done(struct stop *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void ask(struct stop *s, struct client *client)
{
	Request req = REQUEST__INIT;
	StopRequest stop = STOP_REQUEST__INIT;

	if (s->asked)
		return;
	s->asked = true;
	req.stop = &stop;
	/* If the daemon is gone we shall read its end of file. */
	(void)client_send(client, &req);
}

enum stop_next stop_read(struct stop *s, struct client *client, struct child *command)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD) {
			if (s->asked)
				return STOP_AT_ONCE;
			ask(s, client);
		} else if (child_has_ended(command)) {
			s->error = child_error(command);
			if (s->error)
				return STOP_NOT_RUN;
			ask(s, client);
		}
	}
	return STOP_GOES_ON;
}

void stop_print_not_run(const struct stop *s, const char *command)
{
	fprintf(stderr, "tracectl: cannot run %s: %s\n", clean(command), strerror(s->error));
}
