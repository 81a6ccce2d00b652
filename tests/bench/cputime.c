/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cputime.c - runs a command and says what CPU time it and all its children
 * have used, in seconds, on descriptor 3 (so that it cannot mix with output).
 *
 *	cputime COMMAND ARGS... 3>FILE
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status = 1;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 1;
	dprintf(3, "%.6f\n",
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
