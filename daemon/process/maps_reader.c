/* SPDX-License-Identifier: Apache-2.0 */
/* maps_reader.c - /proc/PID/maps to a block of mappings, in slices. */
#include "maps_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "process/mappings.h"
#include "process/module_pins.h"
#include "process/proc_parse.h"
#include "symbolize/symbolizer.h"

/* The longest line is a path of PATH_MAX, a newline in it four bytes long. */
#define BUFFER_BYTES (32 * 1024)

struct maps_reader {
	int fd;
	uint32_t tgid;
	struct module_pins *pins;
	struct mappings *block;
	uint64_t time_ns, n_over_cap;
	size_t len; /* bytes in `buffer`: a line begun, or lines not looked at yet */
	bool at_end, skip_line;
	char buffer[BUFFER_BYTES];
};

static int check_owner(int proc_fd, uint32_t tgid, uint64_t start_ticks)
{
	struct proc_stat stat;
	char text[1024];
	ssize_t n;
	int fd;

	snprintf(text, sizeof(text), "%u/stat", tgid);
	fd = openat(proc_fd, text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n <= 0 || proc_parse_stat(text, (size_t)n, &stat) < 0)
		return -ESRCH;
	return stat.start_ticks == start_ticks ? 0 : -ESRCH;
}

int maps_reader_open(int proc_fd, uint32_t tgid, uint64_t start_ticks, struct module_pins *pins,
		     struct mappings_budget *budget, struct maps_reader **ret)
{
	struct maps_reader *reader;
	char name[32];
	int r;

	reader = malloc(sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	*reader = (struct maps_reader){ .tgid = tgid, .pins = pins, .time_ns = boot_ns() };
	reader->block = mappings_new(budget);

	/* The descriptor stands for one process: what is checked after its open holds for it. */
	snprintf(name, sizeof(name), "%u/maps", tgid);
	reader->fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	r = reader->fd < 0 ? -errno : 0;
	if (r == 0)
		r = reader->block ? check_owner(proc_fd, tgid, start_ticks) : -ENOMEM;
	if (r < 0) {
		maps_reader_free(reader);
		return r == -ENOENT ? -ESRCH : r;
	}
	*ret = reader;
	return 0;
}

void maps_reader_free(struct maps_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	mappings_release(reader->block);
	free(reader);
}

uint64_t maps_reader_time(const struct maps_reader *reader)
{
	return reader->time_ns;
}

uint64_t maps_reader_over_cap(const struct maps_reader *reader)
{
	return reader->n_over_cap;
}

struct mappings *maps_reader_take(struct maps_reader *reader)
{
	struct mappings *block = reader->block;

	reader->block = NULL;
	return block;
}

int maps_reader_add(struct maps_reader *reader, const struct mapping *add)
{
	int r = mappings_set(&reader->block, add);

	reader->n_over_cap += r < 0;
	return r;
}

static void take_line(struct maps_reader *reader, const char *line, size_t len)
{
	struct mapping mapping;
	struct maps_line m;

	if (proc_parse_maps_line(line, len, &m) < 0 || !m.executable)
		return;
	mapping = (struct mapping){ .start = m.start, .end = m.end, .pgoff = m.pgoff };
	mapping.module = module_pins_get(reader->pins,
					 &(struct mapped_code){ .tgid = reader->tgid,
								.start = m.start,
								.end = m.end,
								.dev_major = m.dev_major,
								.dev_minor = m.dev_minor,
								.inode = m.inode,
								.time_ns = reader->time_ns,
								.name = m.name,
								.name_len = m.name_len },
					 boot_ns());
	/* Counted there; the rest of the file may still be of use. */
	(void)maps_reader_add(reader, &mapping);
	if (mapping.module)
		module_release(mapping.module);
}

/* Takes the whole lines out of the buffer until it is time to stop. */
static void take_lines(struct maps_reader *reader, uint64_t deadline_ns)
{
	const char *p = reader->buffer, *end = p + reader->len, *eol;
	unsigned n = 0;

	while ((eol = memchr(p, '\n', (size_t)(end - p)))) {
		if (!reader->skip_line)
			take_line(reader, p, (size_t)(eol - p));
		reader->skip_line = false;
		p = eol + 1;
		if (++n % 16 == 0 && boot_ns() > deadline_ns)
			break;
	}
	reader->len = (size_t)(end - p);
	memmove(reader->buffer, p, reader->len);
	if (reader->len == sizeof(reader->buffer) && !memchr(reader->buffer, '\n', reader->len)) {
		reader->len = 0; /* no line of maps is as long as this */
		reader->skip_line = true;
	}
}

int maps_reader_step(struct maps_reader *reader, uint64_t deadline_ns)
{
	do {
		ssize_t n = 0;

		if (!reader->at_end && reader->len < sizeof(reader->buffer)) {
			n = read(reader->fd, reader->buffer + reader->len,
				 sizeof(reader->buffer) - reader->len);
			if (n < 0)
				return errno == EINTR ? 0 : -errno;
			reader->at_end = n == 0;
			reader->len += (size_t)n;
		}
		take_lines(reader, deadline_ns);
		if (reader->at_end && !memchr(reader->buffer, '\n', reader->len))
			return 1; /* what is left is no line */
	} while (boot_ns() <= deadline_ns);
	return 0;
}
