/* SPDX-License-Identifier: Apache-2.0 */
/* status_triggers.h - triggers in `tracectl status`. */
#ifndef STATUS_TRIGGERS_H
#define STATUS_TRIGGERS_H

#include "control.pb-c.h"

struct json;

/* Nothing without any. */
void status_print_triggers(const Status *st);
/* Members "triggers" and "trigger_files" of the object that is open. */
void status_json_triggers(struct json *j, const Status *st);

#endif
