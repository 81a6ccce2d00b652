/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that walkers have met, with the real worker, which reads them in the memory of
 * this process: each test is a process of its own.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "frames.h"
#include "interp/frame_functions.h"
#include "interp/v8_procs.h"
#include "process/mappings.h"
#include "symbolize/symbolizer.h"
#include "v8_image.h"

static struct event_loop *loop;
static struct symbolizer *sym;
static struct v8_procs *procs;
static struct frame_functions *functions;
static int proc_fd;
static uint32_t self;
static uint64_t forgotten[64];
static unsigned n_forgotten;

static void on_changed(void *ctx, uint32_t tgid, const struct v8_proc *proc)
{
	(void)ctx;
	(void)tgid;
	(void)proc;
}

static void on_forget(void *ctx, uint32_t tgid, uint64_t address)
{
	ck_assert_ptr_eq(ctx, &functions);
	(void)tgid;
	forgotten[n_forgotten++ % 64] = address;
}

static void set_up(void)
{
	static struct module node = { .id = 1, .path = "/usr/bin/node" };
	struct mapping mapping = { .start = 0x1000, .end = 0x2000, .module = &node };
	struct v8_facts facts = v8_image_facts();
	struct frame_functions_config config = { .forget = on_forget, .ctx = &functions };

	v8_image_reset();
	n_forgotten = 0;
	self = (uint32_t)getpid();
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(proc_fd, 0);
	ck_assert_int_eq(v8_procs_new(NULL, on_changed, NULL, &procs), 0);
	v8_procs_mapped(procs, self, &mapping);
	v8_procs_told(procs, &node, &facts);
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

static int add(uint32_t number, uint32_t tgid, uint64_t shared, uint64_t identity)
{
	struct frames_event ev = {
		.address = shared, .identity = identity, .tgid = tgid, .number = number
	};

	return frame_functions_add(functions, &ev, sizeof(ev));
}

static uint64_t make(const char *name)
{
	uint64_t script = v8_script("/srv/shop.js", v8_one_byte("\n\nfunction")), shared;

	shared = v8_shared(v8_scope(1, v8_one_byte(name), 0, 2), script, 1);
	return shared;
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

START_TEST(a_function_gets_its_name)
{
	uint64_t shared = make("total");
	struct location *loc, *promise;

	ck_assert_ptr_null(frame_functions_locate(functions, 1));
	ck_assert_int_eq(add(1, self, shared, v8_identity(shared)), 0);
	frame_functions_ask(functions);
	promise = frame_functions_locate(functions, 1);
	ck_assert(!promise->ready);
	loc = wait_for(1);
	ck_assert_ptr_eq(loc, promise);
	ck_assert(loc->has_symbol);
	ck_assert_str_eq(loc->function, "total");
	ck_assert_str_eq(loc->file, "/srv/shop.js");
	ck_assert_uint_eq(loc->line, 3);
	ck_assert_str_eq(loc->module->path, "[v8]");
	ck_assert_int_eq(loc->kind, LOCATION_INTERPRETED);
	/* The same function elsewhere is the same location. */
	shared = make("total");
	ck_assert_int_eq(add(2, self, shared, v8_identity(shared)), 0);
	frame_functions_ask(functions);
	ck_assert_uint_eq(wait_for(2)->id, loc->id);
	ck_assert_uint_eq(frame_functions_count(functions), 2);
	ck_assert_uint_eq(frame_functions_missed(functions), 0);
}
END_TEST

START_TEST(many_at_a_time)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2] = "";

	for (uint32_t i = 0; letters[i]; i++) {
		uint64_t shared;

		name[0] = letters[i];
		shared = make(name);
		ck_assert_int_eq(add(i + 1, self, shared, v8_identity(shared)), 0);
	}
	frame_functions_ask(functions);
	for (uint32_t i = 0; letters[i]; i++) {
		name[0] = letters[i];
		ck_assert_str_eq(wait_for(i + 1)->function, name);
	}
}
END_TEST

START_TEST(what_has_moved_is_described_anew)
{
	uint64_t shared = make("total");

	ck_assert_int_eq(add(1, self, shared, v8_identity(shared) + 1), 0);
	frame_functions_ask(functions);
	ck_assert(!wait_for(1)->has_symbol);
	ck_assert_uint_eq(frame_functions_missed(functions), 1);
	ck_assert_uint_eq(n_forgotten, 0);
	frame_functions_collect(functions);
	ck_assert_uint_eq(n_forgotten, 1);
	ck_assert_uint_eq(forgotten[0], shared);
	frame_functions_collect(functions); /* once is enough */
	ck_assert_uint_eq(n_forgotten, 1);
	ck_assert_int_eq(add(2, self, shared, v8_identity(shared)), 0);
	frame_functions_ask(functions);
	ck_assert_str_eq(wait_for(2)->function, "total");
}
END_TEST

/* V8's own keep the name that their code has, and are not asked about again. */
START_TEST(a_builtin_function)
{
	uint64_t shared = v8_shared(v8_one_byte("map"), v8_object(131, 32), 1);

	ck_assert_int_eq(add(1, self, shared, v8_identity(shared)), 0);
	frame_functions_ask(functions);
	ck_assert(!wait_for(1)->has_symbol);
	frame_functions_collect(functions);
	ck_assert_uint_eq(n_forgotten, 0);
	ck_assert_uint_eq(frame_functions_missed(functions), 0);
}
END_TEST

START_TEST(a_process_that_is_gone)
{
	uint64_t shared = make("total"), other = make("other");
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	v8_procs_forked(procs, (uint32_t)child, self);
	ck_assert_int_eq(add(1, (uint32_t)child, shared, v8_identity(shared)), 0);
	ck_assert_int_eq(add(2, 77, shared, v8_identity(shared)), 0); /* no V8 */
	ck_assert_int_eq(add(3, self, other, v8_identity(other)), 0);
	frame_functions_ask(functions);
	ck_assert(!wait_for(1)->has_symbol);
	ck_assert(!wait_for(2)->has_symbol);
	ck_assert_str_eq(wait_for(3)->function, "other");
}
END_TEST

START_TEST(a_process_that_goes_while_it_is_asked)
{
	uint64_t shared = make("total");
	struct location *loc;

	ck_assert_int_eq(add(1, self, shared, v8_identity(shared)), 0);
	loc = frame_functions_locate(functions, 1);
	frame_functions_ask(functions);
	frame_functions_emptied(functions, self);
	ck_assert(loc->ready);
	ck_assert(!loc->has_symbol);
	ck_assert_uint_eq(n_forgotten, 1);
	/* The answer still comes, and means nothing. */
	shared = make("next");
	ck_assert_int_eq(add(2, self, shared, v8_identity(shared)), 0);
	frame_functions_ask(functions);
	ck_assert_str_eq(wait_for(2)->function, "next");
	ck_assert(!frame_functions_locate(functions, 1)->has_symbol);
	frame_functions_clear(functions);
	ck_assert_uint_eq(frame_functions_count(functions), 0);
	ck_assert_ptr_null(frame_functions_locate(functions, 2));
}
END_TEST

START_TEST(records_that_are_none)
{
	struct frames_event ev = { .number = 0 };

	ck_assert_int_eq(frame_functions_add(functions, &ev, sizeof(ev)), -EBADMSG);
	ev.number = 1;
	ck_assert_int_eq(frame_functions_add(functions, &ev, sizeof(ev) - 1), -EBADMSG);
	ck_assert_int_eq(frame_functions_add(functions, &ev, sizeof(ev)), 0);
	ck_assert_int_eq(frame_functions_add(functions, &ev, sizeof(ev)), 0);
	ck_assert_uint_eq(frame_functions_count(functions), 1);
}
END_TEST

/* The longest unused go, and the walkers hear of it. */
START_TEST(more_than_there_is_room_for)
{
	const uint32_t n = FRAMES_MAX_OBJECTS / 4 * 3;

	for (uint32_t i = 1; i <= n + 10; i++) {
		ck_assert_int_eq(add(i, 77, 0x1000 + i, 1), 0);
		(void)frame_functions_locate(functions, 1);
	}
	ck_assert_uint_eq(frame_functions_count(functions), n);
	ck_assert_uint_eq(n_forgotten, 10);
	ck_assert_uint_eq(forgotten[0], 0x1002);
	ck_assert_ptr_nonnull(frame_functions_locate(functions, 1));
	ck_assert_ptr_null(frame_functions_locate(functions, 2));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frame_functions");
	TCase *tc = tcase_create("functions");
	SRunner *sr;
	int n;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_function_gets_its_name);
	tcase_add_test(tc, many_at_a_time);
	tcase_add_test(tc, what_has_moved_is_described_anew);
	tcase_add_test(tc, a_builtin_function);
	tcase_add_test(tc, a_process_that_is_gone);
	tcase_add_test(tc, a_process_that_goes_while_it_is_asked);
	tcase_add_test(tc, records_that_are_none);
	tcase_add_test(tc, more_than_there_is_room_for);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
