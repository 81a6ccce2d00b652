/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ioctls.c - what system calls cost: one that is no ioctl, an ioctl that is no
 * GPU's, and an ioctl as programs make them on GPUs, of a device that is taken for
 * one (tests/bench/run does that).
 *
 *	ioctls
 *
 * Prints nanoseconds of the thread's CPU time for each of the three, the least of
 * some rounds. A GPU's ioctl is made 100,000 times a second.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 15
#define CALLS  5000 /* then a pause, so that the daemon keeps up */
#define PAUSE  40000

static int pipes[2], device;
static uint32_t data[14];

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void no_ioctl(void)
{
	getppid();
}

static void no_gpu(void)
{
	int bytes;

	ioctl(pipes[0], FIONREAD, &bytes);
}

static void gpu(void)
{
	ioctl(device, _IOWR('d', 0xbc, data), data); /* DRM_IOCTL_MODE_ATOMIC */
}

static double least(void (*call)(void))
{
	double best = 1e12;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = cpu_ns(), one;

		for (int i = 0; i < CALLS; i++)
			call();
		one = (cpu_ns() - begin) / CALLS;
		if (one < best)
			best = one;
		usleep(PAUSE);
	}
	return best;
}

int main(void)
{
	device = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (device < 0 || pipe(pipes) < 0)
		return 1;
	printf("%.0f %.0f %.0f\n", least(no_ioctl), least(no_gpu), least(gpu));
	return 0;
}
