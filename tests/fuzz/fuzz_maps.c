/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the text files of /proc/PID: each line as one of maps and of
 * mountinfo, the whole as the others. What is accepted must lie within.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/mappings.h"
#include "process/proc_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static void maps_line(struct mappings **block, const char *line, size_t len)
{
	const struct mapping *found;
	struct maps_line m;

	if (proc_parse_maps_line(line, len, &m) < 0)
		return;
	CHECK(m.start < m.end);
	CHECK(m.name >= line && m.name + m.name_len == line + len);
	CHECK(proc_path_len(m.name, m.name_len) <= m.name_len);
	(void)proc_code_kind(m.name, m.name_len, m.inode);
	if (mappings_set(block, &(struct mapping){ m.start, m.end, m.pgoff, NULL }) < 0)
		return;
	/* The newest mapping wins, at both of its ends. */
	found = mappings_find(*block, m.start);
	CHECK(found && found->pgoff + (m.start - found->start) == m.pgoff);
	found = mappings_find(*block, m.end - 1);
	CHECK(found && m.end - 1 >= found->start && m.end - 1 < found->end);
}

static void mount_line(const char *line, size_t len)
{
	char path[64];

	if (proc_parse_mount(line, len, "cgroup2", path, sizeof(path)) == 0)
		CHECK(memchr(path, '\0', sizeof(path)));
}

static void whole_file(const char *text, size_t len)
{
	struct proc_status status;
	struct proc_stat stat;
	char cmdline[64];
	const char *path;
	size_t n;

	if (proc_parse_stat(text, len, &stat) == 0)
		CHECK(memchr(stat.comm, '\0', sizeof(stat.comm)));
	(void)proc_parse_status(text, len, &status);
	if (proc_parse_cgroup(text, len, &path, &n) == 0)
		CHECK(path >= text && path + n <= text + len && n > 0);
	for (unsigned size = 0; size <= sizeof(cmdline); size += 7) {
		n = proc_tidy_cmdline(cmdline, size, text, len, len % 2);
		CHECK(n <= size && (n == 0 || cmdline[n - 1] == '\0'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mappings_budget budget = { .max = 1u << 16 };
	struct mappings *block = mappings_new(&budget);
	const char *p = (const char *)data, *end = p + size;

	if (!block)
		return 0;
	whole_file(p, size);
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);
		char *line = malloc(len ? len : 1); /* so that a look beyond the end is seen */

		if (!line)
			break;
		memcpy(line, p, len);
		maps_line(&block, line, len);
		mount_line(line, len);
		free(line);
		p += len + 1;
	}
	mappings_release(block);
	CHECK(budget.n_used == 0);
	return 0;
}
