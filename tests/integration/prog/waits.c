/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - threads that wait, each for something else, and what they know of it.
 *
 * A line for each thread, tab-separated:
 *
 *	TID REASON NAME WAKER N ASKED_NS TOOK_NS
 *
 * It has waited N times for at least ASKED_NS in all, and its calls took
 * TOOK_NS. NAME is the system call and its object, with "|" between those that
 * the C library may choose from. WAKER is a tid, "timer" or "-" (somebody).
 * The last line is of a thread that slept too short to be seen: "TID short N",
 * where N of its sleeps took a millisecond or more all the same.
 *
 *	waits flood MS
 *
 * As many short waits as can be: pairs of threads pass a byte to and fro for MS.
 * Prints how many passes there were, each of which is a wait or nearly always.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define N	10
#define WAIT_MS 20 /* far above the minimum */
#define N_SHORT 300

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* ---- a thread that waits, and one that ends its waits ---- */

struct pair {
	const char *reason, *name;
	void (*set_up)(struct pair *p);
	void (*wait)(struct pair *p);
	void (*wake)(struct pair *p); /* NULL: a timer does, or nobody we know */
	const char *waker;	      /* then */
	atomic_int round;	      /* of the waiter, from 1 on */
	atomic_int word;
	int fds[2];
	char *page;
	int tid, waker_tid;
	uint64_t took_ns;
	pthread_t threads[2];
	bool absent; /* this machine does not let us */
};

static void *waiter(void *arg)
{
	struct pair *p = arg;

	p->tid = gettid();
	for (int i = 1; i <= N; i++) {
		uint64_t t0;

		p->round = i;
		t0 = now_ns();
		p->wait(p);
		p->took_ns += now_ns() - t0;
	}
	return NULL;
}

static void *waker(void *arg)
{
	struct pair *p = arg;

	p->waker_tid = gettid();
	for (int i = 1; i <= N; i++) {
		while (p->round < i)
			sleep_us(500);
		sleep_us(WAIT_MS * 1000);
		p->wake(p);
	}
	return NULL;
}

/* ---- what is waited for ---- */

static void make_pipe(struct pair *p)
{
	if (pipe(p->fds) < 0)
		die("pipe");
}

static void make_sockets(struct pair *p)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p->fds) < 0)
		die("socketpair");
}

static void make_eventfd(struct pair *p)
{
	p->fds[0] = p->fds[1] = eventfd(0, 0);
	if (p->fds[0] < 0)
		die("eventfd");
}

static void read_8(struct pair *p)
{
	uint64_t v;

	if (read(p->fds[0], &v, 8) != 8)
		die("read");
}

static void write_8(struct pair *p)
{
	uint64_t v = 1;

	if (write(p->fds[1], &v, 8) != 8)
		die("write");
}

static void receive(struct pair *p)
{
	char c[8];

	if (recv(p->fds[0], c, 8, 0) != 8)
		die("recv");
}

static void wait_word(struct pair *p)
{
	int round = p->round;

	while (p->word < round)
		syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, round - 1, NULL, NULL, 0);
}

static void wake_word(struct pair *p)
{
	p->word++;
	syscall(SYS_futex, &p->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void poll_nothing(struct pair *p)
{
	struct pollfd fd = { .fd = p->fds[0], .events = POLLIN };

	poll(&fd, 1, WAIT_MS);
}

static void sleep_once(struct pair *p)
{
	(void)p;
	sleep_us(WAIT_MS * 1000);
}

/* The child is let go when its parent waits, or nearly so. */
static void wait_for_child(struct pair *p)
{
	pid_t pid = fork();

	(void)p;
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		sleep_us(WAIT_MS * 1000);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		die("waitpid");
}

/* A page that comes when the other thread gives it. */
static void make_missing_pages(struct pair *p)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	p->fds[0] = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (p->fds[0] < 0 || ioctl(p->fds[0], UFFDIO_API, &api) < 0) {
		p->absent = true;
		return;
	}
	p->page = mmap(NULL, (N + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	reg.range.start = (uintptr_t)p->page;
	reg.range.len = (N + 1) * 4096;
	if (ioctl(p->fds[0], UFFDIO_REGISTER, &reg) < 0)
		die("UFFDIO_REGISTER");
}

static void touch_page(struct pair *p)
{
	*(volatile char *)(p->page + p->round * 4096);
}

static void give_page(struct pair *p)
{
	struct uffdio_zeropage zero = { 0 };
	struct uffd_msg msg;

	if (read(p->fds[0], &msg, sizeof(msg)) != sizeof(msg))
		die("read userfaultfd");
	zero.range.start = msg.arg.pagefault.address & ~4095ull;
	zero.range.len = 4096;
	if (ioctl(p->fds[0], UFFDIO_ZEROPAGE, &zero) < 0)
		die("UFFDIO_ZEROPAGE");
}

/* ---- a terminal: one thread writes what nobody reads, another wants to do so ---- */

static struct pair terminal_writer;
static int terminal_master, terminal_slave;

static void make_terminal(struct pair *p)
{
	struct termios t;

	terminal_master = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal_master < 0) {
		p->absent = true;
		return;
	}
	if (grantpt(terminal_master) < 0 || unlockpt(terminal_master) < 0)
		die("a terminal");
	terminal_slave = open(ptsname(terminal_master), O_RDWR | O_NOCTTY);
	if (terminal_slave < 0 || tcgetattr(terminal_slave, &t) < 0)
		die("a terminal");
	cfmakeraw(&t);
	tcsetattr(terminal_slave, TCSANOW, &t);
}

#define TOO_MUCH (1 << 20)

static void write_terminal(struct pair *p)
{
	static char bytes[TOO_MUCH];

	(void)p;
	if (write(terminal_slave, bytes, TOO_MUCH) != TOO_MUCH)
		die("write to a terminal");
}

static void read_terminal(struct pair *p)
{
	static char bytes[65536];

	(void)p;
	for (size_t done = 0; done < TOO_MUCH;) {
		size_t left = TOO_MUCH - done;
		ssize_t n =
			read(terminal_master, bytes, left < sizeof(bytes) ? left : sizeof(bytes));

		if (n <= 0)
			die("read of a terminal");
		done += (size_t)n;
	}
}

/* To send a stop character one has to wait for the lock of the thread that writes. */
static void stop_terminal(struct pair *p)
{
	while (terminal_writer.round < p->round)
		;
	for (uint64_t t0 = now_ns(); now_ns() < t0 + 2000000;) /* it fills the terminal first */
		;
	ioctl(terminal_slave, TCXONC, TCIOFF);
}

/* ---- a chain: the last wakes us, and we the next ---- */

static struct pair chain_end;

static void wait_and_pass_on(struct pair *p)
{
	while (chain_end.round < p->round)
		sched_yield();
	wait_word(p);
	wake_word(&chain_end);
}

static struct pair chain_begin = {
	.reason = "futex", .name = "futex", .wait = wait_and_pass_on, .wake = wake_word
};
static struct pair chain_end = { .reason = "futex", .name = "futex", .wait = wait_word };
static struct pair terminal_writer = { .reason = "write",
				       .name = "write tty",
				       .set_up = make_terminal,
				       .wait = write_terminal,
				       .wake = read_terminal };

static struct pair pairs[] = {
	{ "read", "read pipe", make_pipe, read_8, write_8 },
	{ "read", "recvfrom unix stream", make_sockets, receive, write_8 },
	{ "read", "read eventfd", make_eventfd, read_8, write_8 },
	{ "poll", "poll|ppoll", make_pipe, poll_nothing, NULL, "timer" },
	{ "sleep", "nanosleep|clock_nanosleep", NULL, sleep_once, NULL, "timer" },
	{ "child process", "wait4|waitid", NULL, wait_for_child, NULL, "-" },
	{ "page fault", "page fault", make_missing_pages, touch_page, give_page },
};

static void start(struct pair *p)
{
	if (p->set_up)
		p->set_up(p);
	if (p->absent)
		return;
	if (pthread_create(&p->threads[0], NULL, waiter, p) ||
	    (p->wake && pthread_create(&p->threads[1], NULL, waker, p)))
		die("pthread_create");
}

static void finish(struct pair *p)
{
	if (p->absent)
		return;
	pthread_join(p->threads[0], NULL);
	if (p->wake)
		pthread_join(p->threads[1], NULL);
}

static void tell(const struct pair *p, int waker_tid)
{
	char text[16];

	if (p->absent)
		return;
	snprintf(text, sizeof(text), "%d", waker_tid);
	printf("%d\t%s\t%s\t%s\t%d\t%d\t%llu\n", p->tid, p->reason, p->name,
	       p->waker ? p->waker : text, N, N * WAIT_MS * 1000000,
	       (unsigned long long)p->took_ns);
}

static void *sleep_short(void *arg)
{
	int *ret = arg;

	ret[0] = gettid();
	for (int i = 0; i < N_SHORT; i++) {
		uint64_t t0 = now_ns();

		sleep_us(100);
		ret[1] += now_ns() - t0 >= 1000000;
	}
	return NULL;
}

/* ---- more waits than can be written down ---- */

#define N_FLOODS 2

struct flood {
	int to[2], fro[2];
	uint64_t until_ns;
	atomic_ulong n;
};

static void *pass(void *arg)
{
	struct flood *f = arg;
	char c = 'x';

	while (now_ns() < f->until_ns) {
		if (write(f->to[1], &c, 1) != 1 || read(f->fro[0], &c, 1) != 1)
			die("pass");
		f->n++;
	}
	c = 'e';
	(void)!write(f->to[1], &c, 1);
	return NULL;
}

static void *pass_back(void *arg)
{
	struct flood *f = arg;
	char c;

	while (read(f->to[0], &c, 1) == 1 && c != 'e') {
		f->n++;
		if (write(f->fro[1], &c, 1) != 1)
			die("pass back");
	}
	return NULL;
}

static int flood(long ms)
{
	static struct flood floods[N_FLOODS];
	pthread_t threads[2 * N_FLOODS];
	unsigned long n = 0;

	for (int i = 0; i < N_FLOODS; i++) {
		struct flood *f = &floods[i];

		f->until_ns = now_ns() + (uint64_t)ms * 1000000;
		if (pipe(f->to) < 0 || pipe(f->fro) < 0 ||
		    pthread_create(&threads[2 * i], NULL, pass, f) ||
		    pthread_create(&threads[2 * i + 1], NULL, pass_back, f))
			die("flood");
	}
	for (int i = 0; i < 2 * N_FLOODS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < N_FLOODS; i++)
		n += floods[i].n;
	printf("%lu\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	static struct pair stopper = { .reason = "ioctl",
				       .name = "ioctl tty",
				       .wait = stop_terminal };
	pthread_t short_sleeper;
	int short_sleeps[2] = { 0 };

	if (argc == 3 && strcmp(argv[1], "flood") == 0)
		return flood(atol(argv[2]));
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		start(&pairs[i]);
	start(&chain_begin);
	start(&chain_end);
	start(&terminal_writer);
	stopper.absent = terminal_writer.absent;
	start(&stopper);
	if (pthread_create(&short_sleeper, NULL, sleep_short, short_sleeps))
		die("pthread_create");

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		finish(&pairs[i]);
	finish(&chain_begin);
	finish(&chain_end);
	finish(&terminal_writer);
	finish(&stopper);
	pthread_join(short_sleeper, NULL);

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		tell(&pairs[i], pairs[i].waker_tid);
	tell(&chain_begin, chain_begin.waker_tid);
	tell(&chain_end, chain_begin.tid);
	tell(&terminal_writer, terminal_writer.waker_tid);
	tell(&stopper, terminal_writer.tid);
	printf("%d\tshort\t%d\n", short_sleeps[0], short_sleeps[1]);
	return 0;
}
