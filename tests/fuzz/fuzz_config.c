/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as tracerd.conf: what is taken is within bounds, what is refused is explained. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_trigger(const struct trigger_config *t, bool whole)
{
	struct trigger_spec spec;
	char why[TRIGGER_WHY_LEN];

	if (!memchr(t->name, 0, sizeof(t->name)) || !t->name[0] || strchr(t->name, '/') ||
	    t->name[0] == '.' || t->n_on > TRIGGER_CONFIG_ON || (whole && t->n_on == 0))
		abort();
	if (t->keep < 1 || t->keep > 1000 || t->size_bytes < 1 << 20 || t->min_interval_ns == 0)
		abort();
	for (unsigned i = 0; i < t->n_on; i++)
		if (trigger_spec_parse(t->on[i], &spec, why) < 0)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;
	char err[200] = "";
	int r;

	config_defaults(&config);
	r = config_parse("conf", (const char *)data, size, &config, err, sizeof(err));
	if (r != 0 && (strncmp(err, "conf:", 5) != 0 || strlen(err) >= sizeof(err)))
		abort();
	if (config.ring_bytes < 64 << 10 || config.ring_bytes > 1 << 30 ||
	    config.client_queue_bytes < 1 << 20 || config.client_queue_bytes > 1 << 30 ||
	    config.max_sessions < 1 || config.max_sessions > EVENT_MAX_STREAMS ||
	    config.max_clients < 1 || config.max_clients > 1024 ||
	    !memchr(config.group, 0, sizeof(config.group)))
		abort();
	if (config.triggers.n > TRIGGER_CONFIGS)
		abort();
	for (unsigned i = 0; i < config.triggers.n; i++)
		check_trigger(&config.triggers.list[i], r == 0);
	return 0;
}
