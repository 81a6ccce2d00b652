/* SPDX-License-Identifier: Apache-2.0 */
/* sources.c - the kernel halves of all collectors. */
#include "sources.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "clock.h"
#include "cpus.h"
#include "log.h"
#include "notify.h"

/* Records between two looks at the clock: about a millisecond of work. */
#define DRAIN_BATCH 512

/* The run times of BPF programs are measured an eighth of the time: see bpf_meter.h. */
#define MEASURED_NS   50000000
#define UNMEASURED_NS 350000000

/* Where the kernel has no membarrier(2): longer than any program of ours runs. */
#define SETTLE_FALLBACK_US 20000

struct source {
	struct sources *all;
	unsigned index;
	const struct collector *collector;
	bool is_prepared; /* as far as that went: `err` */
	void *prepared;	  /* NULL: nothing */
	void *state;	  /* NULL: not running */
	unsigned n_users;
	bool tried;
	int err;
	char why[WHY_LEN];
	uint64_t n_delivered, n_malformed;
	struct bpf_meter meter;
	uint64_t *next_seq; /* [stream * n_cpus + cpu] */
};

struct sources {
	struct sources_env env;
	unsigned n_cpus;
	int bpf_stats_fd;	  /* the kernel measures programs while this is open */
	uint64_t bpf_stats_ns;	  /* since when it is as it is */
	struct bpf_cost bpf_gone; /* of programs that are no longer loaded */
	struct event_own own;
	struct event_users users;
	unsigned n;
	struct source sources[MAX_COLLECTORS];
};

int sources_new(const struct sources_env *env, struct sources **ret)
{
	struct sources *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->n_cpus = cpus_possible();
	s->bpf_stats_fd = -1;
	for (; collectors[s->n]; s->n++) {
		struct source *src = &s->sources[s->n];

		*src = (struct source){ .all = s, .index = s->n, .collector = collectors[s->n] };
		src->next_seq =
			calloc((size_t)EVENT_MAX_STREAMS * s->n_cpus, sizeof(*src->next_seq));
		if (!src->next_seq) {
			r = -ENOMEM;
			goto fail;
		}
	}
	*ret = s;
	return 0;

fail:
	sources_free(s);
	return r;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	for (unsigned i = s->n; i-- > 0;) {
		struct source *src = &s->sources[i];

		if (src->state)
			src->collector->stop(src->state);
	}
	sources_forget(s);
	for (unsigned i = 0; i < MAX_COLLECTORS; i++)
		free(s->sources[i].next_seq);
	if (s->bpf_stats_fd >= 0)
		close(s->bpf_stats_fd);
	free(s);
}

/* ---- what programs cost ---- */

static struct bpf_object *object_of(struct source *src, unsigned i)
{
	return src->state && src->collector->object ? src->collector->object(src->state, i) : NULL;
}

static struct bpf_cost measured(struct source *src)
{
	struct bpf_cost ret = { 0 };
	struct bpf_object *obj;

	for (unsigned i = 0; (obj = object_of(src, i)); i++)
		bpf_cost_add_object(&ret, obj);
	return ret;
}

static struct bpf_cost bpf_cost_of(struct source *src)
{
	struct bpf_cost kernel = measured(src);

	return bpf_meter_read(&src->meter, &kernel, boot_ns());
}

static void switch_bpf_stats(struct sources *s, bool on, uint64_t now_ns)
{
	if (on && s->bpf_stats_fd < 0) {
		s->bpf_stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (s->bpf_stats_fd < 0)
			log_debug("no run times of BPF programs: %s", strerror(errno));
	} else if (!on && s->bpf_stats_fd >= 0) {
		close(s->bpf_stats_fd);
		s->bpf_stats_fd = -1;
	}
	s->bpf_stats_ns = now_ns;
	for (unsigned i = 0; i < s->n; i++) {
		struct bpf_cost kernel = measured(&s->sources[i]);

		if (on)
			bpf_meter_open(&s->sources[i].meter, &kernel, now_ns);
		else
			bpf_meter_close(&s->sources[i].meter, &kernel, now_ns);
	}
}

static bool any_running(const struct sources *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->sources[i].state)
			return true;
	return false;
}

static void measure_by_turns(struct sources *s, uint64_t now_ns)
{
	bool on = s->bpf_stats_fd >= 0;

	if (now_ns - s->bpf_stats_ns >= (on ? MEASURED_NS : UNMEASURED_NS) && any_running(s))
		switch_bpf_stats(s, !on, now_ns);
}

/* ---- records ---- */

/* The event_sink_fn of every collector. */
static void on_record(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct source *src = ctx;
	struct sources *s = src->all;
	bool valid = src->collector->valid(ev, len) && ev->stream < EVENT_MAX_STREAMS &&
		     ev->cpu < s->n_cpus;

	src->n_delivered++;
	if (!valid)
		src->n_malformed++;
	if (ev->stream < EVENT_MAX_STREAMS && ev->cpu < s->n_cpus) {
		uint64_t *next = &src->next_seq[ev->stream * s->n_cpus + ev->cpu];

		if (ev->seq >= *next)
			*next = ev->seq + 1;
	}
	s->env.fn(s->env.ctx, src->index, ev, len, valid);
}

bool sources_drain(struct sources *s, uint64_t horizon_ns, uint64_t max_ns)
{
	uint64_t now_ns = boot_ns(), deadline = now_ns + max_ns;
	bool more = false;

	measure_by_turns(s, now_ns);
	for (unsigned i = 0; i < s->n; i++) {
		struct source *src = &s->sources[i];
		int n = DRAIN_BATCH;

		if (!src->state || !src->collector->drain)
			continue;
		/* At least one batch each: none starves because of another. */
		do {
			n = src->collector->drain(src->state, horizon_ns, DRAIN_BATCH);
		} while (n >= DRAIN_BATCH && boot_ns() < deadline);
		if (n < 0)
			log_warn("%s: cannot read the ring: %s", src->collector->name,
				 strerror(-n));
		if (n < DRAIN_BATCH)
			continue;
		more = true;
		/* What follows must not overtake the process source. */
		if (i == 0)
			return true;
	}
	return more;
}

void sources_settle(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		usleep(SETTLE_FALLBACK_US);
}

/* ---- start and stop ---- */

/* Of the programs that look into own.bpf.h. */
static void exclude_own(struct source *src)
{
	struct bpf_object *obj;
	uint32_t zero = 0;

	for (unsigned i = 0; (obj = object_of(src, i)); i++) {
		int fd = bpf_object__find_map_fd_by_name(obj, "own");

		if (fd >= 0 && bpf_map_update_elem(fd, &zero, &src->all->own, BPF_ANY) < 0)
			log_warn("%s: the recorder's own events are in it: %s",
				 src->collector->name, strerror(errno));
	}
}

/* A record that does not say whose it is goes to nobody who must not see all. */
static void tell_users(struct source *src)
{
	struct bpf_object *obj;
	uint32_t zero = 0;

	for (unsigned i = 0; (obj = object_of(src, i)); i++) {
		int fd = bpf_object__find_map_fd_by_name(obj, "users");

		if (fd >= 0 && bpf_map_update_elem(fd, &zero, &src->all->users, BPF_ANY) < 0)
			log_warn("%s: users do not get their own events: %s", src->collector->name,
				 strerror(errno));
	}
}

static void on_loaded(void *ctx)
{
	exclude_own(ctx);
	tell_users(ctx);
}

/* All of them together can take longer than systemd's patience. */
static void keep_up(void *ctx)
{
	struct sources *s = ctx;

	notify("WATCHDOG=1");
	if (s->env.keep_up)
		s->env.keep_up(s->env.ctx);
}

static void fill_env(struct source *src, struct collector_env *ret)
{
	struct sources *s = src->all;

	*ret = (struct collector_env){
		.loop = s->env.loop,
		.processes = s->env.processes,
		.symbolizer = s->env.symbolizer,
		.unwinder = s->env.unwinder,
		.interpreter = s->env.interpreter,
		.probes = s->env.probes,
		.marker_socket = s->env.marker_socket,
		.ring_bytes = s->env.ring_bytes,
		.sink = on_record,
		.sink_ctx = src,
		.loaded = on_loaded,
		.keep_up = keep_up,
		.keep_up_ctx = s,
	};
}

void sources_prepare(struct sources *s, unsigned i)
{
	struct source *src = &s->sources[i];
	struct collector_env env;

	if (src->state || src->is_prepared)
		return;
	src->is_prepared = true;
	fill_env(src, &env);
	src->err = 0;
	src->why[0] = '\0';
	if (src->collector->prepare)
		src->err = src->collector->prepare(&env, src->why, &src->prepared);
	notify("WATCHDOG=1");
}

void sources_forget(struct sources *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct source *src = &s->sources[i];

		if (src->prepared)
			src->collector->stop(src->prepared);
		src->prepared = NULL;
		src->is_prepared = false;
	}
}

/*
 * With what has been prepared. What names things begins while the others are being loaded;
 * those wait for each other, and then begin together.
 */
static int start_prepared(struct source *src)
{
	struct collector_env env;
	void *state = src->prepared;
	int r;

	fill_env(src, &env);
	src->prepared = NULL;
	if (src->index > 0)
		bpf_loading_await(keep_up, src->all);
	r = src->collector->start(&env, src->why, &state);
	if (r == 0)
		src->state = state;
	return r;
}

static int source_start(struct source *src)
{
	struct sources *s = src->all;

	src->tried = true;
	sources_prepare(s, src->index);
	src->n_delivered = src->n_malformed = 0;
	memset(src->next_seq, 0, EVENT_MAX_STREAMS * s->n_cpus * sizeof(*src->next_seq));
	src->is_prepared = false;
	if (src->err == 0)
		src->err = start_prepared(src);
	notify("WATCHDOG=1");
	if (src->err < 0) {
		if (!src->why[0])
			bpf_load_explain(src->err, src->collector->name, src->why, WHY_LEN);
		return src->err;
	}
	exclude_own(src);
	tell_users(src);
	return 0;
}

int sources_acquire(struct sources *s, unsigned i, char why[WHY_LEN])
{
	struct source *src = &s->sources[i];
	int r = 0;

	if (!src->state)
		r = source_start(src);
	memcpy(why, src->why, WHY_LEN);
	if (r < 0)
		return r;
	if (src->n_users++ == 0)
		switch_bpf_stats(s, true, boot_ns());
	return 0;
}

/* Nothing runs any more: the three independent counts must agree to the last event. */
static void check_account(struct source *src)
{
	struct source_info info;

	sources_info(src->all, src->index, &info);
	if (info.n_produced != info.n_lost + info.n_delivered)
		log_debug("%s: produced %llu, lost %llu, read %llu: the rest was never read",
			  src->collector->name, (unsigned long long)info.n_produced,
			  (unsigned long long)info.n_lost, (unsigned long long)info.n_delivered);
}

void sources_release(struct sources *s, unsigned i)
{
	struct source *src = &s->sources[i];
	struct bpf_cost cost;

	if (!src->state || --src->n_users > 0)
		return;
	check_account(src);
	cost = bpf_cost_of(src);
	bpf_cost_add(&s->bpf_gone, &cost);
	src->collector->stop(src->state);
	src->state = NULL;
	src->meter = (struct bpf_meter){ 0 };
	if (!any_running(s))
		switch_bpf_stats(s, false, boot_ns());
}

void *sources_state(struct sources *s, unsigned i)
{
	return s->sources[i].state;
}

void sources_tick(struct sources *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct source *src = &s->sources[i];

		if (src->state && src->collector->tick)
			src->collector->tick(src->state, now_ns);
	}
}

void sources_exclude(struct sources *s, const uint32_t *tgids, size_t n)
{
	s->own = (struct event_own){ 0 };
	memcpy(s->own.tgids, tgids, (n < EVENT_MAX_OWN ? n : EVENT_MAX_OWN) * sizeof(*tgids));
	for (unsigned i = 0; i < s->n; i++)
		exclude_own(&s->sources[i]);
}

void sources_set_users(struct sources *s, const struct event_users *users)
{
	s->users = *users;
	for (unsigned i = 0; i < s->n; i++)
		tell_users(&s->sources[i]);
}

/* ---- counters ---- */

int sources_count(struct sources *s, unsigned i, unsigned stream, unsigned cpu,
		  struct event_stream *ret)
{
	struct source *src = &s->sources[i];

	if (!src->state || !src->collector->count)
		return -ENOENT;
	return src->collector->count(src->state, stream, cpu, ret);
}

uint64_t sources_next_seq(const struct sources *s, unsigned i, unsigned stream, unsigned cpu)
{
	return s->sources[i].next_seq[stream * s->n_cpus + cpu];
}

void sources_info(struct sources *s, unsigned i, struct source_info *ret)
{
	struct source *src = &s->sources[i];
	unsigned n_streams = src->collector->per_session_streams ? EVENT_MAX_STREAMS : 1;
	struct bpf_cost cost;

	*ret = (struct source_info){
		.running = src->state != NULL,
		.err = src->err,
		.tried = src->tried,
		.n_delivered = src->n_delivered,
		.n_malformed = src->n_malformed,
	};
	memcpy(ret->why, src->why, WHY_LEN);
	for (unsigned stream = 0; stream < n_streams; stream++) {
		for (unsigned cpu = 0; cpu < s->n_cpus; cpu++) {
			struct event_stream count;

			if (sources_count(s, i, stream, cpu, &count) < 0)
				continue;
			ret->n_produced += count.n_produced;
			ret->n_lost += count.n_lost;
		}
	}
	cost = bpf_cost_of(src);
	ret->bpf_runs = cost.runs;
	ret->bpf_ns = cost.ns;
}

void sources_bpf_cost(struct sources *s, struct bpf_cost *ret)
{
	*ret = s->bpf_gone;
	for (unsigned i = 0; i < s->n; i++) {
		struct bpf_cost cost = bpf_cost_of(&s->sources[i]);

		bpf_cost_add(ret, &cost);
	}
}
