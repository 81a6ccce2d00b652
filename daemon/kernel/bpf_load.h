/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_load.h - choose, before an object is loaded, which of its programs this
 * kernel can take, so that one missing tracepoint never costs the others.
 */
#ifndef BPF_LOAD_H
#define BPF_LOAD_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Number of arguments of a tracepoint, from the kernel's BTF. -ENOENT: this
 * kernel does not have it. -ENOTSUP: the kernel has no BTF.
 */
int bpf_tracepoint_args(const char *name);

/* An enum of the kernel; zeroed but for its type, it is not looked for yet. */
struct bpf_kernel_enum {
	const char *type;
	bool is_known; /* whether there is one */
	int id;
};

/* The enumerator of this value; stays valid. NULL: this kernel has none, or no BTF. */
const char *bpf_enumerator(struct bpf_kernel_enum *e, uint32_t value);

/*
 * Can programs be attached to the entry and the exit of this function of the kernel?
 * 0, or -errno: -ENOENT if there is none of that name. Tries it.
 */
int bpf_can_attach_to(const char *function);

/* Have programs bpf_loop() here (Linux 5.17)? */
bool bpf_can_loop(void);

/*
 * Leaves out every tp_btf program whose tracepoint does not exist, and every fexit
 * program of a function that does not. Appends the names of those tracepoints to `why`
 * (NUL-terminated, of `why_size` bytes). -ENOTSUP: no BTF; `why` says so.
 */
int bpf_load_trim(struct bpf_object *obj, char *why, size_t why_size);

/* Between an object's open and load: its map of this name, or each, is that of another one. */
int bpf_reuse_map(struct bpf_object *obj, const struct bpf_object *of, const char *name);
int bpf_reuse_maps(struct bpf_object *obj, const struct bpf_object *of);

/*
 * A program on a classic tracepoint, by its number (tracefs.h), on all CPUs. One perf event
 * is enough for that.
 */
int bpf_attach_tracepoint(const struct bpf_program *prog, uint64_t id, uint64_t cookie,
			  struct bpf_link **ret);

/* An explanation with a remedy for a failure of bpf(2) or perf_event_open(2). */
void bpf_load_explain(int err, const char *what, char *why, size_t why_size);

/* libbpf's own messages: to our log at debug level. Call once. */
void bpf_load_init(void);

#endif
