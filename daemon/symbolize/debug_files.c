/* SPDX-License-Identifier: Apache-2.0 */
/* debug_files.c - opens the files in which the symbols of stripped programs are. */
#include "debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbolizer.h"

#define DEBUG_DIR "usr/lib/debug" /* below the root */

struct debug_files {
	int root_fd;
	uint32_t root_major, root_minor; /* device */
};

/* Not from the server of a network file system, which may be dead. */
static int look(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		     STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO, ret) < 0
		       ? -errno
		       : 0;
}

int debug_files_new(const char *root, struct debug_files **ret)
{
	struct debug_files *d = calloc(1, sizeof(*d));
	struct statx st = { 0 };
	int r;

	if (!d)
		return -ENOMEM;
	d->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = d->root_fd < 0 ? -errno : look(d->root_fd, &st);
	if (r < 0) {
		debug_files_free(d);
		return r;
	}
	d->root_major = st.stx_dev_major;
	d->root_minor = st.stx_dev_minor;
	*ret = d;
	return 0;
}

void debug_files_free(struct debug_files *d)
{
	if (!d)
		return;
	if (d->root_fd >= 0)
		close(d->root_fd);
	free(d);
}

/* ---- what may be opened ---- */

/*
 * A file system on a block device answers by itself, and the root's has to.
 * What others may write is not trusted, nor what they own.
 */
static bool is_trusted(const struct debug_files *d, const struct statx *st)
{
	bool is_root = st->stx_dev_major == d->root_major && st->stx_dev_minor == d->root_minor;

	return (st->stx_uid == 0 || st->stx_uid == geteuid()) &&
	       !(st->stx_mode & (S_IWGRP | S_IWOTH)) && (st->stx_dev_major != 0 || is_root);
}

static int open_how(int dir_fd, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_XDEV };
	int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* What is no regular file is not opened: a device may do something then, a FIFO may wait. */
static int open_file(const struct debug_files *d, int dir_fd, const char *name, uint64_t resolve)
{
	struct statx st, opened;
	int fd = open_how(dir_fd, name, O_PATH, resolve);
	bool ok;

	if (fd < 0)
		return fd;
	ok = look(fd, &st) == 0 && S_ISREG(st.stx_mode) && is_trusted(d, &st);
	close(fd);
	if (!ok)
		return -EACCES;
	fd = open_how(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, resolve);
	if (fd >= 0 && (look(fd, &opened) < 0 || opened.stx_ino != st.stx_ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* One directory down. Takes over `dir_fd`. */
static int step(const struct debug_files *d, int dir_fd, const char *name)
{
	struct statx st;
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd;

	close(dir_fd);
	if (fd < 0)
		return r;
	if (look(fd, &st) < 0 || !S_ISDIR(st.stx_mode) || !is_trusted(d, &st)) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

/* The directory `path`, by way of trusted ones only. */
static int open_dir(const struct debug_files *d, const char *path)
{
	char copy[PATH_MAX], *name, *rest;
	int fd = fcntl(d->root_fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(copy)) {
		close(fd);
		return -ENAMETOOLONG;
	}
	strcpy(copy, path);
	for (name = strtok_r(copy, "/", &rest); name && fd >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		if (strcmp(name, "..") == 0) {
			close(fd);
			return -EINVAL;
		}
		fd = step(d, fd, name);
	}
	return fd;
}

/* `name` may have directories in it; links lead nowhere else. */
static int open_below_debug(const struct debug_files *d, const char *name)
{
	int dir_fd = open_dir(d, DEBUG_DIR), fd;

	if (dir_fd < 0)
		return dir_fd;
	fd = open_file(d, dir_fd, name, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	close(dir_fd);
	return fd;
}

/* ---- where it may be ---- */

static int open_by_id(const struct debug_files *d, const uint8_t *build_id, size_t len)
{
	char name[2 * BUILD_ID_MAX + 32];
	int n;

	if (len < BUILD_ID_MIN || len > BUILD_ID_MAX)
		return -ENOENT;
	n = snprintf(name, sizeof(name), ".build-id/%02x/", build_id[0]);
	for (size_t i = 1; i < len; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", build_id[i]);
	strcpy(name + n, ".debug");
	return open_below_debug(d, name);
}

static int open_beside(const struct debug_files *d, const char *dir, const char *subdir,
		       const char *link)
{
	char path[PATH_MAX];
	int dir_fd, fd, n;

	n = snprintf(path, sizeof(path), "%s%s", dir, subdir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	dir_fd = open_dir(d, path);
	if (dir_fd < 0)
		return dir_fd;
	fd = open_file(d, dir_fd, link, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	close(dir_fd);
	return fd;
}

static int open_by_link(const struct debug_files *d, const char *path, const char *link,
			unsigned where)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX], name[PATH_MAX];
	int n;

	if (path[0] != '/' || !*link || strchr(link, '/') || slash - path >= PATH_MAX)
		return -ENOENT;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	if (where == 0)
		/* A debug file may not have the program's own name there. */
		return strcmp(slash + 1, link) == 0 ? -ENOENT : open_beside(d, dir, "", link);
	if (where == 1)
		return open_beside(d, dir, "/.debug", link);
	n = snprintf(name, sizeof(name), "%s/%s", dir + 1, link);
	return n < 0 || (size_t)n >= sizeof(name) ? -ENAMETOOLONG : open_below_debug(d, name);
}

int debug_files_open(const struct debug_files *d, const uint8_t *build_id, size_t build_id_len,
		     const char *path, const char *link, unsigned *pos)
{
	while (*pos < 4) {
		unsigned i = (*pos)++;
		int fd = i == 0 ? open_by_id(d, build_id, build_id_len)
				: open_by_link(d, path, link, i - 1);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* "../../.dwz/x.debug" from .build-id/xx/ or from usr/bin/ is .dwz/x.debug, wherever it was. */
static const char *below_debug(const char *path)
{
	if (strncmp(path, "/" DEBUG_DIR "/", sizeof("/" DEBUG_DIR "/") - 1) == 0)
		return path + sizeof("/" DEBUG_DIR "/") - 1;
	while (strncmp(path, "../", 3) == 0)
		path += 3;
	return path[0] == '/' ? NULL : path;
}

int debug_files_open_alt(const struct debug_files *d, const uint8_t *build_id, size_t build_id_len,
			 const char *path)
{
	int fd = open_by_id(d, build_id, build_id_len);

	path = below_debug(path);
	if (fd < 0 && path && *path)
		fd = open_below_debug(d, path);
	return fd;
}
