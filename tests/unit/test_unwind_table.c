/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables are laid out, looked up, and refused when they are not what they seem. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/table_builder.h"
#include "unwind/unwind_table.h"

static struct table_builder builder;
static uint32_t *bytes; /* aligned as a table is */
static size_t len;
static struct unwind_table table;

static struct unwind_rule rule_of(int32_t cfa_off)
{
	return (struct unwind_rule){ .cfa = cfa_off ? UNWIND_CFA_SP : UNWIND_CFA_NONE,
				     .cfa_off = cfa_off,
				     .ra = cfa_off ? UNWIND_REG_CFA_OFF : 0,
				     .ra_off = cfa_off ? -8 : 0 };
}

/* From `offset` on the CFA is sp + `cfa_off`; 0: nothing is known. */
static void set(uint64_t offset, int32_t cfa_off)
{
	struct unwind_rule rule = rule_of(cfa_off);

	if (table_builder_set(&builder, offset, &rule) < 0)
		abort();
}

static void finish(void)
{
	void *made;

	ck_assert_int_eq(table_builder_finish(&builder, UNWIND_TABLE_EH_FRAME, 1, &made, &len), 0);
	bytes = made;
	ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
}

static int32_t at(uint64_t offset)
{
	struct unwind_rule rule;

	unwind_table_find(&table, offset, &rule);
	return rule.cfa_off;
}

static void setup(void)
{
	builder = (struct table_builder){ 0 };
	bytes = NULL;
}

static void teardown(void)
{
	table_builder_done(&builder);
	free(bytes);
}

/* ---- layout ---- */

START_TEST(an_empty_table_has_no_rule_anywhere)
{
	finish();
	ck_assert_uint_eq(table.head.n_pages, 0);
	ck_assert_uint_eq(len, unwind_table_bytes(&table.head));
	ck_assert_int_eq(at(0), 0);
	ck_assert_int_eq(at(UINT64_MAX), 0);
}
END_TEST

START_TEST(a_rule_holds_up_to_the_next)
{
	set(0x5010, 8);
	set(0x5020, 16);
	set(0x7100, 24);
	set(0x9000, 0);
	finish();
	ck_assert_int_eq(at(0x4fff), 0);
	ck_assert_int_eq(at(0x500f), 0);
	ck_assert_int_eq(at(0x5010), 8);
	ck_assert_int_eq(at(0x501f), 8);
	ck_assert_int_eq(at(0x5020), 16);
	ck_assert_int_eq(at(0x6000), 16);
	ck_assert_int_eq(at(0x6fff), 16);
	ck_assert_int_eq(at(0x70ff), 16);
	ck_assert_int_eq(at(0x7100), 24);
	ck_assert_int_eq(at(0x8fff), 24);
	ck_assert_int_eq(at(0x9000), 0);
	ck_assert_int_eq(at(0xa000), 0);
	ck_assert_uint_eq(table.head.first_page, 5);
	ck_assert_uint_eq(table.head.n_pages, 5);
	ck_assert_uint_eq(table.head.n_rules, 4);
	/* 0 5010 5020 | 6000 | 7000 7100 | 8000 | 9000 */
	ck_assert_uint_eq(table.head.n_rows, 8);
}
END_TEST

START_TEST(of_two_at_one_place_the_second_counts)
{
	set(0x10, 8);
	set(0x20, 16);
	set(0x20, 8); /* as before: no row is left of it */
	set(0x30, 24);
	set(0x30, 32);
	set(0x40, 0);
	finish();
	ck_assert_int_eq(at(0x2f), 8);
	ck_assert_int_eq(at(0x30), 32);
	ck_assert_uint_eq(table.head.n_rows, 4);
}
END_TEST

START_TEST(the_first_of_a_page_may_be_replaced)
{
	set(0x1000, 8);
	set(0x2000, 16);
	set(0x2000, 8);
	set(0x3000, 0);
	set(0x3000, 24);
	set(0x3010, 0);
	finish();
	ck_assert_int_eq(at(0x1fff), 8);
	ck_assert_int_eq(at(0x2000), 8);
	ck_assert_int_eq(at(0x3000), 24);
	ck_assert_int_eq(at(0x3010), 0);
}
END_TEST

START_TEST(rows_beyond_the_cap_are_cut_and_nothing_wrong_is_said)
{
	uint64_t offset = 0;

	for (uint64_t i = 0; i < UNWIND_TABLE_MAX_ROWS + 100; i++, offset += 2)
		set(offset, i % 2 ? 8 : 16);
	finish();
	ck_assert_uint_eq(table.head.n_rows, UNWIND_TABLE_MAX_ROWS);
	ck_assert_uint_eq(table.head.flags, UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_CUT);
	ck_assert_uint_eq(len, unwind_table_bytes(&table.head));
	ck_assert_uint_le(len, UNWIND_TABLE_MAX_BYTES);
	ck_assert_int_eq(at(0), 16);
	ck_assert_int_eq(at((UNWIND_TABLE_MAX_ROWS - 2) * 2ull), 16);
	ck_assert_int_eq(at((UNWIND_TABLE_MAX_ROWS - 1) * 2ull), 0);
	ck_assert_int_eq(at((UNWIND_TABLE_MAX_ROWS + 10) * 2ull), 0);
}
END_TEST

START_TEST(rules_beyond_the_cap_are_none)
{
	for (int32_t i = 1; i < UNWIND_MAX_RULES + 10; i++)
		set(16ull * (unsigned)i, i);
	set(16ull * (UNWIND_MAX_RULES + 10), 5); /* one that there is */
	finish();
	ck_assert_uint_eq(table.head.n_rules, UNWIND_MAX_RULES);
	ck_assert(table.head.flags & UNWIND_TABLE_CUT);
	ck_assert_int_eq(at(16ull * (UNWIND_MAX_RULES - 1)), UNWIND_MAX_RULES - 1);
	ck_assert_int_eq(at(16ull * UNWIND_MAX_RULES), 0);
	ck_assert_int_eq(at(16ull * (UNWIND_MAX_RULES + 10)), 5);
}
END_TEST

/* ---- what is refused ---- */

/* Of the table that follows: pages of 3, 1 and 0 rows, and one more of 2. */
enum { PAGES = sizeof(struct unwind_table_head) / 4, ROWS = PAGES + 5, RULES = ROWS + 6 };

static void make_good(void)
{
	set(0x10, 8);
	set(0x20, 16);
	set(0x1000, 0);
	set(0x3040, 8);
	finish();
	ck_assert_uint_eq(table.head.n_pages, 4);
	ck_assert_uint_eq(table.head.n_rows, 6);
}

static int decode(void)
{
	struct unwind_table unused;

	return unwind_table_decode(bytes, len, &unused);
}

START_TEST(any_other_length_is_refused)
{
	uint32_t *longer;

	make_good();
	longer = calloc(1, len + 64);
	ck_assert_ptr_nonnull(longer);
	memcpy(longer, bytes, len);
	for (size_t n = 0; n < len + 64; n++)
		ck_assert_int_eq(unwind_table_decode(longer, n, &table), n == len ? 0 : -EBADMSG);
	free(longer);
}
END_TEST

START_TEST(bytes_that_are_not_aligned_are_refused)
{
	uint8_t *shifted;

	make_good();
	shifted = calloc(1, len + 1);
	ck_assert_ptr_nonnull(shifted);
	memcpy(shifted + 1, bytes, len);
	ck_assert_int_eq(unwind_table_decode(shifted + 1, len, &table), -EBADMSG);
	free(shifted);
}
END_TEST

START_TEST(a_table_that_leads_outside_is_refused)
{
	struct unwind_table_head *head;
	struct unwind_rule *rule;

	make_good();
	head = (struct unwind_table_head *)bytes;
	rule = (struct unwind_rule *)(bytes + RULES) + 1;
	switch (_i) {
	case 0:
		head->magic++;
		break;
	case 1:
		head->flags |= 1u << 31;
		break;
	case 2:
		head->first_page = UINT64_MAX;
		break;
	case 3: /* the same number of bytes */
		head->n_pages++;
		head->n_rows--;
		break;
	case 4:
		head->n_pages = UINT32_MAX;
		break;
	case 5:
		head->n_rules = UINT32_MAX;
		break;
	case 6: /* the first page not at the first row */
		bytes[PAGES] = 1;
		break;
	case 7: /* pages that go down */
		bytes[PAGES + 1] = 5;
		break;
	case 8:
		bytes[PAGES + 1] = UINT32_MAX;
		break;
	case 9: /* rows of no page */
		bytes[PAGES + 4] = 5;
		break;
	case 10: /* a page that does not begin at its beginning */
		bytes[ROWS] |= 4;
		break;
	case 11: /* rows that do not go up */
		bytes[ROWS + 2] = bytes[ROWS + 1];
		break;
	case 12: /* a row of the next page */
		bytes[ROWS + 2] |= UNWIND_PAGE_SIZE;
		break;
	case 13: /* no such rule */
		bytes[ROWS] = UNWIND_ROW(0, 3);
		break;
	case 14:
		rule->cfa = UNWIND_CFA_KINDS;
		break;
	case 15:
		rule->fp = UNWIND_REG_KINDS;
		break;
	case 16:
		rule->fp = UNWIND_REG_REG;
		break;
	case 17:
		rule->ra = UNWIND_REG_UNDEF;
		break;
	case 18:
		rule->ra = UNWIND_REG_REG;
		rule->ra_off = 32;
		break;
	case 19:
		rule->cfa = UNWIND_CFA_REG;
		rule->cfa_reg = 32;
		break;
	case 20:
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_off = 16;
		break;
	case 21:
		rule->cfa_reg = 1;
		break;
	}
	ck_assert_int_eq(decode(), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind_table");
	TCase *tc = tcase_create("unwind_table");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_empty_table_has_no_rule_anywhere);
	tcase_add_test(tc, a_rule_holds_up_to_the_next);
	tcase_add_test(tc, of_two_at_one_place_the_second_counts);
	tcase_add_test(tc, the_first_of_a_page_may_be_replaced);
	tcase_add_test(tc, rows_beyond_the_cap_are_cut_and_nothing_wrong_is_said);
	tcase_add_test(tc, rules_beyond_the_cap_are_none);
	tcase_add_test(tc, any_other_length_is_refused);
	tcase_add_test(tc, bytes_that_are_not_aligned_are_refused);
	tcase_add_loop_test(tc, a_table_that_leads_outside_is_refused, 0, 22);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
