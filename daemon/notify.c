/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - systemd's protocols for readiness, watchdog and socket activation. */
#include "notify.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "text.h"

#define FIRST_LISTEN_FD 3

void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len == 0 || len >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Nothing to do about a failure: systemd will find us silent and say so. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* Variables of systemd's are meant for one process and say for which. */
static uint64_t own_number(const char *name, const char *pid_name, uint64_t max)
{
	const char *value = getenv(name), *pid = getenv(pid_name);
	uint64_t n;

	if (!value || (pid && (text_u64(pid, 1, INT32_MAX, &n) < 0 || (pid_t)n != getpid())))
		return 0;
	return text_u64(value, 0, max, &n) < 0 ? 0 : n;
}

uint64_t notify_watchdog_ns(void)
{
	return own_number("WATCHDOG_USEC", "WATCHDOG_PID", INT64_MAX / 1000) * 1000;
}

int notify_listen_fd(void)
{
	if (!getenv("LISTEN_PID") || own_number("LISTEN_FDS", "LISTEN_PID", INT_MAX) < 1)
		return -1;
	if (fcntl(FIRST_LISTEN_FD, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	return FIRST_LISTEN_FD;
}
