/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer_functions.c - where functions are in a file, for those who probe them. */
#include <stdio.h>

#include "symbolizer_impl.h"

void symbolizer_functions_done(struct symbolizer *sym, struct question *q, enum files_result result,
			       const struct files_reply *reply)
{
	struct code_module *m = q->module;
	uint64_t offsets[FILES_FUNCTIONS_MAX] = { 0 };

	if (result == FILES_RESULT_OK)
		files_reply_get_functions(reply, offsets);
	q->functions_fn(q->fn_ctx, result == FILES_RESULT_OK ? offsets : NULL, q->batch.n);
	if (result == FILES_RESULT_BROKEN)
		symbolizer_fail_module(sym, m, LOG_LEVEL_DEBUG, "not a readable ELF file");
	else if (result == FILES_RESULT_KILLER)
		symbolizer_fail_module(sym, m, LOG_LEVEL_WARN,
				       "the worker that read it died or hung");
	m->n_busy--;
}

/* NULL: the answer has been given. */
static struct question *question(struct module *module, enum files_kind kind, size_t n,
				 symbolizer_functions_fn *fn, void *ctx)
{
	struct code_module *m = (struct code_module *)module;
	struct question *q = NULL;

	if (m->type == MODULE_FILE && !m->is_failed)
		q = symbolizer_question(m, kind);
	if (!q) {
		fn(ctx, NULL, n);
		return NULL;
	}
	q->functions_fn = fn;
	q->fn_ctx = ctx;
	m->n_busy++;
	return q;
}

void symbolizer_ask_functions(struct symbolizer *sym, struct module *module,
			      const char *const *names, size_t n, symbolizer_functions_fn *fn,
			      void *ctx)
{
	struct question *q = question(module, FILES_FUNCTIONS, n, fn, ctx);

	if (!q)
		return;
	for (; q->batch.n < n && q->batch.n < FILES_FUNCTIONS_MAX; q->batch.n++)
		snprintf(q->batch.functions[q->batch.n], FILES_FUNCTION_NAME_MAX, "%s",
			 names[q->batch.n]);
	files_pool_submit(sym->pool, (struct files_batch *)q);
}

void symbolizer_ask_starts(struct symbolizer *sym, struct module *module, const uint64_t *offsets,
			   size_t n, symbolizer_functions_fn *fn, void *ctx)
{
	struct question *q = question(module, FILES_STARTS, n, fn, ctx);

	if (!q)
		return;
	for (; q->batch.n < n && q->batch.n < FILES_BATCH_MAX; q->batch.n++)
		q->batch.offsets[q->batch.n] = offsets[q->batch.n];
	files_pool_submit(sym->pool, (struct files_batch *)q);
}

bool symbolizer_wait(struct symbolizer *sym, uint64_t max_ns)
{
	bool is_there = files_pool_wait(sym->pool, max_ns);

	if (sym->probes_client)
		is_there &= files_client_wait(sym->probes_client, max_ns);
	return is_there;
}
