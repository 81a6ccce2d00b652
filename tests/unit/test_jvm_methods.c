/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreted methods of a JVM with the real worker: what it is to read lies in this
 * process (hotspot_image.h).
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "frames.h"
#include "hotspot_image.h"
#include "interp/frame_functions.h"
#include "interp/v8_procs.h"
#include "symbolize/symbolizer.h"

static struct event_loop *loop;
static struct symbolizer *sym;
static struct v8_procs *procs;
static struct frame_functions *functions;
static struct image image;
static uint32_t self;
static int proc_fd;

static uint64_t jvm(void *ctx, uint32_t tgid, uint64_t *ret_symbols)
{
	ck_assert_ptr_eq(ctx, &image);
	if (tgid != self)
		return 0;
	memcpy(ret_symbols, image.symbols, sizeof(image.symbols));
	return 77;
}

static void on_forget(void *ctx, uint32_t tgid, uint64_t address)
{
	(void)ctx;
	(void)tgid;
	(void)address;
}

static void on_changed(void *ctx, uint32_t tgid, const struct v8_proc *proc)
{
	(void)ctx;
	(void)tgid;
	(void)proc;
}

/* What was done to the image is in the memory of the process. */
static void show(void)
{
	memcpy((void *)IMAGE_BASE, image.bytes, sizeof(image.bytes));
}

static void set_up(void)
{
	struct frame_functions_config config = { .forget = on_forget, .jvm = jvm, .ctx = &image };
	void *at = mmap((void *)IMAGE_BASE, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ck_assert_ptr_eq(at, (void *)IMAGE_BASE);
	image_init(&image, IMAGE_17, 0);
	show();
	self = (uint32_t)getpid();
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(proc_fd, 0);
	ck_assert_int_eq(v8_procs_new(NULL, on_changed, NULL, &procs), 0);
	config.sym = sym;
	config.procs = procs;
	config.proc_fd = proc_fd;
	ck_assert_int_eq(frame_functions_new(&config, &functions), 0);
}

static void tear_down(void)
{
	symbolizer_free(sym);
	frame_functions_free(functions);
	v8_procs_free(procs);
	event_loop_free(loop);
	close(proc_fd);
}

static void add(uint32_t number, uint32_t tgid, uint64_t method)
{
	struct frames_event ev = { .address = method, .tgid = tgid, .number = number };

	ck_assert_int_eq(frame_functions_add(functions, &ev, sizeof(ev)), 0);
}

static int check_ready(void *ctx, uint32_t events)
{
	(void)events;
	symbolizer_collect(sym, boot_ns());
	return ((struct location *)ctx)->ready ? -ECANCELED : 0;
}

static struct location *wait_for(uint32_t number)
{
	struct location *loc = frame_functions_locate(functions, number);
	struct event_source *timer;

	ck_assert_ptr_nonnull(loc);
	if (loc->ready)
		return loc;
	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, check_ready, loc, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
	return loc;
}

START_TEST(methods_have_the_names_of_compiled_ones)
{
	uint64_t first = image_method(&image, "java/lang/Thread", "run"),
		 second = image_method(&image, "Main", "main");
	struct location *loc;

	show();
	add(1, self, first);
	add(2, self, second);
	loc = frame_functions_locate(functions, 1);
	ck_assert(!loc->ready);
	frame_functions_ask(functions);
	loc = wait_for(1);
	ck_assert_str_eq(loc->function, "java.lang.Thread.run");
	ck_assert_str_eq(loc->module->path, "[jit]");
	ck_assert_uint_eq(loc->kind, LOCATION_JIT);
	ck_assert_str_eq(wait_for(2)->function, "Main.main");
}
END_TEST

START_TEST(what_is_no_method_or_of_no_jvm_has_no_name)
{
	add(1, self, 0x1234);
	add(2, self + 1, IMAGE_BASE);
	frame_functions_ask(functions);
	ck_assert(!wait_for(1)->has_symbol);
	ck_assert(!wait_for(2)->has_symbol);
	ck_assert_uint_eq(frame_functions_missed(functions), 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jvm_methods");
	TCase *t = tcase_create("jvm_methods");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, methods_have_the_names_of_compiled_ones);
	tcase_add_test(t, what_is_no_method_or_of_no_jvm_has_no_name);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
