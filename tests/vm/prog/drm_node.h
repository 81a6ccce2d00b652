/* SPDX-License-Identifier: Apache-2.0 */
/* drm_node.h - opens the nodes of a DRM driver by its name; says what each ioctl returned. */
#ifndef DRM_NODE_H
#define DRM_NODE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <drm/drm.h>

/* One line for each ioctl that a trace is to show: "ioctl NAME RESULT". */
static inline int call_named(int fd, unsigned long request, void *arg, const char *name)
{
	int r = ioctl(fd, request, arg);

	printf("ioctl %s %d\n", name, r < 0 ? -errno : r);
	return r < 0 ? -errno : r;
}

#define call(fd, request, arg) call_named(fd, request, arg, #request)

static inline void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(1);
}

/*
 * The `skip`th node of the driver, a render node or a card; -ENODEV: there is none.
 * Asking a node for its driver's name is an ioctl, too.
 */
static inline int open_driver(const char *driver, int render, int skip)
{
	for (int i = render ? 128 : 0; i < (render ? 144 : 16); i++) {
		char path[32], name[64] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/%s%d", render ? "renderD" : "card", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (call(fd, DRM_IOCTL_VERSION, &version) == 0 && !strcmp(name, driver) &&
		    !skip--) {
			printf("node %s %s\n", driver, path);
			return fd;
		}
		close(fd);
	}
	return -ENODEV;
}

#endif
