/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_files.h - which files have functions that are to be probed, and may be.
 *
 * The symbolizer's worker is asked once of each; until it has answered, the answer is no.
 */
#ifndef TLS_FILES_H
#define TLS_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tls_libraries.h"

struct module;
struct symbolizer;
struct tls_files;

int tls_files_new(struct symbolizer *sym, struct tls_files **ret);
void tls_files_free(struct tls_files *fs); /* takes NULL; answers that are to come find nobody */

/* A program made by Go may not: what a probe on the way out does ends it. */
bool tls_files_may_probe(struct tls_files *fs, struct module *module);

/* How many answers there were so far: files that are no yet may have become yes. */
uint64_t tls_files_answers(const struct tls_files *fs);
bool tls_files_pending(const struct tls_files *fs);

#endif
