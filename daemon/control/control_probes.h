/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_probes.h - `probe add`, `probe list`, `probe remove`, and the probes that a
 * recording brings along.
 *
 * A probe that is added is tried at once, also while nobody records: a session without a
 * trace runs until it is known whether the probe can be attached. Who adds several gets all
 * or none.
 */
#ifndef CONTROL_PROBES_H
#define CONTROL_PROBES_H

#include "control_server.h"
#include "probe/probes.h"

struct control_probes;
struct event_loop;
struct session_manager;

struct control_probes_env {
	struct event_loop *loop;
	struct session_manager *sessions;
	struct probes *probes;
};

int control_probes_new(const struct control_probes_env *env, struct control_probes **ret);
void control_probes_free(struct control_probes *cp); /* takes NULL */

/*
 * The requests probe_add, probe_list and probe_remove; answered at once or, the first one,
 * when it is known what has become of the probes.
 */
int control_probes_handle(struct control_probes *cp, struct control_client *client,
			  const Request *req);
/* Who asked is gone: what was not answered yet is taken back. */
void control_probes_gone(struct control_probes *cp, struct control_client *client);

/* In control_probe_def.c: a probe out of its texts, checked. Pure. -EINVAL with `why`. */
int control_probe_def(const ProbeDef *msg, struct probe_def *ret, char why[PROBE_WHY_LEN]);

/* The texts again, for lists. Everything points into it. */
struct control_probe_texts {
	ProbeDef msg;
	char at[PROBE_SPEC_LEN + PROBE_EXPR_LEN + 2 * PROBE_NAME_LEN];
	char end[PROBE_SPEC_LEN + PROBE_EXPR_LEN + 2 * PROBE_NAME_LEN];
	char args[PROBES_ARGS + 1][PROBE_NAME_LEN + PROBE_EXPR_LEN + 16]; /* and the counter */
	char *list[PROBES_ARGS];
};
void control_probe_texts(const struct probe_def *def, struct control_probe_texts *ret);

#endif
