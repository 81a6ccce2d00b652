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
				m->debug.said ? m->debug.said->link : "", place);
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
	const struct elf_debug *said = m->debug.said;
	int fd;

	if (!sym->debug_files || !said || !said->alt[0])
		return -1;
	fd = debug_files_open_alt(sym->debug_files, said->alt_build_id, said->alt_build_id_len,
				  said->alt);
	return fd >= 0 ? fd : -1;
}

/* `second_fd` is the question's from here on. False: out of memory. */
static bool submit(struct symbolizer *sym, struct code_module *m, int second_fd)
{
	struct question *q = symbolizer_question(m, FILES_DEBUG);

	if (!q) {
		if (second_fd >= 0)
			close(second_fd);
		return false;
	}
	q->batch.second_fd = second_fd;
	m->n_busy++;
	m->debug.state = DEBUG_ASKED;
	files_pool_submit(sym->pool, (struct files_batch *)q);
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

static void take_build_id(struct module *m, const struct elf_debug *info)
{
	if (m->build_id_len)
		return;
	memcpy(m->build_id, info->build_id, info->build_id_len);
	m->build_id_len = info->build_id_len;
}

/* What the file says about itself. True: something is missing, and to be looked for. */
static bool take_own(struct code_module *m, const struct elf_debug *info)
{
	struct module_debug *d = &m->debug;

	take_build_id(&m->pub, info);
	if (info->has_lines)
		d->dwarf = DWARF_OWN;
	if (info->has_lines && info->has_symbols && !info->alt[0])
		return false;
	/* Without memory for it there is nothing to look for. */
	return modules_keep_debug(m, info) == 0 && (!info->has_symbols || !info->has_lines);
}

static void take_found(struct code_module *m, const struct elf_debug *info)
{
	struct elf_debug *said = m->debug.said;

	if (m->debug.dwarf != DWARF_NONE || !info->has_lines)
		return;
	m->debug.dwarf = DWARF_IN_DEBUG_FILE;
	memcpy(said->alt, info->alt, sizeof(said->alt));
	memcpy(said->alt_build_id, info->alt_build_id, sizeof(said->alt_build_id));
	said->alt_build_id_len = info->alt_build_id_len;
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
