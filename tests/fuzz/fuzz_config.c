/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as tracerd.conf: what is taken is within bounds, what is refused is explained. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	return 0;
}
