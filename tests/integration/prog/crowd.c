/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd PROCESSES THREADS - so many processes that do nothing, and one with so
 * many threads. Says "up PID", and ends with its input.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pid_t leader = getpid();
	pthread_attr_t attr;
	char buf[64];

	if (argc != 3)
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, "one-of-many");
			if (getppid() == leader)
				wait_for_ever(NULL);
			_exit(0);
		}
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (int i = 0; i < atoi(argv[2]); i++) {
		pthread_t t;

		if (pthread_create(&t, &attr, wait_for_ever, NULL) != 0) {
			fprintf(stderr, "no thread %d\n", i);
			return 1;
		}
	}
	printf("up %d\n", leader);
	fflush(stdout);
	while (read(0, buf, sizeof(buf)) > 0)
		;
	return 0;
}
