/* SPDX-License-Identifier: Apache-2.0 */
/* btf_relocs.h - which of the kernel's types the programs of a BPF object look into. */
#ifndef BTF_RELOCS_H
#define BTF_RELOCS_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

/* A type, without "___" and what follows it; not NUL-terminated. -errno ends the walk. */
typedef int btf_reloc_fn(void *ctx, const char *name, size_t len);

/* Each type once, of an object that has been opened. */
int btf_relocs_each(const struct bpf_object_skeleton *skel, btf_reloc_fn *fn, void *ctx);

#endif
