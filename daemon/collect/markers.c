/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers.c - what programs say of themselves: slices, instants, counters.
 *
 * BPF side: bpf/markers.bpf.c, on the probes of programs and libraries that were built
 * with daemon/marker.h. Those that processes map get them when the process table tells of
 * them, some 50 ms after the first process has begun; from then on in all processes, from
 * their first instruction. Datagrams to marker.sock go through the same ring, so that all
 * are counted in one place.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "hash.h"
#include "log.h"
#include "markers/markers_encode.h"
#include "markers/markers_files.h"
#include "markers/markers_socket.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "uprobes.h"

/* Behind the structs that it has from there. */
#include "markers.skel.h"

/* How often processes are looked through for new files. */
#define UPDATE_NS (50 * NS_PER_MS)
#define MAX_SEEN  65536
/* A session waits so long for which files have markers: before, there are no probes. */
#define ANSWER_NS (500 * NS_PER_MS)
#define TURN_NS	  (20 * NS_PER_MS)

struct markers {
	struct markers_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
	struct markers_files *files;
	struct markers_socket *socket; /* NULL: another daemon has it */
	struct hash *seen;	       /* mappings that were looked through, by their version */
	uint64_t updated_ns;
};

/* ---- files ---- */

/* Most have not changed since the last time. True: these have, or nobody remembers. */
static bool is_news(struct markers *m, const struct mappings *maps)
{
	uint64_t version = mappings_version(maps);

	if (hash_get_u64(m->seen, version))
		return false;
	if (hash_count(m->seen) >= MAX_SEEN)
		hash_clear(m->seen);
	(void)hash_set_u64(m->seen, version, m);
	return true;
}

/* The process_fn. */
static int look_at(void *ctx, const struct process *process)
{
	struct markers *m = ctx;
	const struct mapping *all;
	struct mappings *maps;
	size_t n;

	if (process->free_ns || process->is_kthread)
		return 0;
	maps = process_table_mappings(m->env.processes, process->tgid);
	if (!maps || !is_news(m, maps) || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].module)
			markers_files_look(m->files, all[i].module);
	return 0;
}

static void update(struct markers *m)
{
	uint64_t now_ns = boot_ns();

	if (now_ns < m->updated_ns + UPDATE_NS)
		return;
	m->updated_ns = now_ns;
	(void)process_table_each(m->env.processes, look_at, m);
}

/* ---- datagrams ---- */

/* The markers_datagram_fn. */
static void on_datagram(void *ctx, struct markers_event *ev)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct markers *m = ctx;
	int r;

	memcpy(&m->skel->bss->inbox, ev, MARKERS_HEAD + ev->len);
	r = bpf_prog_test_run_opts(bpf_program__fd(m->skel->progs.on_datagram), &opts);
	if (r < 0)
		log_debug("markers: a datagram is not counted: %s", strerror(-r));
}

static void open_socket(struct markers *m, char why[WHY_LEN])
{
	int r = -ENOENT;

	if (m->env.marker_socket)
		r = markers_socket_open(m->env.loop, m->env.marker_socket, on_datagram, m,
					&m->socket);
	if (r < 0 && m->env.marker_socket)
		snprintf(why, WHY_LEN, "no datagrams: %.150s: %s", m->env.marker_socket,
			 r == -EADDRINUSE ? "another tracerd has it" : strerror(-r));
}

/* ---- the kernel's half ---- */

static void markers_stop(void *state)
{
	struct markers *m = state;

	if (!m)
		return;
	markers_socket_free(m->socket);
	markers_files_free(m->files);
	hash_free(m->seen);
	(void)bpf_loading_end(&m->loading, NULL, NULL);
	bpf_ring_free(m->ring);
	markers_bpf__destroy(m->skel);
	free(m);
}

static int open_object(struct markers *m)
{
	int r;

	m->loading = bpf_loading_new();
	m->skel = markers_bpf__open_opts(bpf_loading_opts(m->loading));
	if (!m->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	uprobes_prepare(m->skel->progs.on_marker);
	r = bpf_ring_resize(m->skel->obj, m->env.ring_bytes);
	if (r == 0)
		bpf_loading_begin(m->loading, m->skel->skeleton);
	return r;
}

static int markers_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct markers *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->env = *env;
	r = hash_new(&m->seen);
	if (r == 0)
		r = open_object(m);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		markers_stop(m);
		return r;
	}
	*ret_state = m;
	return 0;
}

static int markers_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct markers *m = *ret_state;
	int r = bpf_loading_end(&m->loading, env->keep_up, env->keep_up_ctx);

	if (r == 0)
		r = bpf_ring_open(m->skel->obj, &m->ring);
	if (r == 0)
		r = markers_files_new(env->symbolizer, m->skel->progs.on_marker, &m->files);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		markers_stop(m);
		return r;
	}
	open_socket(m, why);
	update(m);
	return 0;
}

static int markers_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct markers *m = state;

	update(m);
	if (m->socket)
		markers_socket_read(m->socket);
	return bpf_ring_drain(m->ring, horizon_ns, budget, m->env.sink, m->env.sink_ctx);
}

/* What was sent by now is counted, too. */
static int markers_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct markers *m = state;

	if (m->socket && cpu == 0)
		markers_socket_read(m->socket);
	return bpf_ring_count(m->ring, stream, cpu, ret);
}

static struct bpf_object *markers_object(void *state, unsigned i)
{
	struct markers *m = state;

	return i == 0 ? m->skel->obj : NULL;
}

/* ---- sessions ---- */

static int markers_session_open(void *state, const struct trace_config *config, unsigned slot,
				char why[WHY_LEN])
{
	struct markers *m = state;
	uint64_t deadline_ns = boot_ns() + ANSWER_NS;

	(void)config;
	(void)slot;
	m->updated_ns = 0;
	update(m);
	while (markers_files_pending(m->files) && boot_ns() < deadline_ns &&
	       symbolizer_wait(m->env.symbolizer, TURN_NS))
		if (m->env.keep_up)
			m->env.keep_up(m->env.keep_up_ctx);
	if (markers_files_error(m->files) < 0 && markers_files_count(m->files) == 0)
		bpf_load_explain(markers_files_error(m->files), "probes", why, WHY_LEN);
	return 0;
}

/* Probes stay as long as there is another session: they are everybody's. */
static void markers_session_close(void *state, unsigned slot)
{
	(void)state;
	(void)slot;
}

static int markers_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct event_hdr hdr = { .time_ns = end_ns, .type = MARKERS_STOP, .size = sizeof(hdr) };

	(void)state;
	fn(fn_ctx, &hdr, sizeof(hdr));
	return 0;
}

const struct collector markers_collector = {
	.name = "markers",
	.summary = "what programs say of themselves (<tracer/marker.h>, marker.sock)",
	.prepare = markers_prepare,
	.start = markers_start,
	.stop = markers_stop,
	.drain = markers_drain,
	.count = markers_count,
	.object = markers_object,
	.session_open = markers_session_open,
	.session_close = markers_session_close,
	.unfinished = markers_unfinished,
	.is_machine_wide = markers_is_machine_wide,
	.valid = markers_valid,
	.encoder_new = markers_encoder_new,
	.encoder_free = markers_encoder_free,
	.encode = markers_encode,
	.flush = markers_encoder_flush,
};
