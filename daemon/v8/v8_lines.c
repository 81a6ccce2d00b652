/* SPDX-License-Identifier: Apache-2.0 */
/* v8_lines.c - lines of scripts in the memory of a process. */
#include "v8_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* Bundles of a web application have some megabytes. Functions behind that have no line. */
#define MAX_CHARS (16u << 20)
#define MAX_ENDS  (512u << 10)
#define N_KEPT	  8 /* 16 MiB at most */

#define CHUNK 4096 /* characters read in one go */

struct source {
	uint64_t process, chars;
	uint32_t length;
	int32_t id; /* of the script: another one may have come to lie there */
	uint32_t n_scanned, n_ends;
	uint32_t *ends; /* characters that end a line */
	uint32_t room;
	uint64_t used;
};

struct v8_lines {
	struct source kept[N_KEPT];
	uint64_t now;
};

int v8_lines_new(struct v8_lines **ret)
{
	struct v8_lines *vl = calloc(1, sizeof(*vl));

	if (!vl)
		return -ENOMEM;
	*ret = vl;
	return 0;
}

void v8_lines_free(struct v8_lines *vl)
{
	for (int i = 0; vl && i < N_KEPT; i++)
		free(vl->kept[i].ends);
	free(vl);
}

/* ---- where V8 has them ---- */

/* How many of the sorted `n` are below `position`, by V8's own list; -1: it cannot be read. */
static int64_t count_listed(const struct v8_memory *m, uint64_t list, uint32_t position)
{
	int32_t n = v8_small(m, list, m->layout->array_length);
	uint32_t low = 0, high = (uint32_t)n;

	if (n < 0)
		return -1;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t end;

		if (!v8_read_u64(m, list + (uint64_t)(int64_t)m->layout->array_data + 8ull * mid,
				 &end))
			return -1;
		if (end >> 32 < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- counted ---- */

static struct source *source_of(struct v8_lines *vl, const struct v8_flat *flat, uint64_t process,
				int32_t id)
{
	struct source *oldest = &vl->kept[0];

	for (int i = 0; i < N_KEPT; i++) {
		struct source *s = &vl->kept[i];

		if (s->used && s->process == process && s->chars == flat->chars &&
		    s->length == flat->length && s->id == id) {
			s->used = ++vl->now;
			return s;
		}
		if (s->used < oldest->used)
			oldest = s;
	}
	free(oldest->ends);
	*oldest = (struct source){ .process = process,
				   .chars = flat->chars,
				   .length = flat->length,
				   .id = id,
				   .used = ++vl->now };
	return oldest;
}

static bool add_end(struct source *s, uint32_t at)
{
	if (s->n_ends == s->room) {
		uint32_t room = s->room ? 2 * s->room : 256;
		uint32_t *ends = room <= MAX_ENDS ? realloc(s->ends, room * sizeof(*ends)) : NULL;

		if (!ends)
			return false;
		s->ends = ends;
		s->room = room;
	}
	s->ends[s->n_ends++] = at;
	return true;
}

/* As ECMAScript has it. A carriage return and a line feed are one. */
static bool ends_line(uint16_t ch, uint16_t next)
{
	return ch == '\n' || (ch == '\r' && next != '\n') || ch == 0x2028 || ch == 0x2029;
}

/* Reads on up to `position`. */
static bool scan(struct source *s, const struct v8_memory *m, const struct v8_flat *flat,
		 uint32_t position)
{
	uint16_t wide[CHUNK + 1];
	const uint8_t *narrow = (const uint8_t *)wide;

	while (s->n_scanned < position) {
		uint32_t n = MIN(CHUNK, flat->length - s->n_scanned);
		uint32_t with_next = MIN(n + 1, flat->length - s->n_scanned);

		if (!v8_read(m, flat->chars + (uint64_t)s->n_scanned * flat->width, wide,
			     (size_t)with_next * flat->width))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			uint16_t ch = flat->width == 1 ? narrow[i] : wide[i], next = 0;

			if (i + 1 < with_next)
				next = flat->width == 1 ? narrow[i + 1] : wide[i + 1];
			if (ends_line(ch, next) && !add_end(s, s->n_scanned + i))
				return false;
		}
		s->n_scanned += n;
	}
	return true;
}

static uint32_t count_below(const struct source *s, uint32_t position)
{
	uint32_t low = 0, high = s->n_ends;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->ends[mid] < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int64_t count_read(struct v8_lines *vl, const struct v8_memory *m, uint64_t process,
			  uint64_t script, uint32_t position)
{
	struct v8_flat flat;
	struct source *s;

	if (!v8_flat(m, v8_pointer(m, script, m->layout->script_source), &flat) ||
	    position > flat.length || position > MAX_CHARS)
		return -1;
	s = source_of(vl, &flat, process, v8_small(m, script, m->layout->script_id));
	if (!scan(s, m, &flat, position)) {
		s->used = 0; /* what was counted may be of something else */
		return -1;
	}
	return count_below(s, position);
}

uint32_t v8_line(struct v8_lines *vl, const struct v8_memory *m, uint64_t process, uint64_t script,
		 uint32_t position)
{
	uint64_t list = v8_pointer(m, script, m->layout->script_line_ends);
	int32_t first = v8_small(m, script, m->layout->script_line_offset);
	int64_t n = -1;

	if (list && v8_type(m, list) == m->layout->type_array)
		n = count_listed(m, list, position);
	if (n < 0)
		n = count_read(vl, m, process, script, position);
	if (n < 0 || first < 0 || n + first >= INT32_MAX)
		return 0;
	return (uint32_t)(n + first) + 1;
}
