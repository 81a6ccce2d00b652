/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - tracerd.conf: "key = value" lines in sections, with bounds. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigger/trigger_config.h"

#define CONFIG_PATH "/etc/tracer/tracerd.conf"

/* [flight] */
struct flight_config {
	bool enabled;
	uint64_t size_bytes;
	uint64_t freq_hz;
	char sources[256]; /* "cpu,sched": names of collectors */
	char event[64];	   /* of the samples */
};

struct config {
	uint64_t ring_bytes;	     /* ring_size: of each source's BPF ring */
	uint64_t client_queue_bytes; /* client_queue: trace data that waits for a slow client */
	uint64_t max_sessions;
	uint64_t max_clients;
	char group[64];		   /* who may connect besides root */
	char users[8];		   /* whom all others may see: "own" processes, "none" */
	uint64_t user_sessions;	   /* of each of them at one time */
	uint64_t user_starts;	   /* of recordings, of each of them a minute */
	uint64_t user_queue_bytes; /* user_queue: as client_queue, of theirs */
	struct flight_config flight;
	struct trigger_configs triggers;
};

void config_defaults(struct config *config);

/*
 * Reads `path` over what `config` holds. A file that does not exist is fine
 * (-ENOENT is not returned). A bad line gives -EINVAL, and `err` says which and
 * what is allowed.
 */
int config_read(const char *path, struct config *config, char *err, size_t err_size);

/* The same from memory; `name` is for messages. */
int config_parse(const char *name, const char *text, size_t len, struct config *config, char *err,
		 size_t err_size);

#endif
