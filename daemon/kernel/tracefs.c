/* SPDX-License-Identifier: Apache-2.0 */
/* tracefs.c - the kernel's list of tracepoints. */
#include "tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/nearest.h"
#include "text.h"

/* A mount of our own, that nobody else sees and that goes with its descriptor. */
static int mount_own(void)
{
	int fs, fd = -1, err;

	fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
				  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID);
	err = errno;
	close(fs);
	return fd < 0 ? -err : fd;
}

static int open_events(void)
{
	static const char *const places[] = { "/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events" };
	int root, fd, r;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	root = mount_own();
	if (root < 0)
		return root == -ENODEV ? -ENOENT : root;
	fd = openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : fd;
	close(root);
	return r;
}

/* A file of an event, to be read. */
static int open_file(const char *system, const char *name, const char *file)
{
	char path[256];
	int events, fd, r;

	if (snprintf(path, sizeof(path), "%s/%s/%s", system, name, file) >= (int)sizeof(path) ||
	    strchr(system, '/') || strchr(name, '/') || system[0] == '.' || name[0] == '.')
		return -ENOENT;
	events = open_events();
	if (events < 0)
		return events;
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : fd;
	close(events);
	return r;
}

int tracefs_event_id(const char *system, const char *name, uint64_t *ret)
{
	int fd = open_file(system, name, "id");
	char text[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ENOENT;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_u64(text, 0, UINT32_MAX, ret) < 0 ? -ENOENT : 0;
}

int tracefs_event_format(const char *system, const char *name, char *ret, size_t size)
{
	int fd = open_file(system, name, "format");
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	while (n > 0 && len < size) {
		n = read(fd, ret + len, size - len);
		if (n > 0)
			len += (size_t)n;
	}
	close(fd);
	if (n < 0 || len == 0)
		return -ENOENT;
	if (len == size)
		return -E2BIG;
	ret[len] = '\0';
	return 0;
}

/* The directories in `dir`, whose end is the callee's; with `prefix` and a colon before each. */
static void offer_all(int fd, const char *prefix, struct nearest *near)
{
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	char text[NEAREST_NAME_MAX];
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (snprintf(text, sizeof(text), "%s%s%s", prefix, *prefix ? ":" : "", e->d_name) <
		    (int)sizeof(text))
			nearest_offer(near, text);
	}
	closedir(dir);
}

void tracefs_offer(const char *system, struct nearest *near)
{
	int events = open_events(), fd;

	if (events < 0)
		return;
	fd = strchr(system, '/') || system[0] == '.'
		     ? -1
		     : openat(events, system, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		offer_all(events, "", near);
		return;
	}
	offer_all(fd, system, near);
	close(events);
}
