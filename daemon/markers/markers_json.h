/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_json.h - a datagram's JSON as the record of a marker.
 *
 *	{"name": "build", "phase": "begin", "args": {"target": "all", "jobs": 4}}
 *
 * `phase` is begin, end, instant (or not there), counter, async_begin or async_end; of a
 * counter `value` is a number, or the first one in `args`; of the asynchronous ones `id` is a
 * whole number. `args` has strings, numbers, booleans and null. Strict, and nothing else is
 * taken: any process may send anything.
 */
#ifndef MARKERS_JSON_H
#define MARKERS_JSON_H

#include <stddef.h>

#include "markers_events.h"

#define MARKERS_DATAGRAM_MAX 8192

/*
 * Fills in all but the head. -EINVAL: it is not JSON, or not such JSON; -E2BIG: a name or
 * key is longer than a record has room for. Longer strings are cut, pairs beyond the room
 * left out, and the record says so.
 */
int markers_json_parse(const char *text, size_t len, struct markers_event *ret);

#endif
