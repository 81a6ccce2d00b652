/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_tables FILE...: what it costs to make the unwind tables of these files,
 * and to read their symbols.
 *
 * Prints for each: rows, nanoseconds of CPU time a row (the best of several
 * times, so that a busy machine does not count), bytes a row with pages and
 * rules, what the table says about itself, and the symbols. Goals: 150 ns and
 * 5 bytes. At the end, to stderr, what all took together.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/elf_symbols.h"
#include "unwind/eh_frame.h"
#include "unwind/unwind_table.h"

#define TIMES 5

static struct {
	uint64_t n, tables_ns, symbols_ns;
} all;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int make(int fd, struct unwind_table *ret, void **ret_bytes, size_t *ret_len,
		uint64_t *ret_ns)
{
	uint64_t begin = cpu_ns();
	int r = eh_frame_table(fd, ret_bytes, ret_len);

	*ret_ns = cpu_ns() - begin;
	return r < 0 ? r : unwind_table_decode(*ret_bytes, *ret_len, ret);
}

/* The number of symbols; 0: it has none, or cannot be read. */
static size_t read_symbols(int fd, uint64_t *ret_ns)
{
	struct elf_symbols *symbols;
	uint64_t begin = cpu_ns();
	size_t n = 0;

	if (elf_symbols_load(fd, -1, &symbols) == 0) {
		n = elf_symbols_count(symbols);
		elf_symbols_free(symbols);
	}
	*ret_ns = cpu_ns() - begin;
	return n;
}

static void print(const char *path, int fd, const struct unwind_table *t, size_t len, uint64_t ns)
{
	uint64_t symbols_ns;
	size_t n_symbols = read_symbols(fd, &symbols_ns);
	double rows = t->head.n_rows ? t->head.n_rows : 1;

	printf("%8u rows %6.1f ns/row %5.2f bytes/row %7.1f ms %6u functions %5u rules%s%s%s "
	       "%6zu symbols %6.1f ms  %s\n",
	       t->head.n_rows, (double)ns / rows, (double)len / rows, (double)ns / NS_PER_MS,
	       t->head.n_fdes, t->head.n_rules, t->head.flags & UNWIND_TABLE_CUT ? " CUT" : "",
	       t->head.flags & UNWIND_TABLE_DAMAGED ? " DAMAGED" : "",
	       t->head.flags & UNWIND_TABLE_NO_CFI ? " NO_CFI" : "", n_symbols,
	       (double)symbols_ns / NS_PER_MS, path);
	all.n++;
	all.tables_ns += ns;
	all.symbols_ns += symbols_ns;
}

static void measure(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = -1;
	uint64_t best = UINT64_MAX;

	if (fd < 0) {
		printf("%s: cannot be opened\n", path);
		return;
	}
	for (int i = 0; i < TIMES; i++) {
		struct unwind_table t;
		uint64_t ns;
		void *bytes;
		size_t len;

		r = make(fd, &t, &bytes, &len, &ns);
		if (r < 0) {
			printf("%s: %s\n", path, strerror(-r));
			break;
		}
		best = ns < best ? ns : best;
		if (i == TIMES - 1)
			print(path, fd, &t, len, best);
		free(bytes);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	fprintf(stderr, "%" PRIu64 " files: %.0f ms for tables, %.0f ms for symbols\n", all.n,
		(double)all.tables_ns / NS_PER_MS, (double)all.symbols_ns / NS_PER_MS);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
