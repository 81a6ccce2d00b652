/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uprobes.h - one BPF program at many places of one file.
 *
 * With one call to the kernel where it can do that (uprobe_multi, Linux 6.6), which
 * also needs no CAP_SYS_ADMIN; else place by place, as a perf event each.
 */
#ifndef UPROBES_H
#define UPROBES_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uprobes;

struct uprobe_site {
	uint64_t offset; /* in the file: where an instruction begins */
	uint64_t cookie; /* bpf_get_attach_cookie() of its hits */
	/* Where in the file two bytes count who probes it, in memory of processes; or 0. */
	uint64_t semaphore;
};

struct uprobe_target {
	int fd;		/* of the file; the caller's */
	pid_t pid;	/* this process only; 0: whoever maps the file, now or later */
	bool at_return; /* of the function that begins there */
};

/*
 * Between open and load: makes a program of an object one that is attached with one
 * call, if this kernel can. Of such a program all probes are of all processes.
 */
void uprobes_prepare(struct bpf_program *prog);
/*
 * The same for probes in single processes, if this kernel can do that, too (Linux 6.10).
 * It ends them at once: of perf events each one takes a tenth of a second to close.
 */
void uprobes_prepare_single(struct bpf_program *prog);
/* Would that be the same? Then one program is enough for both. */
bool uprobes_single_is_same(void);

/*
 * Places that the kernel refuses are left out; `*ret_n` says how many were not. Fails
 * if all are, with the cause.
 */
int uprobes_attach(struct bpf_program *prog, const struct uprobe_target *target,
		   const struct uprobe_site *sites, size_t n, struct uprobes **ret, size_t *ret_n);
void uprobes_free(struct uprobes *u); /* takes NULL */

#endif
