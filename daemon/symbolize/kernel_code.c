/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_code.c - code of the kernel that comes and goes: who was where when. */
#include "kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "kallsyms.h"

/* Samples wait for 3 s at most, and one that was in it may be younger than its end. */
#define KEEP_NS (10 * NS_PER_SEC)

/*
 * A machine has some hundred at a time; about 150 bytes each. With more than that
 * in ten seconds, /proc/kallsyms has to do.
 */
#define MAX_PIECES 32768

struct piece {
	uint64_t start, end;
	uint64_t from_ns, until_ns; /* UINT64_MAX: it is still there */
	uint64_t id;
	const char *module; /* static */
};

struct kernel_code {
	struct piece *pieces; /* by start */
	struct hash *names;   /* of each by its id, on the heap */
	size_t n, cap;
	uint64_t max_len; /* of them: how far back one may begin that covers an address */
	uint64_t last_id;
};

int kernel_code_new(struct kernel_code **ret)
{
	struct kernel_code *kc = calloc(1, sizeof(*kc));

	if (!kc)
		return -ENOMEM;
	if (hash_new(&kc->names) < 0) {
		free(kc);
		return -ENOMEM;
	}
	*ret = kc;
	return 0;
}

void kernel_code_free(struct kernel_code *kc)
{
	if (!kc)
		return;
	for (size_t i = 0; i < kc->n; i++)
		free(hash_remove_u64(kc->names, kc->pieces[i].id));
	hash_free(kc->names);
	free(kc->pieces);
	free(kc);
}

/* The first piece that begins at `addr` or behind it. */
static size_t first_from(const struct kernel_code *kc, uint64_t addr)
{
	size_t lo = 0, hi = kc->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (kc->pieces[mid].start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first piece that may reach as far as `addr`. */
static size_t first_around(const struct kernel_code *kc, uint64_t addr)
{
	return first_from(kc, addr > kc->max_len ? addr - kc->max_len : 0);
}

/* As /proc/kallsyms calls those that have such symbols. */
static const char *module_of(const struct kernel_change *change)
{
	static const char kprobe[] = "kprobe_";

	if (change->is_bpf)
		return "[bpf]";
	if (change->name_len >= strlen(kprobe) && memcmp(change->name, kprobe, strlen(kprobe)) == 0)
		return "[__builtin__kprobes]";
	return "[__builtin__ftrace]";
}

/* Room for one more. */
static int grow(struct kernel_code *kc)
{
	size_t cap = kc->cap ? 2 * kc->cap : 64;
	struct piece *grown;

	if (kc->n == MAX_PIECES)
		return -ENOSPC;
	if (kc->n < kc->cap)
		return 0;
	grown = reallocarray(kc->pieces, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	kc->pieces = grown;
	kc->cap = cap;
	return 0;
}

static int keep_name(struct kernel_code *kc, uint64_t id, const struct kernel_change *change)
{
	char *name = strndup(change->name, change->name_len);

	if (!name || hash_set_u64(kc->names, id, name) < 0) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

static int insert(struct kernel_code *kc, const struct kernel_change *change, uint64_t from_ns,
		  uint64_t until_ns)
{
	struct piece *at;
	int r = grow(kc);

	if (r == 0)
		r = keep_name(kc, kc->last_id + 1, change);
	if (r < 0)
		return r;
	at = kc->pieces + first_from(kc, change->start);
	memmove(at + 1, at, (size_t)(kc->pieces + kc->n++ - at) * sizeof(*at));
	*at = (struct piece){
		.start = change->start,
		.end = change->start + change->len,
		.from_ns = from_ns,
		.until_ns = until_ns,
		.id = ++kc->last_id,
		.module = module_of(change),
	};
	if (kc->max_len < change->len)
		kc->max_len = change->len;
	return 0;
}

static bool overlaps(const struct piece *p, const struct kernel_change *change)
{
	return p->start < change->start + change->len && p->end > change->start;
}

/* Whoever was there is gone: its end has come late, or was lost. */
static int came(struct kernel_code *kc, const struct kernel_change *change)
{
	uint64_t end = change->start + change->len;

	for (size_t i = first_around(kc, change->start); i < kc->n; i++) {
		struct piece *p = &kc->pieces[i];

		if (p->start >= end)
			break;
		if (overlaps(p, change) && p->until_ns == UINT64_MAX)
			p->until_ns = change->time_ns;
	}
	return insert(kc, change, change->time_ns, UINT64_MAX);
}

static int went(struct kernel_code *kc, const struct kernel_change *change)
{
	uint64_t end = change->start + change->len, free_ns = 0;

	for (size_t i = first_around(kc, change->start); i < kc->n; i++) {
		struct piece *p = &kc->pieces[i];

		if (p->start >= end)
			break;
		if (!overlaps(p, change))
			continue;
		if (p->until_ns == UINT64_MAX) { /* this one, or its successor */
			if (p->start == change->start)
				p->until_ns = change->time_ns;
			return 0;
		}
		if (free_ns < p->until_ns)
			free_ns = p->until_ns;
	}
	return insert(kc, change, free_ns, change->time_ns);
}

int kernel_code_change(struct kernel_code *kc, const struct kernel_change *change)
{
	return change->is_gone ? went(kc, change) : came(kc, change);
}

static void tell(const struct kernel_code *kc, const struct piece *p, struct kallsyms_symbol *ret)
{
	if (ret)
		*ret = (struct kallsyms_symbol){ p->start, hash_get_u64(kc->names, p->id),
						 p->module };
}

uint64_t kernel_code_find(const struct kernel_code *kc, uint64_t addr, uint64_t time_ns,
			  struct kallsyms_symbol *ret)
{
	for (size_t i = first_around(kc, addr); i < kc->n && kc->pieces[i].start <= addr; i++) {
		const struct piece *p = &kc->pieces[i];

		if (addr >= p->end || time_ns < p->from_ns || time_ns >= p->until_ns)
			continue;
		tell(kc, p, ret);
		return p->id;
	}
	return 0;
}

bool kernel_code_find_gone(const struct kernel_code *kc, uint64_t addr, uint64_t time_ns,
			   struct kallsyms_symbol *ret)
{
	const struct piece *last = NULL;

	for (size_t i = first_around(kc, addr); i < kc->n && kc->pieces[i].start <= addr; i++) {
		const struct piece *p = &kc->pieces[i];

		if (addr < p->end && p->until_ns <= time_ns &&
		    (!last || last->until_ns < p->until_ns))
			last = p;
	}
	if (last)
		tell(kc, last, ret);
	return last != NULL;
}

void kernel_code_missed(struct kernel_code *kc, uint64_t now_ns)
{
	for (size_t i = 0; i < kc->n; i++)
		if (kc->pieces[i].until_ns == UINT64_MAX)
			kc->pieces[i].until_ns = now_ns;
}

void kernel_code_collect(struct kernel_code *kc, uint64_t now_ns)
{
	size_t n = 0;

	kc->max_len = 0;
	for (size_t i = 0; i < kc->n; i++) {
		struct piece *p = &kc->pieces[i];

		if (p->until_ns != UINT64_MAX && now_ns > p->until_ns + KEEP_NS) {
			free(hash_remove_u64(kc->names, p->id));
			continue;
		}
		if (kc->max_len < p->end - p->start)
			kc->max_len = p->end - p->start;
		kc->pieces[n++] = *p;
	}
	kc->n = n;
}

size_t kernel_code_count(const struct kernel_code *kc)
{
	return kc->n;
}
