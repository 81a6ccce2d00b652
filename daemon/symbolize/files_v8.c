/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_v8.c - what the workers do about V8: its variables in files, its functions in
 * memory.
 *
 * The memory of a process is read through its /proc/PID/mem, as the daemon has opened it:
 * none of it is ever in the daemon, and a process that lets its pages be
 * waited for (userfaultfd, FUSE) holds up a worker with a deadline.
 */
#include "files_v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "elf_file.h"
#include "elf_objects.h"
#include "v8/v8_function.h"

/* ---- variables ---- */

static void take_fact(void *ctx, const char *name, int32_t value)
{
	struct v8_facts *facts = ctx;

	enum v8_fact fact = v8_fact_of(name);

	facts->values[fact] = value;
	facts->known |= 1ull << fact;
}

void files_v8_serve_facts(const struct files_request *req, int fd, struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .status = FILES_GONE,
					 .kind = FILES_V8_FACTS };
	struct v8_facts facts = { 0 };
	Elf *elf = NULL;

	if (fd >= 0)
		head.status = elf_file_open(fd, &elf) < 0 ? FILES_BROKEN : FILES_OK;
	if (elf)
		elf_ints(elf, fd, v8_is_fact, take_fact, &facts);
	elf_end(elf);
	files_reply_begin(reply, &head);
	if (head.status == FILES_OK)
		files_reply_facts(reply, &facts);
}

/* ---- functions ---- */

/* There is one worker in a process. */
static struct v8_lines *lines;

static bool read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	char *p = dst;

	while (len > 0) {
		ssize_t n = pread(*(const int *)ctx, p, len, (off_t)addr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		addr += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

/* Always fits: as long as all functions are, there is room. */
static void add_function(struct files_writer *reply, const struct v8_function *f)
{
	char file[FILES_SOURCE_MAX + 1];
	size_t len = strlen(f->file), cut = len > FILES_SOURCE_MAX ? len - FILES_SOURCE_MAX : 0;
	struct source_frame frame = { .function = f->name,
				      .function_len = strlen(f->name),
				      .source = file,
				      .line = f->line };

	frame.source_len = text_utf8(file, sizeof(file), f->file + cut, len - cut);
	(void)files_reply_lines(reply, &frame, 1);
}

static void serve_function(const struct files_request *req, uint32_t i, const struct v8_memory *m,
			   struct files_writer *reply)
{
	const struct source_frame none = { .function = "", .source = "" };
	static struct v8_function f;
	int r;

	r = v8_function_read(m, lines, req->file_id, req->v8.functions[i].object,
			     req->v8.functions[i].identity, &f);
	if (r == 0)
		add_function(reply, &f);
	else
		(void)files_reply_lines(reply, &none, r == -ENOENT ? 1 : 0);
}

void files_v8_serve_names(const struct files_request *req, int fd, struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .n = req->n,
					 .status = FILES_OK,
					 .kind = FILES_V8_NAMES };
	struct v8_memory m = { .layout = &req->v8.layout, .read = read_memory, .ctx = &fd };

	if (fd < 0 || (!lines && v8_lines_new(&lines) < 0)) {
		head.n = 0;
		head.status = fd < 0 ? FILES_GONE : FILES_TOO_LARGE;
	}
	files_reply_begin(reply, &head);
	for (uint32_t i = 0; i < head.n; i++)
		serve_function(req, i, &m, reply);
}
