/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_config.h - sections [trigger NAME] of tracerd.conf: what fires, and how much of what
 * the flight recorder has is written to a file then.
 */
#ifndef TRIGGER_CONFIG_H
#define TRIGGER_CONFIG_H

#include "trigger/trigger_spec.h"

#define TRIGGER_CONFIGS	    16
#define TRIGGER_CONFIG_NAME 32
#define TRIGGER_CONFIG_ON   8

struct trigger_config {
	char name[TRIGGER_CONFIG_NAME]; /* letters, digits, - and _: part of a file's name */
	unsigned n_on;
	char on[TRIGGER_CONFIG_ON][TRIGGER_SPEC_LEN]; /* that trigger_spec_parse() takes */
	uint64_t after_ns;			      /* of what follows */
	uint64_t last_ns;			      /* 0: all there is */
	uint64_t min_interval_ns;		      /* between two files */
	uint64_t keep, size_bytes; /* files, and bytes of all of them: the oldest go first */
};

struct trigger_configs {
	unsigned n;
	struct trigger_config list[TRIGGER_CONFIGS];
};

/*
 * A section begins; a "key = value" of the last one. -EINVAL: `err` says what is wrong and
 * what is allowed.
 */
int trigger_config_begin(struct trigger_configs *configs, const char *name, char *err,
			 size_t err_size);
int trigger_config_key(struct trigger_configs *configs, const char *key, const char *value,
		       char *err, size_t err_size);
/* When all of them are read. */
int trigger_config_check(const struct trigger_configs *configs, char *err, size_t err_size);

#endif
