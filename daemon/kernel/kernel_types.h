/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_types.h - the kernel's types (BTF) by their names, and the few of them that a BPF
 * object needs.
 *
 * There are 100,000 and more, in no order. libbpf goes through all of them once for each type
 * that an object's programs look into, and so for each object anew: half of the time that
 * objects took to load. So it is given a BTF of those types alone.
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdint.h>

/* Read once, and kept. Several threads may ask. NULL: the kernel has none. */
const struct btf *kernel_types(void);

/* The first type of this name and kind (BTF_KIND_...): structs, unions, enums, typedefs,
 * functions. -ENOENT; -ENOTSUP: no BTF. */
int kernel_types_find(const char *name, uint32_t kind);

/*
 * Writes what the programs of an object that has been opened look into to `fd`, as BTF, for
 * struct bpf_object_open_opts. -errno: without it, all of the kernel's types have to do.
 */
int kernel_types_write(const struct bpf_object_skeleton *skel, int fd);

#endif
