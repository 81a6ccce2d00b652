/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file.h - a .perfetto-trace as a sequence of packets.
 *
 * Reads once from front to back, whatever the size of the file: what is held
 * at a time is one packet and the block that it came in. Compressed blocks
 * (zlib or gzip) are inflated on the way. What a packet says is not looked at;
 * packet_decoder.h does that.
 *
 * A file that ends within a packet is no error: a recorder that was killed
 * leaves such a one. It is a fact, trace_file_stats.cut.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_file;

/* `fd` is borrowed; it need not be seekable. */
int trace_file_open(int fd, struct trace_file **ret);
/* `data` must outlive the reader. */
int trace_file_open_memory(const void *data, size_t len, struct trace_file **ret);
void trace_file_free(struct trace_file *f); /* takes NULL */

/* One block may inflate to this much: enough for any writer, too little for a bomb. */
#define TRACE_FILE_MAX_BLOCK (64u << 20)
/* Lowers the limit for tests and fuzzing. */
void trace_file_limit_block(struct trace_file *f, size_t max_bytes);

struct trace_packet_bytes {
	const uint8_t *data; /* a TracePacket, without its head; valid until the next call */
	size_t len;	     /* > 0: empty packets are passed over */
	uint64_t offset;     /* in the file, of the packet or of the block that holds it */
	size_t in_block;     /* in the inflated block; 0 outside of one */
};

/*
 * 1 and a packet, or 0: the end. -EBADMSG: a fault, see trace_file_fault();
 * calling again goes on behind it, where there is a behind. Or -errno of
 * read(), or -ENOMEM.
 */
int trace_file_next(struct trace_file *f, struct trace_packet_bytes *ret);

enum trace_fault {
	TRACE_FAULT_GARBAGE = 1, /* neither a packet nor zeros; there is no behind */
	TRACE_FAULT_PACKET,	 /* the packet's own fields do not parse */
	TRACE_FAULT_BLOCK,	 /* does not inflate to whole packets only */
	TRACE_FAULT_TOO_BIG,	 /* inflates to more than the limit */
	TRACE_FAULT_NESTED,	 /* a compressed block inside a compressed block */
	TRACE_FAULT_WRAPPER,	 /* the packet around a block carries something else as well */
	TRACE_FAULT_ZSTD,	 /* a block that this reader cannot inflate */
};

/* Of the last -EBADMSG: `*ret_text` is a static string, `*ret_offset` where in the file. */
enum trace_fault trace_file_fault(const struct trace_file *f, const char **ret_text,
				  uint64_t *ret_offset);

struct trace_file_stats {
	uint64_t n_bytes;   /* of the file, as far as it was read */
	uint64_t n_packets; /* handed out */
	uint64_t n_blocks, n_zstd_blocks;
	uint64_t n_inflated; /* bytes */
	uint64_t n_zeros;    /* bytes at the end */
	bool cut;	     /* ended within a packet */
	uint64_t cut_offset; /* where that packet begins */
};
void trace_file_stats(const struct trace_file *f, struct trace_file_stats *ret);

#endif
