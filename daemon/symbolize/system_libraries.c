/* SPDX-License-Identifier: Apache-2.0 */
/* system_libraries.c - libraries that the system has. */
#include "system_libraries.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lists of directories, and lines of one, that are looked at. */
#define MAX_CONF_FILES 256
#define MAX_LINES      256

struct search {
	int root_fd;
	system_library_wanted_fn *wanted;
	system_library_fn *fn;
	void *ctx;
};

/* What others may write to is found when a process maps it, and then it is that process's. */
static bool is_roots(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Paths are within the root that was given. */
static int open_in(const struct search *s, const char *path, int flags)
{
	while (*path == '/')
		path++;
	return openat(s->root_fd, *path ? path : ".", flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void look_into(const struct search *s, const char *path)
{
	int dir_fd = open_in(s, path, O_DIRECTORY), fd;
	char full[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (dir_fd < 0)
		return;
	dir = is_roots(dir_fd, S_IFDIR) ? fdopendir(dir_fd) : NULL;
	if (!dir) {
		close(dir_fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!s->wanted(s->ctx, entry->d_name))
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		snprintf(full, sizeof(full), "%s/%s", path, entry->d_name);
		if (is_roots(fd, S_IFREG))
			s->fn(s->ctx, fd, full);
		else
			close(fd);
	}
	closedir(dir);
}

/* A directory a line; what else may stand there, includes and comments, begins otherwise. */
static void look_where_it_says(const struct search *s, int conf_fd)
{
	FILE *f = is_roots(conf_fd, S_IFREG) ? fdopen(conf_fd, "r") : NULL;
	char line[PATH_MAX];

	if (!f) {
		close(conf_fd);
		return;
	}
	for (int i = 0; i < MAX_LINES && fgets(line, sizeof(line), f); i++) {
		line[strcspn(line, " \t\r\n#")] = '\0';
		if (line[0] == '/')
			look_into(s, line);
	}
	fclose(f);
}

static void look_at_conf(const struct search *s)
{
	int dir_fd = open_in(s, "/etc/ld.so.conf.d", O_DIRECTORY), fd;
	DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
	struct dirent *entry;

	if (!dir) {
		if (dir_fd >= 0)
			close(dir_fd);
		return;
	}
	for (int i = 0; i < MAX_CONF_FILES && (entry = readdir(dir)); i++) {
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			look_where_it_says(s, fd);
	}
	closedir(dir);
}

static void find(const char *root, const char *const *dirs, size_t n, struct search *s)
{
	s->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; s->root_fd >= 0 && i < n; i++)
		look_into(s, dirs[i]);
}

void system_libraries_find(const char *root, system_library_wanted_fn *wanted,
			   system_library_fn *fn, void *ctx)
{
	/* Beside what is configured: the linker's own, and where vendors put theirs. */
	static const char *const usual[] = {
		"/lib",
		"/lib64",
		"/usr/lib",
		"/usr/lib64",
		"/usr/local/lib",
		"/usr/local/cuda/lib64",
		"/usr/local/nvidia/lib64",
		"/opt/rocm/lib",
	};
	struct search s = { .wanted = wanted, .fn = fn, .ctx = ctx };

	find(root, usual, sizeof(usual) / sizeof(usual[0]), &s);
	if (s.root_fd < 0)
		return;
	look_at_conf(&s);
	close(s.root_fd);
}

void system_programs_find(const char *root, system_library_wanted_fn *wanted, system_library_fn *fn,
			  void *ctx)
{
	static const char *const usual[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					     "/usr/bin",	"/sbin",	  "/bin" };
	struct search s = { .wanted = wanted, .fn = fn, .ctx = ctx };

	find(root, usual, sizeof(usual) / sizeof(usual[0]), &s);
	if (s.root_fd >= 0)
		close(s.root_fd);
}
