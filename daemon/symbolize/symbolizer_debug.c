/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer_debug.c - where the symbols of a stripped file are.
 *
 * The worker says what the file has and what it is called elsewhere; we open
 * what is there by that name (debug_files.c); the worker says whether it fits.
 * Once for each file, before its first names.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer_impl.h"

int symbolizer_set_root(struct symbolizer *sym, const char *root)
{
	struct debug_files *d;
	int r = debug_files_new(root, &d);

	if (r < 0)
		return r;
	debug_files_free(sym->debug_files);
	sym->debug_files = d;
	return 0;
}

static int open_place(const struct symbolizer *sym, const struct code_module *m, unsigned *place)
{
	if (!sym->debug_files)
		return -1;
	return debug_files_open(sym->debug_files, m->pub.build_id, m->pub.build_id_len, m->pub.path,
				m->debug.link ? m->debug.link : "", place);
}

int symbolizer_open_debug(const struct symbolizer *sym, const struct code_module *m)
{
	unsigned place = m->debug.place - 1;
	int fd;

	if (m->debug.state != DEBUG_KNOWN || m->debug.place == 0)
		return -1;
	fd = open_place(sym, m, &place);
	if (fd >= 0 && place != m->debug.place) { /* it is gone, and this is another one */
		close(fd);
		return -1;
	}
	return fd >= 0 ? fd : -1;
}

int symbolizer_open_alt(const struct symbolizer *sym, const struct code_module *m)
{
	int fd;

	if (!sym->debug_files || !m->debug.alt)
		return -1;
	fd = debug_files_open_alt(sym->debug_files, m->debug.alt_build_id,
				  m->debug.alt_build_id_len, m->debug.alt);
	return fd >= 0 ? fd : -1;
}

/* `second_fd` is the question's from here on. False: out of memory. */
static bool submit(struct symbolizer *sym, struct code_module *m, int second_fd)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q) {
		if (second_fd >= 0)
			close(second_fd);
		return false;
	}
	q->module = m;
	q->batch.kind = FILES_DEBUG;
	q->batch.file_id = m->pub.id;
	q->batch.fd = m->fd;
	q->batch.second_fd = second_fd;
	m->n_busy++;
	m->debug.state = DEBUG_ASKED;
	files_client_submit(sym->client, &q->batch);
	return true;
}

bool symbolizer_ask_debug(struct symbolizer *sym, struct code_module *m)
{
	return m->debug.state == DEBUG_NOT_ASKED && m->fd >= 0 && submit(sym, m, -1);
}

/* Places are counted from 1. False: there are no more. */
static bool try_next(struct symbolizer *sym, struct code_module *m)
{
	int fd = open_place(sym, m, &m->debug.place);

	return fd >= 0 && submit(sym, m, fd);
}

/* Without memory for a name there is none. */
static char *copy(const char *name)
{
	return *name ? strdup(name) : NULL;
}

static void take_alt(struct module_debug *d, const struct elf_debug *info)
{
	free(d->alt);
	d->alt = copy(info->alt);
	d->alt_build_id_len = info->alt_build_id_len;
	memcpy(d->alt_build_id, info->alt_build_id, sizeof(d->alt_build_id));
}

/* What the file says about itself. True: something is missing. */
static bool take_own(struct code_module *m, const struct elf_debug *info)
{
	struct module_debug *d = &m->debug;

	if (!m->pub.build_id_len) {
		memcpy(m->pub.build_id, info->build_id, info->build_id_len);
		m->pub.build_id_len = info->build_id_len;
	}
	free(d->link);
	d->link = copy(info->link);
	if (info->has_lines) {
		d->dwarf = DWARF_OWN;
		take_alt(d, info);
	}
	return !info->has_symbols || !info->has_lines;
}

static void take_found(struct code_module *m, const struct elf_debug *info)
{
	if (m->debug.dwarf != DWARF_NONE || !info->has_lines)
		return;
	m->debug.dwarf = DWARF_IN_DEBUG_FILE;
	take_alt(&m->debug, info);
}

/* True: asked once more. */
static bool take_answer(struct symbolizer *sym, struct question *q, const struct files_reply *reply)
{
	struct code_module *m = q->module;
	struct files_debug debug;

	files_reply_get_debug(reply, &debug);
	if (q->batch.second_fd < 0 && !take_own(m, &debug.info))
		return false;
	if (q->batch.second_fd >= 0 && debug.fits) {
		take_found(m, &debug.info);
		return false;
	}
	if (try_next(sym, m))
		return true;
	m->debug.place = 0;
	return false;
}

void symbolizer_debug_done(struct symbolizer *sym, struct question *q, enum files_result result,
			   const struct files_reply *reply)
{
	struct code_module *m = q->module;

	m->n_busy--;
	m->debug.state = DEBUG_KNOWN;
	m->debug.n_kills = q->batch.n_kills;
	if (result == FILES_RESULT_OK && take_answer(sym, q, reply))
		return;
	if (result == FILES_RESULT_BROKEN)
		symbolizer_fail_module(sym, m, LOG_LEVEL_DEBUG, "not a readable ELF file");
	else if (result == FILES_RESULT_KILLER && q->batch.second_fd < 0)
		symbolizer_fail_module(sym, m, LOG_LEVEL_WARN,
				       "the worker that read it died or hung");
	else if (result == FILES_RESULT_NO_WORKER)
		m->debug.state = DEBUG_SKIPPED;
	if (result != FILES_RESULT_OK)
		m->debug.place = 0;
	if (!TAILQ_EMPTY(&m->waiting))
		symbolizer_enqueue(sym, m);
}
