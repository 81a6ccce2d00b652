/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a JVM with the real worker: this process is one, as far as can be
 * seen from outside. Its program has the variables of libjvm.so, and at a fixed
 * address lies what they point to (hotspot_image.h).
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "hotspot_image.h"
#include "process/jvm_files.h"
#include "process/module_pins.h"
#include "process/process_jit.h"
#include "process/process_table.h"
#include "symbolize/jit_question.h"
#include "symbolize/symbolizer.h"

/* Found by name in the program's file, and read in its memory. */
#define VARIABLE(name)        \
	extern uint64_t name; \
	uint64_t name

VARIABLE(gHotSpotVMStructs);
VARIABLE(gHotSpotVMStructEntryArrayStride);
VARIABLE(gHotSpotVMStructEntryTypeNameOffset);
VARIABLE(gHotSpotVMStructEntryFieldNameOffset);
VARIABLE(gHotSpotVMStructEntryTypeStringOffset);
VARIABLE(gHotSpotVMStructEntryIsStaticOffset);
VARIABLE(gHotSpotVMStructEntryOffsetOffset);
VARIABLE(gHotSpotVMStructEntryAddressOffset);
VARIABLE(gHotSpotVMTypes);
VARIABLE(gHotSpotVMTypeEntryArrayStride);
VARIABLE(gHotSpotVMTypeEntryTypeNameOffset);
VARIABLE(gHotSpotVMTypeEntrySizeOffset);

static uint64_t *const variables[HOTSPOT_N_SYMBOLS] = {
	&gHotSpotVMStructs,
	&gHotSpotVMStructEntryArrayStride,
	&gHotSpotVMStructEntryTypeNameOffset,
	&gHotSpotVMStructEntryFieldNameOffset,
	&gHotSpotVMStructEntryTypeStringOffset,
	&gHotSpotVMStructEntryIsStaticOffset,
	&gHotSpotVMStructEntryOffsetOffset,
	&gHotSpotVMStructEntryAddressOffset,
	&gHotSpotVMTypes,
	&gHotSpotVMTypeEntryArrayStride,
	&gHotSpotVMTypeEntryTypeNameOffset,
	&gHotSpotVMTypeEntrySizeOffset,
};

static const uint8_t code[64] = { 0x55, 0x48, 0x83, 0xec, 0x30 };

static struct image image;
static struct event_loop *loop;
static struct symbolizer *sym;
static struct module_pins *pins;
static struct jit_pool *pool;
static struct process_jit *jit;
static struct process self;
static struct jit_place place;
static struct location *anon;

/* What was done to the image is in the memory of the process. */
static void show(void)
{
	memcpy((void *)IMAGE_BASE, image.bytes, sizeof(image.bytes));
}

static void set_up_image(uint64_t missing)
{
	void *at = mmap((void *)IMAGE_BASE, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ck_assert_ptr_eq(at, (void *)IMAGE_BASE);
	image_init(&image, IMAGE_17, missing);
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++)
		memcpy(variables[i], image.bytes + (image.symbols[i] - IMAGE_BASE),
		       sizeof(uint64_t));
	show();
}

static uint64_t add_method(const char *name, int id)
{
	struct image_blob blob = { .name = "nmethod",
				   .frame_size = 8,
				   .frame_complete = 5,
				   .method = image_method(&image, "a/Main", name),
				   .id = id,
				   .code = code,
				   .size = sizeof(code) };
	uint64_t at = image_blob(&image, 0, &blob);

	show();
	return at;
}

/* Where the first byte of the program's file would be. */
static uint64_t own_base(void)
{
	uint64_t start, end, offset, here = (uintptr_t)own_base;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && here >= start &&
		    here < end)
			break;
	fclose(f);
	return start - offset;
}

static void map_library(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct module *module;

	ck_assert_int_eq(symbolizer_module(sym, fd, "/usr/lib/libjvm.so", &module), 0);
	process_jit_add_jvm(jit, module, own_base());
}

static void set_up(void)
{
	self = (struct process){ .tgid = (uint32_t)getpid(),
				 .uid = geteuid(),
				 .start_ns = boot_ns() };
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
	place.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(module_pins_new(sym, place.proc_fd, &pins), 0);
	place.pins = pins;
	place.p = &self;
	ck_assert_int_eq(jit_pool_new(sym, &pool), 0);
	jit = process_jit_new(pool);
	ck_assert_ptr_nonnull(jit);
	anon = symbolizer_locate(sym, symbolizer_pseudo_module(sym, "[anon:exec]"), 0);
	ck_assert_ptr_nonnull(anon);
}

static void tear_down(void)
{
	process_jit_free(jit);
	jit_pool_free(pool);
	module_pins_free(pins);
	close(place.proc_fd);
	symbolizer_free(sym);
	event_loop_free(loop);
}

/* ---- waiting ---- */

struct wait {
	bool (*is_over)(void *ctx);
	void *ctx;
};

static int check_over(void *ctx, uint32_t events)
{
	struct wait *w = ctx;

	(void)events;
	jit_pool_collect(pool);
	symbolizer_collect(sym, boot_ns());
	return w->is_over(w->ctx) ? -ECANCELED : 0;
}

static void wait_until(bool (*is_over)(void *ctx), void *ctx)
{
	struct wait w = { is_over, ctx };
	struct event_source *timer;

	if (is_over(ctx))
		return;
	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, check_over, &w, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
}

/* What is known of frames, as of now. */
static struct {
	int r;
	const struct jit_frames *frames;
	uint64_t version;
	bool current;
} known;

static bool frames_are_current(void *ctx)
{
	known.r = process_jit_frames(jit, &place, *(uint64_t *)ctx, &known.frames, &known.version,
				     &known.current);
	return known.current;
}

static void look(void)
{
	uint64_t now_ns = boot_ns();

	wait_until(frames_are_current, &now_ns);
}

static bool is_ready(void *ctx)
{
	return ((struct location *)ctx)->ready;
}

static int frame_size(uint64_t pc)
{
	struct unwind_rule rule = { 0 };

	ck_assert_ptr_nonnull(known.frames);
	for (uint32_t i = 0; i < known.frames->n; i++)
		if (pc >= known.frames->all[i].start && pc < known.frames->all[i].end)
			unwind_table_find(&known.frames->all[i].table,
					  pc - known.frames->all[i].start, &rule);
	return rule.cfa_off;
}

static struct location *locate(uint64_t pc)
{
	struct location *loc = process_jit_locate(jit, &place, pc, boot_ns(), true, anon);

	ck_assert_ptr_nonnull(loc);
	location_hold(loc);
	return loc;
}

/* ---- */

START_TEST(its_methods_have_names_and_frames)
{
	struct location *loc;
	uint64_t at;

	set_up_image(0);
	at = add_method("run", 1);
	map_library();
	look();
	ck_assert_int_eq(known.r, 0);
	ck_assert_int_eq(frame_size(at), 8);
	ck_assert_int_eq(frame_size(at + 5), 64);
	loc = locate(at + 5);
	wait_until(is_ready, loc);
	ck_assert_str_eq(loc->function, "a.Main.run");
	ck_assert_uint_eq(loc->kind, LOCATION_JIT);
	location_release(loc);
}
END_TEST

START_TEST(what_it_compiles_later_is_found_by_the_next_reading)
{
	uint64_t version, first, second;
	struct location *a, *b, *other;

	set_up_image(0);
	first = add_method("first", 1);
	map_library();
	look();
	version = known.version;
	ck_assert_uint_ne(version, 0);
	second = add_method("second", 2);
	/* Who asks in the meantime waits for the same. */
	a = locate(second);
	b = locate(second);
	other = locate(first);
	ck_assert(!a->ready);
	ck_assert_ptr_eq(a, b);
	ck_assert_ptr_ne(a, other);
	wait_until(is_ready, a);
	ck_assert_str_eq(a->function, "a.Main.second");
	wait_until(is_ready, other);
	ck_assert_str_eq(other->function, "a.Main.first");
	look();
	ck_assert_uint_ne(known.version, version);
	ck_assert_int_eq(frame_size(second + 5), 64);
	location_release(a);
	location_release(b);
	location_release(other);
}
END_TEST

START_TEST(one_that_lacks_something_has_neither)
{
	uint64_t at;

	set_up_image(1 << 3);
	at = add_method("run", 1);
	map_library();
	ck_assert_int_eq(process_jit_frames(jit, &place, boot_ns(), &known.frames, &known.version,
					    &known.current),
			 -EAGAIN);
	look();
	ck_assert_int_eq(known.r, 0);
	ck_assert_ptr_null(known.frames);
	ck_assert_ptr_null(process_jit_locate(jit, &place, at, boot_ns(), false, anon));
}
END_TEST

START_TEST(a_file_of_that_name_may_be_something_else)
{
	struct module *module;
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);

	ck_assert(jvm_files_is_named_so("/x/libjvm.so"));
	ck_assert(!jvm_files_is_named_so("/x/mylibjvm.so"));
	ck_assert_int_eq(symbolizer_module(sym, fd, "/x/libjvm.so", &module), 0);
	process_jit_add_jvm(jit, module, 0x1000);
	look();
	ck_assert_int_eq(known.r, 0);
	ck_assert_ptr_null(known.frames);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("process_jvm");
	TCase *t = tcase_create("process_jvm");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, its_methods_have_names_and_frames);
	tcase_add_test(t, what_it_compiles_later_is_found_by_the_next_reading);
	tcase_add_test(t, one_that_lacks_something_has_neither);
	tcase_add_test(t, a_file_of_that_name_may_be_something_else);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
