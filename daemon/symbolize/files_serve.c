/* SPDX-License-Identifier: Apache-2.0 */
/* files_serve.c - the worker's answers. */
#include "files_serve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "demangle.h"
#include "dwarf_lines.h"
#include "elf_file.h"
#include "elf_objects.h"
#include "elf_starts.h"
#include "elf_symbols.h"
#include "files_jit.h"
#include "files_jvm.h"
#include "files_probes.h"
#include "files_tables.h"
#include "files_v8.h"
#include "files_worker.h"

/* What a kept file takes besides its tables. */
#define FILE_OVERHEAD_BYTES 256

struct file {
	TAILQ_ENTRY(file) link;
	uint64_t id;
	struct elf_symbols *symbols;
	size_t bytes;
};

TAILQ_HEAD(files, file);

struct files_server {
	struct hash *by_id;
	struct files files; /* most recently used first */
	size_t bytes;

	/* Lines are asked for one file after the other, and each takes much memory. */
	uint64_t lines_id;
	struct dwarf_lines *lines;	   /* NULL: none */
	struct elf_symbols *lines_symbols; /* for what DWARF does not name; NULL: not needed yet */
	bool lines_symbols_tried;
	int lines_fds[FILES_MAX_FDS];
};

int files_server_new(struct files_server **ret)
{
	struct files_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	TAILQ_INIT(&s->files);
	r = hash_new(&s->by_id);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void close_fds(const int fds[FILES_MAX_FDS])
{
	for (int i = 0; i < FILES_MAX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- what is in the file, and where the rest is ---- */

static int debug_of(int fd, int debug_fd, struct files_debug *ret)
{
	struct elf_debug debug;
	int r;

	*ret = (struct files_debug){ 0 };
	r = elf_debug_read(fd, &ret->info);
	if (r == 0 && debug_fd >= 0 && elf_debug_fits(&ret->info, debug_fd, &debug)) {
		ret->info = debug;
		ret->fits = 1;
	}
	return r;
}

static void serve_debug(const int fds[FILES_MAX_FDS], struct files_reply_head *head,
			struct files_writer *reply)
{
	struct files_debug debug;

	if (fds[0] < 0)
		head->status = FILES_GONE;
	else if (debug_of(fds[0], fds[1], &debug) < 0)
		head->status = FILES_BROKEN;
	else
		head->status = FILES_OK;
	files_reply_begin(reply, head);
	if (head->status == FILES_OK)
		files_reply_debug(reply, &debug);
}

/* ---- variables, functions ---- */

/* Variables are asked for once: nothing is kept. */
static void serve_objects(struct files_request *req, const int fds[FILES_MAX_FDS],
			  struct files_reply_head *head, struct files_writer *reply)
{
	struct files_objects objects = { 0 };
	struct elf_text text = { 0 };
	Elf *elf = NULL;

	head->status = FILES_GONE;
	if (fds[0] >= 0)
		head->status = elf_file_open(fds[0], &elf) < 0 ? FILES_BROKEN : FILES_OK;
	if (elf) {
		(void)elf_text(elf, &text);
		objects.text_offset = text.offset;
		objects.text_size = text.size;
		objects.text_vaddr = text.vaddr;
		head->n = req->n;
	}
	for (uint32_t i = 0; elf && i < req->n; i++) {
		struct files_object *o = &objects.objects[i];
		int n;

		req->objects[i][FILES_OBJECT_NAME_MAX - 1] = '\0';
		n = elf_object(elf, fds[0], req->objects[i], o->bytes, sizeof(o->bytes), &o->vaddr);
		o->len = n > 0 && o->vaddr ? (uint32_t)n : 0;
	}
	elf_end(elf);
	files_reply_begin(reply, head);
	if (head->status == FILES_OK)
		files_reply_objects(reply, &objects);
}

static void serve_functions(struct files_request *req, const int fds[FILES_MAX_FDS],
			    struct files_reply_head *head, struct files_writer *reply)
{
	uint64_t offsets[FILES_FUNCTIONS_MAX] = { 0 };
	Elf *elf = NULL;

	head->status = FILES_GONE;
	if (fds[0] >= 0)
		head->status = elf_file_open(fds[0], &elf) < 0 ? FILES_BROKEN : FILES_OK;
	if (elf) {
		for (uint32_t i = 0; req->kind == FILES_FUNCTIONS && i < req->n; i++)
			req->functions[i][FILES_FUNCTION_NAME_MAX - 1] = '\0';
		if (req->kind == FILES_FUNCTIONS)
			elf_functions(elf, req->functions[0], FILES_FUNCTION_NAME_MAX, req->n,
				      offsets);
		else
			elf_starts(elf, fds[0], req->offsets, req->n, offsets);
		head->n = req->n;
	}
	elf_end(elf);
	files_reply_begin(reply, head);
	if (head->status == FILES_OK)
		files_reply_functions(reply, offsets, req->n);
}

/* ---- names ---- */

static void forget(struct files_server *s, struct file *f)
{
	hash_remove_u64(s->by_id, f->id);
	TAILQ_REMOVE(&s->files, f, link);
	assert(TAILQ_LAST(&s->files, files) != f); /* for the analyzer */
	s->bytes -= f->bytes;
	elf_symbols_free(f->symbols);
	free(f);
}

static int load(struct files_server *s, uint64_t id, const int fds[FILES_MAX_FDS],
		struct file **ret)
{
	struct file *f = calloc(1, sizeof(*f)), *old;
	struct files_debug debug = { 0 };
	int r;

	if (!f)
		return -ENOMEM;
	f->id = id;
	/* It did fit, but the one there may have been replaced. */
	if (fds[1] >= 0)
		(void)debug_of(fds[0], fds[1], &debug);
	r = elf_symbols_load(fds[0], debug.fits ? fds[1] : -1, &f->symbols);
	if (r == 0)
		r = hash_set_u64(s->by_id, id, f);
	if (r < 0) {
		elf_symbols_free(f->symbols);
		free(f);
		return r;
	}
	f->bytes = elf_symbols_bytes(f->symbols) + FILE_OVERHEAD_BYTES;
	s->bytes += f->bytes;
	TAILQ_INSERT_HEAD(&s->files, f, link);
	while (s->bytes > FILES_KEEP_BYTES && (old = TAILQ_LAST(&s->files, files)) != f)
		forget(s, old);
	*ret = f;
	return 0;
}

static void add_name(struct files_writer *reply, const struct elf_symbols *symbols, uint64_t offset)
{
	struct files_entry_head e = { 0 };
	char name[DEMANGLE_MAX + 1];
	const char *raw = NULL;

	if (elf_symbols_vaddr(symbols, offset, &e.vaddr)) {
		e.flags |= FILES_HAS_VADDR;
		raw = elf_symbols_find(symbols, e.vaddr, &e.symbol);
	}
	if (raw)
		e.name_len = (uint16_t)demangle(name, raw);
	if (e.name_len)
		e.flags |= FILES_HAS_SYMBOL;
	else
		e.symbol = 0;
	files_reply_add(reply, &e, name);
}

static void serve_names(struct files_server *s, const struct files_request *req,
			const int fds[FILES_MAX_FDS], struct files_reply_head *head,
			struct files_writer *reply)
{
	struct file *f = hash_get_u64(s->by_id, req->file_id);
	const uint8_t *build_id;
	size_t build_id_len;
	int r = 0;

	if (f) {
		TAILQ_REMOVE(&s->files, f, link);
		TAILQ_INSERT_HEAD(&s->files, f, link);
	} else if (fds[0] >= 0) {
		r = load(s, req->file_id, fds, &f);
	}
	if (!f) {
		head->status = r < 0 ? FILES_BROKEN : FILES_GONE;
		files_reply_begin(reply, head);
		return;
	}
	head->status = FILES_OK;
	head->n = req->n;
	build_id = elf_symbols_build_id(f->symbols, &build_id_len);
	if (build_id)
		memcpy(head->build_id, build_id, build_id_len);
	head->build_id_len = (uint8_t)build_id_len;
	files_reply_begin(reply, head);
	for (uint32_t i = 0; i < req->n; i++)
		add_name(reply, f->symbols, req->offsets[i]);
}

/* ---- lines ---- */

static void forget_lines(struct files_server *s)
{
	dwarf_lines_free(s->lines);
	elf_symbols_free(s->lines_symbols);
	if (s->lines || s->lines_symbols)
		close_fds(s->lines_fds);
	s->lines = NULL;
	s->lines_symbols = NULL;
	s->lines_symbols_tried = false;
	s->lines_id = 0;
}

/*
 * libdw reads from the descriptors as long as it is there: they stay open. A
 * debug file may also have a symbol table alone.
 */
static int load_lines(struct files_server *s, const struct files_request *req,
		      int fds[FILES_MAX_FDS])
{
	int r;

	forget_lines(s);
	r = dwarf_lines_load(fds[0], fds[1], &s->lines);
	if ((r == -ENOEXEC || r == -EFBIG) && !(req->flags & FILES_DWARF_ONLY))
		r = elf_symbols_load(fds[0], -1, &s->lines_symbols);
	if (r < 0)
		return r;
	s->lines_id = req->file_id;
	for (int i = 0; i < FILES_MAX_FDS; i++) {
		s->lines_fds[i] = fds[i];
		fds[i] = -1;
	}
	return 0;
}

/* The function at `vaddr` by the file's symbol table, or NULL. */
static const char *symbol_at(struct files_server *s, uint64_t vaddr)
{
	uint64_t start;

	if (!s->lines_symbols && !s->lines_symbols_tried &&
	    elf_symbols_load(s->lines_fds[0], -1, &s->lines_symbols) < 0)
		s->lines_symbols = NULL;
	s->lines_symbols_tried = true;
	return s->lines_symbols ? elf_symbols_find(s->lines_symbols, vaddr, &start) : NULL;
}

/* The frames at `vaddr`, the innermost one first. */
static size_t find_frames(struct files_server *s, uint64_t vaddr, bool dwarf_only,
			  struct dwarf_frame frames[DWARF_MAX_FRAMES])
{
	size_t n = s->lines ? dwarf_lines_find(s->lines, vaddr, frames) : 0;

	if (dwarf_only)
		return n;
	if (n == 0)
		frames[n++] = (struct dwarf_frame){ 0 };
	if (!frames[n - 1].function)
		frames[n - 1].function = symbol_at(s, vaddr);
	return n == 1 && !frames[0].function && !frames[0].file ? 0 : n;
}

/* Where each frame's strings are made. */
struct frame_text {
	char function[DEMANGLE_MAX + 1], source[3 * FILES_SOURCE_MAX + 1];
};

static struct source_frame frame_of(const struct dwarf_frame *in, struct frame_text *text)
{
	struct source_frame f = { .function = text->function,
				  .source = text->source,
				  .line = in->line };
	size_t len;

	if (in->function)
		f.function_len = demangle(text->function, in->function);
	if (in->file) {
		len = strlen(in->file);
		/* Its end says more than its start. */
		f.source_len = len <= FILES_SOURCE_MAX ? len : FILES_SOURCE_MAX;
		f.source_len = text_utf8(text->source, FILES_SOURCE_MAX + 1,
					 in->file + len - f.source_len, f.source_len);
	}
	return f;
}

/* False: no room in this reply. */
static bool add_lines(struct files_server *s, uint64_t vaddr, bool dwarf_only,
		      struct files_writer *reply)
{
	static struct frame_text text[FILES_FRAMES_MAX]; /* the worker has one thread */
	struct dwarf_frame found[DWARF_MAX_FRAMES];
	struct source_frame frames[FILES_FRAMES_MAX];
	size_t n = find_frames(s, vaddr, dwarf_only, found), skip = 0;

	if (n > FILES_FRAMES_MAX) {
		skip = n - FILES_FRAMES_MAX;
		n = FILES_FRAMES_MAX;
	}
	for (size_t i = 0; i < n; i++)
		frames[i] = frame_of(&found[skip + i], &text[i]);
	return files_reply_lines(reply, frames, n);
}

static void serve_lines(struct files_server *s, const struct files_request *req,
			int fds[FILES_MAX_FDS], struct files_reply_head *head,
			struct files_writer *reply)
{
	int r = 0;

	if (s->lines_id != req->file_id)
		r = fds[0] >= 0 ? load_lines(s, req, fds) : -ESTALE;
	if (r < 0) {
		head->status = r == -ESTALE ? FILES_GONE : FILES_BROKEN;
		files_reply_begin(reply, head);
		return;
	}
	head->status = FILES_OK;
	files_reply_begin(reply, head);
	while (head->n < req->n &&
	       add_lines(s, req->offsets[head->n], req->flags & FILES_DWARF_ONLY, reply))
		head->n++;
	memcpy(reply->bytes, head, sizeof(*head)); /* now that their number is known */
}

void files_serve(struct files_server *s, struct files_request *req, const int fds[FILES_MAX_FDS],
		 struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .kind = (uint8_t)req->kind };
	int own[FILES_MAX_FDS];

	memcpy(own, fds, sizeof(own));
	if (req->kind == FILES_TABLE)
		files_tables_serve(req, own[0], own[1], reply);
	else if (req->kind == FILES_GENERATED)
		files_jit_serve(req, own[0], own[1], reply);
	else if (req->kind == FILES_V8_FACTS)
		files_v8_serve_facts(req, own[0], reply);
	else if (req->kind == FILES_V8_NAMES)
		files_v8_serve_names(req, own[0], reply);
	else if (req->kind == FILES_JVM_NAMES)
		files_jvm_serve_names(req, own[0], reply);
	else if (req->kind == FILES_PLACES)
		files_probes_serve_places(req, own, reply);
	else if (req->kind == FILES_TYPES)
		files_probes_serve_types(req, own, reply);
	else if (req->kind == FILES_DEBUG)
		serve_debug(own, &head, reply);
	else if (req->kind == FILES_OBJECTS)
		serve_objects(req, own, &head, reply);
	else if (req->kind == FILES_FUNCTIONS || req->kind == FILES_STARTS)
		serve_functions(req, own, &head, reply);
	else if (req->kind == FILES_LINES)
		serve_lines(s, req, own, &head, reply);
	else
		serve_names(s, req, own, &head, reply);
	close_fds(own);
}
