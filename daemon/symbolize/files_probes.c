/* SPDX-License-Identifier: Apache-2.0 */
/* files_probes.c - the worker's answers about places of probes, and their types. */
#include "files_probes.h"

#include <errno.h>
#include <unistd.h>

#include "dwarf_types.h"
#include "files_places.h"

#define ANSWER_MAX (FILES_REPLY_MAX - sizeof(struct files_reply_head))

/* A glob asks about one file many times, and loading its DWARF takes long. */
static struct {
	uint64_t id;
	struct dwarf_types *dwarf; /* NULL: none */
	int fds[FILES_MAX_FDS];
} kept;

static uint8_t answer[ANSWER_MAX]; /* the worker has one thread */

static void end_texts(struct files_probe *p)
{
	p->symbol[sizeof(p->symbol) - 1] = '\0';
	p->group[sizeof(p->group) - 1] = '\0';
	if (p->words_len)
		p->words[p->words_len - 1] = '\0';
}

static void reply_with(const struct files_request *req, int status, size_t len,
		       struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .kind = (uint8_t)req->kind,
					 .status = (uint8_t)status };

	files_reply_begin(reply, &head);
	if (status == FILES_OK)
		files_reply_bytes(reply, answer, len);
}

void files_probes_serve_places(struct files_request *req, const int fds[FILES_MAX_FDS],
			       struct files_writer *reply)
{
	ssize_t n = -EBADF;

	end_texts(&req->probe);
	if (fds[0] >= 0)
		n = files_places_find(fds[0], fds[1], &req->probe, answer, sizeof(answer));
	reply_with(req,
		   n >= 0	? FILES_OK
		   : fds[0] < 0 ? FILES_GONE
				: FILES_BROKEN,
		   n >= 0 ? (size_t)n : 0, reply);
}

static void forget(void)
{
	if (!kept.dwarf)
		return;
	dwarf_types_free(kept.dwarf);
	kept.dwarf = NULL;
	for (int i = 0; i < FILES_MAX_FDS; i++)
		if (kept.fds[i] >= 0)
			close(kept.fds[i]);
}

static int load(uint64_t id, int fds[FILES_MAX_FDS])
{
	int r;

	if (kept.dwarf && kept.id == id)
		return 0;
	forget();
	if (fds[0] < 0)
		return -EBADF;
	r = dwarf_types_load(fds[0], fds[1], &kept.dwarf);
	if (r < 0) {
		kept.dwarf = NULL;
		return r;
	}
	kept.id = id;
	for (int i = 0; i < FILES_MAX_FDS; i++) {
		kept.fds[i] = fds[i];
		fds[i] = -1;
	}
	return 0;
}

void files_probes_serve_types(struct files_request *req, int fds[FILES_MAX_FDS],
			      struct files_writer *reply)
{
	struct probe_types *types = NULL;
	ssize_t n = 0;
	int r;

	end_texts(&req->probe);
	r = load(req->file_id, fds);
	if (r == 0)
		r = dwarf_types_find(kept.dwarf, &req->probe, &types);
	if (r == 0)
		n = probe_types_encode(types, answer, sizeof(answer));
	probe_types_free(types);
	if (r == -EFBIG || n == -ENOSPC)
		reply_with(req, FILES_TOO_LARGE, 0, reply);
	else if (r < 0)
		reply_with(req, r == -EBADF ? FILES_GONE : FILES_BROKEN, 0, reply);
	else
		reply_with(req, FILES_OK, (size_t)n, reply);
}
