/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - whole reads and writes. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64 * 1024)

ssize_t io_read_file(const char *path, char *dst, size_t dst_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;
	int r = 0;

	if (fd < 0)
		return -errno;
	while (len + 1 < dst_size) {
		n = read(fd, dst + len, dst_size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (n < 0)
		r = -errno;
	close(fd);
	dst[len] = '\0';
	return r < 0 ? r : (ssize_t)len;
}

int io_read_all(const char *path, size_t max, struct buf *dst)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t start = dst->len;
	int r = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		r = buf_reserve(dst, CHUNK);
		if (r < 0)
			break;
		n = read(fd, dst->data + dst->len, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = -errno;
		if (n <= 0)
			break;
		dst->len += (size_t)n;
		if (dst->len - start > max) {
			r = -EFBIG;
			break;
		}
	}
	close(fd);
	return r;
}

int io_open_regular(const char *path)
{
	int at = open(path, O_PATH | O_CLOEXEC), fd;
	char again[32];
	struct stat st;

	if (at < 0)
		return -errno;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
	if (fstat(at, &st) < 0 || !S_ISREG(st.st_mode))
		fd = -EINVAL;
	else if ((fd = open(again, O_RDONLY | O_CLOEXEC)) < 0)
		fd = -errno;
	close(at);
	return fd;
}

int io_write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}
