/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_decode.h - records of the network (bpf/net_events.h): are they what they say they
 * are, and where are their parts? Pure.
 */
#ifndef NET_DECODE_H
#define NET_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net_events.h"

/* What follows is for records of which this is true. Fuzzed. */
bool net_valid(const struct event_hdr *hdr, size_t len);

/* The runs of a NET_IO or NET_PLAIN, and the bytes of all of them, one behind the other. */
struct net_payload {
	const struct net_run *runs;
	unsigned n_runs;
	const uint8_t *bytes;
	size_t n_bytes;
};
void net_io_payload(const struct net_io_event *ev, struct net_payload *ret);
void net_plain_payload(const struct net_plain_event *ev, struct net_payload *ret);

#endif
