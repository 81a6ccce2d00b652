/* SPDX-License-Identifier: Apache-2.0 */
/* probe_attach_impl.h - what probe_attach.c and probe_files.c share. */
#ifndef PROBE_ATTACH_IMPL_H
#define PROBE_ATTACH_IMPL_H

#include "probe/probe_types.h"
#include "probe_attach.h"
#include "uprobes.h"

#define PROBE_GLOB_CHARS "*?["

struct probe_file {
	struct probe_file *next;
	struct probe_target *target;
	struct module *module; /* held */
	bool is_answered, stays;
	bool is_idle;			 /* nobody had mapped it at the last look */
	struct probe_question *question; /* NULL: answered, or not asked yet */
	struct uprobe_site *sites;	 /* that may be attached */
	size_t n_sites;
	struct uprobes *probes; /* NULL: not attached */
	size_t n_attached;
};

/* One of the probe's two places. */
struct probe_target {
	struct probe_attached *attached;
	const struct probe_place *place;
	enum probes_point point;
	char *path; /* canonical; NULL: a name, or it is the kernel's */
	struct probe_file *files;
	size_t n_files;
	/* In the kernel: */
	struct bpf_link *link;
	uint32_t number;
	bool has_number;
};

struct probe_attached {
	const struct probe_attach_env *env;
	struct probe *probe;
	struct probe_target targets[2];
	size_t n_targets;
	unsigned n_asked;
	bool is_settled; /* files that are known have been looked at */
	bool is_paused, files_told;
	char error[PROBE_WHY_LEN]; /* the last one; "" none */
	char lack[PROBE_WHY_LEN];  /* of a file of the right name without the place, likewise */
	char near[PROBE_WHY_LEN];  /* names of files that may have been meant */
};

static inline bool probe_is_of_kernel(const struct probe_place *place)
{
	return place->kind > PROBE_USDT;
}

/* What is wrong, of a file, or of none. */
void probe_set_text(char dst[PROBE_WHY_LEN], const char *path, const char *what);
void probe_set_error(struct probe_attached *a, const char *path, const char *what);

/* Compiles the code for a place, whose cookie `*ret` becomes. */
int probe_take_number(struct probe_target *t, const struct probe_types *types, uint32_t *ret,
		      char why[PROBE_WHY_LEN]);

/* A file that somebody maps: is it one of those? */
void probe_target_look(struct probe_target *t, struct module *module, const char *path, bool stays);
/* The one that was named by its path. */
int probe_target_open(struct probe_target *t, char why[PROBE_WHY_LEN]);

/* The places in one more file are known, or that there are none. */
void probe_attached_advance(struct probe_attached *a);

#endif
