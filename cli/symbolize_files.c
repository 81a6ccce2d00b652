/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize_files.c - where the symbols of a trace's modules are, on this
 * machine and, when asked for, on a debuginfod server.
 *
 * A trace may come from another machine: what is here counts only with the same
 * build id. Files are opened with the rights of who runs us.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean.h"
#include "symbolize.h"
#include "symbolize/debug_files.h"

#define DEBUGINFOD_FIND "debuginfod-find"

struct symbolize_files {
	struct symbolize_worker *worker;
	struct debug_files *local;
	bool use_debuginfod;
};

int symbolize_files_new(struct symbolize_worker *w, bool use_debuginfod,
			struct symbolize_files **ret)
{
	struct symbolize_files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->worker = w;
	f->use_debuginfod = use_debuginfod;
	r = debug_files_new("/", &f->local);
	if (r < 0) {
		symbolize_files_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void symbolize_files_free(struct symbolize_files *f)
{
	if (!f)
		return;
	debug_files_free(f->local);
	free(f);
}

static bool same_id(const struct trace_module *m, const struct files_debug *d)
{
	return m->build_id_len && m->build_id_len == d->info.build_id_len &&
	       memcmp(m->build_id, d->info.build_id, m->build_id_len) == 0;
}

/* What is no regular file is not opened: a FIFO may wait. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* `fd` if it is the file with the wanted id; else it is closed. */
static int check_file(struct symbolize_files *f, const struct trace_module *m, int fd,
		      struct files_debug *ret)
{
	if (fd < 0)
		return fd;
	if (symbolize_worker_debug(f->worker, fd, -1, ret) == 0 && same_id(m, ret))
		return fd;
	close(fd);
	return -ENOENT;
}

/* ---- debuginfod ---- */

/* The first line that a command says, without its end. */
static int first_line(char *const argv[], char *dst, size_t size)
{
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], status = -1, r;
	FILE *out;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	r = -posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		r = -posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
		if (r == 0)
			r = -posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(pipe_fds[1]);
	out = r == 0 ? fdopen(pipe_fds[0], "r") : NULL;
	if (!out) {
		close(pipe_fds[0]);
		return r < 0 ? r : -errno;
	}
	if (!fgets(dst, (int)size, out))
		dst[0] = '\0';
	dst[strcspn(dst, "\n")] = '\0';
	fclose(out); /* what else it says is of no interest */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && dst[0] ? 0 : -ENOENT;
}

/* It caches what it gets, and says where. Its own word is final about time. */
static int ask_debuginfod(struct symbolize_files *f, const uint8_t *build_id, size_t len)
{
	char id[2 * BUILD_ID_MAX + 1], path[PATH_MAX];
	char *const argv[] = { DEBUGINFOD_FIND, "debuginfo", id, NULL };
	int r;

	if (!f->use_debuginfod || len < BUILD_ID_MIN || len > BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < len; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id[i]);
	r = first_line(argv, path, sizeof(path));
	if (r == -ENOENT)
		return r;
	if (r < 0) {
		fprintf(stderr,
			"tracectl: cannot run " DEBUGINFOD_FIND
			": %s (Debian: package debuginfod); going on without\n",
			strerror(-r));
		f->use_debuginfod = false;
		return r;
	}
	return open_regular(path);
}

/* ---- all of them ---- */

/* The program itself, if it is still here; what it says of its debug file is in `*ret`. */
static int open_own(struct symbolize_files *f, const struct trace_module *m,
		    struct files_debug *ret)
{
	if (m->path[0] != '/' || !m->build_id_len)
		return -ENOENT;
	return check_file(f, m, open_regular(m->path), ret);
}

static int open_local(struct symbolize_files *f, const struct trace_module *m, const char *link,
		      struct files_debug *ret)
{
	unsigned pos = 0;
	int fd;

	while ((fd = debug_files_open(f->local, m->build_id, m->build_id_len, m->path, link,
				      &pos)) >= 0) {
		fd = check_file(f, m, fd, ret);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

static int open_alt(struct symbolize_files *f, const struct elf_debug *info)
{
	int fd;

	if (!info->alt[0])
		return -1;
	fd = debug_files_open_alt(f->local, info->alt_build_id, info->alt_build_id_len, info->alt);
	if (fd < 0)
		fd = ask_debuginfod(f, info->alt_build_id, info->alt_build_id_len);
	return fd < 0 ? -1 : fd;
}

int symbolize_files_find(struct symbolize_files *f, const struct trace_module *m,
			 struct symbolize_source *ret)
{
	struct files_debug own = { 0 }, found;
	int own_fd = open_own(f, m, &own), fd;

	if (own_fd >= 0 && own.info.has_lines) {
		*ret = (struct symbolize_source){ own_fd, open_alt(f, &own.info) };
		return 0;
	}
	fd = open_local(f, m, own.info.link, &found);
	if (fd < 0)
		fd = check_file(f, m, ask_debuginfod(f, m->build_id, m->build_id_len), &found);
	if (fd >= 0) {
		if (own_fd >= 0)
			close(own_fd);
		*ret = (struct symbolize_source){ fd, open_alt(f, &found.info) };
		return 0;
	}
	/* Names at least. */
	if (own_fd >= 0 && own.info.has_symbols) {
		*ret = (struct symbolize_source){ own_fd, -1 };
		return 0;
	}
	if (own_fd >= 0)
		close(own_fd);
	return -ENOENT;
}
