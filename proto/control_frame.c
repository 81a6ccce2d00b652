/* SPDX-License-Identifier: Apache-2.0 */
/* control_frame.c - frames of the control protocol. */
#include "control_frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void frame_head(uint8_t head[FRAME_HEAD], enum frame_type type, uint32_t len)
{
	head[0] = (uint8_t)len;
	head[1] = (uint8_t)(len >> 8);
	head[2] = (uint8_t)(len >> 16);
	head[3] = (uint8_t)(len >> 24);
	head[4] = (uint8_t)type;
	memset(head + 5, 0, 3);
}

long frame_parse(const void *data, size_t len, uint32_t max, struct frame *ret)
{
	const uint8_t *p = data;
	uint32_t n;

	if (len < FRAME_HEAD)
		return 0;
	if (p[4] < FRAME_REQUEST || p[4] > FRAME_TRACE || p[5] || p[6] || p[7])
		return -EBADMSG;
	n = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (n > max)
		return -EMSGSIZE;
	if (len < FRAME_HEAD + (size_t)n)
		return 0;
	*ret = (struct frame){ .type = p[4], .payload = p + FRAME_HEAD, .len = n };
	return FRAME_HEAD + (long)n;
}

int frame_append(struct buf *b, enum frame_type type, const void *payload, uint32_t len)
{
	int r = buf_reserve(b, FRAME_HEAD + (size_t)len);

	if (r < 0)
		return r;
	frame_head(b->data + b->len, type, len);
	if (len)
		memcpy(b->data + b->len + FRAME_HEAD, payload, len);
	b->len += FRAME_HEAD + len;
	return 0;
}

int control_marker_path(const char *control_path, char dst[MARKER_PATH_MAX])
{
	const char *slash = strrchr(control_path, '/');
	int dir_len = slash ? (int)(slash - control_path) + 1 : 0;
	int n = snprintf(dst, MARKER_PATH_MAX, "%.*s" MARKER_SOCKET_NAME, dir_len, control_path);

	return n < MARKER_PATH_MAX ? 0 : -ENAMETOOLONG;
}
