/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probes_at.bpf.h - where a probe can be: a program for each, all of which do the same.
 *
 * Included last by probes.bpf.c and probes_stack.bpf.c, behind their on_hit().
 */
#ifndef PROBES_AT_BPF_H
#define PROBES_AT_BPF_H

SEC("uprobe.s")
int on_uprobe(struct pt_regs *ctx)
{
	return on_hit(ctx, bpf_get_attach_cookie(ctx), PT_REGS_SP(ctx), true);
}

SEC("tp")
int on_tracepoint(void *ctx)
{
	return on_hit(ctx, bpf_get_attach_cookie(ctx), 0, false);
}

/* Of single functions of the kernel: each loaded for itself, with its cookie. */
const volatile __u64 kernel_cookie = 0;

SEC("?fentry/bpf_fentry_test1")
int on_entry(void *ctx)
{
	return on_hit(ctx, kernel_cookie, 0, false);
}

SEC("?fexit/bpf_fentry_test1")
int on_exit(void *ctx)
{
	return on_hit(ctx, kernel_cookie, 0, false);
}

SEC("?kprobe")
int on_kprobe(struct pt_regs *ctx)
{
	return on_hit(ctx, kernel_cookie, 0, false);
}

#endif
