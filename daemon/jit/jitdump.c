/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump.c - the binary file in which a compiler at run time tells what it has generated. */
#include "jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jit_map.h"
#include "jit_names.h"
#include "jit_table.h"

#define MAGIC		    0x4a695444 /* "JiTD" */
#define MAGIC_SWAPPED	    0x4454694a
#define VERSION		    1
#define FLAG_ARCH_TIMESTAMP 1

#define V8_OFFSET 0x40

/* Of one piece of code; what has more lines is generated from a table. */
#define MAX_LINES 16384

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

struct header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct record {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct code_load {
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct code_move {
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

struct debug_info {
	uint64_t code_addr, nr_entry;
};

struct debug_entry { /* followed by the file's name and a NUL; "\377" alone: the one before */
	uint64_t addr;
	uint32_t line, discriminator;
};

_Static_assert(sizeof(struct header) == JITDUMP_HEADER_LEN, "as in the file");
_Static_assert(sizeof(struct record) == 16 && sizeof(struct code_load) == 40 &&
		       sizeof(struct code_move) == 48 && sizeof(struct debug_entry) == 16,
	       "as in the file");

struct jitdump_lines {
	uint64_t code_addr;
	size_t n, n_text;
	struct jit_line_info lines[MAX_LINES]; /* file: points into `text` */
	char text[JITDUMP_WINDOW];
};

void jitdump_init(struct jitdump *d)
{
	*d = (struct jitdump){ 0 };
}

void jitdump_done(struct jitdump *d)
{
	free(d->lines);
	d->lines = NULL;
}

static int refuse(struct jitdump *d, enum jitdump_refusal why)
{
	d->refusal = why;
	return -EBADMSG;
}

int jitdump_begin(struct jitdump *d, const uint8_t *data, size_t len)
{
	struct header h;

	if (len < sizeof(h))
		return refuse(d, JITDUMP_NOT_ONE);
	memcpy(&h, data, sizeof(h));
	if (h.magic == MAGIC_SWAPPED)
		return refuse(d, JITDUMP_BYTE_ORDER);
	if (h.magic != MAGIC || h.version != VERSION)
		return refuse(d, JITDUMP_NOT_ONE);
	if (h.elf_mach != MACHINE)
		return refuse(d, JITDUMP_MACHINE);
	if (h.flags & FLAG_ARCH_TIMESTAMP)
		return refuse(d, JITDUMP_ARCH_TIMESTAMP);
	if (h.total_size < sizeof(h) || h.total_size > JITDUMP_WINDOW)
		return refuse(d, JITDUMP_BROKEN);
	return (int)h.total_size;
}

/* As BOOTTIME. A sleep since then makes it too late, but never later than code that follows. */
static uint64_t boot_time(const struct jitdump *d, uint64_t timestamp)
{
	uint64_t t = timestamp + (uint64_t)d->boot_offset_ns;

	if (timestamp > INT64_MAX || t > d->now_ns)
		return d->now_ns;
	return t;
}

static void count(struct jitdump *d, int r)
{
	d->n_bad += r == -EINVAL || r == -ENOENT;
	d->n_over_cap += r == -ENOSPC || r == -ENOMEM;
}

/* ---- lines ---- */

static int by_offset(const void *a, const void *b)
{
	const struct jit_line_info *la = a, *lb = b;

	return (la->offset > lb->offset) - (la->offset < lb->offset);
}

/* The file's name as of this entry, kept until the code comes. */
static void set_file(struct jitdump_lines *l, struct jit_line_info *line, const char *name,
		     size_t len)
{
	const struct jit_line_info *before = l->n > 0 ? &l->lines[l->n - 1] : NULL;

	if (len == 1 && name[0] == '\377') {
		line->file = before ? before->file : NULL;
		line->file_len = before ? before->file_len : 0;
		return;
	}
	if (before && len > 0 && before->file_len == len && memcmp(before->file, name, len) == 0) {
		line->file = before->file;
	} else { /* never more than the record has */
		line->file = memcpy(l->text + l->n_text, name, len);
		l->n_text += len;
	}
	line->file_len = len;
}

static void take_debug_info(struct jitdump *d, const uint8_t *p, const uint8_t *end)
{
	struct jitdump_lines *l = d->lines;
	struct debug_info info;

	if ((size_t)(end - p) < sizeof(info)) {
		d->n_bad++;
		return;
	}
	if (!l)
		l = d->lines = malloc(sizeof(*l));
	if (!l) {
		d->n_over_cap++;
		return;
	}
	memcpy(&info, p, sizeof(info));
	p += sizeof(info);
	l->n = l->n_text = 0;
	l->code_addr = info.code_addr;
	for (uint64_t i = 0; i < info.nr_entry && l->n < MAX_LINES; i++) {
		struct jit_line_info line = { 0 };
		struct debug_entry entry;
		const uint8_t *name = p + sizeof(entry), *eos;

		if ((size_t)(end - p) <= sizeof(entry))
			break;
		memcpy(&entry, p, sizeof(entry));
		eos = memchr(name, '\0', (size_t)(end - name));
		if (!eos)
			break;
		p = eos + 1;
		if (entry.addr < info.code_addr)
			continue;
		line.offset = entry.addr - info.code_addr;
		line.line = entry.line;
		set_file(l, &line, (const char *)name, (size_t)(eos - name));
		l->lines[l->n++] = line;
	}
	qsort(l->lines, l->n, sizeof(l->lines[0]), by_offset);
}

/*
 * V8 counts from the ELF header that `perf inject` puts in front of the code
 * (src/diagnostics/perf-jit.cc). And some versions of it write bytes of freed
 * memory for a file's name: then its lines are no lines. False: those are.
 */
static bool correct_v8(struct jitdump_lines *l, const struct jit_line_info *where)
{
	if (l->lines[0].file_len != where->file_len ||
	    memcmp(l->lines[0].file, where->file, where->file_len) != 0)
		return false;
	if (l->lines[0].offset < V8_OFFSET)
		return true; /* of another version, it seems */
	for (size_t i = 0; i < l->n; i++)
		l->lines[i].offset -= V8_OFFSET;
	return true;
}

/* ---- code ---- */

static void take_load(struct jitdump *d, uint64_t time_ns, const uint8_t *p, const uint8_t *end,
		      struct jit_map *map)
{
	struct jit_line_info where;
	struct jit_code code = { .time_ns = time_ns };
	struct code_load load;
	bool is_script;

	if ((size_t)(end - p) < sizeof(load)) {
		d->n_bad++;
		return;
	}
	memcpy(&load, p, sizeof(load));
	p += sizeof(load);
	code.start = load.code_addr;
	code.size = load.code_size;
	code.name = (const char *)p;
	code.name_len = strnlen(code.name, (size_t)(end - p));
	is_script = jit_name_source(code.name, code.name_len, &where);
	if (d->lines && d->lines->code_addr == load.code_addr && d->lines->n > 0 &&
	    (!is_script || correct_v8(d->lines, &where))) {
		code.lines = d->lines->lines;
		code.n_lines = d->lines->n;
	} else if (is_script) {
		code.lines = &where;
		code.n_lines = 1;
	}
	count(d, jit_map_add(map, &code));
	if (d->lines)
		d->lines->n = 0;
}

static void take_move(struct jitdump *d, uint64_t time_ns, const uint8_t *p, const uint8_t *end,
		      struct jit_map *map)
{
	struct code_move move;

	if ((size_t)(end - p) < sizeof(move)) {
		d->n_bad++;
		return;
	}
	memcpy(&move, p, sizeof(move));
	count(d,
	      jit_map_move(map, move.old_code_addr, move.new_code_addr, move.code_size, time_ns));
}

int64_t jitdump_take(struct jitdump *d, const uint8_t *data, size_t len, uint64_t file_left,
		     struct jit_map *map)
{
	struct record rec;
	const uint8_t *end;
	size_t wanted;

	if (d->is_closed || file_left < sizeof(rec))
		return 0;
	if (len < sizeof(rec))
		return -EAGAIN;
	memcpy(&rec, data, sizeof(rec));
	if (rec.total_size < sizeof(rec))
		return refuse(d, JITDUMP_BROKEN);
	if (rec.total_size > file_left)
		return 0;
	wanted = rec.total_size < JITDUMP_WINDOW ? rec.total_size : JITDUMP_WINDOW;
	if (rec.id == CODE_UNWINDING_INFO || rec.id > CODE_UNWINDING_INFO)
		return rec.total_size; /* skipped, so that later versions can add some */
	if (rec.id == CODE_LOAD &&
	    wanted > sizeof(rec) + sizeof(struct code_load) + JIT_MAX_NAME + 1)
		wanted = sizeof(rec) + sizeof(struct code_load) + JIT_MAX_NAME + 1;
	if (len < wanted)
		return -EAGAIN;
	end = data + wanted;
	data += sizeof(rec);
	if (rec.id == CODE_LOAD)
		take_load(d, boot_time(d, rec.timestamp), data, end, map);
	else if (rec.id == CODE_MOVE)
		take_move(d, boot_time(d, rec.timestamp), data, end, map);
	else if (rec.id == CODE_DEBUG_INFO)
		take_debug_info(d, data, end);
	else
		d->is_closed = true;
	return rec.total_size;
}
