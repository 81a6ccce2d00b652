/* SPDX-License-Identifier: Apache-2.0 */
/* jit_files.c - finds the files in which a process tells what code it has generated. */
#include "process/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "process/module_pins.h"
#include "process/process_table.h"

/*
 * The file is open in the process, or was written a moment ago, so the kernel
 * has its name at hand. Asking for more is left to file systems on a block
 * device, which answer by themselves.
 */
static int open_path(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED,
	};
	struct statx st;
	int fd, tmp_fd;

	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 || errno != EAGAIN)
		return fd < 0 ? -errno : fd;
	tmp_fd = (int)syscall(SYS_openat2, root_fd, "tmp", &how, sizeof(how));
	if (tmp_fd < 0)
		return -ENOENT;
	how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
	if (statx(tmp_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
	    st.stx_dev_major != 0)
		fd = (int)syscall(SYS_openat2, tmp_fd, strrchr(path, '/') + 1, &how, sizeof(how));
	else
		errno = ENOENT;
	fd = fd < 0 ? -errno : fd;
	close(tmp_fd);
	return fd;
}

static void set_state(const struct statx *st, struct jit_file_state *ret)
{
	*ret = (struct jit_file_state){
		.dev = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor,
		.ino = st->stx_ino,
		.size = st->stx_size,
		.mtime_s = st->stx_mtime.tv_sec,
		.mtime_ns = st->stx_mtime.tv_nsec,
	};
}

#define WANTED (STATX_TYPE | STATX_UID | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_MTIME)

int jit_files_state(int fd, struct jit_file_state *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, WANTED, &st) < 0)
		return -errno;
	set_state(&st, ret);
	return 0;
}

/* A second name for a file of root's can be made by anybody: it tells nothing. */
static bool is_trusted(const struct statx *st, uint32_t uid)
{
	return S_ISREG(st->stx_mode) &&
	       (st->stx_uid == uid || (st->stx_uid == 0 && st->stx_nlink <= 1));
}

/* Files are for ever, pids are not. The wall clock may have been set a little since. */
static bool is_older(const struct statx *st, const struct process *p)
{
	uint64_t since_ns = p->exec_ns > p->start_ns ? p->exec_ns : p->start_ns;
	uint64_t age_ns = boot_ns() - since_ns, real_ns = clock_ns(CLOCK_REALTIME) - age_ns;

	return (uint64_t)st->stx_mtime.tv_sec + 2 < real_ns / NS_PER_SEC;
}

static int open_map(struct module_pins *pins, int root_fd, uint32_t pid, const struct process *p,
		    int *ret_fd, struct jit_file_state *ret)
{
	struct statx st;
	char path[48];
	int path_fd, fd;

	snprintf(path, sizeof(path), "tmp/perf-%u.map", pid);
	path_fd = open_path(root_fd, path);
	if (path_fd == -ELOOP || path_fd == -EXDEV)
		return -EPERM;
	if (path_fd < 0)
		return path_fd;
	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, WANTED, &st) < 0)
		fd = -errno;
	else if (!is_trusted(&st, p->uid))
		fd = -EPERM;
	else if (is_older(&st, p))
		fd = -ENOENT;
	else
		fd = module_pins_open(pins, &st, path_fd);
	close(path_fd);
	if (fd < 0)
		return fd;
	set_state(&st, ret);
	*ret_fd = fd;
	return 0;
}

/* In the innermost of its pid namespaces. */
static uint32_t own_pid(const struct process *p)
{
	uint32_t pid = p->tgid;

	for (unsigned i = 0; i < MAX_PID_NS && p->nspid[i]; i++)
		pid = p->nspid[i];
	return pid;
}

int jit_files_open_map(struct module_pins *pins, int proc_fd, const struct process *p, int *ret_fd,
		       struct jit_file_state *ret)
{
	uint32_t pid = own_pid(p);
	char name[32];
	int root_fd, r;

	snprintf(name, sizeof(name), "%u/root", p->tgid);
	root_fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	r = open_map(pins, root_fd, pid, p, ret_fd, ret);
	if (r == -ENOENT && pid != p->tgid)
		r = open_map(pins, root_fd, p->tgid, p, ret_fd, ret);
	close(root_fd);
	return r;
}

int jit_files_open_memory(int proc_fd, const struct process *p, int *ret_fd)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%u/mem", p->tgid);
	fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

bool jit_files_is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t n;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	n = strspn(name + 5, "0123456789");
	return n > 0 && strcmp(name + 5 + n, ".dump") == 0;
}

int64_t jit_files_parse_timens(const char *text)
{
	long long s, ns;

	if (sscanf(text, "monotonic %lld %lld", &s, &ns) != 2 || s > INT32_MAX || s < -INT32_MAX ||
	    ns < 0 || ns >= (long long)NS_PER_SEC)
		return 0;
	return s * (int64_t)NS_PER_SEC + ns;
}

int64_t jit_files_timens(int proc_fd, uint32_t tgid)
{
	char text[256];
	ssize_t n = -1;
	int fd;

	snprintf(text, sizeof(text), "%u/timens_offsets", tgid);
	fd = openat(proc_fd, text, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return jit_files_parse_timens(text);
}
