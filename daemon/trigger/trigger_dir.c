/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_dir.c - the directory of snapshots. */
#include "trigger/trigger_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 4096 /* that are looked at at once; the rest next time */
/* "20260131-235959" */
#define TIME_LEN 15

struct snapshot_file {
	char name[TRIGGER_FILE_NAME];
	uint64_t bytes;
};

static bool is_time(const char *s)
{
	for (int i = 0; i < TIME_LEN; i++)
		if (i == 8 ? s[i] != '-' : s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

/* Whether a file is called like a snapshot of the trigger; of any, if it is NULL. */
static bool is_snapshot(const char *name, const char *trigger)
{
	static const char end[] = TRIGGER_FILE_END;
	size_t len = strlen(name), end_len = sizeof(end) - 1, head;

	if (len <= end_len + TIME_LEN + 1 || len >= TRIGGER_FILE_NAME)
		return false;
	head = len - end_len - TIME_LEN - 1;
	return strcmp(name + len - end_len, end) == 0 && is_time(name + head + 1) &&
	       name[head] == '-' &&
	       (!trigger || (strlen(trigger) == head && memcmp(name, trigger, head) == 0));
}

static DIR *open_list(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static void remove_parts(int dir_fd)
{
	DIR *dir = open_list(dir_fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] == '.' && is_snapshot(entry->d_name + 1, NULL))
			(void)unlinkat(dir_fd, entry->d_name, 0);
	if (dir)
		closedir(dir);
}

int trigger_dir_open(const char *path)
{
	int fd;

	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	remove_parts(fd);
	return fd;
}

void trigger_dir_name(const char *trigger, time_t now, char ret[TRIGGER_FILE_NAME])
{
	char date[TIME_LEN + 1] = "";
	struct tm tm;

	if (!localtime_r(&now, &tm) || strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm) == 0)
		strcpy(date, "00000000-000000");
	snprintf(ret, TRIGGER_FILE_NAME, "%s-%s%s", trigger, date, TRIGGER_FILE_END);
}

/* The newest first. */
static int compare(const void *a, const void *b)
{
	const struct snapshot_file *x = a, *y = b;

	return strcmp(y->name, x->name);
}

static size_t list_files(int dir_fd, DIR *dir, const char *trigger, struct snapshot_file *files)
{
	struct dirent *entry;
	struct stat st;
	size_t n = 0;

	while (n < MAX_FILES && (entry = readdir(dir))) {
		if (!is_snapshot(entry->d_name, trigger) ||
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		strcpy(files[n].name, entry->d_name);
		files[n++].bytes = (uint64_t)st.st_size;
	}
	qsort(files, n, sizeof(*files), compare);
	return n;
}

int trigger_dir_prune(int dir_fd, const char *trigger, uint64_t keep, uint64_t max_bytes)
{
	struct snapshot_file *files = calloc(MAX_FILES, sizeof(*files));
	DIR *dir = files ? open_list(dir_fd) : NULL;
	uint64_t bytes = 0;
	int r = 0;
	size_t n;

	if (!dir) {
		r = files ? -errno : -ENOMEM;
		free(files);
		return r;
	}
	n = list_files(dir_fd, dir, trigger, files);
	for (size_t i = 0; i < n; i++) {
		bytes += files[i].bytes;
		if (i > 0 && (i >= keep || bytes > max_bytes) &&
		    unlinkat(dir_fd, files[i].name, 0) < 0)
			r = -errno;
	}
	closedir(dir);
	free(files);
	return r;
}
