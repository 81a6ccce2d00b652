/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jvm_files.h - which files are a HotSpot (libjvm.so of OpenJDK), and where in
 * them are the variables by which its memory is read (hotspot/hotspot_layout.h).
 *
 * A mapped file with that name is looked into once, by the worker.
 */
#ifndef JVM_FILES_H
#define JVM_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct jvm_files;
struct module;
struct symbolizer;

int jvm_files_new(struct symbolizer *sym, struct jvm_files **ret);
void jvm_files_free(struct jvm_files *jvms); /* takes NULL */

bool jvm_files_is_named_so(const char *path);

/*
 * The addresses of the variables (enum hotspot_symbol) in a process that has
 * `module` mapped so that its first byte would be at `base`. -EAGAIN: not known yet;
 * -ENOENT: it is no such file.
 */
int jvm_files_symbols(struct jvm_files *jvms, struct module *module, uint64_t base, uint64_t *ret);

#endif
