/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms.h - the kernel's own symbols: its text, its modules, BPF programs.
 *
 * Reads /proc/kallsyms, which has no sizes: a symbol ends where the next one
 * starts, but not beyond what is plausible. What is read is the kernel's word
 * and trusted as such; it is bounded all the same.
 */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kallsyms_symbol {
	uint64_t start;
	const char *name;
	const char *module; /* "[name]", or "" for the kernel itself */
};

/*
 * Loads the table from `path`. A file without a readable address is no error:
 * see kallsyms_hidden(). Fails with what open or read say, or -ENOMEM.
 */
int kallsyms_new(const char *path, uint64_t now_ns, struct kallsyms **ret);
void kallsyms_free(struct kallsyms *k);
/* Where the kernel lists its modules (/proc/modules). A list that cannot be read says nothing. */
int kallsyms_set_modules(struct kallsyms *k, const char *path);

/* False: no function is known to be there. Strings are valid until the next reload. */
bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kallsyms_symbol *ret);

/*
 * After a miss: modules and BPF programs come and go. Reads the file again if
 * modules have changed or it is due, less and less often while it finds nothing
 * new. True: look again.
 */
bool kallsyms_reload(struct kallsyms *k, uint64_t now_ns);
/* Something may have come or gone then: the next reload is due, unless the table is younger. */
void kallsyms_distrust(struct kallsyms *k, uint64_t time_ns);
/* The same if there are other modules than when it was read. Looks five times a second at most. */
void kallsyms_check_modules(struct kallsyms *k, uint64_t now_ns);
bool kallsyms_is_distrusted(const struct kallsyms *k); /* until then */

uint64_t kallsyms_stext(const struct kallsyms *k); /* address of _stext, or 0 */
/* In the kernel's own text, where nothing comes and goes? */
bool kallsyms_is_core(const struct kallsyms *k, uint64_t addr);
bool kallsyms_hidden(const struct kallsyms *k);	 /* kptr_restrict or no CAP_SYSLOG */
size_t kallsyms_count(const struct kallsyms *k); /* distinct addresses with a function */

#endif
