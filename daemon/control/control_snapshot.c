/* SPDX-License-Identifier: Apache-2.0 */
/* control_snapshot.c - snapshots of the flight recorder, on their way to clients. */
#include "control_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flight/flight.h"
#include "trigger/triggers.h"

struct sending {
	struct control_snapshots *all;
	struct sending *next;
	struct control_client *client;
	struct flight_snapshot *snapshot;
	uint32_t id;
	char *trigger; /* or NULL */
};

struct control_snapshots {
	struct flight *flight;
	const struct triggers *triggers;
	struct sending *first;
};

int control_snapshots_new(struct flight *flight, const struct triggers *triggers,
			  struct control_snapshots **ret)
{
	struct control_snapshots *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->flight = flight;
	all->triggers = triggers;
	*ret = all;
	return 0;
}

static void sending_free(struct sending *s)
{
	struct sending **link = &s->all->first;

	while (*link && *link != s)
		link = &(*link)->next;
	if (*link)
		*link = s->next;
	free(s->trigger);
	free(s);
}

void control_snapshots_free(struct control_snapshots *all)
{
	if (!all)
		return;
	while (all->first) {
		flight_snapshot_cancel(all->first->snapshot);
		sending_free(all->first);
	}
	free(all);
}

/* The flight_sink_fn: what a client does not take yet is offered again. */
static int send_piece(void *ctx, const void *data, size_t len)
{
	const struct sending *s = ctx;

	return control_client_trace(s->client, data, len, false);
}

static void on_done(void *ctx, int err, const char *why, const struct flight_info *info)
{
	struct sending *s = ctx;
	Snapshot msg = SNAPSHOT__INIT;
	Reply reply = REPLY__INIT;

	if (err < 0) {
		(void)control_client_error(s->client, s->id, err, why);
		sending_free(s);
		return;
	}
	msg.has_begin_ns = msg.has_end_ns = msg.has_bytes = reply.has_id = 1;
	msg.begin_ns = info->begin_ns;
	msg.end_ns = info->end_ns;
	msg.bytes = info->bytes;
	msg.trigger = s->trigger;
	reply.id = s->id;
	reply.snapshot = &msg;
	(void)control_client_reply(s->client, &reply);
	sending_free(s);
}

static bool is_sending(const struct control_snapshots *all, const struct control_client *client)
{
	for (const struct sending *s = all->first; s; s = s->next)
		if (s->client == client)
			return true;
	return false;
}

static int refuse(struct control_client *client, uint32_t id, int err, const char *why)
{
	(void)control_client_error(client, id, err, why);
	return err;
}

int control_snapshots_send(struct control_snapshots *all, struct control_client *client,
			   const struct control_snapshot *what)
{
	struct flight_mark marks[TRIGGERS_MARKS];
	struct flight_request request = {
		.last_ns = what->last_ns,
		.command_line = what->command_line,
		.marks = marks,
		.n_marks = triggers_marks(all->triggers, marks),
		.sink = send_piece,
		.done = on_done,
	};
	char why[WHY_LEN] = "";
	struct sending *s;
	int r;

	if (is_sending(all, client))
		return refuse(client, what->id, -EALREADY, "this client is getting a snapshot");
	s = calloc(1, sizeof(*s));
	if (!s)
		return refuse(client, what->id, -ENOMEM, "out of memory");
	*s = (struct sending){ .all = all, .client = client, .id = what->id };
	if (what->trigger)
		s->trigger = strdup(what->trigger); /* without memory it is not repeated */
	request.ctx = s;
	r = flight_snapshot(all->flight, &request, why, &s->snapshot);
	if (r < 0) {
		free(s->trigger);
		free(s);
		return refuse(client, what->id, r, why);
	}
	s->next = all->first;
	all->first = s;
	return 0;
}

void control_snapshots_gone(struct control_snapshots *all, struct control_client *client)
{
	for (struct sending *s = all->first; s; s = s->next) {
		if (s->client != client)
			continue;
		flight_snapshot_cancel(s->snapshot);
		sending_free(s);
		return;
	}
}
