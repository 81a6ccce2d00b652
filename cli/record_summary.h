/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.h - what `tracectl record` tells the person: beginning, progress, end. */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"

/*
 * The reply to StartRequest; trace bytes that come before it are written to
 * `fd` and counted in `*bytes`.
 */
int record_await_started(struct client *c, int fd, uint64_t *bytes, Reply **ret, char *err,
			 size_t err_size);

/* What is off and why, and, unless `quiet`, what there is to say of the others. */
void record_print_sources(const Started *msg, bool quiet);
void record_print_started(const Started *msg, const char *path, bool ends_by_itself);
void record_print_progress(const Progress *msg);
/* Returns whether events were lost; says that on stderr even when `quiet`. */
bool record_print_stopped(const Stopped *msg, const char *path, uint64_t bytes, bool quiet);
/* Likewise: what was lost of which source, and nothing else. */
bool record_print_losses(const Stopped *msg);

#endif
