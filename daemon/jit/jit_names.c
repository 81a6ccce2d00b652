/* SPDX-License-Identifier: Apache-2.0 */
/* jit_names.c - what the names that compilers give their code tell. */
#include "jit_names.h"

#include <stdint.h>
#include <string.h>

#include "jit_map.h"

/* Tags of code that comes from a script (V8: src/logging/code-events.h). */
static const char *const tags[] = { "LazyCompile:", "Function:", "Script:", "Eval:", "JS:" };

static bool is_script(const char *name, size_t len, size_t *ret_tag)
{
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		*ret_tag = strlen(tags[i]);
		if (len > *ret_tag && memcmp(name, tags[i], *ret_tag) == 0)
			return true;
	}
	return false;
}

/* ":123" at the end; cuts it off. */
static bool take_number(const char *s, size_t *len, uint32_t *ret)
{
	size_t n = *len;
	uint32_t value = 0;

	while (n > 0 && s[n - 1] >= '0' && s[n - 1] <= '9')
		n--;
	if (n == *len || *len - n > 9 || n == 0 || s[n - 1] != ':')
		return false;
	for (size_t i = n; i < *len; i++)
		value = value * 10 + (uint32_t)(s[i] - '0');
	*len = n - 1;
	*ret = value;
	return true;
}

bool jit_name_source(const char *name, size_t len, struct jit_line_info *ret)
{
	uint32_t last, line;
	const char *blank;
	size_t tag;

	if (!is_script(name, len, &tag) || !take_number(name, &len, &last))
		return false;
	if (!take_number(name, &len, &line))
		line = last; /* else that was the column */
	if (len <= tag)
		return false;
	/* The function has no blank in its name, and may have none at all. */
	blank = memchr(name + tag, ' ', len - tag);
	if (!blank || blank + 1 == name + len)
		return false;
	*ret = (struct jit_line_info){ .file = blank + 1,
				       .file_len = (size_t)(name + len - blank - 1),
				       .line = line };
	return true;
}
