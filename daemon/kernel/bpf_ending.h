/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_ending.h - links that end while the daemon goes on. Of one to a classic tracepoint
 * the kernel waits some 70 ms until nobody is within its program any more; a recording has
 * a handful, and the next one would wait for them.
 */
#ifndef BPF_ENDING_H
#define BPF_ENDING_H

#include <bpf/libbpf.h>
#include <stddef.h>

/* Takes over the links, of which some may be NULL, and leaves NULL. Programs live until then. */
void bpf_links_end(struct bpf_link **links, size_t n);
/* Those of a skeleton, which may then be destroyed. */
void bpf_skeleton_end(const struct bpf_object_skeleton *skel);

#endif
