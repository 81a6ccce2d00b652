/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_own.h - sessions of users who may see their own processes alone.
 *
 * Whose a thread is the kernel's half says, with each record (bpf/user.bpf.h); what a
 * source gives to such a session is in one table, and a source that is not in it gives
 * nothing. A record comes through here before the encoder sees it, and leaves as it was,
 * without what it says of others, or not at all.
 */
#ifndef SESSION_OWN_H
#define SESSION_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "trace_config.h"

struct own_view;
struct process_table;

/* In the scheduler's records: whoever else has the CPU, or nobody. No thread has this number. */
#define OWN_OTHERS	4194305u
#define OWN_OTHERS_NAME "[other or idle]"

/*
 * What such a user asked for, as far as they may have it. `by_name`: the sources were
 * asked for one by one; else those that they may not have are left out. -EACCES with `why`.
 */
int session_own_restrict(struct trace_config *config, bool by_name, char *why, size_t why_size);
/* What `status` says of a source to them; NULL: they get nothing of it. */
const char *session_own_gives(unsigned source);

/* Are the kernel's own functions open to every user of this machine? */
bool session_own_kernel_is_open(void);

int own_view_new(const struct trace_config *config, struct process_table *processes,
		 struct own_view **ret);
void own_view_free(struct own_view *view); /* takes NULL */

/* Valid until the next call. NULL: it is not for this user. */
const struct event_hdr *own_view_of(struct own_view *view, unsigned source,
				    const struct event_hdr *ev);

#endif
