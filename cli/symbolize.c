/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.c - `tracectl symbolize`: source lines, inlined functions and missing
 * names for a trace that was recorded before, or elsewhere.
 *
 * What is found goes behind everything else in the file, all of it or nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "clean.h"
#include "command.h"
#include "io.h"
#include "symbolize.h"
#include "trace_symbols.h"

/* A file that cannot be read is as bad as a command line that cannot. */
enum { EXIT_NOTHING = EXIT_FAILED, EXIT_UNREADABLE = EXIT_USAGE };

#define FIELD_PACKET	 1
#define FIELD_COMPRESSED 50

struct options {
	bool debuginfod, dry_run, verbose;
	const char *path;
};

struct symbolize {
	const struct options *o;
	struct symbolize_worker *worker;
	struct symbolize_files *files;
	struct trace_symbols *symbols; /* of the module at hand */
	const struct trace_module *module;
	size_t at; /* in its addresses */
	struct buf out;
	size_t n_places, n_asked, n_modules, n_modules_without;
};

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl symbolize [OPTIONS] FILE\n"
	      "\n"
	      "Adds source lines, inlined functions and missing names to a trace. They are\n"
	      "looked for in the programs themselves and in their debug files, by build id, so\n"
	      "the trace may be from another machine.\n"
	      "\n"
	      "      --debuginfod  also ask the servers in $DEBUGINFOD_URLS, as "
	      "debuginfod-find(1)\n"
	      "  -n, --dry-run     only say what would be added\n"
	      "  -v, --verbose     name the modules of which nothing was found\n"
	      "\n"
	      "Exit status: 0 done, 1 nothing was found, 2 usage or a file that cannot be read\n"
	      "or written.\n",
	      out);
	return status;
}

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "tracectl: %s: %s\n", clean(path), why);
	return EXIT_UNREADABLE;
}

/* ---- what is found ---- */

/* A name that the trace has already, and nothing else, is not worth its place. */
static int on_lines(void *ctx, uint64_t address, const struct source_frame *frames, size_t n)
{
	struct symbolize *s = ctx;
	struct trace_symbol_line lines[FILES_FRAMES_MAX];

	/* Both go up. */
	while (s->at < trace_module_count(s->module) &&
	       trace_module_address(s->module, s->at)->address != address)
		s->at++;
	if (n == 0 || s->at == trace_module_count(s->module) ||
	    (n == 1 && !frames[0].source_len && trace_module_address(s->module, s->at)->is_named))
		return 0;
	for (size_t i = 0; i < n; i++)
		lines[i] = (struct trace_symbol_line){ frames[i].function, frames[i].source,
						       frames[i].function_len, frames[i].source_len,
						       frames[i].line };
	return trace_symbols_add(s->symbols, address, lines, n);
}

static size_t put_head(uint8_t *p, unsigned field, size_t len)
{
	uint64_t values[] = { (uint64_t)field << 3 | 2, len };
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		for (; values[i] >= 0x80; values[i] >>= 7)
			p[n++] = (uint8_t)(values[i] | 0x80);
		p[n++] = (uint8_t)values[i];
	}
	return n;
}

/* One packet, in a compressed block of its own. */
static int put_packet(struct buf *out, const TracePacket *pkt)
{
	size_t len = trace_packet__get_packed_size(pkt), n;
	uLongf packed_len = compressBound(len + 16);
	uint8_t *raw = malloc(len + 16), *packed = malloc(packed_len), head[32];
	int r = raw && packed ? 0 : -ENOMEM;

	if (r == 0) {
		n = put_head(raw, FIELD_PACKET, len);
		n += trace_packet__pack(pkt, raw + n);
		r = compress2(packed, &packed_len, raw, n, Z_DEFAULT_COMPRESSION) == Z_OK ? 0
											  : -ENOMEM;
	}
	if (r == 0) {
		uint8_t inner[16];
		size_t inner_len = put_head(inner, FIELD_COMPRESSED, packed_len);

		n = put_head(head, FIELD_PACKET, inner_len + packed_len);
		memcpy(head + n, inner, inner_len);
		r = buf_append(out, head, n + inner_len);
	}
	if (r == 0)
		r = buf_append(out, packed, packed_len);
	free(raw);
	free(packed);
	return r;
}

static int put_symbols(struct symbolize *s)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	size_t n = trace_symbols_count(s->symbols);

	if (n == 0)
		return 0;
	s->n_places += n;
	s->n_modules++;
	pkt.has_trusted_packet_sequence_id = 1;
	pkt.trusted_packet_sequence_id = 1;
	pkt.module_symbols = trace_symbols_message(s->symbols);
	return put_packet(&s->out, &pkt);
}

/* What goes wrong with one module's files costs only these. */
static int symbolize_module(struct symbolize *s, const struct trace_module *m)
{
	struct symbolize_source source;
	int r;

	s->n_asked += trace_module_count(m);
	r = symbolize_files_find(s->files, m, &source);
	if (r < 0) {
		s->n_modules_without++;
		if (s->o->verbose)
			printf("  %s: %s\n", clean(m->path),
			       m->build_id_len ? "no debug file was found" : "it has no build id");
		return 0;
	}
	s->module = m;
	s->at = 0;
	r = trace_symbols_new(m->path, m->build_id, m->build_id_len, &s->symbols);
	if (r < 0)
		goto out;
	r = symbolize_worker_lines(s->worker, source.fd, source.alt_fd, m, on_lines, s);
	if (r == -EIO) {
		fprintf(stderr, "tracectl: the debug file of %s cannot be read, or is too large\n",
			clean(m->path));
		r = 0;
	}
	if (r == 0)
		r = put_symbols(s);
	trace_symbols_free(s->symbols);
out:
	close(source.fd);
	if (source.alt_fd >= 0)
		close(source.alt_fd);
	return r;
}

/* ---- the file ---- */

/* Whole or not at all: a reader of half a packet would lose the trace's end. */
static int append(int fd, const struct buf *b)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int r;

	if (end < 0)
		return -errno;
	r = io_write_all(fd, b->data, b->len);
	if (r < 0 && ftruncate(fd, end) < 0)
		fprintf(stderr, "tracectl: and what was written of it cannot be taken back: %s\n",
			strerror(errno));
	return r;
}

static int read_trace(int fd, const char *path, struct trace_index *ix)
{
	struct trace_file_stats stats = { 0 };
	struct trace_file *f;
	int r;

	r = trace_file_open(fd, &f);
	if (r == 0) {
		r = trace_index_read(ix, f);
		trace_file_stats(f, &stats);
		trace_file_free(f);
	}
	if (r < 0)
		return complain(path, r == -E2BIG ? "more than memory can hold" : strerror(-r));
	/* Behind half a packet nothing would be read. */
	if (stats.cut || stats.n_zeros)
		return complain(path, "it ends within a packet, nothing can be added behind that");
	if (trace_index_facts(ix)->n_packets == 0)
		return complain(path, "this is no trace");
	return EXIT_OK;
}

static void print_result(const struct symbolize *s, const struct trace_modules *ms)
{
	printf("%s: %zu of %zu places in %zu modules have names and lines %s", clean(s->o->path),
	       s->n_places, s->n_asked, s->n_modules, s->o->dry_run ? "to add" : "now");
	if (ms->n_known)
		printf(", %zu had them before", ms->n_known);
	printf("\n");
	if (s->n_modules_without)
		printf("  %zu modules without a debug file%s\n", s->n_modules_without,
		       s->o->debuginfod ? "" : ": install it, or see --debuginfod");
}

static int symbolize_all(struct symbolize *s, const struct trace_modules *ms, int fd)
{
	int r;

	r = symbolize_worker_new(&s->worker);
	if (r == 0)
		r = symbolize_files_new(s->worker, s->o->debuginfod, &s->files);
	for (size_t i = 0; i < trace_modules_count(ms) && r == 0; i++)
		r = symbolize_module(s, trace_modules_at(ms, i));
	if (r == 0 && !s->o->dry_run && s->out.len > 0)
		r = append(fd, &s->out);
	symbolize_files_free(s->files);
	symbolize_worker_free(s->worker);
	buf_done(&s->out);
	if (r < 0)
		return complain(s->o->path, strerror(-r));
	print_result(s, ms);
	return s->n_places ? EXIT_OK : EXIT_NOTHING;
}

static int run(const struct options *o)
{
	struct symbolize s = { .o = o };
	struct trace_modules ms = { 0 };
	struct trace_index *ix;
	int fd, status;

	fd = open(o->path, (o->dry_run ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (fd < 0)
		return complain(o->path, strerror(errno));
	if (trace_index_new(&ix) < 0) {
		close(fd);
		return complain(o->path, strerror(ENOMEM));
	}
	status = read_trace(fd, o->path, ix);
	if (status == EXIT_OK && trace_modules_find(ix, &ms) < 0)
		status = complain(o->path, strerror(ENOMEM));
	if (status == EXIT_OK)
		status = symbolize_all(&s, &ms, fd);
	trace_modules_done(&ms);
	trace_index_free(ix);
	close(fd);
	return status;
}

int cmd_symbolize(int argc, char **argv)
{
	static const struct option options[] = {
		{ "debuginfod", no_argument, NULL, 'd' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { 0 };
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "nvh", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			o.debuginfod = true;
			break;
		case 'n':
			o.dry_run = true;
			break;
		case 'v':
			o.verbose = true;
			break;
		case 'h':
			return usage(stdout, EXIT_OK);
		default:
			return usage(stderr, EXIT_USAGE);
		}
	}
	if (argc - optind != 1)
		return usage(stderr, EXIT_USAGE);
	o.path = argv[optind];
	if (o.debuginfod && !getenv("DEBUGINFOD_URLS")) {
		fprintf(stderr, "tracectl: --debuginfod: DEBUGINFOD_URLS names no server, see "
				"debuginfod-find(1)\n");
		return EXIT_USAGE;
	}
	return run(&o);
}
