/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - what goes over the network, and what TCP does with it.
 *
 * BPF side: bpf/net.bpf.c. What it means is found out in net/net_conns.c, and written in
 * net/net_encode.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_iter.h"
#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "log.h"
#include "net.skel.h"
#include "net/net_decode.h"
#include "net/net_encode.h"
#include "net_programs.h"
#include "net_tls.h"
#include "uprobe_cost.h"
#include "walks.h"

struct net {
	struct net_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
	struct walks walks;
	struct net_tls *tls;		     /* NULL: not yet */
	int8_t levels[EVENT_MAX_STREAMS];    /* 1 + enum net_level of each session; 0: none */
	uint64_t n_no_storage, n_unreadable; /* that have been told */
	struct net_splices splices;
	uint64_t sample_ns; /* not before that */
};

static void unload(struct net *n)
{
	(void)bpf_loading_end(&n->loading, NULL, NULL);
	net_tls_free(n->tls);
	n->tls = NULL;
	bpf_ring_free(n->ring);
	n->ring = NULL;
	net_bpf__destroy(n->skel);
	n->skel = NULL;
	walks_end(&n->walks);
}

static void net_stop(void *state)
{
	struct net *n = state;

	if (!n)
		return;
	unload(n);
	free(n);
}

static int open_object(struct net *n, char why[WHY_LEN])
{
	int r;

	n->loading = bpf_loading_new();
	n->skel = net_bpf__open_opts(bpf_loading_opts(n->loading));
	if (!n->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	r = net_programs_choose(n->skel, why);
	if (r < 0)
		return r;
	r = bpf_ring_resize(n->skel->obj, n->env.ring_bytes);
	if (r == 0)
		r = walks_prepare(&n->walks, &n->env, "net", n->skel->obj,
				  &n->skel->rodata->unwind_by_tables,
				  &n->skel->rodata->python_frames);
	if (r == 0)
		bpf_loading_begin(n->loading, n->skel->skeleton);
	return r;
}

/* Without it, what was there before is known only when it moves. */
static void attach_listing(struct net_bpf *skel)
{
	if (!bpf_program__autoload(skel->progs.list_sockets))
		return;
	skel->links.list_sockets = bpf_program__attach(skel->progs.list_sockets);
	skel->links.sample_sockets = bpf_program__attach(skel->progs.sample_sockets);
}

static int net_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct net *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->env = *env;
	uprobe_cost_begin();
	r = open_object(n, why);
	if (r < 0 && r != -ENOTSUP) /* no BTF; `why` says so */
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	if (r < 0)
		net_stop(n);
	else
		*ret_state = n;
	return r;
}

static int net_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct net *n = *ret_state;
	int r = bpf_loading_end(&n->loading, env->keep_up, env->keep_up_ctx);

	if (r == 0)
		r = walks_begin(&n->walks, &n->env, n->skel->obj, n->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(n->skel->obj, &n->ring);
	if (r == 0)
		r = net_programs_attach_tcp(n->skel);
	if (r == 0)
		r = net_tls_new(&n->env, n->skel->obj, &n->tls);
	if (r == 0)
		attach_listing(n->skel);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		net_stop(n);
	}
	return r;
}

static int net_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct net *n = state;

	walks_update(&n->walks);
	net_tls_update(n->tls);
	if (net_programs_follow_splices(n->skel, &n->splices) < 0)
		log_debug("net: what is spliced has no times");
	return bpf_ring_drain(n->ring, horizon_ns, budget, n->env.sink, n->env.sink_ctx);
}

static int net_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct net *n = state;

	return bpf_ring_count(n->ring, stream, cpu, ret);
}

static struct bpf_object *net_object(void *state, unsigned i)
{
	struct net *n = state;

	if (i == 0)
		return n->skel->obj;
	return i == 1 ? net_tls_object(n->tls) : NULL;
}

static void tell_more(const __u64 *now, uint64_t *told, const char *what)
{
	uint64_t n = __atomic_load_n(now, __ATOMIC_RELAXED);

	if (n > *told)
		log_info("net: %s: %llu", what, (unsigned long long)(n - *told));
	*told = n;
}

static bool any_health(const struct net *n)
{
	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		if (n->levels[i] == 1 + NET_HEALTH)
			return true;
	return false;
}

/*
 * Round trips, for sessions that do not watch what is moved, which is sampled in passing.
 * All descriptors of the machine are looked at: not for more than a hundredth of the time.
 */
static void sample(struct net *n, uint64_t now_ns)
{
	uint64_t begin_ns = boot_ns();

	if (!n->skel->links.sample_sockets || now_ns < n->sample_ns || !any_health(n))
		return;
	(void)bpf_iter_run(n->skel->links.sample_sockets, NULL, NULL); /* to the ring, not to us */
	n->sample_ns = now_ns + 100 * (boot_ns() - begin_ns);
}

static void net_tick(void *state, uint64_t now_ns)
{
	struct net *n = state;

	net_tls_tick(n->tls);
	net_programs_splices_tick(n->skel, &n->splices);
	sample(n, now_ns);
	tell_more(&n->skel->bss->n_no_storage, &n->n_no_storage,
		  "sockets that are not followed, for want of memory");
	tell_more(&n->skel->bss->n_unreadable, &n->n_unreadable,
		  "messages whose bytes could not be read");
}

static int set_level(struct net *n)
{
	int level = 0;

	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		if (n->levels[i] > level)
			level = n->levels[i];
	if (level > 1 + NET_HEALTH)
		return net_programs_attach_moves(n->skel);
	net_programs_detach_moves(n->skel);
	return 0;
}

static int net_session_open(void *state, const struct trace_config *config, unsigned slot,
			    char why[WHY_LEN])
{
	struct net *n = state;
	int r;

	n->levels[slot] = (int8_t)(1 + config->net_level);
	r = set_level(n);
	if (r < 0)
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	else if (config->net_level != NET_HEALTH)
		r = net_tls_open(n->tls, config, slot, why);
	if (r < 0) {
		n->levels[slot] = 0;
		(void)set_level(n);
	}
	return r;
}

static void net_session_close(void *state, unsigned slot)
{
	struct net *n = state;

	net_tls_close(n->tls, slot);
	n->levels[slot] = 0;
	(void)set_level(n);
}

/* ---- what there is ---- */

struct listing {
	uint64_t time_ns;
	bool at_begin;
	event_sink_fn *fn;
	void *fn_ctx;
};

/*
 * The event_sink_fn. A recording ends at one moment for all; when it begins, each record
 * has the time of its own at which its process lives.
 */
static void push_sock(void *ctx, const struct event_hdr *hdr, size_t len)
{
	const struct listing *l = ctx;
	struct net_bytes_event ev;

	if (len != sizeof(ev))
		return;
	memcpy(&ev, hdr, sizeof(ev));
	if (!l->at_begin || ev.hdr.time_ns < l->time_ns)
		ev.hdr.time_ns = l->time_ns;
	if (ev.first_ns > l->time_ns)
		ev.first_ns = l->time_ns;
	if (net_valid(&ev.hdr, len))
		l->fn(l->fn_ctx, &ev.hdr, len);
}

static int list(struct net *n, bool only_rest, const struct listing *l)
{
	if (!n->skel->links.list_sockets)
		return 0;
	n->skel->data->net_listing++;
	n->skel->bss->net_only_rest = only_rest;
	return bpf_iter_run(n->skel->links.list_sockets, push_sock, (void *)l);
}

static int net_existing(void *state, uint64_t start_ns, event_sink_fn *fn, void *fn_ctx)
{
	return list(state, false, &(struct listing){ start_ns, true, fn, fn_ctx });
}

static int net_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	return list(state, true, &(struct listing){ end_ns, false, fn, fn_ctx });
}

const struct collector net_collector = {
	.name = "net",
	.summary = "connections, requests, handshakes, name lookups",
	.loads_longest = true,
	.prepare = net_prepare,
	.start = net_start,
	.stop = net_stop,
	.drain = net_drain,
	.count = net_count,
	.object = net_object,
	.tick = net_tick,
	.session_open = net_session_open,
	.session_close = net_session_close,
	.unfinished = net_unfinished,
	.existing = net_existing,
	.valid = net_valid,
	.encoder_new = net_encoder_new,
	.encoder_free = net_encoder_free,
	.encode = net_encode,
	.flush = net_encoder_flush,
	.pending = net_encoder_pending,
	.stack_ends = net_encoder_stack_ends,
};
