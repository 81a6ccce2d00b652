/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_filter.h - does this event concern a recording that was told this? Decides by the head
 * of the record and the process table, the same way for every source.
 */
#ifndef TRACE_FILTER_H
#define TRACE_FILTER_H

#include <stdbool.h>

#include "event.h"
#include "trace_config.h"

struct process_table;

bool trace_filter_any(const struct trace_config *config); /* is there anything to filter by? */
bool trace_filter_match(const struct trace_config *config, const struct process_table *pt,
			const struct event_hdr *ev);

#endif
