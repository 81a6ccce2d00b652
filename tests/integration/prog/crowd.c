/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd N - N processes that do nothing and, begun last, one that is busy. Says
 * its pid when all are there; they end when the input does, or with this one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static pid_t start(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	/* It may be too late for that already. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t busy;
	char c;

	for (int n = argc == 2 ? atoi(argv[1]) : 0; n > 0; n--) {
		pid_t pid = start();

		if (pid < 0)
			return 1;
		while (pid == 0)
			pause();
	}
	busy = start();
	if (busy < 0)
		return 1;
	while (busy == 0)
		;
	printf("%d\n", busy);
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
