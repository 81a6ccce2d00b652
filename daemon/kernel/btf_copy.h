/* SPDX-License-Identifier: Apache-2.0 */
/*
 * btf_copy.h - some types of a BTF, and what these consist of, as a BTF of their own.
 *
 * For relocations: what a pointer leads to is left out.
 */
#ifndef BTF_COPY_H
#define BTF_COPY_H

#include <bpf/btf.h>
#include <stdint.h>

struct btf_copy;

/* `src` is kept, not copied. */
int btf_copy_new(const struct btf *src, struct btf_copy **ret);
void btf_copy_free(struct btf_copy *c); /* takes NULL */
/* From now on types are those of another BTF, and what was copied stays. */
int btf_copy_from(struct btf_copy *c, const struct btf *src);
int btf_copy_add(struct btf_copy *c, uint32_t id);
/* No type is added any more. The bytes are the copy's. */
int btf_copy_data(struct btf_copy *c, const void **ret, uint32_t *ret_size);

#endif
