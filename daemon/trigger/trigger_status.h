/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_status.h - what `tracectl status` tells of triggers. */
#ifndef TRIGGER_STATUS_H
#define TRIGGER_STATUS_H

#include "control.pb-c.h"
#include "trigger/trigger_files.h"

/* Either may be NULL. What is filled in is valid until the next call, and as long as they are. */
void trigger_status_fill(Status *msg, const struct triggers *triggers,
			 const struct trigger_files *files);

#endif
