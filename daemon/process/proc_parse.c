/* SPDX-License-Identifier: Apache-2.0 */
/* proc_parse.c - the text files of /proc/PID as structs. */
#include "proc_parse.h"

#include <errno.h>
#include <string.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h; field 9 of stat */

/* What is left of a text. */
struct text {
	const char *p, *end;
};

static bool at_end(const struct text *t)
{
	return t->p == t->end;
}

static bool skip_char(struct text *t, char c)
{
	if (at_end(t) || *t->p != c)
		return false;
	t->p++;
	return true;
}

static void skip_blanks(struct text *t)
{
	while (!at_end(t) && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

static int digit(char c, unsigned base)
{
	int d = -1;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if (c >= 'a' && c <= 'f')
		d = c - 'a' + 10;
	return d < (int)base ? d : -1;
}

/* At least one digit; false too when the number does not fit. */
static bool take_number(struct text *t, unsigned base, uint64_t *ret)
{
	const char *start = t->p;
	uint64_t v = 0;

	for (; !at_end(t) && digit(*t->p, base) >= 0; t->p++) {
		uint64_t d = (uint64_t)digit(*t->p, base);

		if (v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	*ret = v;
	return t->p > start;
}

static bool take_u32(struct text *t, unsigned base, uint32_t *ret)
{
	uint64_t v;

	if (!take_number(t, base, &v) || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

/* The next field up to a blank. */
static bool skip_field(struct text *t)
{
	const char *start = t->p;

	while (!at_end(t) && *t->p != ' ')
		t->p++;
	return t->p > start;
}

/* "55e0f0000000-55e0f0001000 r-xp 00001000 fe:00 248030   /usr/bin/sed" */
int proc_parse_maps_line(const char *line, size_t len, struct maps_line *ret)
{
	struct text t = { line, line + len };
	struct maps_line m = { 0 };
	const char *perms;

	if (!take_number(&t, 16, &m.start) || !skip_char(&t, '-') || !take_number(&t, 16, &m.end) ||
	    !skip_char(&t, ' '))
		return -EINVAL;
	perms = t.p;
	if (!skip_field(&t) || t.p - perms != 4 || !skip_char(&t, ' '))
		return -EINVAL;
	m.executable = perms[2] == 'x';
	if (!take_number(&t, 16, &m.pgoff) || !skip_char(&t, ' ') ||
	    !take_u32(&t, 16, &m.dev_major) || !skip_char(&t, ':') ||
	    !take_u32(&t, 16, &m.dev_minor) || !skip_char(&t, ' ') ||
	    !take_number(&t, 10, &m.inode))
		return -EINVAL;
	if (!at_end(&t) && *t.p != ' ')
		return -EINVAL;
	skip_blanks(&t);
	m.name = t.p;
	m.name_len = (size_t)(t.end - t.p);
	if (m.start >= m.end)
		return -EINVAL;
	*ret = m;
	return 0;
}

static const char *last_char(const char *text, size_t len, char c)
{
	while (len > 0)
		if (text[--len] == c)
			return text + len;
	return NULL;
}

/*
 * Of a worker /proc shows more than its name: what it works on, behind '-' or
 * '+', and cut short (wq_worker_comm() in kernel/workqueue.c). A rescuer's
 * name, "kworker/R-...", has a '-' of its own.
 */
static void cut_workqueue(char comm[COMM_LEN])
{
	static const char worker[] = "kworker/";
	size_t n = sizeof(worker) - 1;

	if (strncmp(comm, worker, n) == 0 && comm[n] != 'R')
		comm[n + strcspn(comm + n, "+-")] = '\0';
}

static bool skip_fields(struct text *t, unsigned n)
{
	while (n-- > 0)
		if (!skip_field(t) || !skip_char(t, ' '))
			return false;
	return true;
}

/*
 * "PID (COMM) STATE PPID ...": the comm may hold blanks and parentheses, so it
 * ends at the last one. Numbers below are those of proc_pid_stat(5).
 */
int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret)
{
	struct text t = { text, text + len };
	const char *close = last_char(text, len, ')');
	struct proc_stat s = { 0 };
	uint64_t flags, user, kernel;
	size_t comm_len;

	if (!take_u32(&t, 10, &s.pid) || !skip_char(&t, ' ') || !skip_char(&t, '(') || !close ||
	    close < t.p)
		return -EINVAL;
	comm_len = (size_t)(close - t.p);
	if (comm_len >= sizeof(s.comm)) /* kworkers show more than their comm */
		comm_len = sizeof(s.comm) - 1;
	memcpy(s.comm, t.p, comm_len);

	t.p = close + 1;
	if (!skip_char(&t, ' ') || at_end(&t))
		return -EINVAL;
	s.state = *t.p++;
	if (!skip_char(&t, ' ') || !take_u32(&t, 10, &s.ppid) || !skip_char(&t, ' '))
		return -EINVAL;
	if (!skip_fields(&t, 9 - 5) || !take_number(&t, 10, &flags) || !skip_char(&t, ' '))
		return -EINVAL;
	if (!skip_fields(&t, 14 - 10) || !take_number(&t, 10, &user) || !skip_char(&t, ' ') ||
	    !take_number(&t, 10, &kernel) || !skip_char(&t, ' '))
		return -EINVAL;
	if (!skip_fields(&t, 20 - 16) || !take_number(&t, 10, &s.n_threads) ||
	    !skip_char(&t, ' ') || !skip_fields(&t, 22 - 21) ||
	    !take_number(&t, 10, &s.start_ticks))
		return -EINVAL;
	s.is_kthread = flags & PF_KTHREAD;
	if (s.is_kthread)
		cut_workqueue(s.comm);
	s.cpu_ticks = user + kernel;
	*ret = s;
	return 0;
}

/* The value behind "NAME:" at the start of a line; empty when there is none. */
static struct text status_value(const char *text, size_t len, const char *name)
{
	struct text t = { text, text + len };
	size_t name_len = strlen(name);

	while (!at_end(&t)) {
		const char *eol = memchr(t.p, '\n', (size_t)(t.end - t.p));
		struct text line = { t.p, eol ? eol : t.end };

		if ((size_t)(line.end - line.p) > name_len && line.p[name_len] == ':' &&
		    memcmp(line.p, name, name_len) == 0) {
			line.p += name_len + 1;
			return line;
		}
		t.p = eol ? eol + 1 : t.end;
	}
	return (struct text){ t.end, t.end };
}

/* Real, effective, saved and the file system's. False: they are not the same. */
static bool take_ids(struct text ids, uint32_t *ret)
{
	uint32_t id;

	skip_blanks(&ids);
	if (!take_u32(&ids, 10, ret))
		return false;
	for (int i = 0; i < 3; i++) {
		skip_blanks(&ids);
		if (!take_u32(&ids, 10, &id) || id != *ret)
			return false;
	}
	return true;
}

static bool has_capabilities(const char *text, size_t len)
{
	struct text caps = status_value(text, len, "CapPrm");
	uint64_t bits;

	skip_blanks(&caps);
	return !take_number(&caps, 16, &bits) || bits != 0;
}

int proc_parse_status(const char *text, size_t len, struct proc_status *ret)
{
	struct text tgid = status_value(text, len, "Tgid");
	struct text uid = status_value(text, len, "Uid");
	struct text nspid = status_value(text, len, "NSpid");
	struct proc_status s = { 0 };
	uint32_t id;

	s.has_plain_ids = take_ids(uid, &s.uid);
	s.has_plain_ids &= take_ids(status_value(text, len, "Gid"), &s.gid);
	s.has_plain_ids &= !has_capabilities(text, len);
	skip_blanks(&tgid);
	skip_blanks(&uid);
	if (!take_u32(&tgid, 10, &s.tgid) || !take_u32(&uid, 10, &s.uid))
		return -EINVAL;

	/* The first is the initial namespace's. */
	skip_blanks(&nspid);
	for (unsigned i = 0; take_u32(&nspid, 10, &id) && i <= MAX_PID_NS; i++) {
		if (i > 0)
			s.nstid[i - 1] = id;
		skip_blanks(&nspid);
	}
	*ret = s;
	return 0;
}

int proc_parse_cgroup(const char *text, size_t len, const char **ret_path, size_t *ret_len)
{
	struct text t = status_value(text, len, "0"); /* "0::/path" */

	if (!skip_char(&t, ':') || at_end(&t) || *t.p != '/')
		return -ENOENT;
	*ret_path = t.p;
	*ret_len = (size_t)(t.end - t.p);
	return 0;
}

/* Blanks, tabs, newlines and backslashes are written as \ooo. */
static int unescape(const struct text *field, char *dst, size_t dst_size)
{
	size_t n = 0;

	for (const char *p = field->p; p < field->end; p++) {
		char c = *p;

		if (c == '\\' && field->end - p > 3 && digit(p[1], 8) >= 0 && digit(p[2], 8) >= 0 &&
		    digit(p[3], 8) >= 0) {
			c = (char)(digit(p[1], 8) * 64 + digit(p[2], 8) * 8 + digit(p[3], 8));
			p += 3;
		}
		if (n + 1 >= dst_size)
			return -ENAMETOOLONG;
		dst[n++] = c;
	}
	dst[n] = '\0';
	return 0;
}

/* "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw" */
int proc_parse_mount(const char *line, size_t len, const char *type, char *ret_path,
		     size_t path_size)
{
	struct text t = { line, line + len };
	struct text where, field;

	if (path_size == 0)
		return -ENAMETOOLONG;
	if (!skip_fields(&t, 4))
		return -EINVAL;
	where.p = t.p;
	if (!skip_field(&t))
		return -EINVAL;
	where.end = t.p;
	do {
		if (!skip_char(&t, ' '))
			return -EINVAL;
		field.p = t.p;
		if (!skip_field(&t))
			return -EINVAL;
		field.end = t.p;
	} while (field.end - field.p != 1 || *field.p != '-');

	if (!skip_char(&t, ' '))
		return -EINVAL;
	field.p = t.p;
	if (!skip_field(&t))
		return -EINVAL;
	if ((size_t)(t.p - field.p) != strlen(type) || memcmp(field.p, type, strlen(type)) != 0)
		return -ENOENT;
	return unescape(&where, ret_path, path_size);
}

size_t proc_tidy_cmdline(char *dst, size_t dst_size, const char *args, size_t len, bool truncated)
{
	static const char more[] = "\xe2\x80\xa6"; /* an ellipsis, and the NUL */

	if (len == 0 || dst_size < sizeof(more))
		return 0;
	if (len >= dst_size) { /* the last byte is for a NUL */
		len = dst_size - 1;
		truncated = true;
	}
	memcpy(dst, args, len);
	if (truncated) {
		if (len + sizeof(more) > dst_size)
			len = dst_size - sizeof(more);
		memcpy(dst + len, more, sizeof(more));
		return len + sizeof(more);
	}
	while (len > 0 && dst[len - 1] == '\0')
		len--;
	if (len == 0)
		return 0;
	dst[len] = '\0';
	return len + 1;
}

static bool is(const char *name, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(name, what, len) == 0;
}

static bool starts(const char *name, size_t len, const char *what)
{
	return len >= strlen(what) && memcmp(name, what, strlen(what)) == 0;
}

/*
 * Paths begin with '/'; the kernel's own names with '[' or "//". Shared
 * anonymous memory has an inode and these names (mm/shmem.c, ipc/shm.c,
 * hugetlbfs), and no symbols.
 */
enum code_kind proc_code_kind(const char *name, size_t len, uint64_t inode)
{
	if (is(name, len, "[vdso]"))
		return CODE_VDSO;
	if (is(name, len, "[vsyscall]") || starts(name, len, "[uprobes"))
		return CODE_SPECIAL;
	if (inode == 0 || len == 0 || name[0] != '/' || starts(name, len, "//"))
		return CODE_ANON;
	if (proc_path_len(name, len) < len &&
	    (starts(name, len, "/dev/zero") || starts(name, len, "/SYSV") ||
	     starts(name, len, "/anon_hugepage")))
		return CODE_ANON;
	return CODE_FILE;
}

size_t proc_path_len(const char *name, size_t len)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof(deleted) - 1;

	return len > n && memcmp(name + len - n, deleted, n) == 0 ? len - n : len;
}
