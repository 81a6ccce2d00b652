/* SPDX-License-Identifier: Apache-2.0 */
/* probe_btf.h - the kernel's types, as far as a probe's expressions mention them. */
#ifndef PROBE_BTF_H
#define PROBE_BTF_H

#include <bpf/btf.h>

#include "probe/probe_types.h"

struct probe_btf;

/* The words of probe_words() stay the caller's. -ENOMEM. */
int probe_btf_new(const struct btf *btf, const char *words, size_t words_len,
		  struct probe_types *types, struct probe_btf **ret);
/* 0, or -ENOMEM for anything that was added since. */
int probe_btf_free(struct probe_btf *b);

/* PROBE_NO_TYPE: there is no room. */
uint32_t probe_btf_type(struct probe_btf *b, uint32_t id);
/* The types that casts name, and constants. */
void probe_btf_names(struct probe_btf *b);

#endif
