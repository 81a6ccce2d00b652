/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_names.h - what the pieces of code in a HotSpot's code cache are called. */
#ifndef HOTSPOT_NAMES_H
#define HOTSPOT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "hotspot_layout.h"

struct hotspot_memory;
struct hotspot_names;

#define HOTSPOT_INTERPRETED "[interpreted]" /* what the interpreter is called, of whatever method \
					     */

#define HOTSPOT_NAME_MAX 1024 /* with the NUL; of a longer one the beginning */

int hotspot_names_new(struct hotspot_names **ret);
void hotspot_names_free(struct hotspot_names *n); /* takes NULL */

/* What it calls itself: "nmethod", "Interpreter". "": it cannot be read. Good until it is freed. */
const char *hotspot_names_blob(struct hotspot_names *n, struct hotspot_memory *m, uint64_t at);

/* The name of the method at that address, "java.lang.String.hashCode"; its length, 0: none. */
size_t hotspot_method_name(const struct hotspot_layout *l, struct hotspot_memory *m,
			   uint64_t method, char ret[HOTSPOT_NAME_MAX]);

#endif
