/* SPDX-License-Identifier: Apache-2.0 */
/* control_triggers.c - clients that wait for a trigger before they get a snapshot. */
#include "control_triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "control_snapshot.h"
#include "flight/flight.h"
#include "session.h"
#include "trigger/trigger_wait.h"

#define MAX_AFTER_NS (24 * 3600 * NS_PER_SEC)

struct waiting {
	struct control_triggers *all;
	struct waiting *next;
	struct control_client *client;
	struct trigger_wait *wait;
	uint32_t id; /* of the request */
	uint64_t last_ns;
	char *command_line; /* or NULL */
};

struct control_triggers {
	struct control_triggers_env env;
	struct waiting *first;
};

int control_triggers_new(const struct control_triggers_env *env, struct control_triggers **ret)
{
	struct control_triggers *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->env = *env;
	*ret = all;
	return 0;
}

static void waiting_free(struct waiting *w)
{
	struct waiting **link = &w->all->first;

	while (*link && *link != w)
		link = &(*link)->next;
	if (*link)
		*link = w->next;
	trigger_wait_free(w->wait);
	free(w->command_line);
	free(w);
}

void control_triggers_free(struct control_triggers *all)
{
	if (!all)
		return;
	while (all->first)
		waiting_free(all->first);
	free(all);
}

/* `trigger` NULL: it is waited. */
static void tell(struct control_client *client, const char *trigger)
{
	Reply reply = REPLY__INIT;
	Progress msg = PROGRESS__INIT;

	msg.trigger = (char *)trigger;
	reply.has_id = 1;
	reply.progress = &msg;
	(void)control_client_reply(client, &reply);
}

/* Of trigger_wait_env. */
static void on_fired(void *ctx, const struct trigger_spec *spec, const struct trigger_fired *fired)
{
	const struct waiting *w = ctx;
	char text[TRIGGER_TEXT_LEN];

	trigger_fired_text(spec->text, fired, text);
	tell(w->client, text);
}

static void on_due(void *ctx, const struct trigger_spec *spec, const struct trigger_fired *first)
{
	struct waiting *w = ctx;
	char text[TRIGGER_TEXT_LEN];
	const struct control_snapshot what = {
		.id = w->id,
		.last_ns = w->last_ns,
		.command_line = w->command_line,
		.trigger = text,
	};

	trigger_fired_text(spec->text, first, text);
	(void)control_snapshots_send(w->all->env.snapshots, w->client, &what);
	waiting_free(w);
}

/* ---- the request ---- */

/* What is not recorded never happens. */
static int check_recorder(const struct flight *flight, const struct trigger_spec *spec,
			  char why[TRIGGER_WHY_LEN])
{
	const char *source = trigger_source(spec), *reason;
	const struct collector *c = source ? collector_by_name(source) : NULL;
	struct flight_status status;

	flight_status(flight, &status);
	if (!status.session) {
		snprintf(why, TRIGGER_WHY_LEN, "%s",
			 status.why[0] ? status.why
				       : "the flight recorder is off: enabled = yes in [flight] of "
					 "tracerd.conf");
		return -ENOENT;
	}
	if (!source ||
	    (c && session_source_on(status.session, (unsigned)collector_index(c), &reason)))
		return 0;
	if (c && reason[0])
		snprintf(why, TRIGGER_WHY_LEN, "trigger '%.100s' needs source %s, which is off: %s",
			 spec->text, source, reason);
	else
		snprintf(why, TRIGGER_WHY_LEN,
			 "trigger '%.100s' needs source %s, which the flight recorder does not "
			 "have: add it to sources in [flight] of tracerd.conf",
			 spec->text, source);
	return -ENODEV;
}

static int parse(const struct control_triggers *all, const SnapshotRequest *req,
		 struct trigger_spec *specs, char why[TRIGGER_WHY_LEN])
{
	int r = 0;

	if (req->n_on > TRIGGER_WAIT_MAX) {
		snprintf(why, TRIGGER_WHY_LEN, "%d triggers are all that one may wait for",
			 TRIGGER_WAIT_MAX);
		return -EINVAL;
	}
	if (req->has_after_ns && req->after_ns > MAX_AFTER_NS) {
		snprintf(why, TRIGGER_WHY_LEN, "what follows a trigger is waited for 24 h at most");
		return -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < req->n_on; i++) {
		r = trigger_spec_parse(req->on[i], &specs[i], why);
		if (r == 0)
			r = check_recorder(all->env.flight, &specs[i], why);
	}
	return r;
}

static bool is_waiting(const struct control_triggers *all, const struct control_client *client)
{
	for (const struct waiting *w = all->first; w; w = w->next)
		if (w->client == client)
			return true;
	return false;
}

/* `w` is linked, and freed by the caller if this fails. */
static int begin(struct waiting *w, const SnapshotRequest *req, char why[TRIGGER_WHY_LEN])
{
	static struct trigger_spec specs[TRIGGER_WAIT_MAX]; /* too large for the stack */
	char by[TRIGGER_BY_LEN];
	const struct trigger_wait_env env = {
		.loop = w->all->env.loop,
		.triggers = w->all->env.triggers,
		.by = by,
		.after_ns = req->has_after_ns ? req->after_ns : 0,
		.fired = on_fired,
		.due = on_due,
		.ctx = w,
	};
	int r;

	snprintf(by, sizeof(by), "snapshot of pid %d", (int)control_client_pid(w->client));
	r = parse(w->all, req, specs, why);
	if (r < 0)
		return r;
	if (req->command_line) {
		w->command_line = strdup(req->command_line);
		if (!w->command_line)
			return -ENOMEM;
	}
	return trigger_wait_new(&env, specs, req->n_on, why, &w->wait);
}

int control_triggers_wait(struct control_triggers *all, struct control_client *client,
			  const Request *req)
{
	char why[TRIGGER_WHY_LEN] = "out of memory";
	struct waiting *w;
	int r;

	if (is_waiting(all, client)) {
		(void)control_client_error(client, req->id, EALREADY,
					   "this client waits for a trigger already");
		return -EALREADY;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		(void)control_client_error(client, req->id, ENOMEM, why);
		return -ENOMEM;
	}
	*w = (struct waiting){
		.all = all,
		.next = all->first,
		.client = client,
		.id = req->id,
		.last_ns = req->snapshot->has_last_ns ? req->snapshot->last_ns : 0,
	};
	all->first = w;
	r = begin(w, req->snapshot, why);
	if (r == 0) {
		tell(client, NULL);
		return 0;
	}
	waiting_free(w);
	(void)control_client_error(client, req->id, r, why);
	return r;
}

void control_triggers_gone(struct control_triggers *all, struct control_client *client)
{
	for (struct waiting *w = all->first; w; w = w->next) {
		if (w->client != client)
			continue;
		waiting_free(w);
		return;
	}
}
