/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_psi.h - pressure: for which part of the last second some task was stalled.
 *
 * By reading what the kernel has summed up, since its own triggers want a privilege that the
 * daemon does not have, or windows of 2 s.
 */
#ifndef TRIGGER_PSI_H
#define TRIGGER_PSI_H

#include "trigger/trigger_spec.h"

#define TRIGGER_PSI_DIR	  "/proc/pressure"
#define TRIGGER_PSI_TIMES 5 /* readings: four pieces of the window */

struct trigger_psi {
	const char *dir;
	struct {
		uint64_t time_ns, stalled_us;
	} readings[TRIGGER_RESOURCES][TRIGGER_PSI_TIMES];
	unsigned n[TRIGGER_RESOURCES]; /* readings */
};

/* -ENOTSUP: the kernel does not tell. */
int trigger_psi_read(const struct trigger_psi *psi, enum trigger_resource resource,
		     uint64_t *ret_us);

/*
 * To be called every TRIGGER_PSI_INTERVAL_NS. `*ret`: percent; -EAGAIN: the window is not full
 * yet.
 */
#define TRIGGER_PSI_INTERVAL_NS 250000000ull
int trigger_psi_poll(struct trigger_psi *psi, enum trigger_resource resource, uint64_t now_ns,
		     double *ret);
/* Nobody asks any more: the window begins anew. */
void trigger_psi_reset(struct trigger_psi *psi, enum trigger_resource resource);

#endif
