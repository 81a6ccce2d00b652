/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer.c - from an address to a name, off the hot path.
 *
 * Locations live in location_store.c, files in modules.c, the workers behind
 * files_pool.c, the kernel's functions in symbolizer_kernel.c. Here is what
 * joins them: the queue of locations that wait for the worker's answer. Where the
 * symbols of a stripped file are is found out before (symbolizer_debug.c).
 */
#include "symbolizer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "symbolizer_impl.h"

/*
 * About 200 bytes each, so 50 MB. A busy machine shows some ten thousand places
 * in a minute.
 */
#define MAX_UNUSED_LOCATIONS (256u * 1024)

/* So many are not made to wait for symbolizer_ask(). */
#define ASK_AT_ONCE (4 * FILES_BATCH_MAX)

/* Beyond that a location goes without a name: the worker cannot keep up. */
#define MAX_WAITING (128u * 1024)

#define MAX_BASENAME 255 /* bytes, NAME_MAX */
#define MAX_VDSO     (64u << 10)

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply);

static void on_location_gone(void *ctx, const struct module *module)
{
	(void)ctx;
	((struct code_module *)module)->n_locations--;
}

static void on_room(void *ctx)
{
	symbolizer_ask(ctx);
}

int symbolizer_new(struct symbolizer **ret)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));
	int r;

	if (!sym)
		return -ENOMEM;
	TAILQ_INIT(&sym->work);
	TAILQ_INIT(&sym->queries);
	TAILQ_INIT(&sym->lines_asked);
	TAILQ_INIT(&sym->probe_batches);
	/* Without it stripped programs have the names that they still have themselves. */
	if (debug_files_new("/", &sym->debug_files) < 0)
		sym->debug_files = NULL;
	r = modules_new(&sym->modules);
	if (r == 0)
		r = location_store_new(on_location_gone, sym, &sym->locations);
	if (r == 0)
		r = kernel_code_new(&sym->kernel_code);
	if (r == 0)
		r = files_pool_new(FILES_WORKER_SYMBOLS, on_done, on_room, sym, &sym->pool);
	if (r < 0)
		goto fail;
	r = -ENOMEM;
	sym->kernel = modules_by_name(sym->modules, MODULE_KERNEL, "kernel");
	if (!sym->kernel)
		goto fail;
	*ret = sym;
	return 0;

fail:
	symbolizer_free(sym);
	return r;
}

int symbolizer_start(struct symbolizer *sym, struct event_loop *loop)
{
	sym->loop = loop;
	return files_pool_start(sym->pool, loop);
}

pid_t symbolizer_worker_pid(const struct symbolizer *sym)
{
	return files_pool_pid(sym->pool, 0);
}

pid_t symbolizer_second_worker_pid(const struct symbolizer *sym)
{
	return files_pool_pid(sym->pool, 1);
}

/* ---- modules ---- */

int symbolizer_module(struct symbolizer *sym, int fd, const char *path, struct module **ret)
{
	struct code_module *m;
	int r;

	r = modules_by_file(sym->modules, fd, path, &m);
	if (r == -EINVAL) {
		m = modules_by_name(sym->modules, MODULE_PSEUDO, path);
		r = m ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret = &m->pub;
	return 0;
}

struct module *symbolizer_pseudo_module(struct symbolizer *sym, const char *name)
{
	struct code_module *m = modules_by_name(sym->modules, MODULE_PSEUDO, name);

	return m ? &m->pub : NULL;
}

bool module_is_file(const struct module *module)
{
	return ((const struct code_module *)module)->type == MODULE_FILE;
}

int symbolizer_open(struct symbolizer *sym, const struct module *module)
{
	const struct code_module *m = (const struct code_module *)module;
	int fd;

	(void)sym;
	if (m->fd < 0)
		return -ENOENT;
	fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

/* How long the kernel's image is, by its own headers; 0: there is none. */
static size_t vdso_size(const uint8_t *image)
{
	const ElfW(Ehdr) *eh = (const void *)image;
	size_t size;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return 0;
	size = eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
	for (size_t i = 0; i < eh->e_phnum; i++) {
		const ElfW(Phdr) *ph = (const void *)(image + eh->e_phoff + i * eh->e_phentsize);

		if (ph->p_type == PT_LOAD && size < ph->p_offset + ph->p_filesz)
			size = ph->p_offset + ph->p_filesz;
	}
	return size <= MAX_VDSO ? size : 0;
}

static int vdso_file(void)
{
	const uint8_t *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size = vdso_size(image);
	int fd;

	if (size == 0)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (pwrite(fd, image, size, 0) != (ssize_t)size ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

struct module *symbolizer_vdso(struct symbolizer *sym)
{
	int fd;

	if (sym->vdso)
		return &sym->vdso->pub;
	fd = vdso_file();
	if (fd < 0 || modules_by_file(sym->modules, fd, "[vdso]", &sym->vdso) < 0)
		sym->vdso = modules_by_name(sym->modules, MODULE_PSEUDO, "[vdso]");
	if (!sym->vdso)
		return NULL;
	module_hold(&sym->vdso->pub); /* kept here: it must not go */
	return &sym->vdso->pub;
}

/* ---- the queue ---- */

/* "[libfoo.so+0x1234]" */
static void name_by_offset(struct location_entry *e, uint64_t rel_pc)
{
	const char *path = e->pub.module->path, *base = strrchr(path, '/');
	char name[MAX_BASENAME + 1], text[MAX_BASENAME + 32];
	size_t len;

	base = base && base[1] ? base + 1 : path;
	len = strlen(base);
	if (len > 2 && base[0] == '[' && base[len - 1] == ']') {
		base++;
		len -= 2;
	}
	(void)text_utf8(name, sizeof(name), base, len);
	snprintf(text, sizeof(text), "[%s+0x%llx]", name, (unsigned long long)rel_pc);
	location_set_text(e, rel_pc, text);
}

static struct location_entry *take_waiting(struct symbolizer *sym, struct code_module *m)
{
	struct location_entry *e = TAILQ_FIRST(&m->waiting);

	if (!e)
		return NULL;
	TAILQ_REMOVE(&m->waiting, e, link);
	sym->n_waiting--;
	return e;
}

/* All that wait for this module go without a name. */
static void give_up_waiting(struct symbolizer *sym, struct code_module *m)
{
	struct location_entry *e;

	if (TAILQ_EMPTY(&m->waiting))
		return;
	while ((e = take_waiting(sym, m))) {
		name_by_offset(e, e->key);
		m->n_busy--;
		location_release(&e->pub);
	}
	if (m->is_queued)
		TAILQ_REMOVE(&sym->work, m, work_link);
	m->is_queued = false;
}

void symbolizer_enqueue(struct symbolizer *sym, struct code_module *m)
{
	if (!m->is_queued)
		TAILQ_INSERT_TAIL(&sym->work, m, work_link);
	m->is_queued = true;
}

struct question *symbolizer_question(struct code_module *m, enum files_kind kind)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	modules_touch(m);
	q->module = m;
	q->batch.kind = kind;
	q->batch.file_id = m->pub.id;
	q->batch.fd = m->fd;
	q->batch.second_fd = -1;
	return q;
}

/* Up to a batch of what waits for this module. False: out of memory. */
static bool ask_names(struct symbolizer *sym, struct code_module *m)
{
	struct question *q = symbolizer_question(m, FILES_NAMES);
	struct location_entry *e;

	if (!q)
		return false;
	q->batch.second_fd = symbolizer_open_debug(sym, m);
	q->batch.n_kills = m->debug.n_kills;
	m->debug.n_kills = 0;
	while (q->batch.n < FILES_BATCH_MAX && (e = take_waiting(sym, m))) {
		q->locations[q->batch.n] = e;
		q->batch.offsets[q->batch.n++] = e->key;
	}
	if (!TAILQ_EMPTY(&m->waiting))
		symbolizer_enqueue(sym, m);
	files_pool_submit(sym->pool, (struct files_batch *)q);
	return true;
}

/* Asks about the next module: for names once it is known where they are. */
static void ask_next(struct symbolizer *sym)
{
	struct code_module *m = TAILQ_FIRST(&sym->work);

	TAILQ_REMOVE(&sym->work, m, work_link);
	m->is_queued = false;
	if (!symbolizer_ask_debug(sym, m) && !ask_names(sym, m))
		give_up_waiting(sym, m);
}

/* Also comes here again from on_done() when a batch is done at once. */
void symbolizer_ask(struct symbolizer *sym)
{
	if (sym->is_asking)
		return;
	sym->is_asking = true;
	while (!TAILQ_EMPTY(&sym->work) && !files_pool_busy(sym->pool))
		ask_next(sym);
	sym->is_asking = false;
}

void symbolizer_fail_module(struct symbolizer *sym, struct code_module *m, enum log_level level,
			    const char *why)
{
	char path[256];

	if (m->is_failed)
		return;
	m->is_failed = true;
	sym->n_files_failed++;
	(void)text_printable(path, sizeof(path), m->pub.path, strlen(m->pub.path));
	log_write(level, "symbols: %s: %s; its functions stay without names", path, why);
	give_up_waiting(sym, m);
}

static void take_names(struct question *q, struct files_reply *reply)
{
	struct module *m = &q->module->pub;

	if (!m->build_id_len && reply->head.build_id_len) {
		memcpy(m->build_id, reply->head.build_id, reply->head.build_id_len);
		m->build_id_len = reply->head.build_id_len;
	}
	for (uint32_t i = 0; i < q->batch.n; i++) {
		struct location_entry *e = q->locations[i];
		struct files_entry entry;
		uint64_t rel_pc;

		files_reply_next(reply, &entry);
		rel_pc = entry.head.flags & FILES_HAS_VADDR ? entry.head.vaddr : e->key;
		e->pub.has_lines = (entry.head.flags & FILES_HAS_VADDR) &&
				   q->module->debug.dwarf != DWARF_NONE;
		if (entry.head.flags & FILES_HAS_SYMBOL)
			location_set_symbol(e, rel_pc, entry.head.symbol, entry.name,
					    entry.head.name_len);
		else
			name_by_offset(e, rel_pc);
	}
}

/* The debug file may be to blame: once more without it. */
static void ask_again(struct symbolizer *sym, struct question *q)
{
	struct code_module *m = q->module;

	m->debug.place = 0;
	for (uint32_t i = 0; i < q->batch.n; i++)
		TAILQ_INSERT_TAIL(&m->waiting, q->locations[i], link);
	sym->n_waiting += q->batch.n;
	symbolizer_enqueue(sym, m);
}

static void names_done(struct symbolizer *sym, struct question *q, enum files_result result,
		       struct files_reply *reply)
{
	struct code_module *m = q->module;

	if (result == FILES_RESULT_KILLER && q->batch.second_fd >= 0 && !m->is_failed) {
		ask_again(sym, q);
		return;
	}
	if (result == FILES_RESULT_OK)
		take_names(q, reply);
	else if (result == FILES_RESULT_BROKEN)
		symbolizer_fail_module(sym, m, LOG_LEVEL_DEBUG, "not a readable ELF file");
	else if (result == FILES_RESULT_KILLER)
		symbolizer_fail_module(sym, m, LOG_LEVEL_WARN,
				       "the worker that read it died or hung");

	if (m->debug.state == DEBUG_SKIPPED)
		m->debug.state = DEBUG_NOT_ASKED;

	for (uint32_t i = 0; i < q->batch.n; i++) {
		struct location_entry *e = q->locations[i];

		if (!e->pub.ready)
			name_by_offset(e, e->key);
		location_release(&e->pub);
	}
	m->n_busy -= q->batch.n;
}

static void objects_done(struct symbolizer *sym, struct question *q, enum files_result result,
			 struct files_reply *reply)
{
	struct code_module *m = q->module;
	struct v8_facts facts;

	if (q->batch.kind == FILES_OBJECTS) {
		q->objects_fn(q->fn_ctx, &m->pub,
			      result == FILES_RESULT_OK ? &reply->objects : NULL);
	} else if (result == FILES_RESULT_OK) {
		files_reply_get_facts(reply, &facts);
		q->v8_fn(q->fn_ctx, &m->pub, &facts);
	} else {
		q->v8_fn(q->fn_ctx, &m->pub, NULL);
	}
	if (result == FILES_RESULT_BROKEN)
		symbolizer_fail_module(sym, m, LOG_LEVEL_DEBUG, "not a readable ELF file");
	else if (result == FILES_RESULT_KILLER)
		symbolizer_fail_module(sym, m, LOG_LEVEL_WARN,
				       "the worker that read it died or hung");
	m->n_busy--;
}

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	struct symbolizer *sym = ctx;
	struct question *q = (struct question *)batch;
	struct code_module *m = q->module;

	if (batch->kind == FILES_DEBUG)
		symbolizer_debug_done(sym, q, result, reply);
	else if (batch->kind == FILES_OBJECTS || batch->kind == FILES_V8_FACTS)
		objects_done(sym, q, result, reply);
	else if (batch->kind == FILES_FUNCTIONS || batch->kind == FILES_STARTS)
		symbolizer_functions_done(sym, q, result, reply);
	else
		names_done(sym, q, result, reply);
	if (batch->second_fd >= 0)
		close(batch->second_fd);
	if (m->is_failed && m->n_busy == 0)
		modules_close(m);
	if (batch->kind == FILES_DEBUG)
		symbolizer_probes_go(sym);
	free(q);
	symbolizer_ask(sym);
}

void symbolizer_ask_objects(struct symbolizer *sym, struct module *module, const char *const *names,
			    size_t n, symbolizer_objects_fn *fn, void *ctx)
{
	struct code_module *m = (struct code_module *)module;
	struct question *q;

	q = m->type == MODULE_FILE && !m->is_failed ? symbolizer_question(m, FILES_OBJECTS) : NULL;
	if (!q) {
		fn(ctx, module, NULL);
		return;
	}
	q->objects_fn = fn;
	q->fn_ctx = ctx;
	for (; q->batch.n < n && q->batch.n < FILES_OBJECTS_MAX; q->batch.n++)
		snprintf(q->batch.objects[q->batch.n], FILES_OBJECT_NAME_MAX, "%s",
			 names[q->batch.n]);
	m->n_busy++;
	files_pool_submit(sym->pool, (struct files_batch *)q);
}

void symbolizer_ask_v8(struct symbolizer *sym, struct module *module, symbolizer_v8_fn *fn,
		       void *ctx)
{
	struct code_module *m = (struct code_module *)module;
	struct question *q;

	q = m->type == MODULE_FILE && !m->is_failed ? symbolizer_question(m, FILES_V8_FACTS) : NULL;
	if (!q) {
		fn(ctx, module, NULL);
		return;
	}
	q->v8_fn = fn;
	q->fn_ctx = ctx;
	m->n_busy++;
	files_pool_submit(sym->pool, (struct files_batch *)q);
}

static void wait_for_name(struct symbolizer *sym, struct code_module *m, struct location_entry *e)
{
	if (m->debug.state != DEBUG_ASKED)
		symbolizer_enqueue(sym, m);
	location_hold(&e->pub);
	TAILQ_INSERT_TAIL(&m->waiting, e, link);
	m->n_busy++;
	if (++sym->n_waiting >= ASK_AT_ONCE)
		symbolizer_ask(sym);
}

/* ---- locations ---- */

static bool is_jit(const char *name)
{
	return strncmp(name, "[anon", 5) == 0 || strncmp(name, "[jit", 4) == 0;
}

struct location *symbolizer_locate(struct symbolizer *sym, struct module *module,
				   uint64_t file_offset)
{
	struct code_module *m = (struct code_module *)module;
	enum location_kind kind = LOCATION_NATIVE;
	uint64_t key = file_offset;
	struct location_entry *e;

	if (m->type != MODULE_FILE) {
		key = 0; /* its addresses mean nothing: one location, so that stacks fold */
		kind = is_jit(module->path) ? LOCATION_JIT : LOCATION_NATIVE;
	}
	e = location_store_get(sym->locations, module, key);
	if (e)
		return &e->pub;
	e = location_store_add(sym->locations, module, key, kind);
	if (!e)
		return NULL;
	m->n_locations++;

	if (m->type != MODULE_FILE) {
		location_set_text(e, 0, module->path);
	} else if (m->is_failed) {
		name_by_offset(e, file_offset);
	} else if (sym->n_waiting >= MAX_WAITING) {
		sym->n_over_cap++;
		name_by_offset(e, file_offset);
	} else {
		wait_for_name(sym, m, e);
	}
	return &e->pub;
}

struct location *symbolizer_locate_line(struct symbolizer *sym, struct module *module,
					uint32_t code, const char *name, const char *file,
					uint32_t line)
{
	uint64_t key = (uint64_t)line << 32 | code;
	struct location_entry *e = location_store_get(sym->locations, module, key);

	if (e)
		return &e->pub;
	e = location_store_add(sym->locations, module, key, LOCATION_INTERPRETED);
	if (!e)
		return NULL;
	((struct code_module *)module)->n_locations++;
	location_set_line(e, code, name, file, line);
	return &e->pub;
}

/* ---- housekeeping ---- */

void symbolizer_collect(struct symbolizer *sym, uint64_t now_ns)
{
	bool crowded;

	files_pool_collect(sym->pool, now_ns);
	symbolizer_lines_collect(sym, now_ns);
	symbolizer_probes_collect(sym, now_ns);
	if (sym->jit_client)
		files_client_collect(sym->jit_client, now_ns);
	symbolizer_ask(sym);
	symbolizer_kernel_collect(sym, now_ns);
	crowded = modules_collect(sym->modules, now_ns);
	location_store_trim(sym->locations, crowded ? 0 : MAX_UNUSED_LOCATIONS);
}

void symbolizer_stats(const struct symbolizer *sym, struct symbolizer_stats *ret)
{
	*ret = (struct symbolizer_stats){
		.n_files = modules_n_files(sym->modules),
		.n_files_failed = sym->n_files_failed,
		.n_locations = location_store_count(sym->locations),
		.n_worker_restarts = files_pool_restarts(sym->pool),
		.n_over_cap = sym->n_over_cap,
		.kernel_hidden =
			sym->kallsyms_tried && (!sym->kallsyms || kallsyms_hidden(sym->kallsyms)),
	};
}

void symbolizer_free(struct symbolizer *sym)
{
	if (!sym)
		return;
	symbolizer_lines_done(sym);
	symbolizer_probes_done(sym);
	files_pool_free(sym->pool);
	files_client_free(sym->jit_client);
	location_store_free(sym->locations);
	modules_free(sym->modules);
	kallsyms_free(sym->kallsyms);
	kernel_code_free(sym->kernel_code);
	debug_files_free(sym->debug_files);
	free(sym);
}
