/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - calls that a stack sampler must find its way back through.
 *
 *	stacks LABEL MODE [ARGUMENT]
 *
 * The thread that burns is named LABEL, and the pattern of its stack is printed
 * as "LABEL TAB TIME TAB PATTERN": from TIME on (ns of CLOCK_BOOTTIME) function names
 * from main on, a name that comes several times in a row as "name*N", joined by ">"
 * (see stacks.py). It waits first, so
 * that the recorder knows the program when it burns: what is tested is the walk,
 * not who is faster. Built several times over, see STACKS in the Makefile.
 *
 *	BURN_MS=300	CPU time that each burns
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Neither inlined nor cloned: in the stack under its own name. */
#define FRAME __attribute__((noipa))
/* After a call: it is no tail call, and the frame stays. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))

static const char *label;
static long argument;
static uint64_t burn_ns = 300000000;
static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* What the stack of this thread is from now on. */
static void say(const char *pattern)
{
	struct timespec ts;

	prctl(PR_SET_NAME, label);
	usleep(100000);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	printf("%s\t%lld%09ld\t%s\n", label, (long long)ts.tv_sec, ts.tv_nsec, pattern);
	fflush(stdout);
}

static void say_with_argument(const char *format)
{
	char pattern[256];

	snprintf(pattern, sizeof(pattern), format, argument);
	say(pattern);
}

/* ---- the leaf: needs no stack of its own while it computes ---- */

FRAME static uint64_t spin(uint64_t x)
{
	for (unsigned i = 0; i < 1000000; i++)
		x = x * 6364136223846793005u + i;
	return x;
}

FRAME static uint64_t burn(uint64_t x)
{
	uint64_t end = cpu_ns() + burn_ns;

	do
		x = spin(x);
	while (cpu_ns() < end);
	return x;
}

#define LEAF ">burn>spin"

/* ---- depth ---- */

FRAME static uint64_t recurse(long left)
{
	uint64_t r = left > 1 ? recurse(left - 1) : burn(1);

	KEEP(r);
	return r + (uint64_t)left;
}

static void run_deep(void)
{
	say_with_argument("main>run_deep>recurse\\*%ld" LEAF);
	sink = recurse(argument);
}

/* Where in this program's file a function is. */
static uint64_t file_offset(const void *function)
{
	unsigned long start, end, pgoff, at = (uintptr_t)function;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &pgoff) == 3 && at >= start &&
		    at < end)
			return at - start + pgoff; /* the file is closed by the exit */
	exit(1);
}

/* With a uretprobe the return address is the kernel's trampoline, not the caller. */
static void run_uretprobe(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	struct perf_event_attr attr = { .size = sizeof(attr), .config = 1 /* at the return */ };
	char path[4096] = "";

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		exit(77);
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		exit(1);
	attr.config1 = (uintptr_t)path;
	attr.config2 = file_offset((const void *)(uintptr_t)recurse);
	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
		exit(77);
	say_with_argument("main>run_uretprobe>recurse\\*%ld" LEAF);
	sink = recurse(argument);
}

FRAME static uint64_t recurse_big(long left)
{
	volatile char frame[1024];
	uint64_t r;

	frame[left & 1023] = 1;
	r = left > 1 ? recurse_big(left - 1) : burn(1);
	KEEP(r);
	return r + (uint64_t)frame[left & 1023];
}

static void run_big(void)
{
	say_with_argument("main>run_big>recurse_big\\*%ld" LEAF);
	sink = recurse_big(argument);
}

/* ---- frames of an unusual form ---- */

/* The frame's size is known only when it runs. */
FRAME static uint64_t with_alloca(size_t n)
{
	volatile char *p = alloca(n);
	uint64_t r;

	p[n - 1] = 1;
	r = burn(n);
	KEEP(r);
	return r + (uint64_t)p[n - 1];
}

static void run_alloca(void)
{
	say("main>run_alloca>with_alloca" LEAF);
	sink = with_alloca((size_t)(argument ? argument : 5000));
}

/* Aligns its stack: the way back is kept in a register, then in memory. */
FRAME static uint64_t realigned(size_t n)
{
	volatile char block[256] __attribute__((aligned(128)));
	volatile char *p = alloca(n);
	uint64_t r;

	block[n & 255] = p[n - 1] = 1;
	r = burn(n);
	KEEP(r);
	return r + (uint64_t)block[n & 255] + (uint64_t)p[n - 1];
}

static void run_realigned(void)
{
	say("main>run_realigned>realigned" LEAF);
	sink = realigned(1000);
}

/* The call is the function's last instruction: the return address is the next one's. */
FRAME __attribute__((noreturn)) static void never_returns(void)
{
	sink = burn(3);
	exit(0);
}

FRAME __attribute__((noreturn)) static void ends_with_a_call(void)
{
	sink++;
	never_returns();
}

static void run_noreturn(void)
{
	say("main>run_noreturn>ends_with_a_call>never_returns" LEAF);
	ends_with_a_call();
}

/* Many samples fall into a prologue or an epilogue. */
FRAME static uint64_t tiny(uint64_t a, uint64_t b)
{
	__asm__ volatile("" : "+r"(a), "+r"(b) : : "rbx", "r12", "r13", "r14", "r15");
	return a ^ b;
}

FRAME static uint64_t calls_tiny(void)
{
	uint64_t r = 1, end = cpu_ns() + burn_ns;

	do
		for (unsigned i = 0; i < 200000; i++)
			r += tiny(r, i);
	while (cpu_ns() < end);
	return r;
}

static void run_tiny(void)
{
	say("main>run_tiny>calls_tiny(>tiny)?");
	sink = calls_tiny();
}

/* From a library, and back into the program. */
FRAME static int compare(const void *a, const void *b)
{
	static int once;

	if (!once++)
		sink = burn(7);
	return *(const int *)a - *(const int *)b;
}

static void run_callback(void)
{
	int v[] = { 3, 1, 2 };

	say("main>run_callback(>[^>]*(qsort|msort|libc)[^>]*)+>compare" LEAF);
	qsort(v, 3, sizeof(v[0]), compare);
	sink += (uint64_t)v[0];
}

/* ---- linking ---- */

FRAME static uint64_t calls_plt(void)
{
	uint64_t end = cpu_ns() + burn_ns;
	unsigned seed = 1, r = 0;

	do
		for (unsigned i = 0; i < 100000; i++)
			r += (unsigned)rand_r(&seed);
	while (cpu_ns() < end);
	return r;
}

static void run_plt(void)
{
	say("main>run_plt>calls_plt(>[^>]*(rand_r|plt)[^>]*)?");
	sink = calls_plt();
}

#ifdef LAZY
extern void *_GLOBAL_OFFSET_TABLE_[];

/* Undoes the binding after each call, so that ld.so must do it again. */
FRAME static uint64_t resolves(void)
{
	enum { HEAD = 3, N = 16 };
	uint64_t end = cpu_ns() + burn_ns;
	void *unbound = NULL, **slot = NULL, *before[N];
	unsigned seed = 1, r = 0;

	memcpy(before, _GLOBAL_OFFSET_TABLE_ + HEAD, sizeof(before));
	r += (unsigned)rand_r(&seed);
	for (int i = 0; i < N; i++)
		if (_GLOBAL_OFFSET_TABLE_[HEAD + i] != before[i]) {
			slot = &_GLOBAL_OFFSET_TABLE_[HEAD + i];
			unbound = before[i];
		}
	if (!slot)
		return 0;
	do
		for (unsigned i = 0; i < 1000; i++) {
			*(void *volatile *)slot = unbound;
			r += (unsigned)rand_r(&seed);
		}
	while (cpu_ns() < end);
	return r;
}

static void run_resolve(void)
{
	say("main>run_resolve>resolves(>[^>]*(rand_r|plt)[^>]*|"
	    "(>[^>]*(dl_|do_lookup|check_match|strcmp|ld-linux)[^>]*)+)?");
	if (!(sink = resolves()))
		exit(77);
}
#endif

static void run_clock(void)
{
	uint64_t end = cpu_ns() + burn_ns;
	struct timespec ts;

	say("main>run_clock(>[^>]*(clock_gettime|vdso|libc)[^>]*)*");
	do
		for (unsigned i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
	while (cpu_ns() < end + 100000);
}

/* ---- signals ---- */

FRAME static void on_signal(int signal)
{
	(void)signal;
	sink = burn(9);
}

FRAME static void interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

FRAME static void handle(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	interrupted();
}

/* A stripped libc has no name for it, and its return address is the byte before it. */
#define RESTORE "[^>]*(restore_rt|libc|stacks)[^>]*"
#define HANDLED "interrupted(>[^>]*(raise|pthread_kill|libc)[^>]*)*>" RESTORE ">on_signal" LEAF

static void run_signal(void)
{
	say("main>run_signal>handle>" HANDLED);
	handle(SA_RESTART);
}

static void run_sigaltstack(void)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	say("main>run_sigaltstack>handle>" HANDLED);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0)
		exit(1);
	handle(SA_ONSTACK);
}

/* Not at a call but anywhere: what is interrupted keeps nothing for the handler. */
static void on_timer(int signal)
{
	uint64_t end = cpu_ns() + 3000000;

	(void)signal;
	do
		sink = spin(sink);
	while (cpu_ns() < end);
}

static void run_timer(void)
{
	struct itimerval every = { { 0, 6000 }, { 0, 6000 } };

	say("main>run_timer>burn(>spin)?(>" RESTORE ">on_timer(>spin)?)?");
	signal(SIGPROF, on_timer);
	setitimer(ITIMER_PROF, &every, NULL);
	sink = burn(1);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
}

/* ---- threads ---- */

static void *in_thread(void *arg)
{
	say(arg);
	sink = burn(1);
	return NULL;
}

static void run_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 4 * 16384); /* small, with room for stdio */
	if (pthread_create(&thread, &attr, in_thread, "in_thread" LEAF) != 0)
		exit(1);
	pthread_join(thread, NULL);
}

/* ---- processes ---- */

static void run_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		say("main>run_fork" LEAF);
		sink = burn(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* The child runs in its parent's memory, on its parent's stack. */
FRAME static void forks(void)
{
	if (vfork() == 0) {
		sink = burn(1);
		_exit(0);
	}
}

static void run_vfork(void)
{
	say("main>run_vfork>forks" LEAF);
	forks();
	wait(NULL);
}

/* Again and again: a sample may fall where the return address is in a register. */
static void run_many_vforks(void)
{
	uint64_t end = cpu_ns() + burn_ns;

	say("main>run_many_vforks(>[^>]*(vfork|wait|exit|libc|plt|clock|vdso)[^>]*)"
	    "*");
	do {
		if (vfork() == 0)
			_exit(0);
		wait(NULL);
	} while (cpu_ns() < end);
}

/* Two programs one after the other under one pid: in one process, by exec ... */
static void run_exec(void)
{
	say("main>run_exec" LEAF);
	sink = burn(1);
	execl(getenv("THEN"), getenv("THEN"), label, "big", "40", NULL);
	perror("exec");
	exit(1);
}

/* ... or in two, of which the second was given the number of the first. */
static void run_pid_reuse(void)
{
	pid_t wanted = 0;

	for (int i = 0; i < 2; i++) {
		pid_t set[] = { wanted };
		struct clone_args args = { .exit_signal = SIGCHLD,
					   .set_tid = wanted ? (uintptr_t)set : 0,
					   .set_tid_size = wanted ? 1 : 0 };
		pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

		if (pid == 0) {
			if (i == 0)
				execl(getenv("THEN"), getenv("THEN"), label, "deep", "20", NULL);
			execl("/proc/self/exe", "stacks", label, "big", "30", NULL);
			_exit(1);
		}
		if (pid < 0) {
			if (errno == EEXIST) /* somebody else got it meanwhile */
				exit(77);
			perror("clone3");
			exit(1);
		}
		waitpid(pid, NULL, 0);
		wanted = pid;
	}
}

/* ---- where the code lies ---- */

static void run_deleted(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		exit(1);
	path[n] = '\0';
	unlink(path);
	say_with_argument("main>run_deleted>recurse\\*%ld" LEAF);
	sink = recurse(argument);
}

/* A program that never was in a directory. */
static void run_memfd(void)
{
	int in = open("/proc/self/exe", O_RDONLY), out = memfd_create("stacks", 0);
	char buf[65536], *argv[] = { "stacks", (char *)label, "deep", "25", NULL };
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			exit(1);
	fexecve(out, argv, environ);
	perror("fexecve");
	exit(1);
}

#define PAGE 4096ul

/* On pages of their own, and runs at any address: calls nobody by name. */
__attribute__((noipa, aligned(4096))) static uint64_t movable(uint64_t (*next)(uint64_t))
{
	uint64_t r = next(1);

	KEEP(r);
	return r + 1;
}
/* The end of its page. */
__attribute__((noipa, aligned(4096))) static uint64_t after_movable(uint64_t x)
{
	return x * 3;
}

/* Its mapping is cut into three by a change of protection. */
static void run_mprotect(void)
{
	void *page = (void *)((uintptr_t)movable & ~(PAGE - 1));

	say("main>run_mprotect>movable" LEAF);
	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
		perror("mprotect");
		exit(77);
	}
	sink = after_movable(movable(burn));
}

/* The code moves, and no event tells. */
static void run_mremap(void)
{
	char *page = (char *)((uintptr_t)movable & ~(PAGE - 1)), *to;
	uint64_t (*moved)(uint64_t(*)(uint64_t));

	to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("main>run_mremap>movable" LEAF);
	to = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to == MAP_FAILED) {
		perror("mremap");
		exit(77);
	}
	moved = (uint64_t(*)(uint64_t(*)(uint64_t)))(uintptr_t)(to +
								((uintptr_t)movable & (PAGE - 1)));
	sink = moved(burn);
}

/* Code that was copied to memory without a file, in a huge page where there are any. */
static void run_copied(void)
{
	size_t huge = 2ul << 20;
	char *page = (char *)((uintptr_t)movable & ~(PAGE - 1));
	char *to = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t (*copy)(uint64_t(*)(uint64_t));

	if (to == MAP_FAILED)
		exit(1);
	to = (char *)(((uintptr_t)to + huge - 1) & ~(huge - 1));
	madvise(to, huge, MADV_HUGEPAGE);
	memcpy(to, page, PAGE);
	mprotect(to, huge, PROT_READ | PROT_EXEC);
	copy = (uint64_t(*)(uint64_t(*)(uint64_t)))(uintptr_t)(to +
							       ((uintptr_t)movable & (PAGE - 1)));
	say("main>run_copied>\\[?anon[^>]*" LEAF);
	sink = copy(burn);
}

/* ---- all ---- */

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "deep", run_deep },
	{ "uretprobe", run_uretprobe },
	{ "big", run_big },
	{ "alloca", run_alloca },
	{ "realigned", run_realigned },
	{ "noreturn", run_noreturn },
	{ "tiny", run_tiny },
	{ "callback", run_callback },
	{ "plt", run_plt },
#ifdef LAZY
	{ "resolve", run_resolve },
#endif
	{ "clock", run_clock },
	{ "signal", run_signal },
	{ "sigaltstack", run_sigaltstack },
	{ "timer", run_timer },
	{ "thread", run_thread },
	{ "fork", run_fork },
	{ "vfork", run_vfork },
	{ "many-vforks", run_many_vforks },
	{ "exec", run_exec },
	{ "pid-reuse", run_pid_reuse },
	{ "deleted", run_deleted },
	{ "memfd", run_memfd },
	{ "mprotect", run_mprotect },
	{ "mremap", run_mremap },
	{ "copied", run_copied },
};

int main(int argc, char **argv)
{
	if (getenv("BURN_MS"))
		burn_ns = strtoull(getenv("BURN_MS"), NULL, 10) * 1000000;
	if (argc >= 3) {
		label = argv[1];
		argument = argc > 3 ? atol(argv[3]) : 0;
		for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
			if (strcmp(modes[i].name, argv[2]) == 0) {
				modes[i].run();
				return 0;
			}
	}
	fprintf(stderr, "usage: stacks LABEL MODE [ARGUMENT]\n");
	return 2;
}
