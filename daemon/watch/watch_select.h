/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_select.h - which events a watcher wants to see.
 *
 *   GLOB, name:GLOB   events of such a name; of a counter that of its track
 *   category:GLOB     of such a category
 *   source:NAME       of one source, and the source itself
 *
 * What fits one of several, or is of a probe that is chosen, is wanted; without any of them
 * everything is.
 */
#ifndef WATCH_SELECT_H
#define WATCH_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_tap.h"

#define WATCH_MAX_SPECS	 32
#define WATCH_MAX_PROBES 64
#define WATCH_SPEC_LEN	 128

enum watch_spec_kind {
	WATCH_NAME,
	WATCH_CATEGORY,
	WATCH_SOURCE,
};

struct watch_spec {
	enum watch_spec_kind kind;
	char glob[WATCH_SPEC_LEN];
	unsigned source;
};

/* A probe by the names that its events have. */
struct watch_probe {
	char name[WATCH_SPEC_LEN], counter[WATCH_SPEC_LEN]; /* counter "": it has none */
};

struct watch_selection {
	size_t n_specs, n_probes;
	struct watch_spec specs[WATCH_MAX_SPECS];
	struct watch_probe probes[WATCH_MAX_PROBES];
	uint64_t min_ns; /* slices that last as long, and nothing else; 0: all */
};

/* -EINVAL, -E2BIG: `why` says what is wrong. */
int watch_select_add(struct watch_selection *sel, const char *spec, char *why, size_t why_size);
int watch_select_probe(struct watch_selection *sel, const char *name, const char *counter);
/* The sources that are chosen, a bit each; 0: the selection does not say. */
uint32_t watch_select_sources(const struct watch_selection *sel);

bool watch_selects(const struct watch_selection *sel, const struct trace_tap_event *ev);

#endif
