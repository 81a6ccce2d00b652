/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_mappings N [late] - maps the code of this program N times over, so that
 * each is a mapping of its own, says "ready PID MAPPINGS", and runs in the last of
 * them, in busy_in_a_mapping(), until its input ends. With "late" it waits for a
 * line of input before it maps.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* On a page of its own, and without a call: it works at any address. */
__attribute__((noinline, aligned(4096))) unsigned busy_in_a_mapping(unsigned n)
{
	volatile unsigned x = 0;

	for (unsigned i = 0; i < n; i++)
		x = x * 31 + i;
	return x;
}

int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE), n_mapped = 0, n = argc > 1 ? atol(argv[1]) : 1000;
	struct pollfd input = { .fd = 0, .events = POLLIN };
	unsigned (*copy)(unsigned) = busy_in_a_mapping;
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned long start, end, pgoff = 0;
	char line[512];
	FILE *maps;

	if (argc > 2 && !fgets(line, sizeof(line), stdin))
		return 1;
	/* Where in the file this function is: its mapping's own offset tells. */
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &pgoff) == 3 &&
		    (uintptr_t)copy >= start && (uintptr_t)copy < end)
			break;
	pgoff += (uintptr_t)copy - start;
	if (fd < 0 || !maps)
		return 1;
	fclose(maps);

	/* The same page of the file each time: the kernel cannot join them. */
	for (; n_mapped < n; n_mapped++) {
		void *p = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			       (off_t)pgoff);

		if (p == MAP_FAILED)
			break;
		copy = (unsigned (*)(unsigned))(uintptr_t)p;
	}
	printf("ready %d %ld\n", getpid(), n_mapped);
	fflush(stdout);
	while (poll(&input, 1, 0) == 0)
		copy(1000000);
	return 0;
}
