/* SPDX-License-Identifier: Apache-2.0 */
/* tls_wishes.h - whose TLS the sessions want to be read in clear text. */
#ifndef TLS_WISHES_H
#define TLS_WISHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "tls_libraries.h"
#include "trace_config.h"

struct process_table;

/* Zeroed, there are none. */
struct tls_wishes {
	struct tls_wish *slots[EVENT_MAX_STREAMS]; /* NULL: no session that wants anything */
};

/* -EINVAL: a selector is none. */
int tls_wishes_set(struct tls_wishes *w, unsigned slot, const struct trace_config *config);
/* Was there one? */
bool tls_wishes_clear(struct tls_wishes *w, unsigned slot);

size_t tls_wishes_count(const struct tls_wishes *w); /* sessions */
/* One after the other; NULL: no more. */
const struct tls_selector *tls_wishes_at(const struct tls_wishes *w, size_t i);
bool tls_wishes_has(const struct tls_wishes *w, unsigned slot, enum tls_selector_kind kind);
bool tls_wishes_any(const struct tls_wishes *w, enum tls_selector_kind kind);

/* Is it, or a process that it descends from, asked for by its number? */
bool tls_wishes_pid(const struct tls_wishes *w, const struct process_table *pt, uint32_t tgid);
bool tls_wishes_comm(const struct tls_wishes *w, const char *comm);
/* May a program of this file name become such a process? No, when it could be any. */
bool tls_wishes_program(const struct tls_wishes *w, const char *name);
bool tls_wishes_lib(const struct tls_wishes *w, const char *path);

/* For the kernel. -E2BIG: there are too many; the others are there. */
int tls_wishes_globs(const struct tls_wishes *w, struct net_tls_globs *ret);

#endif
