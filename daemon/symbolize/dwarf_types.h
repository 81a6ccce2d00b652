/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_types.h - what DWARF says of the place of a probe: parameters and variables, where
 * they are, and their types, as far as the probe's expressions mention them.
 *
 * Runs in the unprivileged worker only, since every byte may be hostile.
 */
#ifndef DWARF_TYPES_H
#define DWARF_TYPES_H

#include "probe/probe_types.h"

struct dwarf_types;
struct files_probe;

/* The descriptors stay the caller's, and open as long as the result is; as dwarf_lines_load(). */
int dwarf_types_load(int fd, int alt_fd, struct dwarf_types **ret);
void dwarf_types_free(struct dwarf_types *d); /* takes NULL */

/*
 * Of the function that begins at probe->vaddr, at `offset` in it, or of what is around a USDT
 * probe there; without PROBE_TYPES_FUNCTION nothing is known of that. -ENOMEM.
 */
int dwarf_types_find(struct dwarf_types *d, const struct files_probe *probe,
		     struct probe_types **ret);

#endif
