/* SPDX-License-Identifier: Apache-2.0 */
/* net_options.c - the network's part of a trace_config, as words. */
#include "net/net_options.h"

#include <errno.h>
#include <string.h>

#include "tls_libraries.h"

static const char *const levels[] = {
	[NET_HEALTH] = "health",
	[NET_WATERFALL] = "waterfall",
	[NET_SYSCALLS] = "syscalls",
};

static const char *const queries[] = {
	[NET_QUERY_HIDE] = "hide",
	[NET_QUERY_KEEP] = "keep",
	[NET_QUERY_KEYS] = "keys",
	[NET_QUERY_DROP] = "drop",
};

#define N_LEVELS  (sizeof(levels) / sizeof(levels[0]))
#define N_QUERIES (sizeof(queries) / sizeof(queries[0]))

const char *net_level_name(enum net_level level)
{
	return levels[level];
}

const char *net_query_name(enum net_query query)
{
	return queries[query];
}

static int find(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -EINVAL;
}

int net_level_parse(const char *word, enum net_level *ret)
{
	int i = word ? find(word, levels, N_LEVELS) : NET_WATERFALL;

	if (i < 0)
		return i;
	*ret = (enum net_level)i;
	return 0;
}

int net_query_parse(const char *word, enum net_query *ret)
{
	int i = word ? find(word, queries, N_QUERIES) : NET_QUERY_HIDE;

	if (i < 0)
		return i;
	*ret = (enum net_query)i;
	return 0;
}

bool net_plaintext_valid(const char *selector)
{
	struct tls_selector parsed;

	return strlen(selector) < TRACE_PLAINTEXT_LEN && tls_selector_parse(selector, &parsed) == 0;
}
