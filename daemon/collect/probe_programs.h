/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_programs.h - the BPF programs of probes, loaded as they are needed: those of
 * programs and tracepoints once, one each for functions of the kernel.
 */
#ifndef PROBE_PROGRAMS_H
#define PROBE_PROGRAMS_H

#include <bpf/libbpf.h>

#include "collector.h"
#include "probe/probes.h"

struct probe_programs;

int probe_programs_new(const struct collector_env *env, struct probe_programs **ret);
void probe_programs_free(struct probe_programs *pp); /* takes NULL */

/* What a probe needs that has a stack, or none. Takes a tenth of a second, once. */
int probe_programs_load(struct probe_programs *pp, bool with_stack);
/* NULL: nothing is loaded yet. */
struct bpf_object *probe_programs_object(struct probe_programs *pp, bool with_stack);

/* Of what is loaded. */
struct bpf_program *probe_programs_uprobe(struct probe_programs *pp, bool with_stack);
/* Of the kernel: a tracepoint, fentry, fexit or kprobe. */
int probe_programs_attach(struct probe_programs *pp, const struct probe_place *place,
			  bool with_stack, uint64_t cookie, struct bpf_link **ret);

/* What one run takes, on average; 0: not known. */
uint64_t probe_programs_run_ns(struct probe_programs *pp, bool is_uprobe, bool with_stack);

/* PROBES_PAUSE or PROBES_RESUME, by way of the ring. */
void probe_programs_tell(struct probe_programs *pp, uint32_t probe, uint16_t type, uint64_t now_ns);

/* Before each drain. */
void probe_programs_update(struct probe_programs *pp);

#endif
