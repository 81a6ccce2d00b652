// SPDX-License-Identifier: Apache-2.0
/*
 * What probes are tried on: functions whose arguments come in all the ways that a calling
 * convention knows. Each is called with values that a test can name, over and over with an
 * argument "SECONDS".
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))

enum color { RED, GREEN = 7, BLUE = -2 };

struct cell {
	uint8_t kind;
	int16_t weights[3];
};

struct node {
	int32_t value;
	uint32_t low : 3, mid : 7;
	int32_t negative : 6;
	char name[12];
	struct node *next;
	const char *label;
	enum color color;
	union {
		uint64_t whole;
		struct {
			uint32_t first, second;
		};
	};
	struct cell cells[2];
	double ratio;
};

struct pair {
	int32_t a, b;
};

struct wide {
	int64_t a, b;
};

struct mixed {
	double d;
	int64_t n;
};

struct floats {
	float x, y;
};

struct large {
	int64_t a, b, c;
};

volatile uint64_t sink;
int64_t total = 4242;
static struct node second = { .value = 22, .name = "second", .label = "of two" };
struct node first = {
	.value = -11,
	.low = 5,
	.mid = 100,
	.negative = -3,
	.name = "first",
	.next = &second,
	.label = "one label",
	.color = BLUE,
	.whole = 0x2222222211111111,
	.cells = { { 1, { 1, 2, 3 } }, { 2, { 4, -5, 6 } } },
	.ratio = 0.5,
};

NOINLINE int plain(struct node *node, int how, unsigned char byte, const char *text, int64_t big,
		   short small, int on_stack, uint64_t also_there)
{
	sink += (uint64_t)node->value + (uint64_t)how + byte + (uint64_t)text[0] + (uint64_t)big +
		(uint64_t)small + (uint64_t)on_stack + also_there;
	return -5;
}

NOINLINE int64_t by_value(struct pair pair, double d, struct wide wide, struct mixed mixed,
			  struct floats floats, struct large large, int after)
{
	sink += (uint64_t)(pair.a + d + wide.b + mixed.n + floats.x + large.c + after);
	return -6000000000;
}

/* Where it is returned comes as an argument before the first one. */
NOINLINE struct large returns_large(int first_one)
{
	struct large large = { first_one, 2, 33 };

	sink++;
	return large;
}

NOINLINE struct wide returns_wide(int x)
{
	struct wide wide = { x, -77 };

	sink++;
	return wide;
}

NOINLINE double returns_double(int x)
{
	sink++;
	return x / 2.0;
}

NOINLINE struct node *returns_pointer(struct node *node)
{
	sink++;
	return node->next;
}

NOINLINE void returns_nothing(void)
{
	sink++;
}

NOINLINE int variadic(int n, ...)
{
	va_list ap;
	int r;

	va_start(ap, n);
	r = va_arg(ap, int);
	va_end(ap);
	sink += (uint64_t)r;
	return r;
}

/* Has a place in it that a test can find. */
NOINLINE int inside(int n)
{
	int sum = n * 3;

	for (int i = 0; i < n; i++) {
		int square = i * i;

		if (i == 2) {
			__asm__ volatile("" : : "r"(square), "r"(sum) : "memory");
			__asm__ volatile(".globl inside_spot\ninside_spot: nop" : : "r"(square));
			__asm__ volatile("" : : "r"(square), "r"(sum), "r"(i), "r"(n) : "memory");
		}
		sum += square;
		sink += (uint64_t)sum;
	}
	return sum;
}

/* Instructions of 5 and 5 bytes. */
#if defined(__x86_64__)
__asm__(".globl coded\n.type coded, @function\n"
	"coded: .cfi_startproc\nmov $1, %eax\nadd $0x12345678, %eax\nret\n.cfi_endproc\n"
	".size coded, . - coded");
int coded(int n);
#endif

NOINLINE int recursive(int n)
{
	sink++;
	return n == 0 ? 0 : 1 + recursive(n - 1);
}

/* A USDT probe as sys/sdt.h makes it; with a semaphore unless that is "0". */
#define PROBE(name, semaphore, args, ...)                                                \
	__asm__ volatile("990: nop\n"                                                    \
			 ".pushsection .note.stapsdt,\"\",@note\n.balign 4\n"            \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                          \
			 "991: .asciz \"stapsdt\"\n"                                     \
			 "992: .balign 4\n"                                              \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"             \
			 ".asciz \"probed\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n" \
			 "994: .balign 4\n.popsection\n"                                 \
			 :                                                               \
			 : __VA_ARGS__)

__asm__(".pushsection .stapsdt.base,\"aG\",@progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");

__attribute__((section(".probes"), used)) uint16_t probed_semaphore;

NOINLINE void usdt(struct node *node, int how, const char *text)
{
	int16_t small = (int16_t)(how - 5);

	PROBE("plain", "0", "8@%[node] -4@%[how] 8@%[text]", [node] "nor"(node), [how] "nor"(how),
	      [text] "nor"(text));
	PROBE("kinds", "probed_semaphore", "-2@%[small] -4@%[five] 8@%[memory]",
	      [small] "nor"(small), [five] "n"(-5), [memory] "m"(total));
	sink++;
}

static void once(void)
{
	plain(&first, -3, 200, "hello", -1099511627776, -9, 70, 80);
	by_value((struct pair){ 1, -2 }, 1.5, (struct wide){ 3, -4 }, (struct mixed){ 2.5, 5 },
		 (struct floats){ 1, 2 }, (struct large){ 6, 7, -8 }, 9);
	sink += (uint64_t)returns_large(31).c;
	sink += (uint64_t)returns_wide(44).b;
	sink += (uint64_t)returns_double(3);
	sink += (uint64_t)returns_pointer(&first)->value;
	returns_nothing();
	variadic(1, 99);
	inside(5);
	recursive(3);
	usdt(&first, -3, "hello");
#if defined(__x86_64__)
	sink += (uint64_t)coded(17);
#endif
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);

	do {
		once();
		if (argc > 1)
			usleep(1000);
	} while (time(NULL) < end);
	return 0;
}
