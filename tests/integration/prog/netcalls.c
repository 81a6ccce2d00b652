/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netcalls.c - makes every call that the source "syscalls" records, and some
 * that it must not, and prints what it did.
 *
 * A line for each call, in the order of their returns within a thread:
 *
 *	TID NAME FD RESULT [PEER]
 *
 * RESULT is the return value, or the error's name as the kernel has it (which
 * for a call that a signal interrupts is not what the program sees). A call
 * without a line here must not be in the trace, waits excepted: those that
 * end at once may or may not be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS	   20 /* far above what counts as a wait */
#define N_THREADS  4
#define N_PINGS	   100
#define LOG_SIZE   (1 << 20)
#define WAIT_NS(t) struct timespec t = { .tv_nsec = WAIT_MS * 1000000 }

#ifdef SYS_poll
#define HAVE_OLD_CALLS 1 /* newer architectures have only their successors */
#else
#define HAVE_OLD_CALLS 0
#endif

/* Shared with a child, so that one process prints all. Each thread appends to its own. */
struct log {
	size_t len;
	char text[LOG_SIZE];
};

static __thread struct log *log_to;

static struct log *log_new(void)
{
	struct log *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (l == MAP_FAILED)
		abort();
	return l;
}

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void __attribute__((format(printf, 1, 2))) log_line(const char *fmt, ...)
{
	struct log *l = log_to;
	va_list args;

	va_start(args, fmt);
	l->len += (size_t)vsnprintf(l->text + l->len, LOG_SIZE - l->len, fmt, args);
	va_end(args);
	if (l->len >= LOG_SIZE)
		abort();
}

/* Writes down a call that has just returned. */
static long did(const char *name, int fd, long ret, const char *peer)
{
	int err = errno;

	log_line("%d %s %d ", gettid(), name, fd);
	if (ret < 0)
		log_line("%s", strerrorname_np(err));
	else
		log_line("%ld", ret);
	log_line(peer ? " %s\n" : "\n", peer);
	errno = err;
	return ret;
}

static void did_fail(const char *name, int fd, const char *error, const char *peer)
{
	log_line("%d %s %d %s", gettid(), name, fd, error);
	log_line(peer ? " %s\n" : "\n", peer);
}

/* `fd` is evaluated twice. */
#define CALL(name, fd, ...)	     did(#name, fd, syscall(SYS_##name, fd, __VA_ARGS__), NULL)
#define CALL_TO(peer, name, fd, ...) did(#name, fd, syscall(SYS_##name, fd, __VA_ARGS__), peer)

static int new_socket(int family, int type)
{
	long fd = did("socket", -1, syscall(SYS_socket, family, type | SOCK_CLOEXEC, 0), NULL);

	if (fd < 0)
		die("socket");
	return (int)fd;
}

static void new_pair(int type, int fds[2])
{
	if (did("socketpair", -1, syscall(SYS_socketpair, AF_UNIX, type, 0, fds), NULL) < 0)
		die("socketpair");
}

static void close_socket(int fd, const char *peer)
{
	did("close", fd, syscall(SYS_close, fd), peer);
}

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* As the trace shows it. */
static const char *text_of(const union address *a, char buf[160])
{
	char ip[INET6_ADDRSTRLEN];

	if (a->sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, ip, sizeof(ip));
		sprintf(buf, "%s:%u", ip, ntohs(a->in.sin_port));
	} else if (IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr)) {
		inet_ntop(AF_INET, &a->in6.sin6_addr.s6_addr[12], ip, sizeof(ip));
		sprintf(buf, "%s:%u", ip, ntohs(a->in6.sin6_port));
	} else {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, ip, sizeof(ip));
		sprintf(buf, "[%s]:%u", ip, ntohs(a->in6.sin6_port));
	}
	return buf;
}

static socklen_t size_of(int family)
{
	return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Binds to a free port of `addr` and puts that in. */
static void bind_any(int fd, union address *addr)
{
	socklen_t len = size_of(addr->sa.sa_family);

	if (CALL(bind, fd, &addr->sa, len) < 0)
		die("bind");
	if (getsockname(fd, &addr->sa, &len) < 0)
		die("getsockname");
}

static void name_of(int fd, union address *ret)
{
	socklen_t len = sizeof(*ret);

	if (getsockname(fd, &ret->sa, &len) < 0)
		die("getsockname");
}

static union address loopback(int family, const char *ip)
{
	union address a;

	memset(&a, 0, sizeof(a));
	a.sa.sa_family = (sa_family_t)family;
	inet_pton(family, ip, family == AF_INET ? (void *)&a.in.sin_addr : &a.in6.sin6_addr);
	return a;
}

/* ---- what is to be seen ---- */

static void each_way_to_send(int from, int to, const char *to_name, const char *from_name)
{
	char out[64] = "some bytes", in[256];
	struct iovec iov_out = { out, 10 }, iov_in = { in, sizeof(in) };
	struct mmsghdr msg_out[2] = { { { .msg_iov = &iov_out, .msg_iovlen = 1 }, 0 },
				      { { .msg_iov = &iov_out, .msg_iovlen = 1 }, 0 } };
	struct mmsghdr msg_in = { { .msg_iov = &iov_in, .msg_iovlen = 1 }, 0 };
	int dup_fd;

	CALL_TO(to_name, sendto, from, out, 10L, 0, NULL, 0);
	CALL_TO(from_name, recvfrom, to, in, 10L, 0, NULL, NULL);
	CALL_TO(to_name, sendmsg, from, &msg_out[0].msg_hdr, 0);
	CALL_TO(from_name, recvmsg, to, &msg_in.msg_hdr, 0);
	CALL_TO(to_name, write, from, out, 7L);
	CALL_TO(from_name, read, to, in, 7L);
	CALL_TO(to_name, writev, from, &iov_out, 1);
	CALL_TO(from_name, readv, to, &iov_in, 1);
	CALL_TO(to_name, pwritev2, from, &iov_out, 1, -1L, 0L, 0);
	CALL_TO(from_name, preadv2, to, &iov_in, 1, -1L, 0L, 0);
	CALL_TO(to_name, sendmmsg, from, msg_out, 2, 0);
	CALL_TO(from_name, recvmmsg, to, &msg_in, 1, MSG_WAITFORONE, NULL);

	dup_fd = dup(from);
	CALL_TO(to_name, sendto, dup_fd, out, 3L, 0, NULL, 0);
	close_socket(dup_fd, to_name);
	CALL_TO(from_name, recvfrom, to, in, sizeof(in), 0, NULL, NULL);
}

static void files_to_socket(int from, int to, const char *to_name, const char *from_name)
{
	char in[8192];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), pipes[2];
	long left;

	if (file < 0 || pipe(pipes) < 0)
		die("files");
	left = CALL_TO(to_name, sendfile, from, file, NULL, 4096L);
	while (left > 0)
		left -= CALL_TO(from_name, recvfrom, to, in, sizeof(in), 0, NULL, NULL);

	if (write(pipes[1], "12345", 5) != 5)
		die("write");
	did("splice", from, syscall(SYS_splice, pipes[0], NULL, from, NULL, 5L, 0), to_name);
	did("splice", to, syscall(SYS_splice, to, NULL, pipes[1], NULL, 5L, 0), from_name);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

static void tcp(int family, const char *ip)
{
	union address server = loopback(family, ip), client;
	int listener = new_socket(family, SOCK_STREAM), c, s;
	char server_name[160], client_name[160], in[8];

	bind_any(listener, &server);
	CALL(listen, listener, 5);
	text_of(&server, server_name);

	c = new_socket(family, SOCK_STREAM);
	CALL_TO(server_name, connect, c, &server.sa, size_of(family));
	name_of(c, &client);
	text_of(&client, client_name);
	s = (int)CALL_TO(client_name, accept4, listener, NULL, NULL, SOCK_CLOEXEC);
	if (s < 0)
		die("accept");

	each_way_to_send(c, s, server_name, client_name);
	files_to_socket(c, s, server_name, client_name);
	did("recvfrom", s, syscall(SYS_recvfrom, s, in, 8L, MSG_DONTWAIT, NULL, NULL), client_name);
	CALL_TO(server_name, shutdown, c, SHUT_WR);
	CALL_TO(client_name, read, s, in, 8L);
	close_socket(c, server_name);
	close_socket(s, client_name);
	close_socket(listener, NULL);
}

static void udp(int family, const char *ip)
{
	union address a = loopback(family, ip), b = a, from;
	int x = new_socket(family, SOCK_DGRAM), y = new_socket(family, SOCK_DGRAM);
	char a_name[160], b_name[160], in[16];
	struct iovec iov = { in, 4 };
	struct msghdr msg = {
		.msg_name = &a, .msg_namelen = size_of(family), .msg_iov = &iov, .msg_iovlen = 1
	};
	socklen_t len = sizeof(from);

	bind_any(x, &a);
	bind_any(y, &b);
	text_of(&a, a_name);
	text_of(&b, b_name);

	CALL_TO(b_name, sendto, x, "abc", 3L, 0, &b.sa, size_of(family));
	CALL_TO(a_name, recvfrom, y, in, sizeof(in), 0, &from.sa, &len);
	CALL_TO(a_name, sendmsg, y, &msg, 0);
	msg.msg_name = &from;
	msg.msg_namelen = sizeof(from);
	CALL_TO(b_name, recvmsg, x, &msg, 0);
	CALL_TO(a_name, connect, y, &a.sa, size_of(family));
	CALL_TO(a_name, write, y, "abcdef", 6L);
	CALL(read, x, in, sizeof(in)); /* whose it was does not show */
	close_socket(x, NULL);
	close_socket(y, a_name);
}

static void unix_named(bool abstract)
{
	union address a = { .un = { .sun_family = AF_UNIX } };
	int listener = new_socket(AF_UNIX, SOCK_STREAM), c, s, n;
	char dir[] = "/tmp/netcalls.XXXXXX", in[8];
	char *name = a.un.sun_path;

	if (abstract) {
		n = 1 + sprintf(name + 1, "netcalls-%d", getpid());
	} else {
		if (!mkdtemp(dir))
			die("mkdtemp");
		n = sprintf(name, "%s/s", dir);
	}
	CALL(bind, listener, &a.sa, (int)offsetof(struct sockaddr_un, sun_path) + n);
	CALL(listen, listener, 1);
	c = new_socket(AF_UNIX, SOCK_STREAM);
	if (abstract)
		name[0] = '@';
	{
		union address to = a;

		if (abstract)
			to.un.sun_path[0] = '\0';
		CALL_TO(name, connect, c, &to.sa, (int)offsetof(struct sockaddr_un, sun_path) + n);
	}
#ifdef SYS_accept
	s = (int)CALL(accept, listener, NULL, NULL);
#else
	s = (int)CALL(accept4, listener, NULL, NULL, 0);
#endif
	CALL_TO(name, sendto, c, "abc", 3L, 0, NULL, 0);
	CALL(recvfrom, s, in, 8L, 0, NULL, NULL);
	close_socket(c, name);
	close_socket(s, NULL);
	close_socket(listener, NULL);
	if (!abstract) {
		unlink(name);
		rmdir(dir);
	}
}

static void failures(void)
{
	union address nobody = loopback(AF_INET, "127.0.0.1"), server = nobody, none = { 0 };
	int fd = new_socket(AF_INET, SOCK_STREAM), listener, pipes[2], pair[2];
	char name[160], in[8];

	/* A port that nobody else gets while we hold it, and that does not listen. */
	bind_any(fd, &nobody);
	listener = new_socket(AF_INET, SOCK_STREAM);
	CALL_TO(text_of(&nobody, name), connect, listener, &nobody.sa, size_of(AF_INET));
	close_socket(listener, NULL);
	listener = new_socket(AF_INET, SOCK_STREAM);
	CALL(bind, listener, &nobody.sa, size_of(AF_INET)); /* EADDRINUSE */
	close_socket(fd, NULL);

	bind_any(listener, &server);
	CALL(listen, listener, 1);
	fd = new_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
	CALL_TO(text_of(&server, name), connect, fd, &server.sa, size_of(AF_INET));
	close_socket(fd, name);
	close_socket(listener, NULL);

	fd = new_socket(AF_UNIX, SOCK_STREAM);
	none.sa.sa_family = AF_UNIX;
	strcpy(none.un.sun_path, "/nowhere/socket");
	CALL_TO("/nowhere/socket", connect, fd, &none.sa, (int)sizeof(none.un));
	close_socket(fd, NULL);

	new_pair(SOCK_STREAM, pair);
	CALL(recvfrom, pair[0], in, 8L, MSG_DONTWAIT, NULL, NULL);
	close_socket(pair[1], NULL);
	CALL(sendto, pair[0], in, 8L, MSG_NOSIGNAL, NULL, 0);
	close_socket(pair[0], NULL);

	if (pipe(pipes) < 0)
		die("pipe");
	CALL(sendto, pipes[1], "x", 1L, 0, NULL, 0);
	CALL(accept4, -1, NULL, NULL, 0);
	did("socket", -1, syscall(SYS_socket, AF_INET, 77, 0), NULL);
	close(pipes[0]);
	close(pipes[1]);
}

static void waits(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int pair[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct pollfd p;
	fd_set set;

	new_pair(SOCK_STREAM, pair);
	p = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &ev);
	FD_ZERO(&set);
	FD_SET(pair[0], &set);

	{
		WAIT_NS(t);
		did("ppoll", -1, syscall(SYS_ppoll, &p, 1, &t, NULL, 0L), NULL);
	}
	{
		WAIT_NS(t);
		did("pselect6", -1, syscall(SYS_pselect6, pair[0] + 1, &set, NULL, NULL, &t, NULL),
		    NULL);
	}
	CALL(epoll_pwait, ep, &ev, 1, WAIT_MS, NULL, 0L);
	{
		WAIT_NS(t);
		CALL(epoll_pwait2, ep, &ev, 1, &t, NULL, 0L);
	}
#if HAVE_OLD_CALLS
	FD_SET(pair[0], &set);
	{
		struct timeval t = { .tv_usec = WAIT_MS * 1000 };

		did("poll", -1, syscall(SYS_poll, &p, 1, WAIT_MS), NULL);
		did("select", -1, syscall(SYS_select, pair[0] + 1, &set, NULL, NULL, &t), NULL);
	}
	CALL(epoll_wait, ep, &ev, 1, WAIT_MS);
#endif
	close_socket(pair[0], NULL);
	close_socket(pair[1], NULL);
	close(ep);
}

static int handler_fd;

/* Its calls come between the two halves of the call it interrupts. */
static void on_signal(int sig)
{
	(void)sig;
	did_fail("recvfrom", handler_fd, "ERESTARTSYS", NULL);
	CALL(sendto, handler_fd, "x", 1L, 0, NULL, 0);
}

/* Until the only thread of `pid` is in system call `nr`. */
static void await_call(pid_t pid, long nr)
{
	char path[64], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	do {
		sched_yield();
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (n < 0)
			die(path);
		close(fd);
		text[n] = '\0';
	} while (strtol(text, NULL, 10) != nr);
}

static void in_child(void (*fn)(int arg), int arg, void (*meanwhile)(pid_t child, int arg),
		     int their_arg)
{
	struct log *mine = log_to;
	struct log *log = log_new();
	pid_t child = fork();

	if (child == 0) {
		log_to = log;
		fn(arg);
		_exit(0);
	}
	meanwhile(child, their_arg);
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	log_to = mine;
	log_line("%s", log->text);
	munmap(log, sizeof(*log));
}

static void receive_with_handler(int fd)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	char in[8];

	handler_fd = fd;
	sigaction(SIGUSR1, &sa, NULL);
	CALL(recvfrom, fd, in, 8L, 0, NULL, NULL);
}

static void interrupt_receiver(pid_t child, int fd)
{
	char in[8];

	await_call(child, SYS_recvfrom);
	kill(child, SIGUSR1);
	CALL(recvfrom, fd, in, 8L, 0, NULL, NULL); /* from the handler */
	CALL(sendto, fd, "yz", 2L, 0, NULL, 0);
}

#if HAVE_OLD_CALLS
static void poll_stopped(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long r = syscall(SYS_poll, &p, 1, 60000);

	did_fail("poll", -1, "ERESTART_RESTARTBLOCK", NULL);
	did("poll", -1, r, NULL);
}

static void stop_and_go(pid_t child, int fd)
{
	await_call(child, SYS_poll);
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	kill(child, SIGCONT);
	await_call(child, SYS_restart_syscall);
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 },
		  NULL); /* let it be a wait that counts */
	CALL(sendto, fd, "x", 1L, 0, NULL, 0);
}
#endif

static void interruptions(void)
{
	int pair[2];

	new_pair(SOCK_STREAM, pair);
	in_child(receive_with_handler, pair[0], interrupt_receiver, pair[1]);
#if HAVE_OLD_CALLS
	in_child(poll_stopped, pair[0], stop_and_go, pair[1]);
#endif
	close_socket(pair[0], NULL);
	close_socket(pair[1], NULL);
}

/* ---- threads ---- */

static int pairs[N_THREADS / 2][2];

static void *ping(void *arg)
{
	struct log *log = log_new();
	size_t i = (size_t)arg;
	int fd = pairs[i / 2][i % 2];
	char byte = 'x';

	log_to = log;
	for (int n = 0; n < N_PINGS; n++) {
		if (i % 2)
			CALL(read, fd, &byte, 1L);
		CALL(write, fd, &byte, 1L);
		if (i % 2 == 0)
			CALL(read, fd, &byte, 1L);
	}
	return log;
}

static void threads(void)
{
	pthread_t ids[N_THREADS];

	for (int i = 0; i < N_THREADS / 2; i++)
		new_pair(SOCK_STREAM, pairs[i]);
	for (size_t i = 0; i < N_THREADS; i++)
		if (pthread_create(&ids[i], NULL, ping, (void *)i) != 0)
			die("pthread_create");
	for (int i = 0; i < N_THREADS; i++) {
		void *log;

		pthread_join(ids[i], &log);
		log_line("%s", ((struct log *)log)->text);
		munmap(log, sizeof(struct log));
	}
	for (int i = 0; i < N_THREADS / 2; i++) {
		close_socket(pairs[i][0], NULL);
		close_socket(pairs[i][1], NULL);
	}
}

/* ---- what is not to be seen ---- */

/* Number 3 is read() to a 32-bit program and close() to others. A kernel may refuse such calls. */
static void as_32_bit(void)
{
#ifdef __x86_64__
	int pair[2];
	long r = 3;
	pid_t child;

	new_pair(SOCK_STREAM, pair);
	child = fork();
	if (child == 0) {
		__asm__ volatile("int $0x80"
				 : "+a"(r)
				 : "b"(pair[0]), "c"(0), "d"(0)
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close_socket(pair[0], NULL);
	close_socket(pair[1], NULL);
#endif
}

static void not_on_sockets(void)
{
	char buf[64] = "", dir[] = "/tmp/netcalls.XXXXXX", path[64];
	struct iovec iov = { buf, sizeof(buf) };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, pipes[2], sock;
	ssize_t ignored;

	if (pipe(pipes) < 0 || !mkdtemp(dir))
		die("pipe");
	ignored = write(pipes[1], buf, 10);
	ignored += writev(pipes[1], &iov, 1);
	ignored += read(pipes[0], buf, 10);
	ignored += readv(pipes[0], &iov, 1);
	ioctl(pipes[0], FIONREAD, &fd);
	close(pipes[0]);
	close(pipes[1]);

	fd = open("/dev/null", O_RDWR | O_CLOEXEC); /* a device, but no GPU */
	ioctl(fd, FIONREAD, &sock);
	close(fd);

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ignored += read(fd, buf, sizeof(buf));
	ignored += pread(fd, buf, sizeof(buf), 0);
	ignored += preadv(fd, &iov, 1, 0);
	close(fd);
	ignored += read(-1, buf, 1);
	ignored += read(99999, buf, 1);
	close(-1);

	/* The node of a socket, opened as a path: no socket, though its mode says so. */
	snprintf(path, sizeof(path), "%s/node", dir);
	strcpy(a.sun_path, path);
	sock = new_socket(AF_UNIX, SOCK_STREAM);
	CALL(bind, sock, &a, (int)sizeof(a));
	fd = open(path, O_PATH | O_CLOEXEC);
	ignored += read(fd, buf, 1);
	close(fd);
	close_socket(sock, NULL);
	unlink(path);
	rmdir(dir);
	if (ignored == 0)
		die("no bytes at all");
}

int main(void)
{
	struct log *log = log_to = log_new();

	tcp(AF_INET, "127.0.0.1");
	tcp(AF_INET6, "::1");
	tcp(AF_INET6, "::ffff:127.0.0.1");
	udp(AF_INET, "127.0.0.1");
	udp(AF_INET6, "::1");
	unix_named(false);
	unix_named(true);
	failures();
	waits();
	interruptions();
	threads();
	not_on_sockets();
	as_32_bit();
	fputs(log->text, stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
