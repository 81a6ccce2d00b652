/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - when what a command does with the daemon shall end: signals, and the end of the
 * command that is recorded. The daemon is asked to stop once, and sends what is left.
 */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

#include "child.h"
#include "client.h"

struct stop {
	int fd;	    /* of signals, for poll(); -1: none */
	bool asked; /* the daemon was asked to stop */
	int error;  /* with which the command could not run */
};

#define STOP_NONE        \
	(struct stop)    \
	{                \
		.fd = -1 \
	}

/*
 * From now on SIGINT, SIGTERM and SIGHUP come from the descriptor, with `children` SIGCHLD as
 * well. A file that is too large is an error of write(). -errno.
 */
int stop_catch(struct stop *s, bool children);
void stop_done(struct stop *s);

enum stop_next {
	STOP_GOES_ON, /* or the daemon has been asked just now */
	STOP_AT_ONCE, /* asked twice: the person does not want to wait */
	STOP_NOT_RUN, /* the command could not run: see stop_print_not_run() */
};

/* What has come from the descriptor. Asks the daemon to stop where that is meant. */
enum stop_next stop_read(struct stop *s, struct client *client, struct child *command);
void stop_print_not_run(const struct stop *s, const char *command);

#endif
