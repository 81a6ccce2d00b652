/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks up copied stacks: this program's own, through libc and signal handlers,
 * against what the C library finds; and made-up ones, for each way they can end.
 */
#include <check.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind/eh_frame.h"
#include "unwind/stack_walk.h"
#include "unwind/table_builder.h"
#include "unwind/unwind_maps.h"

#ifdef __x86_64__

#define MAX_MAPPINGS 256

struct file {
	char path[256];
	uint32_t table;
};

struct place {
	uint64_t start, end, pgoff;
	const struct file *file; /* NULL: none that has a table */
};

static struct unwind_maps *maps;
static struct file files[MAX_MAPPINGS];
static struct place places[MAX_MAPPINGS];
static size_t n_files, n_places;

/* ---- this program's own mappings ---- */

static uint32_t load_table(int fd)
{
	struct unwind_table table;
	uint32_t id;
	void *bytes;
	size_t len;

	ck_assert_int_eq(eh_frame_table(fd, &bytes, &len), 0);
	ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_int_eq(unwind_maps_table_fill(maps, id, &table), 0);
	free(bytes);
	return id;
}

static const struct file *file_of(const char *path)
{
	int fd;

	for (size_t i = 0; i < n_files; i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	snprintf(files[n_files].path, sizeof(files[0].path), "%s", path);
	files[n_files].table = load_table(fd);
	close(fd);
	return &files[n_files++];
}

static void read_own_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], perms[5], path[256];
	unsigned long start, end, pgoff;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f) && n_places < MAX_MAPPINGS) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %255s", &start, &end, perms, &pgoff,
			   path) < 4 ||
		    perms[2] != 'x')
			continue;
		places[n_places++] = (struct place){
			.start = start,
			.end = end,
			.pgoff = pgoff,
			.file = path[0] == '/' ? file_of(path) : NULL,
		};
	}
	fclose(f);
}

static int locate(void *ctx, uint64_t pc, struct stack_place *ret)
{
	const struct unwind_table_ref *ref;

	(void)ctx;
	for (size_t i = 0; i < n_places; i++) {
		const struct place *p = &places[i];

		if (pc < p->start || pc >= p->end || !p->file)
			continue;
		ref = unwind_maps_table(maps, p->file->table);
		*ret = (struct stack_place){
			.start = p->start,
			.end = p->end,
			.delta = p->pgoff - p->start -
				 ((uint64_t)ref->first_page << UNWIND_PAGE_SHIFT),
			.first = ref->first,
			.n_pages = ref->n_pages,
			.has_table = ref->state == UNWIND_TABLE_READY,
		};
		return 0;
	}
	return UNWIND_NOMAP;
}

static void set_up(void)
{
	ck_assert_int_eq(unwind_maps_new(false, &maps), 0);
	n_files = n_places = 0;
	read_own_maps();
}

static void tear_down(void)
{
	unwind_maps_free(maps);
}

/* ---- walking from a place in this program ---- */

struct result {
	uint64_t ips[UNWIND_MAX_FRAMES];
	uint32_t n;
	enum unwind_end end;
	void *expected[128];
	int n_expected;
};

static struct result result;

/* Past what a sanitizer has put between variables, which memcpy() would stop at. */
__attribute__((no_sanitize("address"))) static void copy_raw(uint8_t *dst, uint64_t from, size_t n)
{
	const volatile uint8_t *src = (const void *)from;

	for (size_t i = 0; i < n; i++)
		dst[i] = src[i];
}

static void copy_of(const ucontext_t *uc, uint64_t top, struct unwind_copy *copy, uint8_t *stack,
		    size_t size)
{
	/* By DWARF number. */
	static const int regs[16] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_R8,	 REG_R9,  REG_R10, REG_R11,
				      REG_R12, REG_R13, REG_R14, REG_R15 };
	const greg_t *g = uc->uc_mcontext.gregs;

	memset(copy, 0, sizeof(*copy));
	copy->pc = (uint64_t)g[REG_RIP];
	copy->sp = (uint64_t)g[REG_RSP];
	copy->fp = (uint64_t)g[REG_RBP];
	copy->bx = (uint64_t)g[REG_RBX];
	copy->has_bx = copy->is_exact = 1;
	for (size_t i = 0; i < 16; i++)
		copy->regs[i] = (uint64_t)g[regs[i]];
	copy->from = copy->sp - UNWIND_RED_ZONE;
	if (size > top - copy->from)
		size = top - copy->from;
	copy_raw(stack, copy->from, size);
	copy->len = (uint16_t)size;
}

/* The end of the stack that `sp` is in. */
static uint64_t stack_top(void)
{
	pthread_attr_t attr;
	void *at;
	size_t size;

	ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attr), 0);
	ck_assert_int_eq(pthread_attr_getstack(&attr, &at, &size), 0);
	pthread_attr_destroy(&attr);
	return (uint64_t)at + size;
}

static void walk(const struct unwind_copy *copy, const uint8_t *stack)
{
	struct stack_walk_env env = { .maps = maps, .locate = locate };

	result.ips[0] = copy->pc;
	result.n = 1;
	result.end = stack_walk(&env, copy, stack, result.ips, &result.n);
}

static size_t max_copy = UNWIND_LARGE_COPY_BYTES;
static uint64_t missing_page; /* 0: none */
static bool all_missing;

/* Its own frame is the innermost of both walks. */
__attribute__((noinline)) static void look(void)
{
	static uint8_t stack[UNWIND_LARGE_COPY_BYTES];
	struct unwind_copy copy;
	ucontext_t uc;

	result.n_expected = backtrace(result.expected, 128);
	getcontext(&uc);
	copy_of(&uc, stack_top(), &copy, stack, max_copy);
	if (missing_page) {
		copy.missing = (uint16_t)(1u << ((missing_page >> 12) - (copy.from >> 12)));
		memset(stack + (missing_page - copy.from), 0xff, 4096);
	}
	if (all_missing)
		copy.missing = UINT16_MAX;
	walk(&copy, stack);
}

/* A sanitizer comes between us and the C library's walk: a frame more. */
static void drop_interceptor(void)
{
	if (result.n > 1 && result.n_expected > 2 && (uint64_t)result.expected[2] == result.ips[1])
		memmove(result.expected, result.expected + 1,
			(size_t)--result.n_expected * sizeof(result.expected[0]));
}

/*
 * From the second frame on both are return addresses. The C library shows
 * frames behind the end that ours knows to be the end, such as one at 0.
 */
static void assert_as_expected(void)
{
	drop_interceptor();
	ck_assert_str_eq(unwind_end_name(result.end), "COMPLETE");
	ck_assert_int_ge(result.n_expected, (int)result.n);
	ck_assert_int_le(result.n_expected, (int)result.n + 1);
	for (uint32_t i = 1; i < result.n; i++)
		ck_assert_uint_eq(result.ips[i], (uint64_t)result.expected[i]);
}

START_TEST(our_own_stack_is_walked_to_its_end)
{
	look();
	ck_assert_uint_ge(result.n, 5);
	assert_as_expected();
}
END_TEST

static int compare(const void *a, const void *b)
{
	if (result.n == 0)
		look();
	return *(const int *)a - *(const int *)b;
}

START_TEST(a_callback_of_the_c_library_is_walked_through_it)
{
	int numbers[] = { 3, 1, 2 };

	result.n = 0;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	assert_as_expected();
}
END_TEST

__attribute__((noinline)) static int recurse(int depth)
{
	volatile char room[256];

	room[0] = (char)depth;
	if (depth == 0)
		look();
	else
		(void)recurse(depth - 1);
	return room[0];
}

START_TEST(deep_recursion_is_walked_frame_by_frame)
{
	(void)recurse(90);
	ck_assert_uint_ge(result.n, 92);
	assert_as_expected();
}
END_TEST

static void *in_thread(void *arg)
{
	look();
	return arg;
}

START_TEST(a_thread_begins_where_it_was_started)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	assert_as_expected();
}
END_TEST

static uint64_t interrupted;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	interrupted = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	look();
}

/* Above a handler the pc is where the signal came: one more is written, as callers are. */
START_TEST(a_signal_handler_does_not_hide_what_it_interrupted)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	bool found = false;

	ck_assert_int_eq(sigaction(SIGUSR1, &act, NULL), 0);
	ck_assert_int_eq(raise(SIGUSR1), 0);
	ck_assert_str_eq(unwind_end_name(result.end), "COMPLETE");
	for (uint32_t i = 0; i < result.n; i++)
		found |= result.ips[i] == interrupted + 1;
	ck_assert(found);
	ck_assert_int_ge(result.n_expected, (int)result.n);
}
END_TEST

/* Most of its array is never touched. With its sanitizer it would not be on the stack. */
__attribute__((noinline, no_sanitize("address"))) static int with_a_large_array(int n)
{
	volatile char room[3 * 4096];

	room[0] = (char)n;
	missing_page = ((uint64_t)(uintptr_t)room + 4096) & ~4095ull;
	look();
	missing_page = 0;
	return room[0];
}

START_TEST(a_page_that_was_never_touched_is_walked_past)
{
	(void)with_a_large_array(1);
	ck_assert_uint_ge(result.n, 5);
	assert_as_expected();
}
END_TEST

START_TEST(what_lies_on_a_page_that_is_missing_is_not_made_up)
{
	all_missing = true;
	look();
	all_missing = false;
	ck_assert_str_eq(unwind_end_name(result.end), "READ_STACK");
	ck_assert_uint_eq(result.n, 1);
}
END_TEST

START_TEST(a_copy_that_is_too_short_is_called_so)
{
	max_copy = 4096;
	(void)recurse(90);
	max_copy = UNWIND_LARGE_COPY_BYTES;
	drop_interceptor();
	ck_assert_str_eq(unwind_end_name(result.end), "COPY_SHORT");
	ck_assert_uint_gt(result.n, 3);
	for (uint32_t i = 1; i < result.n; i++)
		ck_assert_uint_eq(result.ips[i], (uint64_t)result.expected[i]);
}
END_TEST

/* ---- made-up stacks ---- */

#define CODE  0x400000u
#define STACK 0x7000000u

static uint64_t memory[512]; /* from STACK on */
static struct unwind_copy made_up;
static struct stack_place made_up_place;
static int made_up_end;

static int locate_made_up(void *ctx, uint64_t pc, struct stack_place *ret)
{
	(void)ctx;
	if (made_up_end || pc < CODE || pc >= CODE + 0x10000)
		return made_up_end ? made_up_end : UNWIND_NOMAP;
	*ret = made_up_place;
	return 0;
}

static void set_rule(struct table_builder *b, uint64_t offset, struct unwind_rule rule)
{
	ck_assert_int_eq(table_builder_set(b, offset, &rule), 0);
}

#define RULE(...) ((struct unwind_rule){ .ra = UNWIND_REG_CFA_OFF, .ra_off = -8, __VA_ARGS__ })
#define PLAIN	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8)

/* At 0x1000 the rule in question, at 0x2000 the first function of all, at 0x3000 a plain one. */
static void make_up(struct unwind_rule rule)
{
	struct table_builder b = { 0 };
	const struct unwind_table_ref *ref;
	struct unwind_table table;
	uint32_t id;
	void *bytes;
	size_t len;

	set_rule(&b, 0x1000, rule);
	set_rule(&b, 0x2000, (struct unwind_rule){ .cfa = UNWIND_CFA_END });
	set_rule(&b, 0x3000, PLAIN);
	set_rule(&b, 0x4000, (struct unwind_rule){ .cfa = UNWIND_CFA_NONE });
	ck_assert_int_eq(table_builder_finish(&b, 0, 1, &bytes, &len), 0);
	table_builder_done(&b);
	ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_int_eq(unwind_maps_table_fill(maps, id, &table), 0);
	free(bytes);
	ref = unwind_maps_table(maps, id);
	made_up_place = (struct stack_place){
		.start = CODE,
		.end = CODE + 0x10000,
		.delta = -(uint64_t)CODE - ((uint64_t)ref->first_page << UNWIND_PAGE_SHIFT),
		.first = ref->first,
		.n_pages = ref->n_pages,
		.has_table = true,
	};
	made_up_end = 0;
	memset(memory, 0, sizeof(memory));
	made_up = (struct unwind_copy){
		.pc = CODE + 0x1000,
		.sp = STACK,
		.from = STACK,
		.is_exact = 1,
		.has_bx = 1,
		.len = sizeof(memory),
	};
}

static void walk_made_up(void)
{
	struct stack_walk_env env = { .maps = maps, .locate = locate_made_up };

	result.ips[0] = made_up.pc;
	result.n = 1;
	result.end = stack_walk(&env, &made_up, (const uint8_t *)memory, result.ips, &result.n);
}

#define FIRST_FUNCTION (CODE + 0x2001)

static void assert_ends(enum unwind_end end, uint32_t n)
{
	walk_made_up();
	ck_assert_str_eq(unwind_end_name(result.end), unwind_end_name(end));
	ck_assert_uint_eq(result.n, n);
	if (end == UNWIND_COMPLETE)
		ck_assert_uint_eq(result.ips[n - 1], FIRST_FUNCTION);
}

START_TEST(the_cfa_is_had_in_each_way_that_a_rule_can_say)
{
	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 32));
	memory[3] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);

	make_up(RULE(.cfa = UNWIND_CFA_FP, .cfa_off = 16));
	made_up.fp = STACK + 64;
	memory[9] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);

	make_up(RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 10, .cfa_off = 0));
	made_up.regs[10] = STACK + 80;
	memory[9] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);

	make_up(RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 3, .cfa_off = 16));
	made_up.bx = STACK + 64;
	memory[9] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);

	make_up(RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_off = 8, .cfa_add = 24));
	memory[1] = STACK + 64;
	memory[10] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);

	make_up(RULE(.cfa = UNWIND_CFA_DEREF_FP, .cfa_off = -8, .cfa_add = 0));
	made_up.fp = STACK + 16;
	memory[1] = STACK + 80;
	memory[9] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);
}
END_TEST

/* In a stub, how much has been pushed depends on the pc. */
START_TEST(stubs_of_the_plt_are_walked_by_their_place)
{
	for (unsigned at = 0; at < 16; at++) {
		make_up(RULE(.cfa = UNWIND_CFA_PLT, .cfa_off = 11));
		made_up.pc = CODE + 0x1000 + at;
		memory[at >= 11] = FIRST_FUNCTION;
		assert_ends(UNWIND_COMPLETE, 2);
	}
}
END_TEST

START_TEST(a_return_address_may_be_in_a_register)
{
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_SP, .ra = UNWIND_REG_REG, .ra_off = 5 });
	made_up.regs[5] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 2);
	/* but not in that of a caller: those are gone */
	made_up.is_exact = 0;
	made_up.pc++;
	assert_ends(UNWIND_SP_BACKWARD, 1);
}
END_TEST

START_TEST(saved_frame_pointers_are_followed)
{
	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 16, .fp = UNWIND_REG_CFA_OFF, .fp_off = -16));
	memory[0] = STACK + 64; /* rbp of the caller, which has the same rule but at 0x3000 */
	memory[1] = CODE + 0x3001;
	memory[2] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 3);
}
END_TEST

/* ld.so keeps its stack pointer in rbx while it calls others, which save it. */
START_TEST(a_saved_rbx_is_found_when_a_caller_needs_it)
{
	struct table_builder b = { 0 };
	const struct unwind_table_ref *ref;
	struct unwind_table table;
	uint32_t id;
	void *bytes;
	size_t len;

	make_up(PLAIN);
	set_rule(&b, 0x1000, RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 24, .bx_off = -16));
	set_rule(&b, 0x2000, (struct unwind_rule){ .cfa = UNWIND_CFA_END });
	set_rule(&b, 0x3000, RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 3, .cfa_off = 16));
	ck_assert_int_eq(table_builder_finish(&b, 0, 1, &bytes, &len), 0);
	table_builder_done(&b);
	ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_int_eq(unwind_maps_table_fill(maps, id, &table), 0);
	free(bytes);
	ref = unwind_maps_table(maps, id);
	made_up_place.first = ref->first;
	made_up_place.n_pages = ref->n_pages;
	made_up.bx = 12345; /* somebody else's by now */
	memory[1] = STACK + 64;
	memory[2] = CODE + 0x3001;
	memory[9] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 3);
}
END_TEST

START_TEST(each_end_has_its_reason)
{
	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8));
	memory[0] = 17;
	assert_ends(UNWIND_BAD_PC, 1);
	memory[0] = 1ull << 63;
	assert_ends(UNWIND_BAD_PC, 1);
	memory[0] = CODE + 0x20000;
	assert_ends(UNWIND_NOMAP, 2);
	made_up_end = UNWIND_PENDING;
	assert_ends(UNWIND_PENDING, 1);

	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = -64));
	assert_ends(UNWIND_SP_BACKWARD, 1);
	make_up(RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 10));
	made_up.is_exact = 0;
	made_up.pc++;
	assert_ends(UNWIND_BAD_CFA_REG, 1);
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_BAD_EXPR });
	assert_ends(UNWIND_BAD_CFA_EXPR, 1);
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_BAD_RA });
	assert_ends(UNWIND_BAD_RA, 1);
	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 1 << 24));
	assert_ends(UNWIND_READ_STACK, 1);
	make_up(RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 1 << 16));
	assert_ends(UNWIND_COPY_SHORT, 1);
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_NONE });
	made_up.fp = 13;
	assert_ends(UNWIND_NO_CFI, 1);
	made_up_place.is_jit = true;
	made_up_place.has_table = false;
	assert_ends(UNWIND_JIT_NOFP, 1);
}
END_TEST

START_TEST(a_zero_return_address_ends_only_with_a_zero_frame_pointer)
{
	make_up(PLAIN);
	walk_made_up();
	ck_assert_int_eq(result.end, UNWIND_COMPLETE);
	ck_assert_uint_eq(result.n, 1);
	made_up.fp = STACK;
	assert_ends(UNWIND_BAD_PC, 1);
}
END_TEST

START_TEST(code_without_rules_is_walked_by_frame_pointer_and_called_approximate)
{
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_NONE });
	made_up.fp = STACK + 32;
	memory[4] = STACK + 64;
	memory[5] = FIRST_FUNCTION;
	assert_ends(UNWIND_APPROX, 2);
	ck_assert_uint_eq(result.ips[1], FIRST_FUNCTION);
	/* What it points at must be code. */
	memory[5] = CODE + 0x20000;
	assert_ends(UNWIND_NO_CFI, 1);
}
END_TEST

START_TEST(generated_code_is_walked_by_frame_pointer)
{
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_END });
	made_up_place.has_table = false;
	made_up_place.is_jit = true;
	made_up.fp = STACK + 32;
	memory[4] = STACK + 64;
	memory[5] = CODE + 0x1001;
	memory[8] = 0;
	memory[9] = 0;
	walk_made_up();
	ck_assert_uint_eq(result.ips[1], CODE + 0x1001);
}
END_TEST

/* A compiled caller of an interpreted method: adapters may move the return address. */
START_TEST(a_return_address_may_be_where_the_frame_pointer_says)
{
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_DEREF_FP,
				      .cfa_off = -8,
				      .fp = UNWIND_REG_DEREF_FP,
				      .ra = UNWIND_REG_DEREF_FP,
				      .ra_off = 8 });
	made_up.fp = STACK + 32;
	memory[3] = STACK + 128; /* where the caller's stack begins */
	memory[4] = 0x1234;	 /* its frame pointer */
	memory[5] = CODE + 0x3001;
	memory[16] = FIRST_FUNCTION;
	assert_ends(UNWIND_COMPLETE, 3);
	ck_assert_uint_eq(result.ips[1], CODE + 0x3001);
}
END_TEST

START_TEST(generated_code_that_its_table_does_not_know_is_waited_for)
{
	make_up((struct unwind_rule){ .cfa = UNWIND_CFA_NONE });
	made_up_place.is_jit = true;
	made_up.fp = STACK + 32; /* it would look like a frame */
	memory[4] = STACK + 64;
	memory[5] = FIRST_FUNCTION;
	assert_ends(UNWIND_PENDING, 1);
}
END_TEST

START_TEST(a_stack_without_an_end_is_cut_at_the_limit)
{
	make_up(PLAIN);
	for (size_t i = 0; i < 512; i++)
		memory[i] = CODE + 0x3001;
	made_up.len = sizeof(memory);
	walk_made_up();
	ck_assert_str_eq(unwind_end_name(result.end), "DEPTH");
	ck_assert_uint_eq(result.n, UNWIND_MAX_FRAMES);
}
END_TEST

START_TEST(every_end_has_a_name)
{
	for (int end = 0; end < UNWIND_ENDS; end++)
		ck_assert_str_ne(unwind_end_name((enum unwind_end)end), "");
	ck_assert(unwind_end_has_stack(UNWIND_NOMAP));
	ck_assert(!unwind_end_has_stack(UNWIND_KTHREAD));
}
END_TEST

#endif

int main(void)
{
	Suite *s = suite_create("stack_walk");
	SRunner *sr = srunner_create(s);
	int failed;
#ifdef __x86_64__
	TCase *own = tcase_create("own"), *t = tcase_create("made_up");

	suite_add_tcase(s, own);
	tcase_add_checked_fixture(own, set_up, tear_down);
	tcase_set_timeout(own, 60);
	tcase_add_test(own, our_own_stack_is_walked_to_its_end);
	tcase_add_test(own, a_callback_of_the_c_library_is_walked_through_it);
	tcase_add_test(own, deep_recursion_is_walked_frame_by_frame);
	tcase_add_test(own, a_thread_begins_where_it_was_started);
	tcase_add_test(own, a_signal_handler_does_not_hide_what_it_interrupted);
	tcase_add_test(own, a_page_that_was_never_touched_is_walked_past);
	tcase_add_test(own, what_lies_on_a_page_that_is_missing_is_not_made_up);
	tcase_add_test(own, a_copy_that_is_too_short_is_called_so);

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, the_cfa_is_had_in_each_way_that_a_rule_can_say);
	tcase_add_test(t, stubs_of_the_plt_are_walked_by_their_place);
	tcase_add_test(t, a_return_address_may_be_in_a_register);
	tcase_add_test(t, saved_frame_pointers_are_followed);
	tcase_add_test(t, a_saved_rbx_is_found_when_a_caller_needs_it);
	tcase_add_test(t, each_end_has_its_reason);
	tcase_add_test(t, a_zero_return_address_ends_only_with_a_zero_frame_pointer);
	tcase_add_test(t, code_without_rules_is_walked_by_frame_pointer_and_called_approximate);
	tcase_add_test(t, generated_code_is_walked_by_frame_pointer);
	tcase_add_test(t, a_return_address_may_be_where_the_frame_pointer_says);
	tcase_add_test(t, generated_code_that_its_table_does_not_know_is_waited_for);
	tcase_add_test(t, a_stack_without_an_end_is_cut_at_the_limit);
	tcase_add_test(t, every_end_has_a_name);
#endif
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
