/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_table.c - the unwind table of one file in its flat form. */
#include "unwind_table.h"

#include <errno.h>
#include <string.h>

#define ALL_FLAGS                                                                                \
	(UNWIND_TABLE_CUT | UNWIND_TABLE_DAMAGED | UNWIND_TABLE_NO_CFI | UNWIND_TABLE_EH_FRAME | \
	 UNWIND_TABLE_DEBUG_FRAME)

/* A file's largest offset is 2^63 - 1. */
#define END_PAGE (1ull << (63 - UNWIND_PAGE_SHIFT))

#define MAX_REG 32

size_t unwind_table_bytes(const struct unwind_table_head *head)
{
	return sizeof(*head) + ((size_t)head->n_pages + 1) * sizeof(uint32_t) +
	       (size_t)head->n_rows * sizeof(uint32_t) +
	       (size_t)head->n_rules * sizeof(struct unwind_rule);
}

static bool head_valid(const struct unwind_table_head *h)
{
	return h->magic == UNWIND_TABLE_MAGIC && !(h->flags & ~(uint32_t)ALL_FLAGS) &&
	       h->n_pages <= UNWIND_TABLE_MAX_PAGES && h->n_rows <= UNWIND_TABLE_MAX_ROWS &&
	       h->n_rules <= UNWIND_MAX_RULES && h->first_page <= END_PAGE - h->n_pages;
}

static bool rule_valid(const struct unwind_rule *r)
{
	if (r->cfa >= UNWIND_CFA_KINDS || r->fp >= UNWIND_REG_KINDS || r->fp == UNWIND_REG_REG)
		return false;
	if (r->cfa_reg >= MAX_REG || (r->cfa_reg && r->cfa != UNWIND_CFA_REG))
		return false;
	if (r->cfa == UNWIND_CFA_PLT && (r->cfa_off < 0 || r->cfa_off > 15))
		return false;
	if (r->ra == UNWIND_REG_REG)
		return r->ra_off >= 0 && r->ra_off < MAX_REG;
	return r->ra == UNWIND_REG_CFA_OFF || r->ra == UNWIND_REG_DEREF_FP ||
	       r->ra == UNWIND_REG_SAME;
}

static bool page_valid(const struct unwind_table *t, uint32_t begin, uint32_t end)
{
	if (begin > end || end > t->head.n_rows)
		return false;
	for (uint32_t i = begin; i < end; i++) {
		uint32_t offset = UNWIND_ROW_OFFSET(t->rows[i]);

		if (i == begin ? offset != 0 : offset <= UNWIND_ROW_OFFSET(t->rows[i - 1]))
			return false;
		if (offset >= UNWIND_PAGE_SIZE || UNWIND_ROW_RULE(t->rows[i]) >= t->head.n_rules)
			return false;
	}
	return true;
}

static bool table_valid(const struct unwind_table *t)
{
	if (t->pages[0] != 0 || t->pages[t->head.n_pages] != t->head.n_rows)
		return false;
	for (uint32_t i = 0; i < t->head.n_pages; i++)
		if (!page_valid(t, t->pages[i], t->pages[i + 1]))
			return false;
	for (uint32_t i = 0; i < t->head.n_rules; i++)
		if (!rule_valid(&t->rules[i]))
			return false;
	return true;
}

int unwind_table_decode(const void *bytes, size_t len, struct unwind_table *ret)
{
	struct unwind_table t;

	if (len < sizeof(t.head) || (uintptr_t)bytes % sizeof(uint32_t) != 0)
		return -EBADMSG;
	memcpy(&t.head, bytes, sizeof(t.head));
	if (!head_valid(&t.head) || len != unwind_table_bytes(&t.head))
		return -EBADMSG;
	t.pages = (const uint32_t *)((const uint8_t *)bytes + sizeof(t.head));
	t.rows = t.pages + t.head.n_pages + 1;
	t.rules = (const struct unwind_rule *)(t.rows + t.head.n_rows);
	if (!table_valid(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}

void unwind_table_find(const struct unwind_table *t, uint64_t file_offset, struct unwind_rule *ret)
{
	uint64_t page = file_offset >> UNWIND_PAGE_SHIFT;
	uint32_t in_page = (uint32_t)(file_offset & (UNWIND_PAGE_SIZE - 1)), lo, hi;

	*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
	if (page < t->head.first_page || page - t->head.first_page >= t->head.n_pages)
		return;
	lo = t->pages[page - t->head.first_page];
	hi = t->pages[page - t->head.first_page + 1];
	if (lo == hi)
		return;
	while (hi - lo > 1) { /* the last row that begins at or before it is in [lo, hi) */
		uint32_t mid = lo + (hi - lo) / 2;

		if (UNWIND_ROW_OFFSET(t->rows[mid]) <= in_page)
			lo = mid;
		else
			hi = mid;
	}
	*ret = t->rules[UNWIND_ROW_RULE(t->rows[lo])];
}
