/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - a command that runs while it is recorded. It is forked before, so that its pid
 * can be the filter, and runs when that is in place.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;    /* or 0: there is none, or it has ended */
	int start_fd; /* closing it lets the command run */
	int error_fd; /* its errno comes from here if it cannot run */
};

#define CHILD_NONE                             \
	(struct child)                         \
	{                                      \
		.start_fd = -1, .error_fd = -1 \
	}

int child_prepare(struct child *c, char **argv);
void child_run(struct child *c);
/* True once. */
bool child_has_ended(struct child *c);
/* Of one that has ended: the errno with which it could not run; 0: it has run. */
int child_error(const struct child *c);
/* It shall not run any more, if it has not begun to. */
void child_kill_waiting(struct child *c);
void child_done(struct child *c);

#endif
