/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_parse.c - readers of /proc's text files.
 *
 * One cursor walks a line word by word and never leaves it. Names in these
 * files are the kernel's, except that of a process in its stat file, of a disk
 * and of an interface.
 */
#include "counters_parse.h"

#include <errno.h>
#include <string.h>

struct span {
	const char *p, *end;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next line without its newline; false at the end. */
static bool next_line(struct span *text, struct span *ret)
{
	const char *nl;

	if (text->p == text->end)
		return false;
	nl = memchr(text->p, '\n', text->end - text->p);
	ret->p = text->p;
	ret->end = nl ? nl : text->end;
	text->p = nl ? nl + 1 : text->end;
	return true;
}

/* The next word of a line; false at its end. */
static bool next_word(struct span *line, struct span *ret)
{
	while (line->p < line->end && is_space(*line->p))
		line->p++;
	if (line->p == line->end)
		return false;
	ret->p = line->p;
	while (line->p < line->end && !is_space(*line->p))
		line->p++;
	ret->end = line->p;
	return true;
}

/* A word of digits only that fits. */
static bool word_u64(struct span word, uint64_t *ret)
{
	uint64_t n = 0;

	if (word.p == word.end)
		return false;
	for (; word.p < word.end; word.p++) {
		if (!is_digit(*word.p))
			return false;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*word.p - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

static bool next_u64(struct span *line, uint64_t *ret)
{
	struct span word;

	return next_word(line, &word) && word_u64(word, ret);
}

static bool skip_words(struct span *line, unsigned n)
{
	struct span word;

	while (n--)
		if (!next_word(line, &word))
			return false;
	return true;
}

static bool word_is(struct span word, const char *s)
{
	size_t len = strlen(s);

	return (size_t)(word.end - word.p) == len && !memcmp(word.p, s, len);
}

static bool copy_name(char *dst, size_t size, struct span word)
{
	size_t len = word.end - word.p;

	if (!len || len >= size || memchr(word.p, 0, len))
		return false;
	memset(dst, 0, size);
	memcpy(dst, word.p, len);
	return true;
}

static void append(struct counters_values *values, uint16_t kind, uint16_t key, uint64_t value)
{
	if (values->n < COUNTERS_MAX_ITEMS)
		values->items[values->n++] =
			(struct counters_value){ .kind = kind, .key = key, .value = value };
}

struct named_key {
	const char *name;
	uint16_t key;
};

/* Those that are shown; the numbers are those of Perfetto's enums. */
static const struct named_key meminfo_keys[] = {
	{ "MemTotal:", 1 },	{ "MemFree:", 2 },	 { "MemAvailable:", 3 },
	{ "Buffers:", 4 },	{ "Cached:", 5 },	 { "SwapCached:", 6 },
	{ "Active:", 7 },	{ "Inactive:", 8 },	 { "SwapTotal:", 15 },
	{ "SwapFree:", 16 },	{ "Dirty:", 17 },	 { "Writeback:", 18 },
	{ "AnonPages:", 19 },	{ "Mapped:", 20 },	 { "Shmem:", 21 },
	{ "Slab:", 22 },	{ "SReclaimable:", 23 }, { "SUnreclaim:", 24 },
	{ "KernelStack:", 25 }, { "PageTables:", 26 },	 { NULL, 0 },
};

static const struct named_key vmstat_keys[] = {
	{ "pgpgin", 38 },  { "pgpgout", 39 },	 { "pswpin", 41 }, { "pswpout", 42 },
	{ "pgfault", 49 }, { "pgmajfault", 50 }, { NULL, 0 },
};

static void parse_named(const char *text, size_t len, uint16_t kind, const struct named_key *keys,
			struct counters_values *values)
{
	struct span all = { text, text + len }, line, word;
	uint64_t value;

	while (next_line(&all, &line)) {
		if (!next_word(&line, &word))
			continue;
		for (const struct named_key *k = keys; k->name; k++) {
			if (!word_is(word, k->name))
				continue;
			if (next_u64(&line, &value))
				append(values, kind, k->key, value);
			break;
		}
	}
}

void counters_parse_meminfo(const char *text, size_t len, struct counters_values *values)
{
	parse_named(text, len, COUNTERS_MEMINFO, meminfo_keys, values);
}

void counters_parse_vmstat(const char *text, size_t len, struct counters_values *values)
{
	parse_named(text, len, COUNTERS_VMSTAT, vmstat_keys, values);
}

void counters_parse_pressure(const char *text, size_t len, uint16_t first,
			     struct counters_values *values)
{
	struct span all = { text, text + len }, line, word;

	while (next_line(&all, &line)) {
		uint16_t key;
		uint64_t us;

		if (!next_word(&line, &word))
			continue;
		if (word_is(word, "some"))
			key = first;
		else if (word_is(word, "full"))
			key = first + 1;
		else
			continue;
		while (next_word(&line, &word)) {
			if (word.end - word.p < 6 || memcmp(word.p, "total=", 6))
				continue;
			word.p += 6;
			if (word_u64(word, &us) && !__builtin_mul_overflow(us, 1000, &us))
				append(values, COUNTERS_PSI, key, us);
			break;
		}
	}
}

void counters_parse_stat(const char *text, size_t len, struct counters_values *values)
{
	struct span all = { text, text + len }, line, word;
	uint64_t value;

	while (next_line(&all, &line)) {
		uint16_t kind;

		if (!next_word(&line, &word))
			continue;
		if (word_is(word, "processes"))
			kind = COUNTERS_FORKS;
		else if (word_is(word, "intr"))
			kind = COUNTERS_IRQS;
		else if (word_is(word, "softirq"))
			kind = COUNTERS_SOFTIRQS;
		else
			continue;
		if (next_u64(&line, &value))
			append(values, kind, 0, value);
	}
}

int counters_parse_cpus(const char *text, size_t len, counters_cpu_fn *fn, void *ctx)
{
	struct span all = { text, text + len }, line, word;

	while (next_line(&all, &line)) {
		struct counters_cpu cpu = { 0 };
		uint64_t number, sum = 0;
		int i, r;

		/* "cpu" alone is the sum of the others. */
		if (!next_word(&line, &word) || word.end - word.p < 4 || memcmp(word.p, "cpu", 3))
			continue;
		word.p += 3;
		if (!word_u64(word, &number) || number > UINT32_MAX)
			continue;
		cpu.cpu = number;
		for (i = 0; i < N_CPU_TIMES && next_u64(&line, &cpu.times[i]); i++)
			sum |= cpu.times[i];
		if (i < N_CPU_TIMES || !sum)
			continue;
		r = fn(ctx, &cpu);
		if (r)
			return r;
	}
	return 0;
}

/*
 * The kernel names a partition after its disk: with a "p" before the number
 * when the disk's own name ends in a digit. They follow their disk in the file.
 */
static bool is_partition(const char *name, const char *disk)
{
	size_t len = strlen(disk);

	if (!len || strncmp(name, disk, len))
		return false;
	name += len;
	if (is_digit(disk[len - 1]) && *name++ != 'p')
		return false;
	return *name && !name[strspn(name, "0123456789")];
}

int counters_parse_disks(const char *text, size_t len, counters_disk_fn *fn, void *ctx)
{
	struct span all = { text, text + len }, line, word;
	char last[COUNTERS_DISK_LEN] = "";

	while (next_line(&all, &line)) {
		struct counters_disk disk;
		int r;

		/* major minor name, then reads: completed merged sectors ms, then writes likewise
		 */
		if (!skip_words(&line, 2) || !next_word(&line, &word) ||
		    !copy_name(disk.name, sizeof(disk.name), word) || !skip_words(&line, 2) ||
		    !next_u64(&line, &disk.read_sectors) || !next_u64(&line, &disk.read_ms) ||
		    !skip_words(&line, 2) || !next_u64(&line, &disk.write_sectors) ||
		    !next_u64(&line, &disk.write_ms))
			continue;
		if (is_partition(disk.name, last))
			continue;
		memcpy(last, disk.name, sizeof(last));
		if (!disk.read_sectors && !disk.write_sectors)
			continue;
		r = fn(ctx, &disk);
		if (r)
			return r;
	}
	return 0;
}

int counters_parse_ifaces(const char *text, size_t len, counters_iface_fn *fn, void *ctx)
{
	struct span all = { text, text + len }, line, word;

	while (next_line(&all, &line)) {
		struct counters_iface iface;
		const char *colon;
		int r;

		/* Neither blanks nor colons can be part of a name; a number may follow at once. */
		colon = memchr(line.p, ':', line.end - line.p);
		if (!colon)
			continue;
		word.p = line.p;
		while (word.p < colon && is_space(*word.p))
			word.p++;
		word.end = colon;
		line.p = colon + 1;
		/* received: bytes and seven more, then sent: bytes and seven more */
		if (!copy_name(iface.name, sizeof(iface.name), word) ||
		    !next_u64(&line, &iface.rx_bytes) || !skip_words(&line, 7) ||
		    !next_u64(&line, &iface.tx_bytes))
			continue;
		r = fn(ctx, &iface);
		if (r)
			return r;
	}
	return 0;
}

int counters_parse_pid_stat(const char *text, size_t len, struct counters_pid_stat *ret)
{
	struct span line = { text, text + len };
	struct counters_pid_stat stat;
	const char *paren;
	uint64_t utime, stime;

	/* The name may hold anything, also ")" and newlines: the last one ends it. */
	paren = memrchr(text, ')', len);
	if (!paren)
		return -EBADMSG;
	line.p = paren + 1;
	/* Behind the name is field 3; utime is 14, starttime 22, rss 24. */
	if (!skip_words(&line, 11) || !next_u64(&line, &utime) || !next_u64(&line, &stime) ||
	    !skip_words(&line, 6) || !next_u64(&line, &stat.start_ticks) || !skip_words(&line, 1) ||
	    !next_u64(&line, &stat.rss_pages) ||
	    __builtin_add_overflow(utime, stime, &stat.cpu_ticks))
		return -EBADMSG;
	*ret = stat;
	return 0;
}

int counters_parse_pid_status(const char *text, size_t len, struct counters_process *ret)
{
	struct span all = { text, text + len }, line, word;
	struct counters_process p = { 0 };
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
		{ "VmSize:", &p.vm_size_kb }, { "VmHWM:", &p.hwm_kb },
		{ "VmRSS:", &p.rss_kb },      { "RssAnon:", &p.anon_kb },
		{ "RssFile:", &p.file_kb },   { "RssShmem:", &p.shmem_kb },
		{ "VmSwap:", &p.swap_kb },
	};
	unsigned n = 0;

	/* The kernel escapes a newline in the name, so no name makes a line of its own. */
	while (next_line(&all, &line)) {
		if (!next_word(&line, &word))
			continue;
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			if (!word_is(word, fields[i].name))
				continue;
			if (next_u64(&line, fields[i].value))
				n++;
			break;
		}
	}
	if (!n)
		return -ENODATA;
	*ret = p;
	return 0;
}

int counters_parse_number(const char *text, size_t len, int64_t *ret)
{
	struct span all = { text, text + len }, line, word;
	bool negative;
	uint64_t n;

	if (!next_line(&all, &line) || !next_word(&line, &word))
		return -EBADMSG;
	negative = *word.p == '-';
	if (negative)
		word.p++;
	if (!word_u64(word, &n) || n > INT64_MAX)
		return -EBADMSG;
	*ret = negative ? -(int64_t)n : (int64_t)n;
	return 0;
}
