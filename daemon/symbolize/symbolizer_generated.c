/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer_generated.c - locations of code that processes generate, and their worker. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "jit_question.h"
#include "symbolizer_impl.h"

static struct module *generated_module(struct symbolizer *sym)
{
	return symbolizer_pseudo_module(sym, "[jit]");
}

bool module_may_be_generated(const struct module *module)
{
	const struct code_module *m = (const struct code_module *)module;
	const char *prefix = m->type == MODULE_FILE ? "/memfd:" : "[anon";

	return m->type != MODULE_KERNEL && strncmp(module->path, prefix, strlen(prefix)) == 0;
}

static uint64_t seed(struct symbolizer *sym)
{
	if (!sym->seed && getrandom(&sym->seed, sizeof(sym->seed), GRND_NONBLOCK) < 0)
		sym->seed = boot_ns() ^ (uintptr_t)sym;
	return sym->seed;
}

/* The name says it all: a function has one location in all processes that call it the same. */
static struct location *locate(struct symbolizer *sym, struct module *module,
			       enum location_kind kind, const struct jit_name *name)
{
	const char *file = name->file ? name->file : "";
	uint64_t what[] = { name->start, name->line, 0 }, symbol, key;
	struct location_entry *e;

	if (!module)
		return NULL;
	symbol = hash_bytes(name->function, name->function_len, seed(sym));
	what[2] = symbol;
	key = hash_bytes(file, name->file_len, hash_bytes(what, sizeof(what), seed(sym)));
	e = location_store_get(sym->locations, module, key);
	if (e)
		return &e->pub;
	e = location_store_add(sym->locations, module, key, kind);
	if (!e)
		return NULL;
	((struct code_module *)module)->n_locations++;
	location_set_source(e, file, name->file_len, name->line);
	location_set_symbol(e, name->start, symbol, name->function, name->function_len);
	return &e->pub;
}

struct location *symbolizer_locate_generated(struct symbolizer *sym, const struct jit_name *name)
{
	return locate(sym, generated_module(sym), LOCATION_JIT, name);
}

struct location *symbolizer_locate_interpreted(struct symbolizer *sym, struct module *module,
					       const struct jit_name *name)
{
	return locate(sym, module, LOCATION_INTERPRETED, name);
}

struct location *symbolizer_promise(struct symbolizer *sym, uint64_t pc)
{
	struct module *module = generated_module(sym);

	return module ? location_promise(sym->locations, module, pc) : NULL;
}

void symbolizer_keep_promise(struct location *promise, struct location *loc)
{
	location_keep_promise(promise, loc);
}

/* ---- the worker ---- */

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	(void)ctx;
	if (batch->kind == FILES_V8_NAMES || batch->kind == FILES_JVM_NAMES) {
		struct v8_question *v8 = (struct v8_question *)batch;

		v8->done(v8, result, reply);
	} else { /* what it says is in the memfd */
		struct jit_question *q = (struct jit_question *)batch;

		q->done(q, result);
	}
}

static int start_client(struct symbolizer *sym)
{
	int r;

	if (sym->jit_client)
		return 0;
	if (!sym->loop)
		return -EAGAIN;
	r = files_client_new(FILES_WORKER_JIT, on_done, sym, &sym->jit_client);
	if (r == 0)
		r = files_client_start(sym->jit_client, sym->loop);
	return r;
}

void symbolizer_ask_generated(struct symbolizer *sym, struct jit_question *q)
{
	if (start_client(sym) < 0) {
		q->done(q, FILES_RESULT_NO_WORKER);
		return;
	}
	q->batch.kind = FILES_GENERATED;
	q->batch.n_kills = 0;
	files_client_submit(sym->jit_client, &q->batch);
}

void symbolizer_ask_v8_names(struct symbolizer *sym, struct v8_question *q)
{
	if (start_client(sym) < 0) {
		q->done(q, FILES_RESULT_NO_WORKER, NULL);
		return;
	}
	q->batch.second_fd = -1;
	q->batch.n_kills = 0;
	files_client_submit(sym->jit_client, &q->batch);
}

void symbolizer_distrust_generated(struct symbolizer *sym)
{
	if (sym->jit_client)
		files_client_distrust(sym->jit_client);
}

pid_t symbolizer_jit_worker_pid(const struct symbolizer *sym)
{
	return sym->jit_client ? files_client_pid(sym->jit_client) : 0;
}
