/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what the programs here have in common that print a trace as lines, packet by packet. */
#ifndef DUMP_H
#define DUMP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "packet_decoder.h"
#include "trace_file.h"

static inline void *must(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(2);
	}
	return p;
}

/* `sequences` is the function's own, by sequence id. */
typedef void dump_packet_fn(struct hash *sequences, const TracePacket *pkt);

static inline int dump_packets(int fd, struct packet_decoder *decoder, struct hash *sequences,
			       dump_packet_fn *on_packet)
{
	struct trace_packet_bytes bytes;
	struct trace_file *f;
	int r = trace_file_open(fd, &f);

	if (r < 0)
		return r;
	while ((r = trace_file_next(f, &bytes)) == 1) {
		const TracePacket *pkt;

		r = packet_decode(decoder, bytes.data, bytes.len, NULL, NULL, &pkt);
		if (r < 0)
			break;
		on_packet(sequences, pkt);
	}
	trace_file_free(f);
	return r;
}

/* The whole of main() of `PROGRAM FILE`. */
static inline int dump_main(int argc, char **argv, const char *program, dump_packet_fn *on_packet)
{
	/* What is held dies with the process. */
	static struct packet_decoder *decoder;
	static struct hash *sequences;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int r;

	if (fd < 0) {
		fprintf(stderr, "usage: %s FILE%s%s\n", program, argc == 2 ? ": " : "",
			argc == 2 ? strerror(errno) : "");
		return 2;
	}
	if (packet_decoder_new(&decoder) < 0 || hash_new(&sequences) < 0)
		must(NULL);
	r = dump_packets(fd, decoder, sequences, on_packet);
	if (r < 0)
		fprintf(stderr, "%s: %s: %s\n", program, argv[1], strerror(-r));
	return r < 0 || fflush(stdout) != 0 ? 1 : 0;
}

#endif
