/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of probes, beside what C itself makes of the same numbers. */
#include <check.h>
#include <stdlib.h>

#include "probes_numbers.h"

static const __u64 numbers[] = {
	0,
	1,
	2,
	7,
	63,
	64,
	65,
	0xff,
	0x80,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	1ull << 62,
	(1ull << 63) - 1,
	1ull << 63, /* of which there is no positive one */
	(1ull << 63) + 1,
	-7ull,
	-2ull,
	-1ull,
};
#define N (sizeof(numbers) / sizeof(numbers[0]))

/* With twice the bits nothing overflows. */
static __u64 in_c(__u32 op, __u64 x, __u64 y, _Bool is_signed)
{
	__int128 a = is_signed ? (__s64)x : (__int128)x, b = is_signed ? (__s64)y : (__int128)y;

	switch (op) {
	case PROBES_ADD:
		return (__u64)(a + b);
	case PROBES_SUB:
		return (__u64)(a - b);
	case PROBES_MUL:
		return (__u64)((unsigned __int128)a * (unsigned __int128)b);
	case PROBES_DIV:
		return b ? (__u64)(a / b) : 0;
	case PROBES_MOD:
		return b ? (__u64)(a % b) : 0;
	case PROBES_AND:
		return x & y;
	case PROBES_OR:
		return x | y;
	case PROBES_XOR:
		return x ^ y;
	case PROBES_SHL:
		return y > 127 ? 0 : (__u64)((unsigned __int128)x << y);
	case PROBES_SHR:
		return (__u64)(a >> (y > 127 ? 127 : y));
	case PROBES_EQ:
		return a == b;
	case PROBES_NE:
		return a != b;
	case PROBES_LT:
		return a < b;
	case PROBES_LE:
		return a <= b;
	case PROBES_GT:
		return a > b;
	default:
		return a >= b;
	}
}

START_TEST(every_operator_is_that_of_c)
{
	for (__u32 op = PROBES_ADD; op <= PROBES_GE; op++)
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < N; j++)
				for (int s = 0; s <= 1; s++)
					ck_assert_msg(
						probes_calculate(op, numbers[i], numbers[j], s) ==
							in_c(op, numbers[i], numbers[j], s),
						"operator %u of %#llx and %#llx, signed %d", op,
						numbers[i], numbers[j], s);
}
END_TEST

START_TEST(short_numbers_become_long_ones)
{
	for (size_t i = 0; i < N; i++) {
		__u64 n = numbers[i];

		ck_assert_uint_eq(probes_extend(n, 1, 0), (__u8)n);
		ck_assert_uint_eq(probes_extend(n, 1, 1), (__u64)(__s8)n);
		ck_assert_uint_eq(probes_extend(n, 2, 0), (__u16)n);
		ck_assert_uint_eq(probes_extend(n, 2, 1), (__u64)(__s16)n);
		ck_assert_uint_eq(probes_extend(n, 4, 0), (__u32)n);
		ck_assert_uint_eq(probes_extend(n, 4, 1), (__u64)(__s32)n);
		ck_assert_uint_eq(probes_extend(n, 8, 0), n);
		ck_assert_uint_eq(probes_extend(n, 8, 1), n);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probes_numbers");
	TCase *tc = tcase_create("numbers");
	SRunner *runner;
	int n_failed;

	tcase_add_test(tc, every_operator_is_that_of_c);
	tcase_add_test(tc, short_numbers_become_long_ones);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
