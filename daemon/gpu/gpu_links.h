/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_links.h - what an ioctl has set going: the flows of jobs and fences that
 * a thread has queued or waited for since its current ioctl began.
 *
 * An ioctl is recorded as it returns, so what happened inside it comes first
 * in the stream: it is left here, and the ioctl's slice takes it. An ioctl
 * whose record never comes leaves its place to a later one.
 */
#ifndef GPU_LINKS_H
#define GPU_LINKS_H

#include <stddef.h>
#include <stdint.h>

#define GPU_MAX_LINKS 16 /* of one ioctl, each way; further ones are left out */

struct gpu_links;

/* How an arrow of the ioctl's slice goes on. */
enum gpu_link {
	GPU_LINK_STARTS,  /* the ioctl caused it: a job that it has queued */
	GPU_LINK_ENDS,	  /* it ends in the ioctl: what a wait has waited for */
	GPU_LINK_SUBMITS, /* a job's own id: to where the GPU works on it */
	GPU_LINK_WAITED,  /* likewise: from there */
};

struct gpu_link_set {
	uint64_t starts[GPU_MAX_LINKS], ends[GPU_MAX_LINKS];
	uint64_t submits[GPU_MAX_LINKS], waited[GPU_MAX_LINKS];
	size_t n_starts, n_ends, n_submits, n_waited;
};

int gpu_links_new(struct gpu_links **ret);
void gpu_links_free(struct gpu_links *links); /* takes NULL */

/* `enter_ns`: of the ioctl that `tid` is in, as gpu_ioctl_now() has it. Flow ids are not 0. */
void gpu_links_add(struct gpu_links *links, uint32_t tid, uint64_t enter_ns, enum gpu_link kind,
		   uint64_t flow_id);

/* Takes out what has been added for that ioctl; `ret` is empty if there is nothing. */
void gpu_links_take(struct gpu_links *links, uint32_t tid, uint64_t enter_ns,
		    struct gpu_link_set *ret);

#endif
