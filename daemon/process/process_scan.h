/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_scan.h - one walk over /proc into the process table, in slices: with
 * 5,000 processes it takes seconds on a busy machine, and rings fill meanwhile.
 */
#ifndef PROCESS_SCAN_H
#define PROCESS_SCAN_H

#include <stdint.h>

struct process_scan;
struct process_table;

int process_scan_new(struct process_table *pt, struct process_scan **ret);
void process_scan_free(struct process_scan *scan); /* takes NULL; a walk cut short is fine */

/*
 * Walks on until `deadline_ns`, at least by one process or thread. 1: all have
 * been seen. 0: call again. -errno: /proc itself cannot be read.
 */
int process_scan_step(struct process_scan *scan, uint64_t deadline_ns);

#endif
