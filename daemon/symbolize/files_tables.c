/* SPDX-License-Identifier: Apache-2.0 */
/* files_tables.c - what the worker does that makes unwind tables. */
#include "files_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "unwind/eh_frame.h"

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(fd, bytes + done, len - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

static int make_table(int fd, int out_fd)
{
	void *bytes;
	size_t len;
	int r;

	r = eh_frame_table(fd, &bytes, &len);
	if (r < 0)
		return r;
	r = write_all(out_fd, bytes, len);
	free(bytes);
	return r;
}

void files_tables_serve(const struct files_request *req, int fd, int out_fd,
			struct files_writer *reply)
{
	struct files_reply_head head = {
		.file_id = req->file_id,
		.seq = req->seq,
		.status = FILES_GONE,
		.kind = FILES_TABLE,
	};

	if (fd >= 0 && out_fd >= 0) {
		int r = make_table(fd, out_fd);

		if (r == 0)
			head.status = FILES_OK;
		else if (r == -ENOMEM || r == -EFBIG)
			head.status = FILES_TOO_LARGE;
		else
			head.status = FILES_BROKEN;
	}
	files_reply_begin(reply, &head);
}
