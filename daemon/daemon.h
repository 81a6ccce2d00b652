/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - the parts of tracerd, wired together. The only file that knows them all. */
#ifndef DAEMON_H
#define DAEMON_H

#include "config.h"

struct daemon;
struct symbolizer;

struct daemon_options {
	struct config config;
	const char *socket_path; /* bound here unless systemd hands over a socket */
	int control_fd;		 /* >= 0: private, serves this one client and ends with it */
	const char *notes;	 /* what limits this daemon, for status; kept, not copied */
};

/* Takes over `sym`, also on failure. Says on the log why it fails. */
int daemon_new(const struct daemon_options *options, struct symbolizer *sym, struct daemon **ret);
void daemon_free(struct daemon *d); /* takes NULL */
/* Until SIGTERM or SIGINT, or the private client's end. */
int daemon_run(struct daemon *d);

#endif
