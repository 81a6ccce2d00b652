/* SPDX-License-Identifier: Apache-2.0 */
/* control_config.c - what a request to record becomes: defaults, bounds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "control_probes.h"
#include "control_requests.h"
#include "gpu/gpu_api_table.h"
#include "net/net_options.h"

#define DEFAULT_EVENT	    "cpu-clock"
#define DEFAULT_FREQ_HZ	    999
#define MAX_FREQ_HZ	    100000 /* the kernel's own limit is usually lower and is said then */
#define DEFAULT_COUNTERS_MS 1000
#define MIN_COUNTERS_MS	    10
#define MAX_COUNTERS_MS	    3600000
#define DEFAULT_WAIT_NS	    NS_PER_MS
#define MAX_WAIT_NS	    (3600 * NS_PER_SEC)
#define DEFAULT_ALLOC_BYTES (512 * 1024)
#define MAX_ALLOC_BYTES	    (1ull << 40)
#define MAX_COMMAND_LINE    4096

static int choose_sources(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	const struct collector *c;

	for (size_t i = 0; collectors[i]; i++)
		if (req->n_sources == 0 && !collectors[i]->on_demand)
			config->sources |= 1u << i;
	for (size_t k = 0; k < req->n_sources + req->n_without; k++) {
		bool out = k >= req->n_sources;
		const char *name = out ? req->without[k - req->n_sources] : req->sources[k];

		c = collector_by_name(name);
		if (!c) {
			snprintf(why, why_size,
				 "there is no source '%.40s': tracectl status lists them", name);
			return -EINVAL;
		}
		if (out)
			config->sources &= ~(1u << collector_index(c));
		else
			config->sources |= 1u << collector_index(c);
	}
	return 0;
}

static void add_source(struct trace_config *config, const char *name)
{
	config->sources |= 1u << collector_index(collector_by_name(name));
}

/* Asked for with its classes it is there beside the others, whichever they are. */
static int choose_gpu_api(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	config->gpu_api_classes = GPU_API_DEFAULT_CLASSES;
	if (!req->gpu_api)
		return 0;
	add_source(config, "gpu-api");
	if (gpu_api_classes_parse(req->gpu_api, &config->gpu_api_classes) == 0)
		return 0;
	snprintf(why, why_size,
		 "calls of GPU APIs are of the classes launch, submit, present, copy, memory, "
		 "sync, build, setup (default) and draw; or all");
	return -EINVAL;
}

static int choose_plaintext(const StartRequest *req, struct trace_config *config, char *why,
			    size_t why_size)
{
	if (req->n_tls_plaintext > TRACE_MAX_PLAINTEXT) {
		snprintf(why, why_size, "at most %d choices of whose TLS is read",
			 TRACE_MAX_PLAINTEXT);
		return -EINVAL;
	}
	for (size_t i = 0; i < req->n_tls_plaintext; i++) {
		const char *selector = req->tls_plaintext[i];

		if (!net_plaintext_valid(selector)) {
			snprintf(why, why_size,
				 "'%.40s' does not say whose TLS is read: want pid:N, comm:GLOB or "
				 "lib:/PATH, of at most %d bytes",
				 selector, TRACE_PLAINTEXT_LEN - 1);
			return -EINVAL;
		}
		strcpy(config->plaintext[i], selector);
	}
	config->n_plaintext = (unsigned)req->n_tls_plaintext;
	return 0;
}

/* Likewise: who says what of the network is wanted wants the network. */
static int choose_net(const StartRequest *req, struct trace_config *config, char *why,
		      size_t why_size)
{
	if (net_level_parse(req->net, &config->net_level) < 0) {
		snprintf(why, why_size,
			 "of the network there are the levels health, waterfall, syscalls");
		return -EINVAL;
	}
	if (net_query_parse(req->query, &config->net_query) < 0) {
		snprintf(why, why_size, "the query of a URL is one of hide, keep, keys, drop");
		return -EINVAL;
	}
	if (req->names && strcmp(req->names, "plain") != 0 && strcmp(req->names, "hash") != 0) {
		snprintf(why, why_size, "names are plain or hash");
		return -EINVAL;
	}
	config->net_hash_names = req->names && strcmp(req->names, "hash") == 0;
	if (req->net || req->query || req->names || req->n_tls_plaintext)
		add_source(config, "net");
	if (config->net_level == NET_SYSCALLS)
		add_source(config, "syscalls");
	return choose_plaintext(req, config, why, why_size);
}

/* Likewise. The caller frees them, unless this fails. */
static int choose_probes(const StartRequest *req, struct trace_config *config, char *why,
			 size_t why_size)
{
	char reason[PROBE_WHY_LEN];

	if (req->n_probes == 0)
		return 0;
	if (req->n_probes > PROBES_MAX_DEFS) {
		snprintf(why, why_size, "at most %d probes", PROBES_MAX_DEFS);
		return -EINVAL;
	}
	config->probes = calloc(req->n_probes, sizeof(*config->probes));
	if (!config->probes)
		return -ENOMEM;
	for (size_t i = 0; i < req->n_probes; i++) {
		if (control_probe_def(req->probes[i], &config->probes[i], reason) == 0)
			continue;
		snprintf(why, why_size, "%.*s", (int)why_size - 1, reason);
		free(config->probes);
		config->probes = NULL;
		return -EINVAL;
	}
	config->n_probes = (unsigned)req->n_probes;
	add_source(config, "probes");
	return 0;
}

static int choose_filters(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	if (req->n_pids > TRACE_MAX_PIDS) {
		snprintf(why, why_size, "at most %d pids", TRACE_MAX_PIDS);
		return -EINVAL;
	}
	config->n_pids = (uint32_t)req->n_pids;
	if (req->n_pids)
		memcpy(config->pids, req->pids, req->n_pids * sizeof(*req->pids));
	if (req->comm) {
		if (strlen(req->comm) >= sizeof(config->comm_glob)) {
			snprintf(why, why_size, "the pattern of comm has at most %zu bytes",
				 sizeof(config->comm_glob) - 1);
			return -EINVAL;
		}
		strcpy(config->comm_glob, req->comm);
	}
	config->has_cgroup = req->has_cgroup_id;
	config->cgroup_id = req->cgroup_id;
	config->has_uid = req->has_uid;
	config->uid = req->uid;
	return 0;
}

static int choose_sampling(const StartRequest *req, struct trace_config *config, char *why,
			   size_t why_size)
{
	const char *event = req->event ? req->event : DEFAULT_EVENT;

	if (strlen(event) >= sizeof(config->event)) {
		snprintf(why, why_size, "the name of an event has at most %zu bytes",
			 sizeof(config->event) - 1);
		return -EINVAL;
	}
	strcpy(config->event, event);
	if (req->n_more_events >= TRACE_MAX_EVENTS) {
		snprintf(why, why_size, "at most %d events", TRACE_MAX_EVENTS);
		return -EINVAL;
	}
	for (size_t i = 0; i < req->n_more_events; i++) {
		if (strlen(req->more_events[i]) >= TRACE_EVENT_LEN) {
			snprintf(why, why_size, "the name of an event has at most %d bytes",
				 TRACE_EVENT_LEN - 1);
			return -EINVAL;
		}
		strcpy(config->more_events[i], req->more_events[i]);
	}
	config->n_more_events = (unsigned)req->n_more_events;
	config->must_sample = req->event || req->has_freq_hz || req->has_period || req->n_sources;
	config->period = req->has_period ? req->period : 0;
	config->freq_hz = req->has_freq_hz ? req->freq_hz : DEFAULT_FREQ_HZ;
	if (config->freq_hz == 0 || config->freq_hz > MAX_FREQ_HZ) {
		snprintf(why, why_size, "the frequency is 1 to %d Hz", MAX_FREQ_HZ);
		return -EINVAL;
	}
	if (req->has_period && (req->period == 0 || req->period > INT64_MAX)) {
		snprintf(why, why_size, "the period must be at least 1");
		return -EINVAL;
	}
	return 0;
}

int control_requests_config(const StartRequest *req, struct trace_config *config, char *why,
			    size_t why_size)
{
	int r;

	*config = (struct trace_config){ .counters_interval_ms = DEFAULT_COUNTERS_MS,
					 .offcpu_min_ns = DEFAULT_WAIT_NS,
					 .alloc_bytes = DEFAULT_ALLOC_BYTES };
	r = choose_sources(req, config, why, why_size);
	if (r == 0)
		r = choose_gpu_api(req, config, why, why_size);
	if (r == 0)
		r = choose_net(req, config, why, why_size);
	if (r == 0)
		r = choose_filters(req, config, why, why_size);
	if (r == 0)
		r = choose_sampling(req, config, why, why_size);
	if (r < 0)
		return r;
	if (req->has_counters_interval_ms)
		config->counters_interval_ms = req->counters_interval_ms;
	if (config->counters_interval_ms < MIN_COUNTERS_MS ||
	    config->counters_interval_ms > MAX_COUNTERS_MS) {
		snprintf(why, why_size, "counters are read every %d to %d ms", MIN_COUNTERS_MS,
			 MAX_COUNTERS_MS);
		return -EINVAL;
	}
	if (req->has_alloc_bytes)
		config->alloc_bytes = req->alloc_bytes;
	if (config->alloc_bytes == 0 || config->alloc_bytes > MAX_ALLOC_BYTES) {
		snprintf(why, why_size, "a sample of allocations each 1 byte to 1 TiB");
		return -EINVAL;
	}
	if (req->has_offcpu_min_ns)
		config->offcpu_min_ns = req->offcpu_min_ns;
	if (config->offcpu_min_ns > MAX_WAIT_NS) {
		snprintf(why, why_size, "a wait of an hour is recorded in any case");
		return -EINVAL;
	}
	if (req->command_line) {
		config->command_line = strndup(req->command_line, MAX_COMMAND_LINE);
		if (!config->command_line)
			return -ENOMEM;
	}
	r = choose_probes(req, config, why, why_size);
	if (r < 0) {
		free(config->command_line);
		config->command_line = NULL;
	}
	return r;
}
