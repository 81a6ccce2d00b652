/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_config.h - what one recording shall hold, checked and with defaults
 * filled in. Made from the client's request by control_requests.c; everything
 * below the control server reads it and nobody changes it.
 */
#ifndef TRACE_CONFIG_H
#define TRACE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/net_privacy.h"

struct probe_def;

#define TRACE_COMM_GLOB_LEN 64
#define TRACE_EVENT_LEN	    64
#define TRACE_MAX_EVENTS    8
#define TRACE_MAX_PIDS	    64

/* How much of the network: each has what is before it, too. */
enum net_level {
	NET_HEALTH,    /* what TCP does */
	NET_WATERFALL, /* and names, requests, handshakes */
	NET_SYSCALLS,  /* and the calls: with the source `syscalls` */
};

#define TRACE_MAX_PLAINTEXT 8
#define TRACE_PLAINTEXT_LEN 128

/* Whose session it is, where that says what may be in it. */
struct trace_owner {
	bool only_own; /* processes of this user, and nothing else: session_own.h */
	uid_t uid;
	gid_t gid;
	uint8_t number;	    /* in struct event_users */
	bool kernel_hidden; /* and nothing of where in the kernel they were */
};

struct trace_config {
	struct trace_owner owner;
	uint32_t sources; /* bit i: collectors[i] is wanted */

	/* CPU samples */
	char event[TRACE_EVENT_LEN]; /* "cpu-clock", "cycles", "page-faults@100", ... */
	unsigned n_more_events;	     /* each with samples of its own */
	char more_events[TRACE_MAX_EVENTS - 1][TRACE_EVENT_LEN];
	uint32_t freq_hz; /* 0: `period` was given */
	uint64_t period;  /* in units of the event; 0: from freq_hz */
	bool must_sample; /* asked for by name: without it there is no recording */

	/* Filters; all that are set must match. Empty = the whole machine. */
	uint32_t n_pids;
	uint32_t pids[TRACE_MAX_PIDS];	     /* these processes and their descendants */
	char comm_glob[TRACE_COMM_GLOB_LEN]; /* fnmatch() on the process's comm */
	bool has_cgroup;
	uint64_t cgroup_id; /* this cgroup and its descendants */
	bool has_uid;
	uid_t uid;

	uint32_t counters_interval_ms;
	uint64_t alloc_bytes;	  /* a sample of allocations each so many */
	uint32_t gpu_api_classes; /* bit i: enum gpu_api_class i (gpu/gpu_api_table.h) */
	uint64_t offcpu_min_ns;	  /* waits that are over sooner are left out */

	/* The network */
	enum net_level net_level;
	enum net_query net_query;
	bool net_hash_names;
	unsigned n_plaintext; /* whose TLS is read in clear text: "pid:1234", "comm:GLOB",
				 "lib:PATH" */
	char plaintext[TRACE_MAX_PLAINTEXT][TRACE_PLAINTEXT_LEN];

	/* Probes of this recording alone (probe/probe_def.h), beside those of all. */
	unsigned n_probes;
	struct probe_def *probes;

	char *command_line; /* of the client, for the trace's attributes */
};

#endif
