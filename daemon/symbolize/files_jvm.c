/* SPDX-License-Identifier: Apache-2.0 */
/* files_jvm.c - what the worker does about interpreted methods of JVMs. */
#include "files_jvm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hotspot/hotspot_layout.h"
#include "hotspot/hotspot_memory.h"
#include "hotspot/hotspot_names.h"

_Static_assert(HOTSPOT_NAME_MAX <= DEMANGLE_MAX + 1, "a name fits into a reply");

/* Reading a layout takes some thousand readings, and does not change while the process lives. */
#define MAX_LAYOUTS 16
#define MAX_READS   65536

struct kept {
	uint64_t file_id;
	struct hotspot_layout layout;
};

/* There is one worker in a process. */
static struct kept kept[MAX_LAYOUTS];
static size_t next_kept;

static ssize_t read_memory(void *ctx, void *dst, size_t len, uint64_t addr)
{
	return pread(*(const int *)ctx, dst, len, (off_t)addr);
}

/* NULL: it says too little, or nothing yet. */
static const struct hotspot_layout *layout_of(const struct files_request *req,
					      struct hotspot_memory *m)
{
	struct kept *k;
	char why[HOTSPOT_WHY_MAX];

	for (size_t i = 0; i < MAX_LAYOUTS; i++)
		if (kept[i].file_id == req->file_id)
			return &kept[i].layout;
	k = &kept[next_kept];
	k->file_id = 0;
	if (hotspot_layout_read(m, req->jvm.symbols, &k->layout, why) < 0)
		return NULL;
	k->file_id = req->file_id;
	next_kept = (next_kept + 1) % MAX_LAYOUTS;
	return &k->layout;
}

void files_jvm_serve_names(const struct files_request *req, int fd, struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .status = FILES_GONE,
					 .kind = FILES_JVM_NAMES };
	struct hotspot_memory m = { .read = read_memory, .ctx = &fd, .n_left = MAX_READS };
	const struct hotspot_layout *l = fd >= 0 ? layout_of(req, &m) : NULL;

	if (l) {
		head.status = FILES_OK;
		head.n = req->n;
	}
	files_reply_begin(reply, &head);
	for (uint32_t i = 0; i < head.n; i++) {
		char name[HOTSPOT_NAME_MAX];
		struct source_frame frame = { .function = name, .source = "" };

		frame.function_len = hotspot_method_name(l, &m, req->jvm.methods[i], name);
		/* A NUL would end it: it is of the process's making. */
		frame.function_len = strnlen(name, frame.function_len);
		(void)files_reply_lines(reply, &frame, frame.function_len ? 1 : 0);
	}
}
