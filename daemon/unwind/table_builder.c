/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_builder.c - lays rules out as the pages and rows of an unwind table.
 *
 * A page gets its row at offset 0 only when something is known in it, and a row
 * only where the rule changes.
 */
#include "table_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_RULE 0 /* the number of UNWIND_CFA_NONE, the first one */

#define PAGE(offset)	((offset) >> UNWIND_PAGE_SHIFT)
#define IN_PAGE(offset) ((uint32_t)((offset) & (UNWIND_PAGE_SIZE - 1)))

/* Room for one more of `size` bytes; NULL, or where the array is now. */
static void *grown(void *array, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 256;

	if (n < *cap)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*cap = more;
	return array;
}

/* ---- rules ---- */

/* Of a file's own making: it can only make its own table slow, and 65536 are the end. */
static size_t slot_of(const struct table_builder *b, const struct unwind_rule *rule)
{
	uint64_t half[2], h;

	memcpy(half, rule, sizeof(half));
	h = (half[0] ^ (half[1] * 0x9e3779b97f4a7c15)) * 0xd6e8feb86659fd93;
	return (h ^ h >> 32) & (b->n_slots - 1);
}

static void add_slot(struct table_builder *b, uint32_t number)
{
	size_t i = slot_of(b, &b->rules[number]);

	while (b->slots[i])
		i = (i + 1) & (b->n_slots - 1);
	b->slots[i] = number + 1;
}

/* At most half of the slots are taken. */
static int grow_slots(struct table_builder *b)
{
	size_t n = b->n_slots ? b->n_slots * 2 : 1024;
	uint32_t *slots;

	if (b->n_rules < b->n_slots / 2)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(b->slots);
	b->slots = slots;
	b->n_slots = n;
	for (size_t i = 0; i < b->n_rules; i++)
		add_slot(b, (uint32_t)i);
	return 0;
}

static int add_rule(struct table_builder *b, const struct unwind_rule *rule, uint32_t *ret)
{
	struct unwind_rule *rules = grown(b->rules, b->n_rules, &b->rules_cap, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	b->rules = rules;
	rules[b->n_rules] = *rule;
	*ret = (uint32_t)b->n_rules++;
	add_slot(b, *ret);
	return 0;
}

static int intern(struct table_builder *b, const struct unwind_rule *rule, uint32_t *ret)
{
	int r = grow_slots(b);

	if (r < 0)
		return r;
	for (size_t i = slot_of(b, rule); b->slots[i]; i = (i + 1) & (b->n_slots - 1)) {
		*ret = b->slots[i] - 1;
		if (memcmp(&b->rules[*ret], rule, sizeof(*rule)) == 0)
			return 0;
	}
	if (b->n_rules == UNWIND_MAX_RULES) {
		b->flags |= UNWIND_TABLE_CUT;
		*ret = NO_RULE;
		return 0;
	}
	return add_rule(b, rule, ret);
}

/* ---- rows and pages ---- */

static int push_row(struct table_builder *b, uint32_t in_page, uint32_t rule)
{
	uint32_t *rows;

	/* The last one is kept to say that nothing is known any more. */
	if (b->n_rows >= UNWIND_TABLE_MAX_ROWS - 1) {
		b->is_full = true;
		b->flags |= UNWIND_TABLE_CUT;
		rule = NO_RULE;
	}
	rows = grown(b->rows, b->n_rows, &b->rows_cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->rows = rows;
	rows[b->n_rows++] = UNWIND_ROW(in_page, rule);
	return 0;
}

/* The next page, which has no rows yet. Where there are no more the table is full. */
static int push_page(struct table_builder *b)
{
	uint32_t *pages;

	if (b->n_pages == UNWIND_TABLE_MAX_PAGES) {
		b->is_full = true;
		b->flags |= UNWIND_TABLE_CUT;
		return 0;
	}
	/* One more than there are, for the end. */
	pages = grown(b->pages, b->n_pages + 1, &b->pages_cap, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	b->pages = pages;
	pages[b->n_pages++] = (uint32_t)b->n_rows;
	return 0;
}

static bool page_is_empty(const struct table_builder *b)
{
	return b->pages[b->n_pages - 1] == b->n_rows;
}

/* Goes on to `page`, through all those in which nothing changes. */
static int go_to_page(struct table_builder *b, uint64_t page)
{
	int r = 0;

	if (b->n_pages == 0) {
		b->first_page = page;
		return push_page(b);
	}
	while (r == 0 && !b->is_full && b->first_page + b->n_pages - 1 < page) {
		if (page_is_empty(b) && b->current != NO_RULE)
			r = push_row(b, 0, b->current);
		if (r == 0 && !b->is_full)
			r = push_page(b);
	}
	return r;
}

static int set_in_page(struct table_builder *b, uint32_t in_page, uint32_t rule)
{
	uint32_t *last;
	int r = 0;

	if (page_is_empty(b) && in_page > 0)
		r = push_row(b, 0, b->current);
	if (r < 0 || b->is_full)
		return r;
	last = page_is_empty(b) ? NULL : &b->rows[b->n_rows - 1];
	if (!last || UNWIND_ROW_OFFSET(*last) != in_page)
		return push_row(b, in_page, rule);
	*last = UNWIND_ROW(in_page, rule);
	if (in_page > 0 && UNWIND_ROW_RULE(last[-1]) == rule)
		b->n_rows--;
	return 0;
}

static int begin(struct table_builder *b)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint32_t number;

	return b->n_rules ? 0 : intern(b, &none, &number);
}

int table_builder_set(struct table_builder *b, uint64_t offset, const struct unwind_rule *rule)
{
	uint32_t number = NO_RULE;
	int r;

	r = begin(b);
	if (r == 0)
		r = intern(b, rule, &number);
	if (r < 0 || b->is_full || number == b->current)
		return r;
	r = go_to_page(b, PAGE(offset));
	if (r == 0 && !b->is_full)
		r = set_in_page(b, IN_PAGE(offset), number);
	b->current = number;
	return r;
}

/* ---- */

int table_builder_finish(struct table_builder *b, uint32_t flags, uint32_t n_fdes, void **ret,
			 size_t *ret_len)
{
	struct unwind_table_head head = {
		.magic = UNWIND_TABLE_MAGIC,
		.flags = flags | b->flags,
		.first_page = b->first_page,
		.n_pages = (uint32_t)b->n_pages,
		.n_rows = (uint32_t)b->n_rows,
		.n_rules = (uint32_t)b->n_rules,
		.n_fdes = n_fdes,
	};
	size_t len = unwind_table_bytes(&head);
	uint8_t *bytes = malloc(len), *p = bytes;

	if (!bytes)
		return -ENOMEM;
	p = mempcpy(p, &head, sizeof(head));
	if (b->n_pages)
		p = mempcpy(p, b->pages, b->n_pages * sizeof(*b->pages));
	p = mempcpy(p, &head.n_rows, sizeof(head.n_rows)); /* where the last page ends */
	if (b->n_rows)
		p = mempcpy(p, b->rows, b->n_rows * sizeof(*b->rows));
	if (b->n_rules)
		p = mempcpy(p, b->rules, b->n_rules * sizeof(*b->rules));
	assert(p == bytes + len);
	*ret = bytes;
	*ret_len = len;
	return 0;
}

void table_builder_done(struct table_builder *b)
{
	free(b->pages);
	free(b->rows);
	free(b->rules);
	free(b->slots);
	*b = (struct table_builder){ 0 };
}
