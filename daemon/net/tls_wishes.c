/* SPDX-License-Identifier: Apache-2.0 */
/* tls_wishes.c - whose TLS the sessions want to be read in clear text. */
#include "tls_wishes.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/process_table.h"

struct tls_wish {
	unsigned n;
	struct tls_selector selectors[TRACE_MAX_PLAINTEXT];
	char text[TRACE_MAX_PLAINTEXT][TRACE_PLAINTEXT_LEN];
};

int tls_wishes_set(struct tls_wishes *w, unsigned slot, const struct trace_config *config)
{
	struct tls_wish *wish = calloc(1, sizeof(*wish));

	if (!wish)
		return -ENOMEM;
	for (; wish->n < config->n_plaintext; wish->n++) {
		memcpy(wish->text[wish->n], config->plaintext[wish->n], sizeof(wish->text[0]));
		if (tls_selector_parse(wish->text[wish->n], &wish->selectors[wish->n]) < 0) {
			free(wish);
			return -EINVAL;
		}
	}
	free(w->slots[slot]);
	w->slots[slot] = wish;
	return 0;
}

bool tls_wishes_clear(struct tls_wishes *w, unsigned slot)
{
	bool had = w->slots[slot];

	free(w->slots[slot]);
	w->slots[slot] = NULL;
	return had;
}

size_t tls_wishes_count(const struct tls_wishes *w)
{
	size_t n = 0;

	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		n += w->slots[i] != NULL;
	return n;
}

const struct tls_selector *tls_wishes_at(const struct tls_wishes *w, size_t i)
{
	for (size_t slot = 0; slot < EVENT_MAX_STREAMS; slot++) {
		const struct tls_wish *wish = w->slots[slot];

		if (wish && i < wish->n)
			return &wish->selectors[i];
		i -= wish ? wish->n : 0;
	}
	return NULL;
}

bool tls_wishes_has(const struct tls_wishes *w, unsigned slot, enum tls_selector_kind kind)
{
	const struct tls_wish *wish = w->slots[slot];

	for (unsigned i = 0; wish && i < wish->n; i++)
		if (wish->selectors[i].kind == kind)
			return true;
	return false;
}

bool tls_wishes_any(const struct tls_wishes *w, enum tls_selector_kind kind)
{
	for (unsigned slot = 0; slot < EVENT_MAX_STREAMS; slot++)
		if (tls_wishes_has(w, slot, kind))
			return true;
	return false;
}

bool tls_wishes_pid(const struct tls_wishes *w, const struct process_table *pt, uint32_t tgid)
{
	const struct tls_selector *s;

	for (size_t i = 0; (s = tls_wishes_at(w, i)); i++)
		if (s->kind == TLS_BY_PID && process_table_descends(pt, tgid, &s->pid, 1))
			return true;
	return false;
}

bool tls_wishes_comm(const struct tls_wishes *w, const char *comm)
{
	const struct tls_selector *s;

	for (size_t i = 0; (s = tls_wishes_at(w, i)); i++)
		if (s->kind == TLS_BY_COMM && fnmatch(s->text, comm, 0) == 0)
			return true;
	return false;
}

bool tls_wishes_program(const struct tls_wishes *w, const char *name)
{
	char comm[EVENT_COMM_LEN];
	const struct tls_selector *s;

	snprintf(comm, sizeof(comm), "%s", name);
	for (size_t i = 0; (s = tls_wishes_at(w, i)); i++)
		if (s->kind == TLS_BY_COMM && !strchr("*?[", s->text[0]) &&
		    fnmatch(s->text, comm, 0) == 0)
			return true;
	return false;
}

bool tls_wishes_lib(const struct tls_wishes *w, const char *path)
{
	const struct tls_selector *s;

	for (size_t i = 0; (s = tls_wishes_at(w, i)); i++)
		if (s->kind == TLS_BY_LIB && tls_selector_is_lib(s->text, path))
			return true;
	return false;
}

int tls_wishes_globs(const struct tls_wishes *w, struct net_tls_globs *ret)
{
	const struct tls_selector *s;

	ret->n = 0;
	for (size_t i = 0; (s = tls_wishes_at(w, i)); i++) {
		if (s->kind != TLS_BY_COMM)
			continue;
		if (ret->n == NET_TLS_MAX_GLOBS)
			return -E2BIG;
		(void)tls_glob_compile(s->text, &ret->globs[ret->n++]);
	}
	return 0;
}
