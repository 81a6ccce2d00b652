/* SPDX-License-Identifier: Apache-2.0 */
/* probe_list.h - what the daemon says of probes, for people and as JSON. */
#ifndef PROBE_LIST_H
#define PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "control.pb-c.h"

struct json;

void probe_list_print(ProbeStatus *const *probes, size_t n, bool as_json);
/* An array `name` of all. */
void probe_list_json(struct json *j, const char *name, ProbeStatus *const *probes, size_t n);

#endif
