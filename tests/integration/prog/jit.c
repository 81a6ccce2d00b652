/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit MODE MS [DIR] - generates code and runs it for MS milliseconds of CPU time,
 * and tells of it as compilers at run time do. Prints what ran when, a line each:
 * "BOOTTIME NAME", times in nanoseconds; the last one is "BOOTTIME end".
 *
 *   map       /tmp/perf-PID.map: five functions, each at an address of its own
 *   append    the same, told only after each has begun to run
 *   reuse     one address, whose function is replaced every 300 ms
 *   dump      DIR/jit-PID.dump: one address, replaced every 50 ms, with lines
 *   memfd     as map, but the code is written through another mapping of a memfd
 *   forked    a child runs what its parent has told of, and code of its own
 *   unnamed   nobody is told
 *   rotate    the map is cut off, replaced and deleted all the time
 *   fifo, symlink, foreign, sparse
 *             what lies in place of the map is not a file of ours to be read
 *
 * What it has put into /tmp it takes away at its end.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096u
#define N_SLOTS 5

/* Counts its argument down to 0, in a frame of its own. */
static const uint8_t code[] = {
#if defined(__x86_64__)
#define MACHINE EM_X86_64
	0x55, 0x48, 0x89, 0xe5,	      /* push %rbp; mov %rsp,%rbp */
	0x48, 0xff, 0xcf, 0x75, 0xfb, /* 1: dec %rdi; jnz 1b */
	0x5d, 0xc3,		      /* pop %rbp; ret */
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
	0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, /* stp x29,x30,[sp,-16]!; mov x29,sp */
	0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, /* 1: subs x0,x0,#1; b.ne 1b */
	0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6, /* ldp x29,x30,[sp],16; ret */
#endif
};

static uint8_t *area;	 /* to be executed */
static uint8_t *written; /* to be written */
static char map_path[64], dump_path[512];
static FILE *map, *dump;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint8_t *emit(unsigned slot)
{
	uint8_t *at = area + slot * PAGE;

	memcpy(written + slot * PAGE, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	return at;
}

static void tell_map(const void *at, const char *name)
{
	if (!map)
		map = fopen(map_path, "w");
	if (!map)
		return;
	fprintf(map, "%lx %zx %s\n", (unsigned long)at, sizeof(code), name);
	fflush(map);
}

/* ---- jitdump ---- */

static void put(const void *data, size_t len)
{
	fwrite(data, 1, len, dump);
}

static void open_dump(const char *dir)
{
	uint32_t head[] = { 0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid() };
	uint64_t rest[] = { clock_ns(CLOCK_MONOTONIC), 0 };

	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", dir, (int)getpid());
	dump = fopen(dump_path, "w+");
	if (!dump ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED) {
		perror(dump_path);
		exit(1);
	}
	put(head, sizeof(head));
	put(rest, sizeof(rest));
	fflush(dump);
}

static void put_record(uint32_t id, size_t len, uint64_t time_ns)
{
	uint32_t head[] = { id, (uint32_t)(16 + len) };

	put(head, sizeof(head));
	put(&time_ns, sizeof(time_ns));
}

static void tell_dump(const uint8_t *at, const char *name, unsigned line, uint64_t time_ns)
{
	uint64_t addr = (uint64_t)(uintptr_t)at, info[] = { addr, 1, addr };
	uint32_t place[] = { line, 0 }, ids[] = { (uint32_t)getpid(), (uint32_t)getpid() };
	uint64_t load[] = { addr, addr, sizeof(code), line };
	static const char file[] = "/srv/generated.src";

	put_record(2, sizeof(info) + sizeof(place) + sizeof(file), time_ns);
	put(info, sizeof(info));
	put(place, sizeof(place));
	put(file, sizeof(file));
	put_record(0, sizeof(ids) + sizeof(load) + strlen(name) + 1 + sizeof(code), time_ns);
	put(ids, sizeof(ids));
	put(load, sizeof(load));
	put(name, strlen(name) + 1);
	put(at, sizeof(code));
	fflush(dump);
}

/* ---- running ---- */

/* Also what is outermost of ours in each stack. */
__attribute__((noinline)) static void run_generated(const void *at, double ms, const char *name)
{
	uint64_t end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)(ms * 1e6);
	void (*fn)(uint64_t);

	memcpy(&fn, &at, sizeof(fn));
	printf("%llu %s\n", (unsigned long long)clock_ns(CLOCK_BOOTTIME), name);
	do {
		fn(200000);
		__asm__ volatile("" : : : "memory");
	} while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end);
}

static void in_order(double ms, int told_late)
{
	char name[64];

	for (unsigned i = 0; i < N_SLOTS; i++) {
		snprintf(name, sizeof(name), "generated function %u", i);
		if (!told_late)
			tell_map(emit(i), name);
		run_generated(emit(i), ms / N_SLOTS / 10, name);
		if (told_late)
			tell_map(emit(i), name);
		run_generated(emit(i), ms / N_SLOTS * 9 / 10, name);
	}
}

static void replaced(double ms, double each_ms, int as_dump)
{
	char name[64];

	for (unsigned i = 0; i * each_ms < ms; i++) {
		const uint8_t *at = emit(0);

		snprintf(name, sizeof(name), "version %u", i);
		if (as_dump)
			tell_dump(at, name, 100 + i, clock_ns(CLOCK_MONOTONIC));
		else
			tell_map(at, name);
		run_generated(at, each_ms, name);
	}
}

static void in_child(double ms)
{
	tell_map(emit(0), "from before the fork");
	if (fork() != 0) {
		(void)wait(NULL);
		return;
	}
	run_generated(area, ms / 2, "from before the fork");
	map = NULL; /* the parent's */
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	tell_map(emit(1), "the child's own");
	run_generated(emit(1), ms / 2, "the child's own");
}

static void rotate(double ms)
{
	const void *at = emit(0);
	char other[80];

	snprintf(other, sizeof(other), "%s.new", map_path);
	for (unsigned i = 0; i * 10 < ms; i++) {
		if (map && i % 5 == 1)
			fclose(map);
		if (i % 5 == 1)
			map = NULL; /* it will be cut off */
		if (i % 5 == 2)
			(void)!truncate(map_path, 7);
		if (i % 5 == 3)
			(void)rename(map_path, other);
		if (i % 5 == 4)
			(void)unlink(map_path);
		tell_map(at, "turning");
		run_generated(at, 10, "turning");
	}
	(void)unlink(other);
}

/* Something else than a map lies in its place. */
static void obstacle(const char *mode)
{
	FILE *f;

	if (strcmp(mode, "fifo") == 0) {
		(void)mkfifo(map_path, 0600);
		return;
	}
	if (strcmp(mode, "symlink") == 0) {
		(void)symlink(getenv("SECRET"), map_path);
		return;
	}
	f = fopen(map_path, "w");
	if (!f)
		return;
	fprintf(f, "%lx %zx forged\n", (unsigned long)area, sizeof(code));
	fclose(f);
	if (strcmp(mode, "sparse") == 0)
		(void)!truncate(map_path, 1ll << 40);
	else
		(void)!chown(map_path, 65534, 65534);
}

static int make_area(int twice)
{
	int fd;

	if (!twice) {
		area = written = mmap(NULL, N_SLOTS * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return area != MAP_FAILED;
	}
	fd = memfd_create("doublemapper", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, N_SLOTS * PAGE) < 0)
		return 0;
	written = mmap(NULL, N_SLOTS * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	area = mmap(NULL, N_SLOTS * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	return area != MAP_FAILED && written != MAP_FAILED;
}

int main(int argc, char **argv)
{
	double ms = argc > 2 ? atof(argv[2]) : 0;
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	if (!make_area(strcmp(mode, "memfd") == 0) || ms <= 0)
		return 1;

	if (strcmp(mode, "map") == 0 || strcmp(mode, "append") == 0 || strcmp(mode, "memfd") == 0) {
		in_order(ms, *mode == 'a');
	} else if (strcmp(mode, "reuse") == 0) {
		replaced(ms, 300, 0);
	} else if (strcmp(mode, "dump") == 0 && argc > 3) {
		open_dump(argv[3]);
		replaced(ms, 50, 1);
	} else if (strcmp(mode, "forked") == 0) {
		in_child(ms);
	} else if (strcmp(mode, "rotate") == 0) {
		rotate(ms);
	} else if (strcmp(mode, "unnamed") == 0) {
		run_generated(emit(0), ms, "[anon:exec]");
	} else {
		obstacle(mode);
		/* However long it is, the file is its own. */
		run_generated(emit(0), ms, strcmp(mode, "sparse") ? "[anon:exec]" : "forged");
	}
	printf("%llu end\n", (unsigned long long)clock_ns(CLOCK_BOOTTIME));
	(void)unlink(map_path);
	if (dump)
		(void)unlink(dump_path);
	return 0;
}
