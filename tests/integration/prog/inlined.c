/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlined - computes until it is killed: in a static function with another one
 * inlined, which has one inlined itself.
 */
static volatile unsigned long sink;

static inline __attribute__((always_inline)) unsigned long innermost(unsigned long x)
{
	for (int i = 0; i < 100; i++)
		x = x * 6364136223846793005ul + sink;
	return x;
}

static inline __attribute__((always_inline)) unsigned long middle(unsigned long x)
{
	return innermost(x) ^ innermost(x + 1);
}

static __attribute__((noinline)) unsigned long hidden(unsigned long x)
{
	return middle(x) + 3;
}

int main(void)
{
	for (;;)
		sink = hidden(sink);
}
