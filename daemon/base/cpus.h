/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h - which CPUs there are, now. */
#ifndef CPUS_H
#define CPUS_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_CPUS 1024 /* what a Perfetto trace can hold */

/* Fills `online[MAX_CPUS]`; returns their number or -errno. */
int cpus_online(bool *online);
/* Possible CPUs: indexes are below this. */
unsigned cpus_possible(void);
/* The highest frequency of CPU 0, in Hz, from sysfs or /proc/cpuinfo; 0: not known. */
uint64_t cpus_max_hz(void);

#endif
