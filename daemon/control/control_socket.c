/* SPDX-License-Identifier: Apache-2.0 */
/* control_socket.c - the one listening socket of the one daemon. */
#include "control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "notify.h"

#define BACKLOG 64

struct control_socket {
	int fd, lock_fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": systemd's */
};

/* The directory is ours; its parent must be there (/run). */
static int make_directory(const char *socket_path, char *dir, size_t size)
{
	char copy[256];

	if (strlen(socket_path) >= sizeof(copy))
		return -ENAMETOOLONG;
	strcpy(copy, socket_path);
	snprintf(dir, size, "%s", dirname(copy));
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Held until the process ends, whichever way; the file names its holder. */
static int take_lock(struct control_socket *s, const char *socket_path)
{
	char dir[256], path[272], pid[32] = "";
	int r = make_directory(socket_path, dir, sizeof(dir));

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/lock", dir);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return -errno;
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		if (pread(s->lock_fd, pid, sizeof(pid) - 1, 0) < 0)
			pid[0] = '\0';
		pid[strcspn(pid, "\n")] = '\0';
		if (r == -EADDRINUSE)
			log_error("another tracerd is running (pid %s)", pid);
		return r;
	}
	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	/* Only for the message above: an empty file is good enough. */
	if (ftruncate(s->lock_fd, 0) < 0 || pwrite(s->lock_fd, pid, strlen(pid), 0) < 0)
		log_debug("cannot write %s: %s", path, strerror(errno));
	return 0;
}

static int bind_path(struct control_socket *s, const char *path, gid_t group, bool everybody)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	/* We hold the lock: whoever left a file here is dead. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	mask = umask(0177);
	r = bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	strcpy(s->path, path);
	if (group != (gid_t)-1 && (chown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0))
		log_warn("%s: cannot give it to its group: %s, root only", path, strerror(errno));
	if (everybody && chmod(path, 0666) < 0)
		log_warn("%s: cannot open it to all users: %s", path, strerror(errno));
	return listen(s->fd, BACKLOG) < 0 ? -errno : 0;
}

/* The mode of systemd's is in its unit. */
static void look_at_mode(int fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr);
	struct stat st;

	if (getsockname(fd, (struct sockaddr *)&addr, &len) == 0 && stat(addr.sun_path, &st) == 0 &&
	    (st.st_mode & 0006) != 0006)
		log_warn("%s: users = own, but they may not connect: systemctl edit tracer.socket, "
			 "and say SocketMode=0666 in section [Socket]",
			 addr.sun_path);
}

int control_socket_open(const char *path, gid_t group, bool everybody, struct control_socket **ret)
{
	struct control_socket *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->fd = s->lock_fd = -1;
	r = take_lock(s, path);
	if (r < 0)
		goto fail;
	s->fd = notify_listen_fd();
	if (s->fd >= 0) {
		/* Accepting is done until nobody waits: it must not block. */
		if (fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) | O_NONBLOCK) < 0)
			r = -errno;
		if (everybody)
			look_at_mode(s->fd);
	} else {
		r = bind_path(s, path, group, everybody);
	}
	if (r < 0)
		goto fail;
	*ret = s;
	return 0;

fail:
	if (r != -EADDRINUSE)
		log_error("cannot open the control socket %s: %s", path, strerror(-r));
	control_socket_free(s);
	return r;
}

int control_socket_take(struct control_socket *s)
{
	int fd = s->fd;

	s->fd = -1;
	return fd;
}

void control_socket_free(struct control_socket *s)
{
	if (!s)
		return;
	if (s->path[0])
		unlink(s->path);
	if (s->fd >= 0)
		close(s->fd);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s);
}
