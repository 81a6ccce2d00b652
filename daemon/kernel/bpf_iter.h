/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_iter.h - runs a BPF iterator, and hands over the records that it writes.
 */
#ifndef BPF_ITER_H
#define BPF_ITER_H

#include <bpf/libbpf.h>

#include "collector.h"

/*
 * Runs the iterator of `link` over all there is; `fn` gets each record, which
 * begins with a struct event_hdr that says its size. -EBADMSG: what it writes
 * are no records.
 */
int bpf_iter_run(struct bpf_link *link, event_sink_fn *fn, void *fn_ctx);
/* The same of a descriptor, to its end, however the records are cut into reads. */
int bpf_iter_read(int fd, event_sink_fn *fn, void *fn_ctx);

#endif
