/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer_probes.c - questions about the places of probes and their types.
 *
 * Asked of a worker of their own, which is there as long as somebody asks: names and unwind
 * tables do not wait for a large file's DWARF, and are not lost with it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolizer_impl.h"

#define KEEP_WORKER_NS (10 * NS_PER_SEC)

struct probe_batch {
	struct files_batch batch; /* first */
	struct symbolizer *sym;
	struct code_module *module;
	symbolizer_probe_fn *fn;
	void *ctx;
	bool fd_is_ours;
	TAILQ_ENTRY(probe_batch) link; /* of those that wait */
};

static void batch_free(struct probe_batch *b)
{
	if (b->fd_is_ours && b->batch.fd >= 0)
		close(b->batch.fd);
	if (b->batch.second_fd >= 0)
		close(b->batch.second_fd);
	b->module->n_busy--;
	b->sym->n_probe_batches--;
	free(b);
}

static void answer(struct probe_batch *b, enum symbolizer_probe_result result,
		   const struct files_reply *reply)
{
	b->fn(b->ctx, result, reply ? reply->entries : NULL, reply ? reply->len : 0);
	batch_free(b);
}

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	static const enum symbolizer_probe_result results[] = {
		[FILES_RESULT_OK] = SYMBOLIZER_PROBE_OK,
		[FILES_RESULT_BROKEN] = SYMBOLIZER_PROBE_BROKEN,
		[FILES_RESULT_GONE] = SYMBOLIZER_PROBE_GONE,
		[FILES_RESULT_TOO_LARGE] = SYMBOLIZER_PROBE_TOO_LARGE,
		[FILES_RESULT_KILLER] = SYMBOLIZER_PROBE_KILLER,
		[FILES_RESULT_NO_WORKER] = SYMBOLIZER_PROBE_GONE,
	};
	struct symbolizer *sym = ctx;

	sym->probes_used_ns = boot_ns();
	answer((struct probe_batch *)batch, results[result], reply);
}

static int start_worker(struct symbolizer *sym)
{
	int r;

	if (sym->probes_client)
		return 0;
	r = files_client_new(FILES_WORKER_LINES, on_done, sym, &sym->probes_client);
	if (r == 0 && sym->loop)
		r = files_client_start(sym->probes_client, sym->loop);
	return r;
}

/* ---- descriptors ---- */

static int own_file(struct probe_batch *b)
{
	struct code_module *m = b->module;

	if (m->fd >= 0)
		return m->fd;
	b->fd_is_ours = true;
	return modules_reopen(m);
}

/* False: there is nothing to be asked; `*ret` says why. */
static bool open_files(struct probe_batch *b, enum symbolizer_probe_result *ret)
{
	struct code_module *m = b->module;

	*ret = SYMBOLIZER_PROBE_GONE;
	if (b->batch.kind == FILES_PLACES) {
		b->batch.fd = own_file(b);
		b->batch.second_fd = symbolizer_open_debug(b->sym, m);
		return b->batch.fd >= 0;
	}
	if (m->debug.dwarf == DWARF_NONE) {
		*ret = SYMBOLIZER_PROBE_OK;
		return false;
	}
	if (m->debug.dwarf == DWARF_IN_DEBUG_FILE) {
		b->fd_is_ours = true;
		b->batch.fd = symbolizer_open_debug(b->sym, m);
	} else {
		b->batch.fd = own_file(b);
	}
	b->batch.second_fd = symbolizer_open_alt(b->sym, m);
	return b->batch.fd >= 0;
}

static void submit(struct probe_batch *b)
{
	enum symbolizer_probe_result result;

	if (!open_files(b, &result) || start_worker(b->sym) < 0) {
		answer(b, result, NULL);
		return;
	}
	modules_touch(b->module);
	files_client_submit(b->sym->probes_client, &b->batch);
}

/* ---- questions ---- */

static bool is_known(const struct code_module *m)
{
	return m->is_failed || m->debug.state == DEBUG_KNOWN || m->debug.state == DEBUG_SKIPPED;
}

void symbolizer_probes_go(struct symbolizer *sym)
{
	struct probe_batch *b, *next;

	for (b = TAILQ_FIRST(&sym->probe_batches); b; b = next) {
		next = TAILQ_NEXT(b, link);
		if (!is_known(b->module))
			continue;
		TAILQ_REMOVE(&sym->probe_batches, b, link);
		submit(b);
		next = TAILQ_FIRST(&sym->probe_batches); /* others may have gone meanwhile */
	}
}

static void ask(struct symbolizer *sym, struct module *module, enum files_kind kind,
		const struct files_probe *probe, symbolizer_probe_fn *fn, void *ctx)
{
	struct code_module *m = (struct code_module *)module;
	struct probe_batch *b = NULL;

	if (m->type == MODULE_FILE)
		b = calloc(1, sizeof(*b));
	if (!b) {
		fn(ctx, SYMBOLIZER_PROBE_GONE, NULL, 0);
		return;
	}
	b->sym = sym;
	b->module = m;
	b->fn = fn;
	b->ctx = ctx;
	b->batch.kind = kind;
	b->batch.file_id = m->pub.id;
	b->batch.fd = b->batch.second_fd = -1;
	b->batch.probe = *probe;
	m->n_busy++;
	sym->n_probe_batches++;
	if (!is_known(m) && m->debug.state != DEBUG_ASKED && !symbolizer_ask_debug(sym, m))
		m->debug.state = DEBUG_SKIPPED; /* as it is, then */
	TAILQ_INSERT_TAIL(&sym->probe_batches, b, link);
	symbolizer_probes_go(sym);
}

void symbolizer_ask_places(struct symbolizer *sym, struct module *module,
			   const struct files_probe *probe, symbolizer_probe_fn *fn, void *ctx)
{
	ask(sym, module, FILES_PLACES, probe, fn, ctx);
}

void symbolizer_ask_types(struct symbolizer *sym, struct module *module,
			  const struct files_probe *probe, symbolizer_probe_fn *fn, void *ctx)
{
	ask(sym, module, FILES_TYPES, probe, fn, ctx);
}

bool symbolizer_probes_wait(struct symbolizer *sym, uint64_t max_ns)
{
	/* What is known of their files comes first, from the other workers. */
	bool is_there = files_pool_wait(sym->pool, max_ns);

	return sym->probes_client ? files_client_wait(sym->probes_client, max_ns) : is_there;
}

void symbolizer_probes_distrust(struct symbolizer *sym)
{
	if (sym->probes_client)
		files_client_distrust(sym->probes_client);
}

pid_t symbolizer_probes_worker_pid(const struct symbolizer *sym)
{
	return sym->probes_client ? files_client_pid(sym->probes_client) : 0;
}

/* ---- the end ---- */

void symbolizer_probes_done(struct symbolizer *sym)
{
	struct files_client *client = sym->probes_client;
	struct probe_batch *b;

	sym->probes_client = NULL; /* nothing more is asked */
	files_client_free(client);
	while ((b = TAILQ_FIRST(&sym->probe_batches))) {
		TAILQ_REMOVE(&sym->probe_batches, b, link);
		answer(b, SYMBOLIZER_PROBE_GONE, NULL);
	}
}

void symbolizer_probes_collect(struct symbolizer *sym, uint64_t now_ns)
{
	if (!sym->probes_client)
		return;
	files_client_collect(sym->probes_client, now_ns);
	if (sym->n_probe_batches == 0 && now_ns > sym->probes_used_ns + KEEP_WORKER_NS) {
		files_client_free(sym->probes_client);
		sym->probes_client = NULL;
	}
}
