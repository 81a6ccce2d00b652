/* SPDX-License-Identifier: Apache-2.0 */
/* control_probes.c - `probe add`, `probe list`, `probe remove`. */
#include "control_probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "event_loop.h"
#include "log.h"
#include "session_manager.h"

/* How often it is looked whether probes are attached, and for how long at most. */
#define POLL_NS	  (10 * NS_PER_MS)
#define ANSWER_NS (5 * NS_PER_SEC)

_Static_assert(WHY_LEN >= PROBE_WHY_LEN, "what is wrong with a probe fits");

#define NOBODY_RECORDS "nobody records now: it is there when somebody does"

/* A request that waits for its answer. */
struct adding {
	struct control_probes *all;
	struct adding *next;
	struct control_client *client;
	uint32_t request;
	struct event_source *poll;
	uint64_t deadline_ns;
	struct managed_session *session; /* without a trace; NULL: others record probes */
	size_t n;
	uint32_t ids[PROBES_MAX_DEFS];
};

struct control_probes {
	struct control_probes_env env;
	struct adding *first;
};

int control_probes_new(const struct control_probes_env *env, struct control_probes **ret)
{
	struct control_probes *cp = calloc(1, sizeof(*cp));

	if (!cp)
		return -ENOMEM;
	cp->env = *env;
	*ret = cp;
	return 0;
}

static void adding_free(struct adding *a)
{
	struct adding **at = &a->all->first;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	event_source_free(a->poll);
	if (a->session)
		session_manager_abandon(a->session);
	free(a);
}

void control_probes_free(struct control_probes *cp)
{
	while (cp && cp->first)
		adding_free(cp->first);
	free(cp);
}

/* ---- what is said of a probe ---- */

struct listed {
	ProbeStatus *ptrs[PROBES_MAX_DEFS];
	struct listed_probe {
		ProbeStatus msg;
		struct control_probe_texts texts;
		char why[PROBE_WHY_LEN];
	} list[PROBES_MAX_DEFS];
	size_t n;
	struct control_probes *all;
};

static const char *state_name(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_WAITS] = "waits",
		[PROBE_ATTACHES] = "attaches",
		[PROBE_ON] = "on",
		[PROBE_FAILED] = "failed",
	};

	return names[state];
}

struct slot_session {
	int slot;
	uint32_t id;
};

/* The managed_session_fn. */
static void find_session(void *ctx, const struct managed_session *ms,
			 const struct session_owner *owner)
{
	struct slot_session *find = ctx;

	(void)owner;
	if ((int)managed_session_slot(ms) == find->slot)
		find->id = managed_session_id(ms);
}

/* The probe_fn; ctx is the struct listed. */
static void list_probe(void *ctx, struct probe *p)
{
	struct listed *listed = ctx;
	struct slot_session session = { .slot = p->slot };
	struct listed_probe *l;

	if (listed->n == PROBES_MAX_DEFS)
		return;
	l = &listed->list[listed->n];
	listed->ptrs[listed->n++] = &l->msg;
	probe_status__init(&l->msg);
	control_probe_texts(&p->def, &l->texts);
	if (p->slot != PROBES_EVERY)
		session_manager_each(listed->all->env.sessions, find_session, &session);
	memcpy(l->why, p->why, sizeof(l->why));
	l->msg.def = &l->texts.msg;
	l->msg.state = (char *)state_name(p->state);
	l->msg.why = l->why;
	l->msg.has_id = l->msg.has_uid = l->msg.has_sites = l->msg.has_hits = 1;
	l->msg.has_over = l->msg.has_unwanted = l->msg.has_session = l->msg.has_cost_ns = 1;
	l->msg.has_lost = l->msg.has_paused_ns = 1;
	l->msg.id = p->id;
	l->msg.uid = p->uid;
	l->msg.sites = p->n_sites;
	l->msg.hits = p->n_hits;
	l->msg.over = p->n_over;
	l->msg.unwanted = p->n_unwanted;
	l->msg.lost = p->n_lost;
	l->msg.paused_ns = p->paused_ns;
	l->msg.session = session.id;
	l->msg.cost_ns = p->cost_ns;
}

static int list(struct control_probes *cp, struct control_client *client, uint32_t id)
{
	struct listed *listed = calloc(1, sizeof(*listed));
	Reply reply = REPLY__INIT;
	Probes msg = PROBES__INIT;
	int r;

	if (!listed)
		return control_client_error(client, id, ENOMEM, "out of memory");
	listed->all = cp;
	probes_each(cp->env.probes, list_probe, listed);
	msg.n_probes = listed->n;
	msg.probes = listed->ptrs;
	reply.has_id = 1;
	reply.id = id;
	reply.probes = &msg;
	r = control_client_reply(client, &reply);
	free(listed);
	return r;
}

/* ---- add ---- */

static void take_back(struct adding *a)
{
	for (size_t i = 0; i < a->n; i++)
		(void)probes_remove(a->all->env.probes, a->ids[i]);
}

/* How many are not settled yet; `*ret_failed`: one that cannot be. */
static size_t count_open(const struct adding *a, const struct probe **ret_failed)
{
	size_t n = 0;

	*ret_failed = NULL;
	for (size_t i = 0; i < a->n; i++) {
		const struct probe *p = probes_find(a->all->env.probes, a->ids[i]);

		n += p && p->state == PROBE_ATTACHES;
		if (p && p->state == PROBE_FAILED && !*ret_failed)
			*ret_failed = p;
	}
	return n;
}

static int answer_added(struct adding *a)
{
	struct listed *listed = calloc(1, sizeof(*listed));
	bool tried = a->session != NULL;
	Reply reply = REPLY__INIT;
	ProbeAdded msg = PROBE_ADDED__INIT;
	int r;

	if (!listed)
		return control_client_error(a->client, a->request, ENOMEM, "out of memory");
	listed->all = a->all;
	for (size_t i = 0; i < a->n; i++) {
		struct probe *p = probes_find(a->all->env.probes, a->ids[i]);
		struct listed_probe *l = &listed->list[listed->n];

		if (!p)
			continue;
		list_probe(listed, p);
		if (tried && p->state == PROBE_ON)
			snprintf(l->why, sizeof(l->why), "%s", NOBODY_RECORDS);
	}
	msg.n_probes = listed->n;
	msg.probes = listed->ptrs;
	reply.has_id = 1;
	reply.id = a->request;
	reply.probe_added = &msg;
	r = control_client_reply(a->client, &reply);
	free(listed);
	return r;
}

static void answer_failed(struct adding *a, const struct probe *failed)
{
	char why[PROBE_WHY_LEN];

	snprintf(why, sizeof(why), "probe %s: %.*s", failed->def.name,
		 PROBE_WHY_LEN - PROBE_NAME_LEN - 16, failed->why);
	take_back(a);
	(void)control_client_error(a->client, a->request, EINVAL, why);
}

static int on_poll(void *ctx, uint32_t events)
{
	struct adding *a = ctx;
	const struct probe *failed;
	size_t n_open = count_open(a, &failed);

	(void)events;
	if (!failed && n_open > 0 && boot_ns() < a->deadline_ns)
		return 0;
	if (failed)
		answer_failed(a, failed);
	else
		(void)answer_added(a);
	adding_free(a);
	return 0;
}

/* The trace_sink_fn of a session that is there to try probes. */
static int discard(void *ctx, const void *data, size_t len, bool essential)
{
	(void)ctx;
	(void)data;
	(void)len;
	(void)essential;
	return 0;
}

/* Such a session has ended by itself: the daemon stops. */
static void on_ended(void *ctx, struct session *s, const char *reason)
{
	struct adding *a = ctx;

	(void)s;
	(void)reason;
	a->session = NULL;
}

/* Somebody must run the source, so that the probes are looked for. */
static int start_source(struct adding *a, char why[WHY_LEN])
{
	struct session_manager *sessions = a->all->env.sessions;
	int index = collector_index(collector_by_name("probes"));
	struct session_owner owner = {
		.uid = control_client_uid(a->client),
		.pid = control_client_pid(a->client),
		.sink = discard,
		.ended = on_ended,
		.ctx = a,
	};
	struct trace_config config = { .sources = 1u << index };
	char reason[WHY_LEN] = "";
	int r;

	if (sources_state(session_manager_sources(sessions), (unsigned)index))
		return 0;
	r = session_manager_start(sessions, &config, 0, &owner, reason, &a->session);
	snprintf(why, PROBE_WHY_LEN, "%.*s", PROBE_WHY_LEN - 1, reason);
	return r;
}

static int add_one(struct adding *a, const ProbeDef *msg, char why[PROBE_WHY_LEN])
{
	struct probe_def *def = malloc(sizeof(*def));
	char reason[PROBE_WHY_LEN] = "";
	int r;

	if (!def)
		return -ENOMEM;
	r = control_probe_def(msg, def, why);
	if (r == 0) {
		r = probes_add(a->all->env.probes, def, PROBES_EVERY, control_client_uid(a->client),
			       reason, &a->ids[a->n]);
		if (r == 0)
			a->n++;
		else
			snprintf(why, PROBE_WHY_LEN, "probe %s: %.*s", def->name,
				 PROBE_WHY_LEN - PROBE_NAME_LEN - 16,
				 reason[0] ? reason : strerror(-r));
	}
	free(def);
	return r;
}

static int add_all(struct adding *a, const ProbeAddRequest *req, char why[WHY_LEN])
{
	int r = 0;

	if (req->n_probes == 0 || req->n_probes > PROBES_MAX_DEFS) {
		snprintf(why, PROBE_WHY_LEN, "1 to %d probes at a time", PROBES_MAX_DEFS);
		return -EINVAL;
	}
	r = start_source(a, why);
	for (size_t i = 0; r == 0 && i < req->n_probes; i++)
		r = add_one(a, req->probes[i], why);
	if (r == 0)
		r = event_loop_add_timer(a->all->env.loop, POLL_NS, on_poll, a, &a->poll);
	return r;
}

static int add(struct control_probes *cp, struct control_client *client, const Request *req)
{
	struct adding *a = calloc(1, sizeof(*a));
	char why[WHY_LEN] = "";
	int r;

	if (!a)
		return control_client_error(client, req->id, ENOMEM, "out of memory");
	*a = (struct adding){ .all = cp,
			      .next = cp->first,
			      .client = client,
			      .request = req->id,
			      .deadline_ns = boot_ns() + ANSWER_NS };
	cp->first = a;
	r = add_all(a, req->probe_add, why);
	if (r == 0)
		return 0;
	take_back(a);
	adding_free(a);
	log_told("no probe is added: %s", why[0] ? why : strerror(-r));
	return control_client_error(client, req->id, r, why[0] ? why : strerror(-r));
}

void control_probes_gone(struct control_probes *cp, struct control_client *client)
{
	struct adding *next;

	for (struct adding *a = cp->first; a; a = next) {
		next = a->next;
		if (a->client != client)
			continue;
		take_back(a);
		adding_free(a);
	}
}

/* ---- remove ---- */

struct by_name {
	const char *name;
	uint32_t id;
};

/* The probe_fn: of those that are nobody's session's. */
static void find_name(void *ctx, struct probe *p)
{
	struct by_name *find = ctx;

	if (p->slot == PROBES_EVERY && strcmp(p->def.name, find->name) == 0)
		find->id = p->id;
}

/* 0: `why` says that there is none. */
static uint32_t removable(struct control_probes *cp, uint32_t id, const char *name,
			  char why[PROBE_WHY_LEN])
{
	struct by_name find = { .name = name, .id = id };
	const struct probe *p;

	if (name)
		probes_each(cp->env.probes, find_name, &find);
	p = find.id ? probes_find(cp->env.probes, find.id) : NULL;
	if (p && p->slot == PROBES_EVERY)
		return find.id;
	if (p)
		snprintf(why, PROBE_WHY_LEN,
			 "probe %u is a recording's own: it goes when that one ends", find.id);
	else if (name)
		snprintf(why, PROBE_WHY_LEN, "there is no probe '%.60s': probe list shows them",
			 name);
	else
		snprintf(why, PROBE_WHY_LEN, "there is no probe %u: probe list shows them", id);
	return 0;
}

static int remove_probes(struct control_probes *cp, struct control_client *client,
			 const Request *req)
{
	const ProbeRemoveRequest *remove = req->probe_remove;
	char why[PROBE_WHY_LEN] = "";
	Reply reply = REPLY__INIT;
	ProbeRemoved msg = PROBE_REMOVED__INIT;

	/* All or none. */
	for (size_t i = 0; i < remove->n_ids; i++)
		if (!removable(cp, remove->ids[i], NULL, why))
			return control_client_error(client, req->id, ENOENT, why);
	for (size_t i = 0; i < remove->n_names; i++)
		if (!removable(cp, 0, remove->names[i], why))
			return control_client_error(client, req->id, ENOENT, why);
	for (size_t i = 0; i < remove->n_ids; i++)
		msg.n += probes_remove(cp->env.probes, remove->ids[i]) == 0;
	for (size_t i = 0; i < remove->n_names; i++) {
		uint32_t id = removable(cp, 0, remove->names[i], why);

		msg.n += id && probes_remove(cp->env.probes, id) == 0;
	}
	msg.has_n = reply.has_id = 1;
	reply.id = req->id;
	reply.probe_removed = &msg;
	return control_client_reply(client, &reply);
}

int control_probes_handle(struct control_probes *cp, struct control_client *client,
			  const Request *req)
{
	if (req->probe_add)
		return add(cp, client, req);
	if (req->probe_remove)
		return remove_probes(cp, client, req);
	return list(cp, client, req->id);
}
