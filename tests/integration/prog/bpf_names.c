/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_names.c - runs in BPF programs that come and go, one after the other: each is
 * loaded, runs for so much CPU time or until SIGTERM, and is gone before the next
 * one comes.
 *
 *	bpf_names MS NAME...
 *
 * Prints a line for each: NAME BEGIN_NS END_NS ADDRESS (CLOCK_BOOTTIME; the address
 * of its code, 0 if the kernel does not say it).
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define N_INSNS 4000

static volatile sig_atomic_t is_over;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* Divisions, one after the other: some 10 us in its own code. */
static int load(const char *name)
{
	static struct bpf_insn insns[N_INSNS + 2];
	union bpf_attr attr = { 0 };

	insns[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 0x7fffffff };
	for (int i = 1; i <= N_INSNS; i++)
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_DIV | BPF_K, .imm = 3 };
	insns[N_INSNS + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = N_INSNS + 2;
	attr.license = (uintptr_t) "Apache-2.0";
	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return bpf(BPF_PROG_LOAD, &attr);
}

static int run(int fd, uint64_t ns)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	static char packet[64];
	union bpf_attr attr;

	while (!is_over && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (uint32_t)fd;
		attr.test.data_in = (uintptr_t)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = 100;
		if (bpf(BPF_PROG_TEST_RUN, &attr) < 0 && errno != EINTR)
			return -1;
	}
	return 0;
}

static uint64_t address(int fd)
{
	uint64_t addr = 0;
	struct bpf_prog_info info = { .nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)&addr };
	union bpf_attr attr = { 0 };

	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0 ? 0 : addr;
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	(void)signal(SIGTERM, on_term);
	for (int i = 2; i < argc; i++) {
		uint64_t begin_ns = clock_ns(CLOCK_BOOTTIME), addr;
		int fd = load(argv[i]);

		if (fd < 0 || run(fd, ms * 1000000) < 0) {
			fprintf(stderr, "bpf_names: %s\n", strerror(errno));
			return 1;
		}
		addr = address(fd);
		close(fd);
		printf("%s %" PRIu64 " %" PRIu64 " %#" PRIx64 "\n", argv[i], begin_ns,
		       clock_ns(CLOCK_BOOTTIME), addr);
		usleep(100000); /* its memory is free after a while */
	}
	return 0;
}
