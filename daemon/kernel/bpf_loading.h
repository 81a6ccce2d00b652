/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_loading.h - BPF objects that are loaded by threads, side by side.
 *
 * A kernel takes up to a tenth of a second to verify a large program. So sources begin to
 * load what they need before the first of them starts, and whoever records already is not
 * kept waiting meanwhile.
 */
#ifndef BPF_LOADING_H
#define BPF_LOADING_H

#include <bpf/libbpf.h>

struct bpf_loading;

/* NULL: no memory. */
struct bpf_loading *bpf_loading_new(void);
/* For SKEL__open_opts(): of the kernel's types those alone that the object needs. Takes NULL. */
const struct bpf_object_open_opts *bpf_loading_opts(const struct bpf_loading *l);
/*
 * Begins what SKEL__load() does with what was opened so, as soon as a CPU is free for it.
 * Until bpf_loading_end() the object belongs to a thread. Takes NULL.
 */
void bpf_loading_begin(struct bpf_loading *l, struct bpf_object_skeleton *skel);

/* Called every few milliseconds by who waits here; NULL: nobody has to keep up. */
typedef void bpf_keep_up_fn(void *ctx);

/*
 * Waits for it if it has begun, and makes `*l` NULL. Returns what SKEL__load() does; -ENOMEM
 * if it is NULL already.
 */
int bpf_loading_end(struct bpf_loading **l, bpf_keep_up_fn *keep_up, void *ctx);

/* Waits until nothing is being loaded any more; what was begun is still to be ended. */
void bpf_loading_await(bpf_keep_up_fn *keep_up, void *ctx);

#endif
