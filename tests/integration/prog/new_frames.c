/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_frames.c - each of its frames lies on pages of the stack that nothing has
 * touched before: it begins with a page fault.
 */
#include <stdlib.h>

#define DEPTH 6 /* less than a copied stack in all */
#define ROOM  6000

__attribute__((noinline)) static int new_frame(int n)
{
	volatile char room[ROOM];

	room[0] = (char)n; /* the far end */
	return n ? new_frame(n - 1) + room[0] : 0;
}

int main(void)
{
	return new_frame(DEPTH) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
