/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpucalls.c - makes ioctls as programs make them on GPUs, on a device that is none.
 *
 *	gpucalls GO list		each of a list
 *	gpucalls GO submit N		N times the same, from submit_here()
 *	gpucalls GO flood N		N from each of two threads, as fast as they can
 *
 * Begins when the file GO is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int device;
static long n;

static void make_list(void)
{
	struct {
		uint32_t flags, count_objs;
		uint64_t objs, counts, props, values, reserved, user_data;
	} atomic = { 0x201, 3, 0, 0, 0, 0, 0, 0x77 };
	uint32_t close[2] = { 7, 0 }, unknown[16] = { 1, 2, 3 };
	int pipes[2], bytes;

	if (pipe(pipes) < 0)
		exit(1);
	ioctl(device, _IOWR('d', 0xbc, atomic), &atomic);
	ioctl(device, _IOW('d', 0x09, close), close);
	ioctl(device, _IOWR('d', 0x42, unknown), unknown);
	ioctl(device, _IOWR('d', 0xfe, unknown), unknown);
	ioctl(device, _IOWR('d', 0xbc, char[8]), &atomic); /* an older, shorter one */
	ioctl(device, _IOW('d', 0x09, close), (void *)16); /* a pointer to nowhere */
	/* None of which is a GPU's: */
	ioctl(device, TCGETS, unknown);
	ioctl(pipes[0], FIONREAD, &bytes);
	ioctl(pipes[0], _IOW('d', 0x09, close), close);
	ioctl(-1, _IOW('d', 0x09, close), close);
	ioctl(9999, _IOW('d', 0x09, close), close);
}

__attribute__((noinline)) static int submit_here(void)
{
	uint32_t flink[2] = { 1, 0 };
	int r = ioctl(device, _IOWR('d', 0x0a, flink), flink);

	return r + 1; /* so that it is no tail call */
}

static void *flood(void *arg)
{
	uint32_t close[2] = { 7, 0 };

	(void)arg;
	for (long i = 0; i < n; i++)
		ioctl(device, _IOW('d', 0x09, close), close);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	n = argc > 3 ? atol(argv[3]) : 0;
	device = open("/dev/null", O_RDWR | O_CLOEXEC);
	printf("%d\n", (int)getpid());
	while (access(argv[1], F_OK) < 0)
		usleep(10000);
	if (strcmp(argv[2], "list") == 0) {
		make_list();
	} else if (strcmp(argv[2], "submit") == 0) {
		for (long i = 0; i < n; i++) {
			submit_here();
			usleep(20000);
		}
	} else {
		if (pthread_create(&thread, NULL, flood, NULL) != 0)
			return 1;
		flood(NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
