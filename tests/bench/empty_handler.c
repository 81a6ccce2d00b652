/* SPDX-License-Identifier: Apache-2.0 */
/*
 * empty_handler.c - what the interrupts alone cost: a BPF program that does
 * nothing, at a rate, on every CPU. No recorder can be cheaper than this.
 *
 *	empty_handler HZ SECONDS
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load_program(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uintptr_t) "GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	int prog, fd, n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF), n_open = 0;

	if (argc != 3 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: empty_handler HZ SECONDS\n");
		return 2;
	}
	attr.sample_period = 1000000000u / (unsigned)atoi(argv[1]);
	prog = load_program();
	if (prog < 0) {
		perror("empty_handler: bpf");
		return 1;
	}
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			continue; /* offline */
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) < 0 ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
			perror("empty_handler: ioctl");
			return 1;
		}
		n_open++;
	}
	sleep((unsigned)atoi(argv[2]));
	return n_open ? 0 : 1;
}
