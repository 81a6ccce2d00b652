/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - the file that a trace is written to, and the command that it comes from. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "clean.h"

/* Recordings that begin in one folder in one second. */
#define MAX_SAME_NAMES 16

/* The `n`-th name of this second. */
static void make_name(char *dst, size_t size, unsigned n)
{
	char host[64] = "trace", date[32];
	time_t now = time(NULL);
	struct tm tm;

	(void)gethostname(host, sizeof(host) - 1);
	if (strchr(host, '/'))
		strcpy(host, "trace");
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (n == 0)
		snprintf(dst, size, "%s-%s.perfetto-trace", host, date);
	else
		snprintf(dst, size, "%s-%s-%u.perfetto-trace", host, date, n + 1);
}

static int cannot_create(const char *path, int error)
{
	struct stat st;

	if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		error = EISDIR;
	fprintf(stderr, "tracectl: cannot create %s: %s%s\n", clean(path), strerror(error),
		error == EEXIST ? " (--force overwrites it)" : "");
	return -error;
}

int output_open(const char *name, bool force, char path[PATH_MAX], int *ret_fd)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;

	if (name && strcmp(name, "-") == 0) {
		strcpy(path, "-");
		*ret_fd = STDOUT_FILENO;
		if (!isatty(STDOUT_FILENO))
			return 0;
		fputs("tracectl: a trace is no text: redirect standard output\n", stderr);
		return -EINVAL;
	}
	if (name && strlen(name) >= PATH_MAX)
		return cannot_create(name, ENAMETOOLONG);
	for (unsigned n = 0; n < MAX_SAME_NAMES; n++) {
		if (name)
			strcpy(path, name);
		else
			make_name(path, PATH_MAX, n);
		*ret_fd = open(path, flags | (force && name ? 0 : O_EXCL), 0644);
		if (name || *ret_fd >= 0 || errno != EEXIST)
			break;
	}
	if (*ret_fd < 0)
		return cannot_create(path, errno);
	if (fstat(*ret_fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fprintf(stderr, "tracectl: %s is not a regular file\n", clean(path));
		return -EINVAL;
	}
	if (ftruncate(*ret_fd, 0) < 0) {
		fprintf(stderr, "tracectl: %s: %s\n", clean(path), strerror(errno));
		return -errno;
	}
	return 0;
}

char *output_command_line(int argc, char **argv)
{
	struct buf text = { 0 };

	if (buf_append(&text, "tracectl", 8) < 0)
		return NULL;
	for (int i = 0; i < argc; i++)
		if (buf_append(&text, " ", 1) < 0 ||
		    buf_append(&text, argv[i], strlen(argv[i])) < 0)
			break;
	if (buf_append(&text, "", 1) < 0) {
		buf_done(&text);
		return NULL;
	}
	return (char *)text.data;
}
