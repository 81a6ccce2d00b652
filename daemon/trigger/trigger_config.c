/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_config.c - sections [trigger NAME], with bounds. */
#include "trigger/trigger_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "text.h"

#define MAX_TIME_NS (24 * 3600 * NS_PER_SEC)

int trigger_config_begin(struct trigger_configs *configs, const char *name, char *err,
			 size_t err_size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	struct trigger_config *c = &configs->list[configs->n];
	size_t len = strlen(name);

	if (len == 0 || len >= TRIGGER_CONFIG_NAME || strspn(name, allowed) != len) {
		snprintf(err, err_size,
			 "[trigger %.40s]: a name has 1 to %d letters, digits, - and _", name,
			 TRIGGER_CONFIG_NAME - 1);
		return -EINVAL;
	}
	for (unsigned i = 0; i < configs->n; i++)
		if (strcmp(configs->list[i].name, name) == 0) {
			snprintf(err, err_size, "[trigger %s] is there twice", name);
			return -EINVAL;
		}
	if (configs->n == TRIGGER_CONFIGS) {
		snprintf(err, err_size, "[trigger %s]: there are %d already, which is all", name,
			 TRIGGER_CONFIGS);
		return -EINVAL;
	}
	*c = (struct trigger_config){ .min_interval_ns = 60 * NS_PER_SEC,
				      .keep = 5,
				      .size_bytes = 1ull << 30 };
	memcpy(c->name, name, len + 1);
	configs->n++;
	return 0;
}

static int add_on(struct trigger_config *c, const char *value, char *err, size_t err_size)
{
	char why[TRIGGER_WHY_LEN];
	struct trigger_spec spec;

	if (c->n_on == TRIGGER_CONFIG_ON) {
		snprintf(err, err_size, "[trigger %s] has %d lines 'on' already, which is all",
			 c->name, TRIGGER_CONFIG_ON);
		return -EINVAL;
	}
	if (trigger_spec_parse(value, &spec, why) < 0) {
		snprintf(err, err_size, "%s", why);
		return -EINVAL;
	}
	strcpy(c->on[c->n_on++], spec.text);
	return 0;
}

/* "all" is 0, where it is allowed. */
static int set_time(const char *value, uint64_t min_ns, bool may_be_all, uint64_t *ret)
{
	uint64_t ns;

	if (may_be_all && strcmp(value, "all") == 0) {
		*ret = 0;
		return 0;
	}
	if (text_duration_ns(value, MAX_TIME_NS, &ns) < 0 || ns < min_ns)
		return -EINVAL;
	*ret = ns;
	return 0;
}

static int set_bytes(const char *value, uint64_t *ret)
{
	uint64_t n;

	if (text_bytes(value, 1ull << 40, &n) < 0 || n < 1 << 20)
		return -EINVAL;
	*ret = n;
	return 0;
}

int trigger_config_key(struct trigger_configs *configs, const char *key, const char *value,
		       char *err, size_t err_size)
{
	struct trigger_config *c = &configs->list[configs->n - 1];
	const char *allowed;
	int r;

	if (strcmp(key, "on") == 0)
		return add_on(c, value, err, err_size);
	if (strcmp(key, "after") == 0) {
		allowed = "0s to 24h";
		r = set_time(value, 0, false, &c->after_ns);
	} else if (strcmp(key, "last") == 0) {
		allowed = "all, or 1s to 24h";
		r = set_time(value, NS_PER_SEC, true, &c->last_ns);
	} else if (strcmp(key, "min_interval") == 0) {
		allowed = "1s to 24h";
		r = set_time(value, NS_PER_SEC, false, &c->min_interval_ns);
	} else if (strcmp(key, "keep") == 0) {
		allowed = "1 to 1000 files";
		r = text_u64(value, 1, 1000, &c->keep);
	} else if (strcmp(key, "max_size") == 0) {
		allowed = "1M to 1024G";
		r = set_bytes(value, &c->size_bytes);
	} else {
		snprintf(err, err_size,
			 "unknown key '%.40s' in [trigger %s]: there are on, after, last, "
			 "min_interval, keep and max_size",
			 key, c->name);
		return -EINVAL;
	}
	if (r < 0)
		snprintf(err, err_size, "%s = '%.60s' is not one of: %s", key, value, allowed);
	return r < 0 ? -EINVAL : 0;
}

int trigger_config_check(const struct trigger_configs *configs, char *err, size_t err_size)
{
	for (unsigned i = 0; i < configs->n; i++)
		if (configs->list[i].n_on == 0) {
			snprintf(err, err_size,
				 "[trigger %s] waits for nothing: it needs on = SPEC, see "
				 "tracerd(8)",
				 configs->list[i].name);
			return -EINVAL;
		}
	return 0;
}
