/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neturing.c - HTTP requests by io_uring alone: connect, send and recv are operations of
 * a ring; no system call names the socket.
 *
 *	neturing ADDR PORT PATH N [sqpoll]
 *
 * Prints "request PID TID LOCAL_PORT PATH" for each of N. 77: this kernel has no io_uring.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_flags, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	int sqpoll;
} ring;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(size_t size, uint64_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
		       (off_t)offset);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void setup(int sqpoll)
{
	struct io_uring_params p = { .flags = sqpoll ? IORING_SETUP_SQPOLL : 0,
				     .sq_thread_idle = 1000 };
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (ring.fd < 0) {
		perror("io_uring_setup");
		exit(errno == ENOSYS || errno == EPERM ? 77 : 1);
	}
	sq = map(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring.sqes = map(p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.sq_tail = (unsigned *)(sq + p.sq_off.tail);
	ring.sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	ring.sq_flags = (unsigned *)(sq + p.sq_off.flags);
	ring.sq_array = (unsigned *)(sq + p.sq_off.array);
	ring.cq_head = (unsigned *)(cq + p.cq_off.head);
	ring.cq_tail = (unsigned *)(cq + p.cq_off.tail);
	ring.cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	ring.sqpoll = sqpoll;
}

/* One operation; waits for its end. */
static int operate(int op, int fd, const void *addr, unsigned len, uint64_t off)
{
	unsigned tail = *ring.sq_tail, i = tail & *ring.sq_mask, flags = IORING_ENTER_GETEVENTS;
	struct io_uring_sqe *sqe = &ring.sqes[i];
	int res;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (uint8_t)op;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)addr;
	sqe->len = len;
	sqe->off = off;
	ring.sq_array[i] = i;
	atomic_store_explicit((_Atomic unsigned *)ring.sq_tail, tail + 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	if (ring.sqpoll && (*(volatile unsigned *)ring.sq_flags & IORING_SQ_NEED_WAKEUP))
		flags |= IORING_ENTER_SQ_WAKEUP;
	do {
		if (syscall(SYS_io_uring_enter, ring.fd, ring.sqpoll ? 0 : 1, 1, flags, NULL, 0) <
			    0 &&
		    errno != EINTR)
			die("io_uring_enter");
	} while (*ring.cq_head ==
		 atomic_load_explicit((_Atomic unsigned *)ring.cq_tail, memory_order_acquire));
	res = ring.cqes[*ring.cq_head & *ring.cq_mask].res;
	atomic_store_explicit((_Atomic unsigned *)ring.cq_head, *ring.cq_head + 1,
			      memory_order_release);
	if (res < 0) {
		errno = -res;
		die("operation");
	}
	return res;
}

static void get(int s, const char *path)
{
	char text[256], answer[4096];
	int len =
		snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: www.test.lan\r\n\r\n", path);
	size_t n = 0;
	char *end = NULL, *length;

	if (operate(IORING_OP_SEND, s, text, (unsigned)len, 0) != len)
		die("send");
	for (;;) {
		int r = operate(IORING_OP_RECV, s, answer + n, sizeof(answer) - 1 - (unsigned)n, 0);

		if (r == 0)
			die("recv");
		n += (size_t)r;
		answer[n] = '\0';
		end = strstr(answer, "\r\n\r\n");
		length = strcasestr(answer, "\r\nContent-Length:");
		if (end && length &&
		    n >= (size_t)(end - answer) + 4 + strtoul(length + 17, NULL, 10))
			return;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	socklen_t size = sizeof(to);
	int s;

	if (argc < 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fputs("usage: neturing ADDR PORT PATH N [sqpoll]\n", stderr);
		return 2;
	}
	to.sin_port = htons((uint16_t)atoi(argv[2]));
	setup(argc > 5);
	s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	operate(IORING_OP_CONNECT, s, &to, 0, sizeof(to));
	getsockname(s, (struct sockaddr *)&to, &size);
	for (int i = 0; i < atoi(argv[4]); i++) {
		get(s, argv[3]);
		printf("request %d %d %d %s\n", getpid(), gettid(), ntohs(to.sin_port), argv[3]);
	}
	operate(IORING_OP_CLOSE, s, NULL, 0, 0);
	return 0;
}
