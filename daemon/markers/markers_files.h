/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_files.h - programs and libraries that were built with daemon/marker.h.
 *
 * The symbolizer's worker is asked once of each file; those that have the probes get the
 * BPF program at each, in all processes that map the file, now or later.
 */
#ifndef MARKERS_FILES_H
#define MARKERS_FILES_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct markers_files;
struct module;
struct symbolizer;

/* `prog` must outlive it; its cookies are enum markers_phase. */
int markers_files_new(struct symbolizer *sym, struct bpf_program *prog, struct markers_files **ret);
/* Takes NULL. Ends all probes; answers that are to come find nobody. */
void markers_files_free(struct markers_files *fs);

/* Cheap when the file is known. */
void markers_files_look(struct markers_files *fs, struct module *module);

bool markers_files_pending(const struct markers_files *fs); /* answers are missing */
size_t markers_files_count(const struct markers_files *fs); /* files with probes */
int markers_files_error(const struct markers_files *fs);    /* why there are none in one, lastly */

#endif
