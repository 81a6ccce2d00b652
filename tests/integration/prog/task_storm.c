/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_storm SECONDS [fork|exec|thread] [JOBS] - tasks that live for a moment,
 * as fast as they can be made. Prints how many there were.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *thread(void *arg)
{
	return arg;
}

static void one(const char *kind, const char *self)
{
	pthread_t t;
	pid_t pid;

	if (strcmp(kind, "thread") == 0) {
		if (pthread_create(&t, NULL, thread, NULL) == 0)
			pthread_join(t, NULL);
		return;
	}
	pid = fork();
	if (pid == 0) {
		if (strcmp(kind, "exec") == 0)
			execl(self, "storm-child", "0", (char *)NULL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, end = now() + seconds;
	const char *kind = argc > 2 ? argv[2] : "fork";
	int n_jobs = argc > 3 ? atoi(argv[3]) : 1;
	long *count, total = 0;

	if (seconds <= 0)
		return 0;
	count = mmap(NULL, sizeof(*count) * (size_t)n_jobs, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED)
		return 1;
	for (int i = 0; i < n_jobs; i++) {
		if (fork() != 0)
			continue;
		for (; now() < end; count[i]++)
			one(kind, "/proc/self/exe");
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < n_jobs; i++)
		total += count[i];
	printf("%ld\n", total);
	return 0;
}
