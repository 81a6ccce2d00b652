/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - tracerd.conf: "key = value" lines, with bounds. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "io.h"
#include "text.h"

#define MAX_FILE (64 * 1024)
#define MAX_LINE 512

enum key_type { KEY_BYTES, KEY_NUMBER, KEY_WORD, KEY_USERS };

static const struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	uint64_t min, max;
} keys[] = {
	/* Smaller loses events in every burst; larger is memory that nothing fills. */
	{ "ring_size", KEY_BYTES, offsetof(struct config, ring_bytes), 64 << 10, 1ull << 30 },
	/* Room for a few blocks at least. */
	{ "client_queue", KEY_BYTES, offsetof(struct config, client_queue_bytes), 1 << 20,
	  1ull << 30 },
	/* A session's slot is a stream of its own in the kernel. */
	{ "max_sessions", KEY_NUMBER, offsetof(struct config, max_sessions), 1, EVENT_MAX_STREAMS },
	{ "max_clients", KEY_NUMBER, offsetof(struct config, max_clients), 1, 1024 },
	{ "group", KEY_WORD, offsetof(struct config, group), 0, 63 },
	{ "users", KEY_USERS, offsetof(struct config, users), 0, 0 },
	{ "user_sessions", KEY_NUMBER, offsetof(struct config, user_sessions), 1,
	  EVENT_MAX_STREAMS },
	{ "user_queue", KEY_BYTES, offsetof(struct config, user_queue_bytes), 1 << 20, 1ull << 30 },
};

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
		.user_queue_bytes = 2 << 20,
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

static int set_key(const struct key *key, const char *value, struct config *config)
{
	void *field = (char *)config + key->offset;
	uint64_t n;
	int r;

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

static int parse_line(char *line, struct config *config, char *err, size_t err_size)
{
	char *value = strchr(line, '=');
	const char *name;

	if (line[0] == '[') {
		if (strcmp(line, "[daemon]") == 0)
			return 0;
		snprintf(err, err_size, "unknown section %s: there is [daemon]", line);
		return -EINVAL;
	}
	if (!value) {
		snprintf(err, err_size, "'%s' is not of the form key = value", line);
		return -EINVAL;
	}
	*value++ = '\0';
	name = trim(line);
	value = trim(value);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if (set_key(&keys[i], value, config) == 0)
			return 0;
		if (keys[i].type == KEY_WORD)
			snprintf(err, err_size, "%s = '%s' has more than %llu bytes", name, value,
				 (unsigned long long)keys[i].max);
		else if (keys[i].type == KEY_USERS)
			snprintf(err, err_size, "%s = '%s' is neither own nor none", name, value);
		else
			snprintf(err, err_size, "%s = '%s' is not between %llu and %llu", name,
				 value, (unsigned long long)keys[i].min,
				 (unsigned long long)keys[i].max);
		return -EINVAL;
	}
	snprintf(err, err_size, "unknown key '%s': see tracerd(8)", name);
	return -EINVAL;
}

int config_parse(const char *name, const char *text, size_t len, struct config *config, char *err,
		 size_t err_size)
{
	unsigned n_line = 0;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		char line[MAX_LINE], *p, why[MAX_LINE + 128];
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
			r = parse_line(p, config, why, sizeof(why));
		if (r < 0) {
			snprintf(err, err_size, "%s:%u: %s", name, n_line, why);
			return r;
		}
		text += n + (end != NULL);
		len -= n + (end != NULL);
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
