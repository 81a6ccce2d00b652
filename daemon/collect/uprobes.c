/* SPDX-License-Identifier: Apache-2.0 */
/* uprobes.c - one BPF program at many places of one file. */
#include "uprobes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers that we are built with. */
#define TRACE_UPROBE_MULTI    48 /* BPF_TRACE_UPROBE_MULTI */
#define F_UPROBE_MULTI_RETURN 1	 /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr that is for BPF_LINK_CREATE of such a link. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t n, multi_flags, pid, zero;
};

struct uprobes {
	bool is_multi;
	size_t n;
	union {
		int fd; /* of a link, for one place or for all */
		struct bpf_link *link;
	} at[];
};

/* Semaphores may be NULL. */
static int multi_create(int prog_fd, const char *path, pid_t pid, bool at_return,
			const uint64_t *offsets, const uint64_t *cookies,
			const uint64_t *semaphores, size_t n)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.ref_ctr_offsets = (uintptr_t)semaphores,
		.n = (uint32_t)n,
		.multi_flags = at_return ? F_UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* What it says to one that does nothing, at the beginning of the file. */
static int try_multi(const char *path, pid_t pid)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const uint64_t zero = 0;
	int prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &opts), r;

	if (prog_fd < 0)
		return -errno;
	r = multi_create(prog_fd, path, pid, false, &zero, &zero, NULL, 1);
	if (r >= 0)
		close(r);
	close(prog_fd);
	return r;
}

/* A kernel that can looks at the path, and says that it is no file. */
static bool has_multi(void)
{
	static int known = -1;

	if (known < 0)
		known = try_multi("/", 0) == -EBADF;
	return known;
}

static void *try_thread(void *ret)
{
	*(int *)ret = try_multi("/proc/self/exe", (pid_t)syscall(SYS_gettid));
	return NULL;
}

/* One that means processes knows none by the number of a thread; others see that thread only. */
static bool has_single(void)
{
	static int known = -1;
	pthread_t thread;
	int r = 0;

	if (known >= 0)
		return known;
	if (has_multi() && pthread_create(&thread, NULL, try_thread, &r) == 0)
		pthread_join(thread, NULL);
	known = r == -ESRCH;
	return known;
}

void uprobes_prepare(struct bpf_program *prog)
{
	if (has_multi())
		(void)bpf_program__set_expected_attach_type(
			prog, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

bool uprobes_single_is_same(void)
{
	return has_single() == has_multi();
}

void uprobes_prepare_single(struct bpf_program *prog)
{
	if (has_single())
		uprobes_prepare(prog);
}

/* All of them, or none. The link's descriptor. */
static int attach_multi(struct bpf_program *prog, const struct uprobe_target *target,
			const char *path, const struct uprobe_site *sites, size_t n)
{
	uint64_t *places = calloc(3 * n, sizeof(*places));
	bool has_semaphores = false;
	int r;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		places[i] = sites[i].offset;
		places[n + i] = sites[i].cookie;
		places[2 * n + i] = sites[i].semaphore;
		has_semaphores |= sites[i].semaphore != 0;
	}
	r = multi_create(bpf_program__fd(prog), path, target->pid, target->at_return, places,
			 places + n, has_semaphores ? places + 2 * n : NULL, n);
	free(places);
	return r;
}

/* One place that is refused refuses all: then each for itself. */
static int attach_with_one_call(struct uprobes *u, struct bpf_program *prog,
				const struct uprobe_target *target, const char *path,
				const struct uprobe_site *sites, size_t n, size_t *ret_n)
{
	int r = attach_multi(prog, target, path, sites, n), error = r;

	if (r >= 0) {
		u->at[u->n++].fd = r;
		*ret_n = n;
		return 0;
	}
	for (size_t i = 0; i < n && n > 1; i++) {
		r = attach_multi(prog, target, path, &sites[i], 1);
		if (r >= 0)
			u->at[u->n++].fd = r;
	}
	*ret_n = u->n;
	return error;
}

static int attach_one_by_one(struct uprobes *u, struct bpf_program *prog,
			     const struct uprobe_target *target, const char *path,
			     const struct uprobe_site *sites, size_t n, size_t *ret_n)
{
	int error = 0;

	for (size_t i = 0; i < n; i++) {
		DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = sites[i].cookie,
				    .ref_ctr_offset = sites[i].semaphore,
				    .retprobe = target->at_return);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			prog, target->pid ? target->pid : -1, path, sites[i].offset, &opts);

		if (link)
			u->at[u->n++].link = link;
		else
			error = -errno;
	}
	*ret_n = u->n;
	return error;
}

int uprobes_attach(struct bpf_program *prog, const struct uprobe_target *target,
		   const struct uprobe_site *sites, size_t n, struct uprobes **ret, size_t *ret_n)
{
	struct uprobes *u = calloc(1, sizeof(*u) + n * sizeof(u->at[0]));
	char path[64];
	int r;

	if (!u)
		return -ENOMEM;
	/* The file itself: its path may be another's by now, or of another namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target->fd);
	u->is_multi = bpf_program__expected_attach_type(prog) == TRACE_UPROBE_MULTI;
	if (u->is_multi && target->pid && !has_single())
		r = -EINVAL;
	else if (u->is_multi)
		r = attach_with_one_call(u, prog, target, path, sites, n, ret_n);
	else
		r = attach_one_by_one(u, prog, target, path, sites, n, ret_n);
	if (u->n == 0) {
		free(u);
		return r < 0 ? r : -EINVAL;
	}
	*ret = u;
	return 0;
}

void uprobes_free(struct uprobes *u)
{
	if (!u)
		return;
	for (size_t i = u->n; i-- > 0;) {
		if (u->is_multi)
			close(u->at[i].fd);
		else
			bpf_link__destroy(u->at[i].link);
	}
	free(u);
}
