/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_names.c - what the pieces of code in a HotSpot's code cache are called. */
#include "hotspot_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "hotspot_memory.h"

/* The names of blobs are constants of the JVM, some hundred. */
#define MAX_BLOB_NAMES 4096
#define MAX_BLOB_NAME  64

struct hotspot_names {
	struct hash *blobs; /* address -> name */
};

int hotspot_names_new(struct hotspot_names **ret)
{
	struct hotspot_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	r = hash_new(&n->blobs);
	if (r < 0) {
		free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void hotspot_names_free(struct hotspot_names *n)
{
	size_t pos = 0;
	void *value;

	if (!n)
		return;
	while (hash_next(n->blobs, &pos, NULL, NULL, &value))
		free(value);
	hash_free(n->blobs);
	free(n);
}

const char *hotspot_names_blob(struct hotspot_names *n, struct hotspot_memory *m, uint64_t at)
{
	char name[MAX_BLOB_NAME], *kept = hash_get_u64(n->blobs, at);

	if (kept)
		return kept;
	if (!hotspot_memory_string(m, at, name, sizeof(name)) || name[0] == '\0' ||
	    hash_count(n->blobs) == MAX_BLOB_NAMES)
		return "";
	kept = strdup(name);
	if (!kept || hash_set_u64(n->blobs, at, kept) < 0) {
		free(kept);
		return "";
	}
	return kept;
}

/* The text of the Symbol at `at`, into `size` bytes without a NUL. */
static size_t read_symbol(const struct hotspot_layout *l, struct hotspot_memory *m, uint64_t at,
			  char *dst, size_t size)
{
	uint64_t len;

	if (!hotspot_fetch(l, m, HOTSPOT_SYMBOL_LENGTH, at, &len))
		return 0;
	if (len > size)
		len = size;
	if (len == 0 || !hotspot_memory_read(m, at + l->fields[HOTSPOT_SYMBOL_BODY].at, dst, len))
		return 0;
	return len;
}

size_t hotspot_method_name(const struct hotspot_layout *l, struct hotspot_memory *m,
			   uint64_t method, char ret[HOTSPOT_NAME_MAX])
{
	uint64_t constants, pool, index, holder, symbol;
	size_t len, n;

	if (!hotspot_fetch(l, m, HOTSPOT_METHOD_CONST, method, &constants) ||
	    !hotspot_fetch(l, m, HOTSPOT_CONST_POOL, constants, &pool) ||
	    !hotspot_fetch(l, m, HOTSPOT_CONST_NAME, constants, &index) ||
	    !hotspot_fetch(l, m, HOTSPOT_POOL_HOLDER, pool, &holder) ||
	    !hotspot_fetch(l, m, HOTSPOT_KLASS_NAME, holder, &symbol))
		return 0;
	len = read_symbol(l, m, symbol, ret, HOTSPOT_NAME_MAX / 4 * 3);
	if (len == 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (ret[i] == '/')
			ret[i] = '.';
	ret[len++] = '.';
	/* The entries of the pool follow it, a word each. */
	if (!hotspot_memory_read(m, pool + l->pool_size + index * 8, &symbol, sizeof(symbol)))
		return 0;
	n = read_symbol(l, m, symbol, ret + len, HOTSPOT_NAME_MAX - 1 - len);
	ret[len + n] = '\0';
	return n ? len + n : 0;
}
