/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs.c - asks for known amounts of memory, in known functions, in a thread
 * and in a child that executes this program anew. Waits before until it has been
 * found, which it sees by the breakpoints in the C library.
 *
 * A line for each function: "NAME BYTES".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_LARGE	   400
#define LARGE	   (256 * 1024)
#define N_SMALL	   200000
#define SMALL	   256
#define GROWN	   (64 * 1024 * 1024)
#define ALIGNED	   (1024 * 1024)
#define N_ALIGNED  50
#define PATIENCE_S 30

static void *volatile keep; /* so that nothing is optimized away */

static __attribute__((noinline)) void ask_for_large(void)
{
	for (int i = 0; i < N_LARGE; i++) {
		keep = malloc(LARGE);
		free(keep);
	}
}

static __attribute__((noinline)) void *ask_for_small(void *arg)
{
	for (int i = 0; i < N_SMALL; i++) {
		keep = calloc(SMALL / 16, 16);
		free(keep);
	}
	return arg;
}

static __attribute__((noinline)) void grow(void)
{
	char *p = NULL;

	for (size_t size = GROWN / 8; size <= GROWN; size *= 2) {
		p = realloc(p, size);
		if (!p)
			exit(1);
		keep = p;
	}
	free(p);
}

static __attribute__((noinline)) void ask_for_aligned(void)
{
	for (int i = 0; i < N_ALIGNED; i++) {
		void *p;

		if (posix_memalign(&p, 4096, ALIGNED))
			exit(1);
		keep = p;
		free(p);
	}
}

#ifdef __x86_64__
static int is_probed(void *function)
{
	return *(volatile unsigned char *)function == 0xcc;
}
#endif

static void wait_for_probes(void)
{
#ifdef __x86_64__
	for (int i = 0; i < PATIENCE_S * 100; i++) {
		if (is_probed(malloc) && is_probed(calloc) && is_probed(realloc) &&
		    is_probed(posix_memalign))
			return;
		usleep(10000);
	}
	fputs("allocs: nobody has probed it\n", stderr);
	exit(1);
#else
	sleep(5);
#endif
}

static void in_child(const char *self)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, "child", (char *)NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	wait_for_probes();
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		ask_for_large();
		return 0;
	}
	ask_for_large();
	if (pthread_create(&thread, NULL, ask_for_small, NULL))
		return 1;
	pthread_join(thread, NULL);
	grow();
	ask_for_aligned();
	in_child(argv[0]);
	printf("ask_for_large %llu\n", 2ull * N_LARGE * LARGE);
	printf("ask_for_small %llu\n", (unsigned long long)N_SMALL * SMALL);
	printf("grow %llu\n", 15ull * GROWN / 8);
	printf("ask_for_aligned %llu\n", (unsigned long long)N_ALIGNED * ALIGNED);
	return 0;
}
