/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_process.h - the worker's process, as the daemon has it: started, killed
 * when it hangs, and replaced when it is gone, until that is to no avail.
 *
 * Never waits, but at the end. Knows nothing of what is said through the socket.
 */
#ifndef FILES_PROCESS_H
#define FILES_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files_worker.h"

struct event_loop;
struct files_process;

enum files_process_end {
	FILES_PROCESS_ENDED,	  /* by itself, or killed for what it was busy with */
	FILES_PROCESS_KILLED,	  /* by somebody else */
	FILES_PROCESS_DISTRUSTED, /* by files_process_distrust() */
};

/* All are mandatory. */
struct files_process_owner {
	/* There is something to read, or the end of it. True: there may be more. */
	bool (*read)(void *ctx);
	/* It is no more, or as good as, and the next one is not there yet. */
	void (*lost)(void *ctx, enum files_process_end end);
	/* There is none, nor will be before files_process_gave_up() is false again. */
	void (*gave_up)(void *ctx);
};

/* Starts it. That it cannot be started is no failure here. `owner` must stay. */
int files_process_new(enum files_worker_kind kind, const struct files_process_owner *owner,
		      void *ctx, struct files_process **ret);
/* From here on what it says, and its end, arrive. */
int files_process_start(struct files_process *p, struct event_loop *loop);
/* Ends it for good: there is none, and that it gave up is true. Tells its owner nothing. */
void files_process_stop(struct files_process *p);
/* Once it has been stopped. Takes NULL. */
void files_process_free(struct files_process *p);

pid_t files_process_pid(const struct files_process *p);	 /* 0: none now */
int files_process_socket(const struct files_process *p); /* -1: none, or it has been killed */
bool files_process_gave_up(const struct files_process *p);
uint64_t files_process_restarts(const struct files_process *p);

/* It has said that it has begun. */
void files_process_set_ready(struct files_process *p);
bool files_process_ready(const struct files_process *p); /* and it has not been killed */

/* Its socket is not looked at any more: it is about to exit. */
void files_process_ignore(struct files_process *p);
/* It makes no sense, or hangs. */
void files_process_kill(struct files_process *p);
/* It is killed, and not for what it is busy with. */
void files_process_distrust(struct files_process *p);
/* Until there is something to read, at most so long. False: nothing is looked for now. */
bool files_process_wait(struct files_process *p, int timeout_ms);

/* About once a second. `request`: the number of the one it is busy with; NULL: none. */
void files_process_collect(struct files_process *p, uint64_t now_ns, const uint32_t *request);

#endif
