/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dead_fuse DIR SECONDS - a file system that goes deaf: mounts one at DIR, runs
 * a program of its own from it, and from then on answers no open() any more.
 * Says "deaf PID" then; the program is busy for SECONDS in busy_on_dead_fuse().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_NODE 2
#define FILE_NAME "program"

static char *image;
static size_t image_size;
static int n_unanswered;

__attribute__((noinline)) unsigned busy_on_dead_fuse(double seconds)
{
	struct timespec start, now;
	volatile unsigned x = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned i = 0; i < 100000; i++)
			x = x * 31 + i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) < seconds);
	return x;
}

static bool load_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	image_size = (size_t)st.st_size;
	image = malloc(image_size);
	if (!image || read(fd, image, image_size) != st.st_size)
		return false;
	close(fd);
	return true;
}

static void answer(int fd, const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	static char buf[sizeof(struct fuse_out_header) + 256 * 1024];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .error = error,
				       .unique = in->unique };

	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), data, len);
	if (write(fd, buf, out.len) < 0 && errno != ENOENT)
		perror("dead_fuse: write");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == FILE_NODE ? image_size : 0,
				   .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void serve_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *arg)
{
	size_t len = 0;

	if (arg->offset < image_size)
		len = image_size - arg->offset;
	if (len > arg->size)
		len = arg->size;
	answer(fd, in, 0, image + arg->offset, len);
}

static void serve(int fd, const struct fuse_in_header *in, const void *arg, bool deaf)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_readahead = 65536,
				      .max_write = 65536,
				      .max_background = 16,
				      .congestion_threshold = 12 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.entry_valid = 3600,
					.attr_valid = 3600,
					.attr = attr_of(FILE_NODE) };
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(arg, FILE_NAME) == 0)
			answer(fd, in, 0, &entry, sizeof(entry));
		else
			answer(fd, in, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		answer(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (deaf)
			n_unanswered++;
		else
			answer(fd, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(fd, in, arg);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(fd, in, 0, NULL, 0);
		break;
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

static pid_t run_program(const char *path, const char *seconds, int fuse_fd, int pipe_fd[2])
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	close(fuse_fd);
	close(pipe_fd[0]);
	execl(path, path, "busy", seconds, (char *)NULL);
	_exit(127);
}

/* Returns the exit status of the program. */
static int serve_until_exit(int fd, int pipe_fd, pid_t pid)
{
	static _Alignas(8) char buf[FUSE_MIN_READ_BUFFER + 256 * 1024];
	bool deaf = false;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
					{ .fd = deaf ? -1 : pipe_fd, .events = POLLIN } };
		ssize_t n;

		poll(fds, 2, 100);
		if (fds[1].revents) { /* exec has closed the other end */
			deaf = true;
			printf("deaf %d\n", pid);
			fflush(stdout);
		}
		if (!(fds[0].revents & POLLIN))
			continue;
		n = read(fd, buf, sizeof(buf));
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve(fd, (void *)buf, buf + sizeof(struct fuse_in_header), deaf);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	char options[128], path[4096];
	int fd, pipe_fd[2], status;
	pid_t pid;

	if (argc == 3 && strcmp(argv[1], "busy") == 0)
		return busy_on_dead_fuse(atof(argv[2])) == 1;
	if (argc != 3 || !load_self() || pipe2(pipe_fd, O_CLOEXEC) < 0)
		return 2;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	if (fd < 0 || mount("dead_fuse", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("dead_fuse: mount");
		return 77;
	}
	snprintf(path, sizeof(path), "%s/%s", argv[1], FILE_NAME);
	pid = run_program(path, argv[2], fd, pipe_fd);
	close(pipe_fd[1]);
	status = serve_until_exit(fd, pipe_fd[0], pid);
	printf("unanswered %d\n", n_unanswered);
	umount2(argv[1], MNT_DETACH);
	return status;
}
