/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_lived N MS - N copies of this program, one after the other, each with a
 * file of its own that is deleted as soon as it runs, each busy for MS
 * milliseconds in busy_in_a_copy(). Prints how many ran.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

__attribute__((noinline)) unsigned busy_in_a_copy(double ms)
{
	double end = now_ms() + ms;
	volatile unsigned x = 0;

	do
		for (unsigned i = 0; i < 20000; i++)
			x = x * 31 + i;
	while (now_ms() < end);
	return x;
}

static int copy_self(const char *path)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(path, O_WRONLY | O_CREAT, 0755);
	struct stat st;
	int r = -1;

	if (in >= 0 && out >= 0 && fstat(in, &st) == 0 &&
	    sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size)
		r = 0;
	close(in);
	close(out);
	return r;
}

/* Returns when the copy runs: the pipe's end closes with exec. */
static pid_t run_copy(const char *path, const char *ms)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		execl(path, path, "busy", ms, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	(void)!read(fds[0], &c, 1);
	close(fds[0]);
	return pid;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/short_lived.XXXXXX", path[64];
	int n_done = 0;

	if (argc == 3 && strcmp(argv[1], "busy") == 0)
		return busy_in_a_copy(atof(argv[2])) == 1;
	if (argc != 3 || !mkdtemp(dir))
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		int status;
		pid_t pid;

		snprintf(path, sizeof(path), "%s/copy%d", dir, i);
		if (copy_self(path) < 0)
			break;
		pid = run_copy(path, argv[2]);
		unlink(path);
		if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
			n_done++;
	}
	rmdir(dir);
	printf("%d\n", n_done);
	return 0;
}
