/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - tracerd.conf: "key = value" lines in sections, with bounds. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "io.h"
#include "text.h"
#include "trigger/trigger_match.h"

#define MAX_FILE (64 * 1024)
#define MAX_LINE 512

enum key_type { KEY_BYTES, KEY_NUMBER, KEY_WORD, KEY_BOOL, KEY_USERS };

struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	uint64_t min, max;
};

static const struct key daemon_keys[] = {
	/* Smaller loses events in every burst; larger is memory that nothing fills. */
	{ "ring_size", KEY_BYTES, offsetof(struct config, ring_bytes), 64 << 10, 1ull << 30 },
	/* Room for a few blocks at least. */
	{ "client_queue", KEY_BYTES, offsetof(struct config, client_queue_bytes), 1 << 20,
	  1ull << 30 },
	/* A session's slot is a stream of its own in the kernel; the flight recorder has one. */
	{ "max_sessions", KEY_NUMBER, offsetof(struct config, max_sessions), 1,
	  EVENT_MAX_STREAMS - 1 },
	{ "max_clients", KEY_NUMBER, offsetof(struct config, max_clients), 1, 1024 },
	{ "group", KEY_WORD, offsetof(struct config, group), 0, 63 },
	{ "users", KEY_USERS, offsetof(struct config, users), 0, 0 },
	{ "user_sessions", KEY_NUMBER, offsetof(struct config, user_sessions), 1,
	  EVENT_MAX_STREAMS },
	{ "user_starts", KEY_NUMBER, offsetof(struct config, user_starts), 1, 1000 },
	{ "user_queue", KEY_BYTES, offsetof(struct config, user_queue_bytes), 1 << 20, 1ull << 30 },
	{ NULL, KEY_WORD, 0, 0, 0 },
};

static const struct key flight_keys[] = {
	{ "enabled", KEY_BOOL, offsetof(struct config, flight.enabled), 0, 0 },
	/* Less holds no second of a busy machine; all of it is there twice while it is copied. */
	{ "size", KEY_BYTES, offsetof(struct config, flight.size_bytes), 1 << 20, 4ull << 30 },
	{ "sources", KEY_WORD, offsetof(struct config, flight.sources), 0, 255 },
	{ "freq", KEY_NUMBER, offsetof(struct config, flight.freq_hz), 1, 20000 },
	{ "event", KEY_WORD, offsetof(struct config, flight.event), 0, 63 },
	{ NULL, KEY_WORD, 0, 0, 0 },
};

static const struct section {
	const char *name;
	const struct key *keys;
} sections[] = {
	{ "daemon", daemon_keys },
	{ "flight", flight_keys },
};

/* One of several; its keys are read by trigger_config.c. */
static const struct section trigger_section = { "trigger NAME", NULL };

void config_defaults(struct config *config)
{
	*config = (struct config){
		.ring_bytes = 16 << 20,
		.client_queue_bytes = 8 << 20,
		.max_sessions = 16,
		.max_clients = 32, /* while all sessions are in use, status is answered */
		.group = "tracer",
		.users = "none",
		.user_sessions = 2,
		.user_starts = 10,
		.user_queue_bytes = 2 << 20,
		.flight = {
			.size_bytes = 64 << 20,
			.freq_hz = 99,
			.sources = "cpu,counters,probes",
			.event = "cpu-clock",
		},
	};
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

static int set_bool(const char *value, bool *ret)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return -EINVAL;
	*ret = value[0] == 'y';
	return 0;
}

static int set_key(const struct key *key, const char *value, struct config *config)
{
	void *field = (char *)config + key->offset;
	uint64_t n;
	int r;

	if (key->type == KEY_BOOL)
		return set_bool(value, field);
	if (key->type == KEY_WORD) {
		if (strlen(value) > key->max)
			return -ERANGE;
		strcpy(field, value);
		return 0;
	}
	if (key->type == KEY_USERS) {
		if (strcmp(value, "own") != 0 && strcmp(value, "none") != 0)
			return -EINVAL;
		strcpy(field, value);
		return 0;
	}
	if (key->type == KEY_BYTES)
		r = text_bytes(value, key->max, &n);
	else
		r = text_u64(value, 0, key->max, &n);
	if (r == 0 && n < key->min)
		r = -ERANGE;
	if (r == 0)
		*(uint64_t *)field = n;
	return r;
}

/* Why set_key() has not taken it. */
static void explain(const struct key *key, const char *value, char *err, size_t err_size)
{
	if (key->type == KEY_BOOL)
		snprintf(err, err_size, "%s = '%s' is neither yes nor no", key->name, value);
	else if (key->type == KEY_USERS)
		snprintf(err, err_size, "%s = '%s' is neither own nor none", key->name, value);
	else if (key->type == KEY_WORD)
		snprintf(err, err_size, "%s = '%s' has more than %llu bytes", key->name, value,
			 (unsigned long long)key->max);
	else
		snprintf(err, err_size, "%s = '%s' is not between %llu and %llu", key->name, value,
			 (unsigned long long)key->min, (unsigned long long)key->max);
}

static int begin_section(char *line, const struct section **section, struct config *config,
			 char *err, size_t err_size)
{
	size_t len = strlen(line);

	if (strncmp(line, "[trigger ", 9) == 0 && line[len - 1] == ']') {
		line[len - 1] = '\0';
		*section = &trigger_section;
		return trigger_config_begin(&config->triggers, trim(line + 9), err, err_size);
	}
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t n = strlen(sections[i].name);

		if (len != n + 2 || line[len - 1] != ']' ||
		    memcmp(line + 1, sections[i].name, n) != 0)
			continue;
		*section = &sections[i];
		return 0;
	}
	snprintf(err, err_size,
		 "unknown section %s: there are [daemon], [flight] and [trigger NAME]", line);
	return -EINVAL;
}

static int parse_line(char *line, const struct section **section, struct config *config, char *err,
		      size_t err_size)
{
	char *value = strchr(line, '=');
	const char *name;

	if (line[0] == '[')
		return begin_section(line, section, config, err, err_size);
	if (!value) {
		snprintf(err, err_size, "'%s' is not of the form key = value", line);
		return -EINVAL;
	}
	*value++ = '\0';
	name = trim(line);
	value = trim(value);
	if (*section == &trigger_section)
		return trigger_config_key(&config->triggers, name, value, err, err_size);
	for (const struct key *key = (*section)->keys; key->name; key++) {
		if (strcmp(key->name, name) != 0)
			continue;
		if (set_key(key, value, config) == 0)
			return 0;
		explain(key, value, err, err_size);
		return -EINVAL;
	}
	snprintf(err, err_size, "unknown key '%s' in [%s]: see tracerd(8)", name, (*section)->name);
	return -EINVAL;
}

static bool has_source(const struct flight_config *flight, const char *source)
{
	char names[sizeof(flight->sources)], *save = NULL;

	strcpy(names, flight->sources);
	for (char *name = strtok_r(names, ", \t", &save); name;
	     name = strtok_r(NULL, ", \t", &save))
		if (strcmp(name, source) == 0)
			return true;
	return false;
}

/* What is not recorded never fires. */
static int check_trigger(const struct flight_config *flight, const struct trigger_config *c,
			 char *err, size_t err_size)
{
	for (unsigned i = 0; i < c->n_on; i++) {
		char why[TRIGGER_WHY_LEN];
		struct trigger_spec spec;
		const char *source;

		if (trigger_spec_parse(c->on[i], &spec, why) < 0)
			continue; /* it was taken */
		source = trigger_source(&spec);
		if (!source || has_source(flight, source))
			continue;
		snprintf(err, err_size,
			 "[trigger %s]: '%s' needs source %s: add it to sources in [flight]",
			 c->name, spec.text, source);
		return -EINVAL;
	}
	return 0;
}

/* What no line is wrong about by itself. */
static int check_triggers(const struct config *config, char *err, size_t err_size)
{
	const struct trigger_configs *t = &config->triggers;
	int r = 0;

	if (t->n > 0 && !config->flight.enabled) {
		snprintf(err, err_size,
			 "[trigger %s] needs the flight recorder: enabled = yes in [flight]",
			 t->list[0].name);
		return -EINVAL;
	}
	for (unsigned i = 0; r == 0 && i < t->n; i++)
		r = check_trigger(&config->flight, &t->list[i], err, err_size);
	return r < 0 ? r : trigger_config_check(t, err, err_size);
}

int config_parse(const char *name, const char *text, size_t len, struct config *config, char *err,
		 size_t err_size)
{
	const struct section *section = &sections[0]; /* of what stands before the first */
	char why[MAX_LINE + 128];
	unsigned n_line = 0;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		char line[MAX_LINE], *p;
		int r = 0;

		n_line++;
		if (n >= sizeof(line)) {
			snprintf(err, err_size, "%s:%u: line is too long", name, n_line);
			return -EINVAL;
		}
		if (memchr(text, '\0', n)) {
			snprintf(err, err_size, "%s:%u: this is not text", name, n_line);
			return -EINVAL;
		}
		memcpy(line, text, n);
		line[n] = '\0';
		p = trim(line);
		if (*p && *p != '#' && *p != ';')
			r = parse_line(p, &section, config, why, sizeof(why));
		if (r < 0) {
			snprintf(err, err_size, "%s:%u: %s", name, n_line, why);
			return r;
		}
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	if (check_triggers(config, why, sizeof(why)) < 0) {
		snprintf(err, err_size, "%s: %s", name, why);
		return -EINVAL;
	}
	return 0;
}

int config_read(const char *path, struct config *config, char *err, size_t err_size)
{
	struct buf text = { 0 };
	int r = io_read_all(path, MAX_FILE, &text);

	if (r == 0)
		r = config_parse(path, (const char *)text.data, text.len, config, err, err_size);
	else if (r != -ENOENT)
		snprintf(err, err_size, "%s: %s", path, strerror(-r));
	else
		r = 0;
	buf_done(&text);
	return r;
}
