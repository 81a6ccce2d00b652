/* SPDX-License-Identifier: Apache-2.0 */
/* process_scan.c - one walk over /proc into the process table, in slices. */
#include "process_scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "process/proc_parse.h"
#include "process/process_table_update.h"

#define MAX_CMDLINE 2048
/* A cgroup's path may change with its namespace; a scan does not live that long. */
#define MAX_CGROUPS 4096

struct process_scan {
	struct process_table *pt;
	uint64_t began_ns;
	DIR *procs;
	bool incomplete; /* somebody could not be read, for want of descriptors or memory */

	/* The process whose threads are being read. */
	DIR *threads;
	struct task_info leader;

	int cgroup_fd;	      /* where cgroup2 is mounted, or -1 */
	struct hash *cgroups; /* path -> id, as a pointer */
};

/* ---- small files ---- */

/* Returns the length, NUL-terminated; what does not fit is cut. */
static ssize_t read_file(int dir_fd, const char *name, char *text, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + len, size - 1 - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 && len < size - 1);
	if (n < 0 && len == 0)
		n = -errno;
	close(fd);
	text[len] = '\0';
	return n < 0 && len == 0 ? n : (ssize_t)len;
}

/* A process that ends while it is read is no error. */
static void note_error(struct process_scan *scan, int err)
{
	if (err != -ENOENT && err != -ESRCH)
		scan->incomplete = true;
}

static DIR *open_dir(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

/* ---- cgroups ---- */

static int open_cgroup2(int proc_fd)
{
	int fd = openat(proc_fd, "self/mountinfo", O_RDONLY | O_CLOEXEC), r = -ENOENT;
	char *line = NULL, path[PATH_MAX];
	size_t size = 0;
	ssize_t len;
	FILE *f;

	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r < 0 && (len = getline(&line, &size, f)) > 0)
		r = proc_parse_mount(line, (size_t)len, "cgroup2", path, sizeof(path));
	free(line);
	fclose(f);
	if (r < 0)
		return r;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The id of a cgroup is the number of its inode. 0: not known. */
static uint64_t cgroup_id(struct process_scan *scan, int proc_dir)
{
	char text[PATH_MAX + 1024], name[PATH_MAX + 2];
	const char *path;
	struct stat st;
	uintptr_t id;
	size_t len;
	ssize_t n;

	if (scan->cgroup_fd < 0)
		return 0;
	n = read_file(proc_dir, "cgroup", text, sizeof(text));
	if (n <= 0 || proc_parse_cgroup(text, (size_t)n, &path, &len) < 0)
		return 0;
	if (len >= 3 && memcmp(path, "/..", 3) == 0 && (len == 3 || path[3] == '/'))
		return 0; /* outside of our cgroup namespace */
	id = (uintptr_t)hash_get(scan->cgroups, path, len);
	if (id)
		return id;
	snprintf(name, sizeof(name), ".%.*s", (int)len, path);
	if (fstatat(scan->cgroup_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (hash_count(scan->cgroups) < MAX_CGROUPS)
		(void)hash_set(scan->cgroups, path, len, (void *)(uintptr_t)st.st_ino);
	return st.st_ino;
}

/* ---- the walk ---- */

int process_scan_new(struct process_table *pt, struct process_scan **ret)
{
	struct process_scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	scan->pt = pt;
	scan->began_ns = boot_ns();
	scan->cgroup_fd = open_cgroup2(process_table_proc_fd(pt));
	r = hash_new(&scan->cgroups);
	if (r < 0)
		goto fail;
	scan->procs = open_dir(process_table_proc_fd(pt), ".");
	if (!scan->procs) {
		r = -errno;
		goto fail;
	}
	process_table_scan_begin(pt);
	*ret = scan;
	return 0;

fail:
	process_scan_free(scan);
	return r;
}

void process_scan_free(struct process_scan *scan)
{
	if (!scan)
		return;
	process_table_scan_over(scan->pt);
	if (scan->procs)
		closedir(scan->procs);
	if (scan->threads)
		closedir(scan->threads);
	if (scan->cgroup_fd >= 0)
		close(scan->cgroup_fd);
	hash_free(scan->cgroups);
	free(scan);
}

static void fill_info(struct task_info *info, const struct proc_stat *stat)
{
	info->tid = stat->pid;
	info->start_ns = stat->start_ticks * TICK_NS;
	info->is_kthread = stat->is_kthread;
	memcpy(info->comm, stat->comm, sizeof(info->comm));
}

static int read_stat(int dir_fd, const char *name, struct proc_stat *ret)
{
	char text[1024];
	ssize_t n = read_file(dir_fd, name, text, sizeof(text));

	return n < 0 ? (int)n : proc_parse_stat(text, (size_t)n, ret);
}

static int read_status(int dir_fd, const char *name, struct proc_status *ret)
{
	char text[4096];
	ssize_t n = read_file(dir_fd, name, text, sizeof(text));

	return n < 0 ? (int)n : proc_parse_status(text, (size_t)n, ret);
}

/* Kernel threads and zombies have none. */
static size_t read_cmdline(int proc_dir, char cmdline[MAX_CMDLINE])
{
	char text[MAX_CMDLINE + 1];
	ssize_t n = read_file(proc_dir, "cmdline", text, sizeof(text));

	return n <= 0 ? 0 : proc_tidy_cmdline(cmdline, MAX_CMDLINE, text, (size_t)n, false);
}

/*
 * May its user look into it? The kernel gives the files of one that may not be dumped to
 * root. Of who has capabilities in a namespace of its own events tell.
 */
static bool is_plain(int proc_dir, const struct proc_stat *stat, const struct proc_status *status)
{
	struct stat st;

	return status->has_plain_ids && !stat->is_kthread && stat->state != 'Z' &&
	       fstatat(proc_dir, "stat", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_uid == status->uid && st.st_gid == status->gid;
}

/* Still so, now that its name and arguments have been read. */
static bool is_plain_yet(int proc_dir, const struct task_info *info, const struct proc_stat *stat)
{
	struct proc_status status;

	return read_status(proc_dir, "status", &status) == 0 && status.uid == info->uid &&
	       status.gid == info->gid && is_plain(proc_dir, stat, &status);
}

static int scan_process(struct process_scan *scan, int proc_dir)
{
	char cmdline[MAX_CMDLINE];
	struct process_seen seen = { .cmdline = cmdline };
	struct task_info *info = &seen.leader;
	struct proc_status status = { 0 };
	struct proc_stat stat = { 0 };
	int r;

	r = read_stat(proc_dir, "stat", &stat);
	if (r == 0)
		r = read_status(proc_dir, "status", &status);
	if (r < 0)
		return r;
	fill_info(info, &stat);
	info->tgid = stat.pid;
	info->parent_tgid = stat.ppid;
	info->uid = status.uid;
	info->gid = status.gid;
	info->is_plain = is_plain(proc_dir, &stat, &status);
	memcpy(info->nstid, status.nstid, sizeof(info->nstid));
	info->cgroup_id = cgroup_id(scan, proc_dir);
	seen.cpu_ticks = stat.cpu_ticks;
	seen.cmdline_len = stat.is_kthread ? 0 : read_cmdline(proc_dir, cmdline);
	if (info->is_plain) {
		r = read_stat(proc_dir, "stat", &stat);
		if (r < 0)
			return r;
		fill_info(info, &stat);
		info->is_plain = is_plain_yet(proc_dir, info, &stat);
	}
	seen.time_ns = boot_ns();
	process_table_saw_process(scan->pt, &seen);

	scan->leader = *info;
	if (stat.n_threads > 1) {
		scan->threads = open_dir(proc_dir, "task");
		if (!scan->threads)
			return -errno;
	}
	return 0;
}

static int scan_thread(struct process_scan *scan, const char *tid)
{
	struct task_info info = scan->leader; /* uid, cgroup: as good as any */
	struct proc_status status = { 0 };
	struct proc_stat stat;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "%.16s/stat", tid);
	r = read_stat(dirfd(scan->threads), name, &stat);
	if (r < 0)
		return r;
	if (stat.pid == scan->leader.tgid)
		return 0;
	/* All threads of a process are in one pid namespace. */
	if (scan->leader.nstid[0]) {
		snprintf(name, sizeof(name), "%.16s/status", tid);
		r = read_status(dirfd(scan->threads), name, &status);
		if (r < 0)
			return r;
	}
	fill_info(&info, &stat);
	memcpy(info.nstid, status.nstid, sizeof(info.nstid));
	process_table_saw_thread(scan->pt, &info);
	return 0;
}

/* The next entry that is a number. NULL: none. */
static const char *next_number(DIR *dir)
{
	struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && !isdigit((unsigned char)entry->d_name[0]));
	return entry ? entry->d_name : NULL;
}

/* False: there is nothing more. */
static bool scan_next(struct process_scan *scan)
{
	const char *name;
	int fd, r;

	if (scan->threads) {
		name = next_number(scan->threads);
		if (name) {
			r = scan_thread(scan, name);
		} else {
			closedir(scan->threads);
			scan->threads = NULL;
			r = 0;
		}
	} else {
		name = next_number(scan->procs);
		if (!name)
			return false;
		/* Stands for one process, even if its pid is given away meanwhile. */
		fd = openat(dirfd(scan->procs), name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? -errno : scan_process(scan, fd);
		if (fd >= 0)
			close(fd);
	}
	if (r < 0)
		note_error(scan, r);
	return true;
}

int process_scan_step(struct process_scan *scan, uint64_t deadline_ns)
{
	do {
		errno = 0;
		if (!scan_next(scan)) {
			if (errno)
				return -errno;
			/* Whoever was not read may be there all the same. */
			process_table_scan_end(scan->pt, scan->incomplete ? 0 : scan->began_ns);
			return 1;
		}
	} while (boot_ns() <= deadline_ns);
	return 0;
}
