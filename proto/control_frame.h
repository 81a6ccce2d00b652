/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_frame.h - frames of the control protocol (control.proto), for both
 * sides: heads are checked before anything is allocated or unpacked.
 */
#ifndef CONTROL_FRAME_H
#define CONTROL_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define CONTROL_PROTOCOL 1
#define CONTROL_SOCKET	 "/run/tracer/control.sock"
/* Beside it, for programs' own markers (daemon/markers/markers_socket.h). */
#define MARKER_SOCKET_NAME "marker.sock"
#define MARKER_PATH_MAX	   108 /* of a socket's address */

/* -ENAMETOOLONG. */
int control_marker_path(const char *control_path, char dst[MARKER_PATH_MAX]);

#define FRAME_HEAD	  8
#define FRAME_MAX_REQUEST (64u << 10)
#define FRAME_MAX_REPLY	  (1u << 20)

enum frame_type { FRAME_REQUEST = 1, FRAME_REPLY = 2, FRAME_TRACE = 3 };

struct frame {
	enum frame_type type;
	const uint8_t *payload;
	uint32_t len;
};

void frame_head(uint8_t head[FRAME_HEAD], enum frame_type type, uint32_t len);

/*
 * The first whole frame in `data`. Returns its size with head, 0 when more
 * bytes are needed, -EMSGSIZE beyond `max` bytes of payload, -EBADMSG for a
 * head that no peer of this version writes.
 */
long frame_parse(const void *data, size_t len, uint32_t max, struct frame *ret);

/* Appends a frame to `b`. */
int frame_append(struct buf *b, enum frame_type type, const void *payload, uint32_t len);

#endif
